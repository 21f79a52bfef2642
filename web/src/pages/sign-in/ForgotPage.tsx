import { useState } from "react";
import { api } from "@/api";
import { useSession } from "@/app/session";
import { useTexts } from "@/text";
import { Frame, TextLink } from "./Frame";
import { EmailField, Form, useSubmit } from "./parts";
import { signInTexts } from "./texts";

/** Answers the same whether or not the address is known. */
export default function ForgotPage() {
  const texts = useTexts(signInTexts);
  const t = texts.forgot;
  const { instance } = useSession();
  const [email, setEmail] = useState("");
  const [sent, setSent] = useState(false);
  const submit = useSubmit(async () => {
    await api.post("/api/password/forgot", { email: email.trim() });
    setSent(true);
  });
  const back = <TextLink href="/sign-in">{texts.backToSignIn}</TextLink>;
  if (sent)
    return <Frame title={t.sentTitle} lead={instance.sends_mail ? t.sent(email.trim()) : t.noMail} foot={back} />;
  return (
    <Frame title={t.title} lead={t.lead} foot={back}>
      <Form submit={submit} label={t.submit}>
        <EmailField value={email} onChange={setEmail} error={submit.at("email")} autoFocus />
      </Form>
    </Frame>
  );
}
