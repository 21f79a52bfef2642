import { useEffect, useState } from "react";
import { api, type Session } from "@/api";
import { useSession, useTakeSession } from "@/app/session";
import { Button, useGo, useSearch } from "@/kit";
import { useTexts } from "@/text";
import { Frame, TextLink } from "./Frame";
import { EmailField, Form, PasswordField, useEnter, useSubmit } from "./parts";
import { safeReturn } from "./return";
import { SecondStep } from "./SecondStep";
import { signInTexts } from "./texts";

export default function SignInPage() {
  const t = useTexts(signInTexts);
  const session: Session = useSession();
  const { instance, signed_in } = session;
  const take = useTakeSession();
  const [search] = useSearch();
  const go = useGo();
  const enter = useEnter();
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  // Read once: the address changes under this page while the next one is still loading.
  const [to] = useState(() => safeReturn(search["return_to"]));
  const submit = useSubmit(async () => {
    const next = await api.post<Session>("/api/session", { email: email.trim(), password });
    // The password was right; the code of the second factor is still to be given.
    if (next.second_factor?.is_needed === true) take(next);
    else enter(next, to);
  });
  useEffect(() => {
    if (signed_in) go(to, undefined, true);
    else if (instance.needs_setup) go("/setup", undefined, true);
  }, [signed_in, instance.needs_setup, to, go]);
  if (!signed_in && session.second_factor?.is_needed === true) return <SecondStep to={to} />;
  return (
    <Frame
      title={t.signIn.title(instance.name)}
      lead={t.signIn.lead}
      foot={
        instance.sign_up === "open" ? (
          <>
            {t.signIn.noAccount} <TextLink href="/sign-up">{t.signIn.signUp}</TextLink>
          </>
        ) : (
          <span className="text-ink-3">{t.signIn.closed}</span>
        )
      }
    >
      {instance.mode === "dev" && (
        <p className="mb-4 rounded-card border border-line bg-sunken px-3 py-2 text-[13px] text-ink-2">{t.dev.hint}</p>
      )}
      {search["error"] !== undefined && submit.error === null && (
        <p role="alert" className="mb-4 rounded-card border border-bad-line/40 bg-bad-soft px-3 py-2 text-[13px]">
          {t.signIn.providerFailed}
        </p>
      )}
      {instance.providers.length > 0 && (
        <>
          <div className="space-y-2">
            {instance.providers.map((provider) => (
              <Button
                key={provider.id}
                className="w-full"
                href={`/api/oidc/${encodeURIComponent(provider.id)}/start?return_to=${encodeURIComponent(to)}`}
              >
                <span className="truncate">{t.with(provider.name)}</span>
              </Button>
            ))}
          </div>
          <div className="my-5 flex items-center gap-3 text-xs text-ink-3">
            <span className="h-px flex-1 bg-line" />
            {t.or}
            <span className="h-px flex-1 bg-line" />
          </div>
        </>
      )}
      <Form
        submit={submit}
        label={t.signIn.submit}
        hide={(error) => (error.code === "sign_in_failed" ? t.signIn.failed : undefined)}
      >
        <EmailField value={email} onChange={setEmail} error={submit.at("email")} autoFocus />
        <PasswordField
          value={password}
          onChange={setPassword}
          error={submit.at("password")}
          aside={<TextLink href="/forgot">{t.signIn.forgot}</TextLink>}
        />
      </Form>
    </Frame>
  );
}
