import { useEffect, useState } from "react";
import { api, type Session } from "@/api";
import { forgetToken, useFragmentToken } from "@/app/fragment";
import { useSession } from "@/app/session";
import { Code, Field, Input, useGo } from "@/kit";
import { useTexts } from "@/text";
import { Frame, TextLink } from "./Frame";
import { BadLink, EmailField, Form, isBadToken, PasswordField, useEnter, useSubmit } from "./parts";
import { signInTexts } from "./texts";

export default function SetupPage() {
  const texts = useTexts(signInTexts);
  const t = texts.setup;
  const { instance, signed_in } = useSession();
  const go = useGo();
  const token = useFragmentToken();
  const enter = useEnter();
  const [email, setEmail] = useState("");
  const [name, setName] = useState("");
  const [organisation, setOrganisation] = useState("");
  const [password, setPassword] = useState("");
  const submit = useSubmit(async () => {
    const body = { token, email: email.trim(), name: name.trim(), organisation: organisation.trim(), password };
    const session = await api.post<Session>("/api/setup", body);
    forgetToken();
    enter(session);
  });
  // Who is signed in and brings no link has nothing to set up, whether they came by themselves or just finished.
  const isDone = signed_in && token === null;
  useEffect(() => {
    if (isDone) go("/", undefined, true);
  }, [isDone, go]);
  if (isDone) return null;
  // A link may also make a second operator, or give one a new password: with one in hand the form is always there.
  if (!instance.needs_setup && token === null) {
    return (
      <Frame title={t.doneTitle} lead={t.done} foot={<TextLink href="/sign-in">{texts.signIn.submit}</TextLink>} />
    );
  }
  if (isBadToken(submit.error)) return <BadLink action={<Command />} />;
  if (token === null) {
    return (
      <Frame title={t.missingTitle} lead={instance.mode === "dev" ? texts.dev.hint : t.missing}>
        {instance.mode === "dev" ? null : <Command />}
      </Frame>
    );
  }
  return (
    <Frame title={t.title} lead={instance.needs_setup ? t.lead : t.again}>
      <Form submit={submit} label={t.submit}>
        <EmailField value={email} onChange={setEmail} error={submit.at("email")} autoFocus />
        <Field label={texts.name} error={submit.at("name")}>
          <Input name="name" autoComplete="name" value={name} onChange={(event) => setName(event.target.value)} />
        </Field>
        <Field label={texts.organisation} hint={texts.organisationHint} error={submit.at("organisation")}>
          <Input
            name="organisation"
            autoComplete="organization"
            value={organisation}
            onChange={(event) => setOrganisation(event.target.value)}
          />
        </Field>
        <PasswordField
          fresh
          value={password}
          onChange={setPassword}
          known={[email, name, organisation]}
          error={submit.at("password")}
        />
      </Form>
    </Frame>
  );
}

function Command() {
  const t = useTexts(signInTexts).setup;
  return (
    <div>
      <p className="mb-2 text-ink-2">{t.command}</p>
      <Code language="bash" text="trunkline operator link" />
    </div>
  );
}
