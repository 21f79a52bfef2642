// What the pages of tasks work out by themselves.
import type { Task, TaskDetail } from "@/api";
import { isNothing, minusUsd, nano } from "@/kit/records/money";

export const STATES = ["queued", "in_progress", "completed", "failed", "cancelled"] as const;
export type State = (typeof STATES)[number];

export function isRunning(task: Pick<Task, "state">): boolean {
  return task.state === "queued" || task.state === "in_progress";
}

const FIRST_WAIT = 2_000;
const LONGEST_WAIT = 15_000;
/** Answers at the first pace before the pace slows. */
const QUICK_ANSWERS = 15;

/** How long to wait before asking again: every two seconds at first, then less and less often. False: nothing runs. */
export function waitBeforeAsking(running: boolean, answers: number): number | false {
  if (!running) return false;
  const late = Math.max(0, answers - QUICK_ANSWERS);
  return Math.min(LONGEST_WAIT, Math.round(FIRST_WAIT * 1.15 ** late));
}

export type MoneyState = "reserved" | "charged" | "refunded" | "partly_refunded" | "free";

/** What became of a task's money. Before the upstream took it, it is only reserved. */
export function moneyState(task: Pick<Task, "state" | "cost_usd" | "refunded_usd">): MoneyState {
  const back = nano(task.refunded_usd);
  if (back > 0n) return back >= nano(task.cost_usd) ? "refunded" : "partly_refunded";
  if (isNothing(task.cost_usd)) return task.state === "queued" ? "reserved" : "free";
  return "charged";
}

/** What is reserved for a task, by its timeline; null when it is unknown. */
export function reservedUsd(detail: Pick<TaskDetail, "timeline">): string | null {
  return detail.timeline.find((step) => step.what === "held")?.amount_usd ?? null;
}

/** What would go back if the task were stopped now: what was charged and not given back, else what is reserved. */
export function wouldGoBack(detail: Pick<TaskDetail, "timeline" | "cost_usd" | "refunded_usd">): string | null {
  if (!isNothing(detail.cost_usd)) return minusUsd(detail.cost_usd, detail.refunded_usd);
  return reservedUsd(detail);
}

/** Oldest first, whatever order they came in; equal moments keep their order. */
export function inOrder(timeline: TaskDetail["timeline"]): TaskDetail["timeline"] {
  return [...timeline].sort((one, other) => Date.parse(one.at) - Date.parse(other.at));
}

/** The file's end of name, for a download that opens. */
export function fileName(task: Pick<Task, "id" | "media">): string {
  const kind = task.media?.content_type.split(";")[0]?.trim() ?? "";
  const ends: Record<string, string> = { "video/mp4": "mp4", "video/webm": "webm", "video/quicktime": "mov" };
  return `${task.id}.${ends[kind] ?? "mp4"}`;
}

/** The first frame: a moment after the beginning, which is black in many videos. */
export function firstFrame(url: string): string {
  return `${url.split("#")[0]}#t=0.1`;
}
