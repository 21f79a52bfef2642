/** How one task is told in a line: its state, how far it is, and its money. */
import { Ban, CircleAlert, CircleCheck, Hourglass, LoaderCircle, Undo2 } from "lucide-react";
import type { ReactNode } from "react";
import type { Task } from "@/api";
import { Badge, Money, Progress, type Tone } from "@/kit";
import { useTexts } from "@/text";
import { isRunning, moneyState } from "./logic";
import { taskTexts } from "./texts";

const tones: Record<Task["state"], { tone: Tone; icon: ReactNode }> = {
  queued: { tone: "warn", icon: <Hourglass aria-hidden /> },
  in_progress: { tone: "info", icon: <LoaderCircle aria-hidden /> },
  completed: { tone: "ok", icon: <CircleCheck aria-hidden /> },
  failed: { tone: "bad", icon: <CircleAlert aria-hidden /> },
  cancelled: { tone: "neutral", icon: <Ban aria-hidden /> },
};

export function stateLook(state: Task["state"]) {
  return tones[state];
}

export function StateBadge({ state }: { state: Task["state"] }) {
  const t = useTexts(taskTexts);
  return (
    <Badge tone={tones[state].tone} icon={tones[state].icon}>
      {t.states[state]}
    </Badge>
  );
}

/** Real progress, or an estimate that says so; nothing for a task that has ended. */
export function TaskProgress({ task, aside }: { task: Task; aside?: ReactNode }) {
  const t = useTexts(taskTexts);
  if (!isRunning(task)) return null;
  const percent = task.progress === null ? null : Math.round(Math.min(Math.max(task.progress, 0), 100));
  const text =
    task.state === "queued"
      ? t.waiting
      : percent === null
        ? t.progressNone
        : task.progress_is_estimate
          ? t.progressEstimate(percent)
          : t.progressReal(percent);
  return (
    <div className="min-w-0">
      <Progress value={task.state === "queued" ? 0 : percent === null ? null : percent / 100} label={text} />
      <div className="mt-1 flex items-baseline justify-between gap-3">
        <p className="min-w-0 truncate text-xs text-ink-3">{text}</p>
        {aside !== undefined && <span className="shrink-0 text-[13px]">{aside}</span>}
      </div>
    </div>
  );
}

export function TaskMoney({ task }: { task: Task }) {
  const t = useTexts(taskTexts);
  const state = moneyState(task);
  if (state === "reserved" || state === "free") return <span className="text-ink-3">{t.money[state]}</span>;
  return (
    <span className="inline-flex shrink-0 items-center gap-1.5">
      {state !== "charged" && (
        <span className="inline-flex items-center gap-1 text-xs text-refund">
          <Undo2 aria-hidden className="size-3.5" />
          {t.money[state]}
        </span>
      )}
      <Money
        usd={task.cost_usd}
        kind="call"
        {...(state === "refunded" ? { className: "text-ink-3 line-through" } : {})}
      />
    </span>
  );
}
