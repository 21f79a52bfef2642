/** What the playground remembers while the tab is open: drafts by task, and the last runs. Nothing is stored. */
import { useSyncExternalStore } from "react";
import type { PlaygroundTask } from "@/pages/catalog/record";
import { type Draft, EMPTY_DRAFT } from "./draft";

const drafts = new Map<PlaygroundTask, Draft>();

export function draftOf(task: PlaygroundTask): Draft {
  return drafts.get(task) ?? EMPTY_DRAFT;
}

export function keepDraft(task: PlaygroundTask, draft: Draft): void {
  drafts.set(task, draft);
}

export interface PastRun {
  id: number;
  at: string;
  task: PlaygroundTask;
  name: string;
  state: "running" | "done" | "failed" | "stopped";
  quotedUsd: string | null;
  costUsd: string | null;
  requestId: string | null;
  draft: Draft;
}

/** How many runs are listed. */
export const MOST_RUNS = 20;

let runs: readonly PastRun[] = [];
let last = 0;
const listeners = new Set<() => void>();

function put(next: readonly PastRun[]): void {
  runs = next;
  for (const listener of listeners) listener();
}

export function addRun(run: Omit<PastRun, "id" | "at" | "state" | "costUsd" | "requestId">): number {
  last += 1;
  const entry: PastRun = {
    ...run,
    id: last,
    at: new Date().toISOString(),
    state: "running",
    costUsd: null,
    requestId: null,
  };
  put([entry, ...runs].slice(0, MOST_RUNS));
  return last;
}

export function endRun(id: number, end: Pick<PastRun, "state" | "costUsd" | "requestId">): void {
  put(runs.map((run) => (run.id === id ? { ...run, ...end } : run)));
}

export function useRuns(): readonly PastRun[] {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => runs,
  );
}
