import { api, type Session } from "@/api";
import { forgetToken, useFragmentToken } from "@/app/fragment";
import { useTexts } from "@/text";
import { Frame } from "./Frame";
import { BadLink, Form, isBadToken, useEnter, useSubmit } from "./parts";
import { signInTexts } from "./texts";

/** A button and not the mere opening: programs that look into mails open links too. */
export default function VerifyPage() {
  const t = useTexts(signInTexts).verify;
  const token = useFragmentToken();
  const enter = useEnter();
  const submit = useSubmit(async () => {
    const session = await api.post<Session>("/api/email/verify", { token });
    forgetToken();
    enter(session);
  });
  if (token === null || isBadToken(submit.error)) return <BadLink />;
  return (
    <Frame title={t.title} lead={t.lead}>
      <Form submit={submit} label={t.submit}>
        {null}
      </Form>
    </Frame>
  );
}
