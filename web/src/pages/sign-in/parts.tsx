import { clsx } from "clsx";
import { Eye, EyeOff } from "lucide-react";
import { type FormEvent, type ReactNode, useCallback, useEffect, useState } from "react";
import { ApiError, type Session } from "@/api";
import { useSession, useTakeSession } from "@/app/session";
import { Button, Field, IconButton, Input, Problem, useGo } from "@/kit";
import { useTexts } from "@/text";
import { Frame, TextLink } from "./Frame";
import { PASSWORD_LEAST, type Strength, strength } from "./strength";
import { signInTexts } from "./texts";

/**
 * Takes the new session and goes on once the page knows of it. Going at once is too early: a page whose code is loaded
 * already would be drawn with the session before, find no user signed in, and lead back here.
 */
export function useEnter(): (session: Session, to?: string) => void {
  const take = useTakeSession();
  const go = useGo();
  const known = useSession();
  const [wanted, setWanted] = useState<{ session: Session; to: string } | null>(null);
  useEffect(() => {
    const isKnown = wanted !== null && known.signed_in && known.person?.id === wanted.session.person?.id;
    if (isKnown) go(wanted.to, undefined, true);
  }, [wanted, known, go]);
  return useCallback(
    (session, to = "/") => {
      take(session);
      setWanted({ session, to });
    },
    [take],
  );
}

export interface Submit {
  busy: boolean;
  error: unknown;
  /** The problem that belongs to one field. */
  at: (param: string) => string | undefined;
  onSubmit: (event: FormEvent) => void;
}
/** Runs a form's call and keeps its problem. */
export function useSubmit(act: () => Promise<void>): Submit {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  return {
    busy,
    error,
    at: (param) => (error instanceof ApiError && error.param === param ? error.message : undefined),
    onSubmit: (event) => {
      event.preventDefault();
      if (busy) return;
      setBusy(true);
      setError(null);
      act().then(
        () => setBusy(false),
        (problem: unknown) => {
          setError(problem);
          setBusy(false);
        },
      );
    },
  };
}

export function Form({
  submit,
  label,
  children,
  hide,
}: {
  submit: Submit;
  label: string;
  children: ReactNode;
  hide?: (error: ApiError) => ReactNode;
}) {
  const { error } = submit;
  const fields = error instanceof ApiError && error.param !== null;
  const own = error instanceof ApiError ? hide?.(error) : undefined;
  return (
    <form className="space-y-4" onSubmit={submit.onSubmit} noValidate>
      {own !== undefined && own !== null && (
        <p role="alert" className="rounded-card border border-bad-line/40 bg-bad-soft px-3 py-2 text-[13px] text-ink">
          {own}
        </p>
      )}
      {error !== null && (own === undefined || own === null) && !fields && <Problem error={error} compact />}
      {children}
      <Button variant="primary" type="submit" busy={submit.busy} className="mt-2 w-full">
        {label}
      </Button>
    </form>
  );
}

export function PasswordField(props: {
  value: string;
  onChange: (value: string) => void;
  label?: string;
  /** A new password gets a hint how good it is. */
  fresh?: boolean;
  known?: readonly string[];
  error?: string | undefined;
  aside?: ReactNode;
}) {
  const t = useTexts(signInTexts);
  const [shown, setShown] = useState(false);
  const fresh = props.fresh === true;
  return (
    <div>
      <Field label={props.label ?? t.password} error={props.error} aside={props.aside}>
        <Input
          type={shown ? "text" : "password"}
          name={fresh ? "new-password" : "password"}
          autoComplete={fresh ? "new-password" : "current-password"}
          autoCapitalize="none"
          spellCheck={false}
          value={props.value}
          onChange={(event) => props.onChange(event.target.value)}
          after={
            <IconButton
              label={shown ? t.hidePassword : t.showPassword}
              aria-pressed={shown}
              icon={shown ? <EyeOff aria-hidden /> : <Eye aria-hidden />}
              onClick={() => setShown(!shown)}
              className="size-7!"
            />
          }
        />
      </Field>
      {fresh && <StrengthHint value={strength(props.value, props.known)} />}
    </div>
  );
}

function StrengthHint({ value }: { value: Strength }) {
  const t = useTexts(signInTexts).strength;
  const level = { empty: 0, short: 1, weak: 1, fair: 2, strong: 3 }[value];
  const words = {
    empty: t.short(PASSWORD_LEAST),
    short: t.short(PASSWORD_LEAST),
    weak: t.weak,
    fair: t.fair,
    strong: t.strong,
  }[value];
  const colour = level >= 3 ? "bg-ok-line" : level === 2 ? "bg-warn-line" : "bg-bad-line";
  return (
    <div className="mt-2">
      <div aria-hidden className="flex gap-1">
        {[1, 2, 3].map((step) => (
          <span
            key={step}
            className={clsx(
              "h-1 flex-1 rounded-full transition-colors duration-100",
              step <= level ? colour : "bg-line",
            )}
          />
        ))}
      </div>
      <p role="status" className="mt-1.5 min-h-4 text-xs text-ink-3">
        {words}
      </p>
    </div>
  );
}

export function EmailField({
  value,
  onChange,
  error,
  autoFocus = false,
}: {
  value: string;
  onChange: (value: string) => void;
  error?: string | undefined;
  autoFocus?: boolean;
}) {
  const t = useTexts(signInTexts);
  return (
    <Field label={t.email} error={error}>
      <Input
        type="email"
        name="email"
        inputMode="email"
        autoComplete="username"
        autoCapitalize="none"
        spellCheck={false}
        autoFocus={autoFocus}
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
    </Field>
  );
}

/** A link whose token is missing, used or over: one text for all of them. */
export function BadLink({ action }: { action?: ReactNode }) {
  const t = useTexts(signInTexts);
  return (
    <Frame
      title={t.badLink.title}
      lead={t.badLink.text}
      foot={action ?? <TextLink href="/sign-in">{t.backToSignIn}</TextLink>}
    />
  );
}
export function isBadToken(error: unknown): boolean {
  return error instanceof ApiError && error.code === "token_invalid";
}
