import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, type Role, type Session } from "@/api";
import { forgetToken, useFragmentToken } from "@/app/fragment";
import { appTexts } from "@/app/texts";
import { Field, Input, Problem, Skeleton } from "@/kit";
import { sentences, useTexts } from "@/text";
import { Frame } from "./Frame";
import { BadLink, Form, isBadToken, PasswordField, useEnter, useSubmit } from "./parts";
import { signInTexts } from "./texts";

interface Look {
  email: string;
  organisation: string;
  role: Role;
  has_person: boolean;
}

export default function InvitationPage() {
  const texts = useTexts(signInTexts);
  const t = texts.invitation;
  const roles = useTexts(appTexts).roles;
  const token = useFragmentToken();
  const enter = useEnter();
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  const look = useQuery({
    queryKey: ["invitation", token],
    queryFn: () => api.post<Look>("/api/invitations/preview", { token }),
    enabled: token !== null,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const submit = useSubmit(async () => {
    const body = look.data?.has_person === true ? { token, password } : { token, name: name.trim(), password };
    const session = await api.post<Session>("/api/invitations/accept", body);
    forgetToken();
    enter(session);
  });
  if (token === null || isBadToken(look.error) || isBadToken(submit.error)) return <BadLink />;
  if (look.error !== null) {
    return (
      <Frame title={t.loadingTitle}>
        <Problem error={look.error} retry={() => void look.refetch()} />
      </Frame>
    );
  }
  if (look.data === undefined) {
    return (
      <Frame title={t.loadingTitle} lead={<Skeleton className="w-40" />}>
        <Skeleton className="h-9! w-full" />
        <Skeleton className="mt-4 h-9! w-full" />
      </Frame>
    );
  }
  const { organisation, role, email, has_person } = look.data;
  return (
    <Frame
      title={t.title(organisation)}
      lead={has_person ? sentences([t.lead(roles[role]), t.hasPerson]) : t.lead(roles[role])}
    >
      <Form submit={submit} label={t.submit}>
        <Field label={texts.email}>
          <Input type="email" name="email" autoComplete="username" value={email} readOnly className="text-ink-3!" />
        </Field>
        {!has_person && (
          <Field label={texts.name} error={submit.at("name")}>
            <Input name="name" autoComplete="name" value={name} onChange={(event) => setName(event.target.value)} />
          </Field>
        )}
        <PasswordField
          fresh={!has_person}
          known={[email, name]}
          value={password}
          onChange={setPassword}
          error={submit.at("password")}
        />
      </Form>
    </Frame>
  );
}
