/** What an operator does to a customer: each asks for what it needs, and why. */
import { useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { api, type CustomerDetail, type Role } from "@/api";
import { appTexts } from "@/app/texts";
import { Button, Checkbox, Code, Dialog, Field, format, Input, Segments, Select, toast } from "@/kit";
import { isNothing, negativeUsd, readTypedUsd } from "@/kit/records/money";
import { useTexts } from "@/text";
import { ActDialog } from "../shared";
import { operatorTexts } from "../texts";
import { customersTexts } from "./texts";

export type CustomerAct = "suspend" | "resume" | "adjust" | "top_up" | "edit" | "invite" | "close";
interface DialogProps {
  customer: CustomerDetail;
  act: CustomerAct | null;
  onClose: () => void;
}

export function CustomerDialogs(props: DialogProps) {
  return (
    <>
      <StateDialogs {...props} />
      {props.act === "adjust" && <Adjust {...props} />}
      {props.act === "top_up" && <TopUp {...props} />}
      {props.act === "edit" && <Edit {...props} />}
      {props.act === "invite" && <Invite {...props} />}
    </>
  );
}

/** Sends a change and shows the customer as it is then. */
function useChange(customer: CustomerDetail): (path: string, body: unknown, said: string) => Promise<void> {
  const client = useQueryClient();
  return async (path, body, said) => {
    await api.post(`/api/operator/customers/${customer.id}/${path}`, body);
    await client.invalidateQueries({ queryKey: ["operator", "customer", String(customer.id)] });
    void client.invalidateQueries({ queryKey: ["operator", "customers"] });
    toast(said);
  };
}

function StateDialogs({ customer, act, onClose }: DialogProps) {
  const t = useTexts(customersTexts);
  const change = useChange(customer);
  const client = useQueryClient();
  const [erase, setErase] = useState(false);
  const keys = client.getQueryData<{ data: { state: string }[] }>([
    "operator",
    "customer",
    String(customer.id),
    "keys",
  ]);
  const active = keys?.data.filter((key) => key.state === "active").length ?? 0;
  return (
    <>
      <ActDialog
        open={act === "suspend"}
        onClose={onClose}
        tone="danger"
        title={t.suspend.title(customer.name)}
        lead={t.suspend.lead}
        consequence={t.suspend.act(active)}
        onAct={(reason) => change("suspend", { reason }, t.suspend.done(customer.name))}
      />
      <ActDialog
        open={act === "resume"}
        onClose={onClose}
        title={t.resume.title(customer.name)}
        lead={t.resume.lead}
        consequence={t.resume.act}
        onAct={(reason) => change("resume", { reason }, t.resume.done(customer.name))}
      />
      <ActDialog
        open={act === "close"}
        onClose={onClose}
        tone="danger"
        title={t.close.title(customer.name)}
        lead={t.close.lead}
        consequence={t.close.act}
        onAct={(reason) => change("close", { reason, erase }, t.close.done)}
      >
        <Checkbox checked={erase} onChange={setErase} label={t.close.erase} hint={t.close.eraseHint} />
      </ActDialog>
    </>
  );
}

function AmountField({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  const t = useTexts(customersTexts).adjust;
  const isWrong = value !== "" && readTypedUsd(value) === null;
  return (
    <Field label={t.amount} error={isWrong ? t.wrong : undefined}>
      <Input before="$" inputMode="decimal" mono value={value} onChange={(event) => onChange(event.target.value)} />
    </Field>
  );
}

function Adjust({ customer, act, onClose }: DialogProps) {
  const t = useTexts(customersTexts).adjust;
  const o = useTexts(operatorTexts);
  const change = useChange(customer);
  // The same change is booked once, however often it is sent.
  const [id] = useState(() => crypto.randomUUID());
  const [wallet, setWallet] = useState<"paid" | "trial">("paid");
  const [way, setWay] = useState<"add" | "take">("add");
  const [typed, setTyped] = useState("");
  const amount = readTypedUsd(typed);
  const isReady = amount !== null && !isNothing(amount);
  const shown = isReady ? format.money(amount, "balance") : "";
  return (
    <ActDialog
      open={act === "adjust"}
      onClose={onClose}
      title={t.title}
      lead={t.lead}
      ready={isReady}
      tone={way === "take" ? "danger" : "primary"}
      consequence={!isReady ? t.idle : way === "add" ? t.addDo(shown) : t.takeDo(shown)}
      onAct={(reason) => {
        const signed = way === "take" ? negativeUsd(amount ?? "0") : (amount ?? "0");
        return change("adjust", { wallet, amount_usd: signed, reason, id }, t.done);
      }}
    >
      <div className="flex flex-wrap gap-4">
        <Segments
          label={t.direction}
          value={way}
          onChange={setWay}
          options={[
            { value: "add", label: t.add },
            { value: "take", label: t.take },
          ]}
        />
        <Segments
          label={t.wallet}
          value={wallet}
          onChange={setWallet}
          options={[
            { value: "paid", label: o.wallets.paid },
            { value: "trial", label: o.wallets.trial },
          ]}
        />
      </div>
      <AmountField value={typed} onChange={setTyped} />
    </ActDialog>
  );
}

function TopUp({ customer, act, onClose }: DialogProps) {
  const t = useTexts(customersTexts).topUp;
  const client = useQueryClient();
  const [typed, setTyped] = useState("");
  const [event, setEvent] = useState("");
  const amount = readTypedUsd(typed);
  const isReady = amount !== null && !isNothing(amount) && event.trim() !== "";
  return (
    <ActDialog
      open={act === "top_up"}
      onClose={onClose}
      title={t.title}
      lead={t.lead}
      ready={isReady}
      consequence={isReady ? t.act(format.money(amount, "balance")) : t.idle}
      onAct={async (reason) => {
        const body = { wallet: "paid", amount_usd: amount, event: event.trim(), reason };
        const path = `/api/operator/customers/${customer.id}/top-up`;
        const done = await api.post<{ booked_now: boolean }>(path, body);
        await client.invalidateQueries({ queryKey: ["operator", "customer", String(customer.id)] });
        toast(done.booked_now ? t.done : t.before);
      }}
    >
      <AmountField value={typed} onChange={setTyped} />
      <Field label={t.event} hint={t.eventHint}>
        <Input mono value={event} maxLength={200} onChange={(one) => setEvent(one.target.value)} />
      </Field>
    </ActDialog>
  );
}

const numberOf = (text: string): number | null => (text.trim() === "" ? null : Number(text.trim()));
const isLimit = (text: string) => text.trim() === "" || /^[1-9]\d{0,11}$/.test(text.trim());

function Edit({ customer, act, onClose }: DialogProps) {
  const t = useTexts(customersTexts).edit;
  const client = useQueryClient();
  const { limits } = customer;
  const [name, setName] = useState(customer.name);
  const [group, setGroup] = useState(customer.group);
  const [allowed, setAllowed] = useState(customer.allowed_groups.join(", "));
  const [rpm, setRpm] = useState(String(limits.requests_per_minute ?? ""));
  const [tpm, setTpm] = useState(String(limits.tokens_per_minute ?? ""));
  const [concurrent, setConcurrent] = useState(String(limits.concurrent_calls ?? ""));
  const [low, setLow] = useState(customer.low_balance_usd ?? "");
  const isLow = low.trim() === "" || readTypedUsd(low) !== null;
  const isReady = name.trim() !== "" && group.trim() !== "" && [rpm, tpm, concurrent].every(isLimit) && isLow;
  const field = (label: string, value: string, set: (value: string) => void) => (
    <Field label={label} hint={t.empty}>
      <Input inputMode="numeric" mono value={value} onChange={(event) => set(event.target.value)} />
    </Field>
  );
  return (
    <ActDialog
      open={act === "edit"}
      onClose={onClose}
      title={t.title}
      consequence={t.act}
      hasReason={false}
      ready={isReady}
      wide
      onAct={async () => {
        const changed = await api.patch<CustomerDetail>(`/api/operator/customers/${customer.id}`, {
          name: name.trim(),
          group: group.trim(),
          allowed_groups: allowed
            .split(",")
            .map((one) => one.trim())
            .filter((one) => one !== ""),
          limits: {
            requests_per_minute: numberOf(rpm),
            tokens_per_minute: numberOf(tpm),
            concurrent_calls: numberOf(concurrent),
          },
          low_balance_usd: low.trim() === "" ? null : readTypedUsd(low),
        });
        client.setQueryData(["operator", "customer", String(customer.id)], changed);
        void client.invalidateQueries({ queryKey: ["operator", "customers"] });
        toast(t.saved);
      }}
    >
      <div className="grid gap-4 sm:grid-cols-2">
        <Field label={t.name}>
          <Input value={name} maxLength={100} onChange={(event) => setName(event.target.value)} />
        </Field>
        <Field label={t.group}>
          <Input value={group} onChange={(event) => setGroup(event.target.value)} />
        </Field>
        <Field label={t.allowed} hint={t.empty}>
          <Input value={allowed} onChange={(event) => setAllowed(event.target.value)} />
        </Field>
        {field(t.low, low, setLow)}
        {field(t.rpm, rpm, setRpm)}
        {field(t.tpm, tpm, setTpm)}
        {field(t.concurrent, concurrent, setConcurrent)}
      </div>
    </ActDialog>
  );
}

const ROLES: readonly Role[] = ["owner", "admin", "developer", "billing", "viewer"];

function Invite({ customer, act, onClose }: DialogProps) {
  const t = useTexts(customersTexts).invite;
  const roles = useTexts(appTexts).roles;
  const client = useQueryClient();
  const [email, setEmail] = useState("");
  const [role, setRole] = useState<Role>("owner");
  const [link, setLink] = useState<string | null>(null);
  const isMade = useRef(false);
  if (link !== null) {
    return (
      <Dialog
        open
        modal
        onClose={onClose}
        title={t.title}
        lead={t.linkLead}
        footer={
          <Button variant="primary" onClick={onClose}>
            {t.done}
          </Button>
        }
      >
        <Code wrap language={t.link} text={link} />
      </Dialog>
    );
  }
  return (
    <ActDialog
      open={act === "invite"}
      // Once it is made the link is shown in its place.
      onClose={() => !isMade.current && onClose()}
      title={t.title}
      consequence={t.act}
      hasReason={false}
      ready={email.includes("@")}
      onAct={async () => {
        const path = `/api/operator/customers/${customer.id}/invitations`;
        const made = await api.post<{ link: string }>(path, { email: email.trim(), role });
        await client.invalidateQueries({ queryKey: ["operator", "customer", String(customer.id)] });
        isMade.current = true;
        setLink(made.link);
      }}
    >
      <Field label={t.email}>
        <Input type="email" value={email} onChange={(event) => setEmail(event.target.value)} />
      </Field>
      <Select
        aria-label={t.title}
        value={role}
        onChange={setRole}
        options={ROLES.map((value) => ({ value, label: roles[value] }))}
      />
    </ActDialog>
  );
}
