import { useState } from "react";
import { api, type Session } from "@/api";
import { forgetToken, useFragmentToken } from "@/app/fragment";
import { toast } from "@/kit";
import { useTexts } from "@/text";
import { Frame, TextLink } from "./Frame";
import { BadLink, Form, isBadToken, PasswordField, useEnter, useSubmit } from "./parts";
import { signInTexts } from "./texts";

export default function ResetPage() {
  const texts = useTexts(signInTexts);
  const t = texts.reset;
  const token = useFragmentToken();
  const enter = useEnter();
  const [password, setPassword] = useState("");
  const submit = useSubmit(async () => {
    const session = await api.post<Session>("/api/password/reset", { token, password });
    forgetToken();
    toast(t.done);
    enter(session);
  });
  if (token === null || isBadToken(submit.error)) {
    return <BadLink action={<TextLink href="/forgot">{texts.forgot.submit}</TextLink>} />;
  }
  return (
    <Frame title={t.title} lead={t.lead}>
      <Form submit={submit} label={t.submit}>
        <PasswordField
          fresh
          label={texts.newPassword}
          value={password}
          onChange={setPassword}
          error={submit.at("password")}
        />
      </Form>
    </Frame>
  );
}
