/** What all pages of operators need: who may see them, what they may do, and a dialog that asks for a reason. */
import { ShieldAlert, ShieldCheck } from "lucide-react";
import { type FormEvent, type ReactNode, useId, useState } from "react";
import type { CustomerState, OperatorRight, OperatorRole, Session } from "@/api";
import { useSession } from "@/app/session";
import { Badge, Button, Dialog, Empty, Field, Input, Page, type PageProps, Problem, type Tone } from "@/kit";
import { useTexts } from "@/text";
import { operatorTexts } from "./texts";

/** The session with what it says of operators. */
export function useOperator(): { role: OperatorRole; may: (right: OperatorRight) => boolean } | null {
  const session: Session = useSession();
  if (session.person?.is_operator !== true) return null;
  const operator = session.operator ?? null;
  const rights = operator?.rights ?? [];
  return { role: operator?.role ?? "read_only", may: (right) => rights.includes(right) };
}
export function useMay(right: OperatorRight): boolean {
  return useOperator()?.may(right) ?? false;
}
/** Whether operator routes will answer: an operator, with a second factor. */
export function useIsAdmitted(): boolean {
  const session: Session = useSession();
  return session.person?.is_operator === true && session.operator?.needs_second_factor !== true;
}

/** A page of operators: others are told that it is none of theirs, and who has no second factor sets one up first. */
export function OperatorPage({ children, ...rest }: PageProps) {
  const t = useTexts(operatorTexts);
  const session: Session = useSession();
  const isOperator = session.person?.is_operator === true;
  if (isOperator && session.operator?.needs_second_factor !== true) return <Page {...rest}>{children}</Page>;
  const { action: _, ...plain } = rest;
  return (
    <Page {...plain}>
      <div className="rounded-card border border-line bg-surface">
        {isOperator ? (
          <Empty
            icon={<ShieldCheck aria-hidden />}
            title={t.secondFactor}
            text={t.secondFactorText}
            action={
              <Button variant="primary" href="/operator/second-factor">
                {t.setUp}
              </Button>
            }
          />
        ) : (
          <Empty icon={<ShieldAlert aria-hidden />} title={t.operatorsOnly} text={t.operatorsOnlyText} />
        )}
      </div>
    </Page>
  );
}

const stateTones: Record<CustomerState, Tone> = { active: "ok", suspended: "bad", closed: "neutral" };
export function StateBadge({ state }: { state: CustomerState }) {
  const t = useTexts(operatorTexts);
  return <Badge tone={stateTones[state]}>{t.states[state]}</Badge>;
}

export interface ActDialogProps {
  open: boolean;
  onClose: () => void;
  title: string;
  lead?: ReactNode;
  /** What follows, in the button itself. */
  consequence: string;
  /** Fields above the reason. */
  children?: ReactNode;
  /** Whether the fields are complete. */
  ready?: boolean;
  /** Without a reason only the fields are asked for. */
  hasReason?: boolean;
  tone?: "danger" | "primary";
  wide?: boolean;
  onAct: (reason: string) => Promise<unknown>;
}
/** Asks for what an action needs and why it is done; stays open with the problem when it fails. */
export function ActDialog(props: ActDialogProps) {
  const { open, onClose, title, lead, consequence, children, ready = true, hasReason = true, tone = "primary" } = props;
  const t = useTexts(operatorTexts);
  const form = useId();
  const [reason, setReason] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const close = () => {
    setReason("");
    setError(null);
    onClose();
  };
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (busy) return;
    setBusy(true);
    setError(null);
    try {
      await props.onAct(reason.trim());
      close();
    } catch (problem) {
      setError(problem);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog
      open={open}
      onClose={close}
      title={title}
      {...(lead === undefined ? {} : { lead })}
      wide={props.wide === true}
      footer={
        <>
          <Button onClick={close}>{t.cancel}</Button>
          <Button
            variant={tone}
            type="submit"
            form={form}
            busy={busy}
            disabled={!ready || (hasReason && reason.trim() === "")}
          >
            {consequence}
          </Button>
        </>
      }
    >
      <form id={form} onSubmit={(event) => void submit(event)} className="space-y-4">
        {children}
        {hasReason && (
          <Field label={t.reason} hint={t.reasonHint}>
            <Input value={reason} maxLength={500} onChange={(event) => setReason(event.target.value)} />
          </Field>
        )}
        {error !== null && <Problem error={error} compact />}
      </form>
    </Dialog>
  );
}

/** "0.4" as "0.4%"; a dash where there is none. */
export function percentText(value: string | null): string {
  return value === null ? "–" : `${value}%`;
}
