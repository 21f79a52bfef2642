import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useId, useState } from "react";
import { ApiError, api, type Invitation, type Role } from "@/api";
import { useSession } from "@/app/session";
import { appTexts } from "@/app/texts";
import { Button, Code, Dialog, Field, Input, Problem, Select, toast } from "@/kit";
import { useTexts } from "@/text";
import { ROLES } from "./roles";
import { membersTexts } from "./texts";

export function InviteDialog({ open, onClose }: { open: boolean; onClose: () => void }) {
  const texts = useTexts(membersTexts);
  const t = texts.dialog;
  const roles = useTexts(appTexts).roles;
  const { account, instance } = useSession();
  const client = useQueryClient();
  const form = useId();
  const [email, setEmail] = useState("");
  const [role, setRole] = useState<Role>("developer");
  const [made, setMade] = useState<Invitation | null>(null);
  const invite = useMutation({
    mutationFn: () => api.post<Invitation>("/api/members/invitations", { email: email.trim(), role }),
    onSuccess: (invitation) => {
      void client.invalidateQueries({ queryKey: ["members"] });
      if (invitation.link !== null) {
        setMade(invitation);
      } else {
        toast(t.sent(invitation.email));
        close();
      }
    },
  });
  const close = () => {
    setEmail("");
    setRole("developer");
    setMade(null);
    invite.reset();
    onClose();
  };
  if (made !== null && made.link !== null) {
    return (
      <Dialog
        open={open}
        onClose={close}
        modal
        title={t.linkTitle}
        lead={t.linkLead(made.email)}
        footer={
          <Button variant="primary" onClick={close}>
            {t.done}
          </Button>
        }
      >
        <Code wrap language={t.link} text={made.link} />
      </Dialog>
    );
  }
  const atEmail = invite.error instanceof ApiError && invite.error.param === "email" ? invite.error.message : undefined;
  const offered = ROLES.filter((one) => one !== "owner" || account?.role === "owner");
  return (
    <Dialog
      open={open}
      onClose={close}
      title={t.title}
      lead={t.lead}
      footer={
        <>
          <Button onClick={close}>{t.cancel}</Button>
          <Button variant="primary" type="submit" form={form} busy={invite.isPending} disabled={email.trim() === ""}>
            {instance.sends_mail ? t.send : t.make}
          </Button>
        </>
      }
    >
      <form
        id={form}
        className="space-y-4"
        noValidate
        onSubmit={(event: FormEvent) => {
          event.preventDefault();
          invite.mutate();
        }}
      >
        <Field label={t.email} error={atEmail}>
          <Input
            type="email"
            inputMode="email"
            autoCapitalize="none"
            spellCheck={false}
            value={email}
            onChange={(event) => setEmail(event.target.value)}
          />
        </Field>
        <Field label={t.role} hint={texts.roleMeans[role]}>
          <Select
            value={role}
            onChange={setRole}
            options={offered.map((value) => ({ value, label: roles[value], hint: texts.roleMeans[value] }))}
          />
        </Field>
        {invite.error !== null && atEmail === undefined && <Problem error={invite.error} compact />}
      </form>
    </Dialog>
  );
}
