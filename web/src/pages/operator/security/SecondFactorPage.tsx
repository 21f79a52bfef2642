import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { ApiError, api, type SecondFactor, type Session } from "@/api";
import { SESSION_KEY, useSession } from "@/app/session";
import { Badge, Button, Card, Code, Confirm, Field, Input, Page, Problem, Skeleton, toast, useGo, When } from "@/kit";
import { useTexts } from "@/text";
import { secondFactorTexts } from "./texts";

interface Enrolment {
  secret: string;
  uri: string;
}

/** Sets up the second factor of the person who is signed in, and shows its recovery codes once. */
export default function SecondFactorPage() {
  const t = useTexts(secondFactorTexts);
  const go = useGo();
  const client = useQueryClient();
  const session: Session = useSession();
  const [enrolment, setEnrolment] = useState<Enrolment | null>(null);
  const [codes, setCodes] = useState<string[] | null>(null);
  const { data, error, refetch } = useQuery({
    queryKey: ["second-factor"],
    queryFn: ({ signal }) => api.get<SecondFactor>("/api/second-factor", { signal }),
  });
  const enrol = useMutation({
    mutationFn: () => api.post<Enrolment>("/api/second-factor/enrol"),
    onSuccess: setEnrolment,
    onError: (problem) => toast(problem.message, "bad"),
  });
  const refresh = async () => {
    await client.invalidateQueries({ queryKey: ["second-factor"] });
    await client.invalidateQueries({ queryKey: SESSION_KEY });
  };
  const isOperator = session.person?.is_operator === true;
  return (
    <Page title={t.title} lead={t.lead}>
      <div className="max-w-xl space-y-6">
        {error !== null && data === undefined ? (
          <Problem error={error} retry={() => void refetch()} />
        ) : data === undefined ? (
          <Skeleton className="h-16!" />
        ) : codes !== null ? (
          <RecoveryCodes
            codes={codes}
            onDone={async () => {
              setCodes(null);
              setEnrolment(null);
              await refresh();
              if (isOperator) go("/operator");
            }}
          />
        ) : enrolment !== null ? (
          <Enrol enrolment={enrolment} onConfirmed={setCodes} />
        ) : (
          <State
            factor={data}
            busy={enrol.isPending}
            onEnrol={() => enrol.mutate()}
            onCodes={setCodes}
            onChange={refresh}
          />
        )}
      </div>
    </Page>
  );
}

interface StateProps {
  factor: SecondFactor;
  busy: boolean;
  onEnrol: () => void;
  onCodes: (codes: string[]) => void;
  onChange: () => Promise<void>;
}
function State({ factor, busy, onEnrol, onCodes, onChange }: StateProps) {
  const t = useTexts(secondFactorTexts);
  const [asking, setAsking] = useState<"codes" | "off" | null>(null);
  return (
    <Card
      title={
        <span className="flex items-center gap-2">
          {t.title} <Badge tone={factor.is_enabled ? "ok" : "warn"}>{factor.is_enabled ? t.on : t.off}</Badge>
        </span>
      }
    >
      {factor.is_enabled && (
        <p className="mb-4 text-ink-2">
          {factor.enabled_at !== null && (
            <>
              {t.since} <When at={factor.enabled_at} /> ·{" "}
            </>
          )}
          {t.left(factor.recovery_codes_left)}
        </p>
      )}
      <div className="flex flex-wrap gap-2">
        <Button variant={factor.is_enabled ? "quiet" : "primary"} busy={busy} onClick={onEnrol}>
          {factor.is_enabled ? t.again : t.start}
        </Button>
        {factor.is_enabled && <Button onClick={() => setAsking("codes")}>{t.codes.fresh}</Button>}
        {factor.is_enabled && !factor.is_required && <Button onClick={() => setAsking("off")}>{t.disable}</Button>}
      </div>
      {factor.is_enabled && factor.is_required && <p className="mt-3 text-xs text-ink-3">{t.required}</p>}
      <Confirm
        open={asking === "codes"}
        onClose={() => setAsking(null)}
        tone="primary"
        title={t.codes.freshTitle}
        consequence={t.codes.fresh}
        onConfirm={async () => {
          const made = await api.post<{ recovery_codes: string[] }>("/api/second-factor/recovery-codes");
          onCodes(made.recovery_codes);
        }}
      >
        {t.codes.freshText}
      </Confirm>
      <Confirm
        open={asking === "off"}
        onClose={() => setAsking(null)}
        title={t.disableTitle}
        consequence={t.disable}
        onConfirm={async () => {
          await api.post("/api/second-factor/disable");
          await onChange();
          toast(t.disabled);
        }}
      >
        {t.disableText}
      </Confirm>
    </Card>
  );
}

function Enrol({ enrolment, onConfirmed }: { enrolment: Enrolment; onConfirmed: (codes: string[]) => void }) {
  const t = useTexts(secondFactorTexts).steps;
  const [code, setCode] = useState("");
  const confirm = useMutation({
    mutationFn: () => api.post<{ recovery_codes: string[] }>("/api/second-factor/confirm", { code: code.trim() }),
    onSuccess: (made) => onConfirmed(made.recovery_codes),
  });
  const isWrong = confirm.error instanceof ApiError && confirm.error.code === "sign_in_failed";
  const submit = (event: FormEvent) => {
    event.preventDefault();
    confirm.mutate();
  };
  return (
    <>
      <Card title={t.secret}>
        <p className="mb-3 text-ink-2">{t.secretText}</p>
        <a
          href={enrolment.uri}
          className="mb-4 inline-flex h-9 items-center rounded-card border border-line-strong bg-surface px-3.5 font-medium hover:bg-hover"
        >
          {t.open}
        </a>
        <Code wrap language={t.key} text={enrolment.secret} />
      </Card>
      <Card title={t.code}>
        <form onSubmit={submit} className="flex flex-wrap items-start gap-3">
          <Field label={t.codeLabel} error={isWrong ? t.wrong : undefined} className="w-48">
            <Input
              mono
              inputMode="numeric"
              autoComplete="one-time-code"
              maxLength={6}
              autoFocus
              value={code}
              onChange={(event) => setCode(event.target.value)}
            />
          </Field>
          <Button
            variant="primary"
            type="submit"
            className="mt-[26px]"
            busy={confirm.isPending}
            disabled={!/^\d{6}$/.test(code.trim())}
          >
            {t.confirm}
          </Button>
        </form>
        {confirm.error !== null && !isWrong && <Problem error={confirm.error} compact className="mt-3" />}
      </Card>
    </>
  );
}

function RecoveryCodes({ codes, onDone }: { codes: string[]; onDone: () => Promise<void> }) {
  const t = useTexts(secondFactorTexts).codes;
  return (
    <Card title={t.title}>
      <p className="mb-3 text-ink-2">{t.lead}</p>
      <Code text={codes.join("\n")} />
      <Button variant="primary" className="mt-4" onClick={() => void onDone()}>
        {t.done}
      </Button>
    </Card>
  );
}
