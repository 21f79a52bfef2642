import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "@/api";
import { SESSION_KEY, useSession } from "@/app/session";
import { Field, format, Input, useGo } from "@/kit";
import { sentences, useTexts } from "@/text";
import { Frame, TextLink } from "./Frame";
import { EmailField, Form, PasswordField, useSubmit } from "./parts";
import { signInTexts } from "./texts";

export default function SignUpPage() {
  const texts = useTexts(signInTexts);
  const t = texts.signUp;
  const { instance } = useSession();
  const client = useQueryClient();
  const go = useGo();
  const [email, setEmail] = useState("");
  const [name, setName] = useState("");
  const [organisation, setOrganisation] = useState("");
  const [password, setPassword] = useState("");
  const [sent, setSent] = useState(false);
  const submit = useSubmit(async () => {
    const body = { email: email.trim(), name: name.trim(), organisation: organisation.trim(), password };
    const { status } = await api.post<{ status: "check_mail" | "signed_in" }>("/api/sign-up", body);
    setPassword("");
    if (status === "signed_in") {
      await client.invalidateQueries({ queryKey: SESSION_KEY });
      go("/", undefined, true);
    } else {
      setSent(true);
    }
  });
  const signIn = (
    <>
      {t.have} <TextLink href="/sign-in">{t.signIn}</TextLink>
    </>
  );
  if (instance.sign_up !== "open") {
    const closed = instance.sign_up === "closed";
    return (
      <Frame title={closed ? t.closedTitle : t.invitationTitle} lead={closed ? t.closed : t.invitation} foot={signIn} />
    );
  }
  if (sent) {
    return (
      <Frame
        title={t.checkTitle}
        lead={
          <>
            <p>{instance.sends_mail ? t.check(email.trim()) : t.noMail}</p>
            {instance.sends_mail && <p className="mt-2 text-ink-3">{t.checkSame}</p>}
          </>
        }
        foot={<TextLink href="/sign-in">{texts.backToSignIn}</TextLink>}
      />
    );
  }
  return (
    <Frame
      title={t.title}
      lead={
        instance.trial === null
          ? t.lead
          : sentences([t.lead, t.trial(format.money(instance.trial.amount_usd, "balance"), instance.trial.days)])
      }
      foot={signIn}
    >
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
