import { useState } from "react";
import { api, type Session } from "@/api";
import { useTakeSession } from "@/app/session";
import { Button, Field, Input } from "@/kit";
import { useTexts } from "@/text";
import { Frame } from "./Frame";
import { Form, useEnter, useSubmit } from "./parts";
import { signInTexts } from "./texts";

/** The code of the second factor, after the password was right. */
export function SecondStep({ to }: { to: string }) {
  const t = useTexts(signInTexts).second;
  const enter = useEnter();
  const take = useTakeSession();
  const [code, setCode] = useState("");
  const [isRecovery, setRecovery] = useState(false);
  const submit = useSubmit(async () => {
    enter(await api.post<Session>("/api/session/second-factor", { code: code.trim() }), to);
  });
  const leave = async () => {
    await api.delete("/api/session");
    take(await api.get<Session>("/api/session"));
  };
  return (
    <Frame
      title={t.title}
      lead={isRecovery ? t.recoveryLead : t.lead}
      foot={
        <Button variant="link" onClick={() => void leave()}>
          {t.other}
        </Button>
      }
    >
      <Form submit={submit} label={t.submit} hide={(error) => (error.code === "sign_in_failed" ? t.failed : undefined)}>
        <Field
          label={isRecovery ? t.recoveryCode : t.code}
          aside={
            <button
              type="button"
              className="text-accent-ink hover:underline"
              onClick={() => {
                setRecovery(!isRecovery);
                setCode("");
              }}
            >
              {isRecovery ? t.useApp : t.useRecovery}
            </button>
          }
        >
          <Input
            mono
            name="code"
            inputMode={isRecovery ? "text" : "numeric"}
            autoComplete="one-time-code"
            autoFocus
            value={code}
            onChange={(event) => setCode(event.target.value)}
          />
        </Field>
      </Form>
    </Frame>
  );
}
