/** Money and secrets need the password once more. Any call may ask; the dialog opens and the call is repeated. */
import { useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useEffect, useId, useRef, useState } from "react";
import { ApiError, api, type Session, setClientHooks } from "@/api";
import { Button, Dialog, Field, Input, Problem } from "@/kit";
import { useTexts } from "@/text";
import { SESSION_KEY, useSession } from "./session";
import { appTexts } from "./texts";

export function StepUp() {
  const t = useTexts(appTexts).stepUp;
  const client = useQueryClient();
  const session: Session = useSession();
  const form = useId();
  const [open, setOpen] = useState(false);
  const [password, setPassword] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const waiting = useRef<((given: boolean) => void)[]>([]);

  useEffect(() => {
    setClientHooks({
      stepUp: () =>
        new Promise((resolve) => {
          waiting.current.push(resolve);
          setOpen(true);
        }),
      // The refetched session has no user, and the frame redirects to the sign-in page.
      signedOut: () => void client.invalidateQueries({ queryKey: SESSION_KEY }),
    });
  }, [client]);

  const finish = (given: boolean) => {
    for (const resolve of waiting.current) resolve(given);
    waiting.current = [];
    setOpen(false);
    setPassword("");
    setError(null);
  };
  // Who has no password and a second factor gives its code instead.
  const byCode = session.person?.has_password === false && session.second_factor?.is_enabled === true;
  const byProvider = session.person?.has_password === false && !byCode;
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      client.setQueryData(
        SESSION_KEY,
        await api.post<Session>("/api/session/step-up", byCode ? { code: password.trim() } : { password }),
      );
      finish(true);
    } catch (problem) {
      setError(problem);
    } finally {
      setBusy(false);
    }
  };
  const providers = byProvider ? session.instance.providers : [];
  const wrong = error instanceof ApiError && error.code === "sign_in_failed";
  return (
    <Dialog
      open={open}
      onClose={() => finish(false)}
      title={t.title}
      lead={t.lead}
      footer={
        <>
          <Button onClick={() => finish(false)}>{t.cancel}</Button>
          {!byProvider && (
            <Button variant="primary" type="submit" form={form} busy={busy} disabled={password === ""}>
              {t.confirm}
            </Button>
          )}
        </>
      }
    >
      {byProvider ? (
        <div className="space-y-2">
          <p className="text-ink-2">{t.provider}</p>
          {providers.map((provider) => (
            <Button
              key={provider.id}
              className="w-full"
              href={`/api/oidc/${encodeURIComponent(provider.id)}/start?return_to=${encodeURIComponent(location.pathname + location.search)}`}
            >
              {t.with(provider.name)}
            </Button>
          ))}
        </div>
      ) : (
        <form id={form} onSubmit={(event) => void submit(event)}>
          {/* The password manager of the browser needs to know whose password it is. */}
          <input
            type="email"
            name="email"
            autoComplete="username"
            value={session.person?.email ?? ""}
            readOnly
            hidden
          />
          <Field label={byCode ? t.code : t.password} error={wrong ? (byCode ? t.wrongCode : t.wrong) : undefined}>
            <Input
              type={byCode ? "text" : "password"}
              name={byCode ? "code" : "password"}
              autoComplete={byCode ? "one-time-code" : "current-password"}
              autoFocus
              value={password}
              onChange={(event) => setPassword(event.target.value)}
            />
          </Field>
          {error !== null && !wrong && <Problem error={error} compact className="mt-3" />}
        </form>
      )}
    </Dialog>
  );
}
