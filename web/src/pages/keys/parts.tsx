/** What the pages of keys have in common. */
import { CircleCheck, CirclePause, CircleX, Clock } from "lucide-react";
import type { Budget, Key } from "@/api";
import { Badge, Copy, format, Progress, type Tone } from "@/kit";
import { useTexts } from "@/text";
import { percentUsed } from "./form";
import { keysTexts } from "./texts";

const STATE_TONE: Record<Key["state"], Tone> = { active: "ok", disabled: "warn", expired: "neutral", revoked: "bad" };

export function StateBadge({ state }: { state: Key["state"] }) {
  const t = useTexts(keysTexts);
  const icon = {
    active: <CircleCheck aria-hidden />,
    disabled: <CirclePause aria-hidden />,
    expired: <Clock aria-hidden />,
    revoked: <CircleX aria-hidden />,
  }[state];
  return (
    <Badge tone={STATE_TONE[state]} icon={icon}>
      {t.states[state]}
    </Badge>
  );
}

function budgetTone(percent: number): "accent" | "warn" | "bad" {
  if (percent >= 100) return "bad";
  return percent >= 80 ? "warn" : "accent";
}

/** How far a budget is used: a bar, and the amounts that it means. */
export function BudgetBar({ budget, compact = false }: { budget: Budget; compact?: boolean }) {
  const t = useTexts(keysTexts);
  const percent = percentUsed(budget.used_usd, budget.limit_usd);
  const words = t.budgetOf(
    format.money(budget.used_usd, "balance"),
    format.money(budget.limit_usd, "balance"),
    t.periods[budget.period],
  );
  const bar = <Progress value={percent / 100} label={words} tone={budgetTone(percent)} />;
  if (compact) {
    return (
      <span className="flex w-full items-center gap-2.5">
        <span className="w-12 shrink-0">{bar}</span>
        <span className="min-w-0 truncate text-[13px] text-ink-2 tabular-nums" data-tip={words}>
          {words}
        </span>
      </span>
    );
  }
  return (
    <div>
      <div className="mb-1.5 flex flex-wrap items-baseline justify-between gap-x-3">
        <span className="text-ink tabular-nums">{words}</span>
        {percent >= 100 && <span className="text-xs font-medium text-bad">{t.budgetFull}</span>}
      </div>
      {bar}
    </div>
  );
}

/** A secret, this once: whole, selectable, with one large way to copy it. */
export function SecretOnce({ secret }: { secret: string }) {
  const t = useTexts(keysTexts);
  return (
    <div>
      <div className="flex flex-wrap items-center gap-3 rounded-card border border-line-strong bg-sunken p-3">
        <code className="num min-w-0 flex-1 basis-56 text-[13px] leading-5 [overflow-wrap:anywhere] text-ink select-all">
          {secret}
        </code>
        <Copy text={secret} label={t.copyKey} word />
      </div>
      <p className="mt-3 text-ink-2">{t.madeLead}</p>
    </div>
  );
}
