import { clsx } from "clsx";
import { Ban, CircleAlert, CircleCheck, CircleDashed, Clock, Info, Undo2, UserX } from "lucide-react";
import type { ReactNode } from "react";
import type { Outcome } from "@/api";
import { useTexts } from "@/text";
import type { Tone } from "./Page";
import { kitTexts } from "./texts";

const looks: Record<Tone, string> = {
  ok: "bg-ok-soft text-ok",
  warn: "bg-warn-soft text-warn",
  bad: "bg-bad-soft text-bad",
  info: "bg-info-soft text-info",
  refund: "bg-refund-soft text-refund",
  neutral: "bg-sunken text-ink-2",
};
const icons: Record<Tone, ReactNode> = {
  ok: <CircleCheck aria-hidden />,
  warn: <CircleAlert aria-hidden />,
  bad: <CircleAlert aria-hidden />,
  info: <Info aria-hidden />,
  refund: <Undo2 aria-hidden />,
  neutral: null,
};

export interface BadgeProps {
  tone?: Tone;
  /** Left out: the tone's own icon. `null`: none. */
  icon?: ReactNode;
  children: ReactNode;
  className?: string | undefined;
}
export function Badge({ tone = "neutral", icon, children, className }: BadgeProps) {
  return (
    <span
      className={clsx(
        "inline-flex h-[22px] max-w-full items-center gap-1 rounded-md px-1.5 text-xs font-medium whitespace-nowrap [&_svg]:size-3.5 [&_svg]:shrink-0",
        looks[tone],
        className,
      )}
    >
      {icon === undefined ? icons[tone] : icon}
      <span className="min-w-0 truncate">{children}</span>
    </span>
  );
}

/** How bad an outcome is for the caller. */
export function outcomeTone(outcome: Outcome): Tone {
  switch (outcome) {
    case "complete":
      return "ok";
    case "accepted":
      return "info";
    case "client_gone":
    case "cancelled":
      return "neutral";
    case "balance_exhausted":
    case "expired":
    case "drained":
    case "interrupted":
      return "warn";
    case "refused":
    case "upstream_failed":
    case "upstream_timeout":
    case "no_result":
    case "database_away":
      return "bad";
  }
}
const outcomeIcons: Partial<Record<Outcome, ReactNode>> = {
  accepted: <CircleDashed aria-hidden />,
  client_gone: <UserX aria-hidden />,
  cancelled: <Ban aria-hidden />,
  refused: <Ban aria-hidden />,
  upstream_timeout: <Clock aria-hidden />,
  expired: <Clock aria-hidden />,
};
export function OutcomeBadge({ outcome }: { outcome: Outcome }) {
  const t = useTexts(kitTexts);
  return (
    <Badge tone={outcomeTone(outcome)} icon={outcomeIcons[outcome]}>
      {t.outcome[outcome] ?? outcome}
    </Badge>
  );
}
