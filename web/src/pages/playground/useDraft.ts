/** The playground's state: a draft, the quote that follows it, and a run. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useCallback, useEffect, useRef, useState } from "react";
import { ApiError, isAbort } from "@/api";
import { useSettled } from "@/kit";
import type { PlaygroundTask } from "@/pages/catalog/record";
import { callDataPlane } from "./dataPlaneClient";
import { type Draft, type FileFacts, type Plan, usableFormat } from "./draft";
import type { ChatFormat } from "./forms";
import type { Quote } from "./quote";
import { NO_FACTS, type Output, type RunFacts, runPlan } from "./run";
import { addRun, endRun } from "./sessionHistory";

const QUOTE_AFTER_MS = 300;

export interface QuoteView {
  quote: Quote | null;
  error: unknown;
  /** The quote shown is of what was typed before. */
  stale: boolean;
  waiting: boolean;
}

/** Asks for the price of what is in the form, a moment after the last key. */
export function useQuote(base: string, plan: Plan | null, enabled: boolean): QuoteView {
  const now = plan?.quote == null ? "" : JSON.stringify(plan.quote);
  const settled = useSettled(now, QUOTE_AFTER_MS);
  const question = now === "" ? "" : settled;
  const answer = useQuery({
    queryKey: ["quote", base, question],
    queryFn: async ({ signal }) => {
      const response = await callDataPlane(
        { method: "POST", url: `${base}/quotes`, body: JSON.parse(question) },
        signal,
      );
      return (await response.json()) as Quote;
    },
    enabled: enabled && question !== "",
    placeholderData: keepPreviousData,
    retry: false,
    staleTime: 60_000,
    gcTime: 60_000,
  });
  if (question === "") return { quote: null, error: null, stale: false, waiting: false };
  const stale = answer.isPlaceholderData || now !== settled;
  return {
    quote: answer.error === null ? (answer.data ?? null) : null,
    error: now === settled ? answer.error : null,
    stale,
    waiting: answer.isFetching && answer.data === undefined,
  };
}

export interface RunView {
  state: "idle" | "running" | "done" | "failed" | "stopped";
  output: Output | null;
  facts: RunFacts;
  error: unknown;
  /** What was promised when it began. */
  quote: Quote | null;
}

const IDLE: RunView = { state: "idle", output: null, facts: NO_FACTS, error: null, quote: null };

interface StartInput {
  task: PlaygroundTask;
  name: string;
  draft: Draft;
  format: ChatFormat;
  plan: Plan;
  fileOf: (upload: string) => File | null;
  quote: Quote | null;
}

/** What the page does when a run has ended: with its result, with what had come of it, or with nothing. */
export type RunEnd = { state: "done"; output: Output } | { state: "stopped" | "failed"; output: Output | null };

export function useRun(onEnd: (end: RunEnd) => void): {
  view: RunView;
  start: (input: StartInput) => void;
  stop: () => void;
  reset: () => void;
} {
  const [view, setView] = useState<RunView>(IDLE);
  const control = useRef<AbortController | null>(null);
  const ended = useRef(onEnd);
  useEffect(() => {
    ended.current = onEnd;
  });
  useEffect(() => () => control.current?.abort(), []);
  const start = useCallback((input: StartInput) => {
    const abort = new AbortController();
    control.current = abort;
    const maxUsd = input.quote?.maximum_usd ?? null;
    const id = addRun({ task: input.task, name: input.name, quotedUsd: maxUsd, draft: input.draft });
    setView({ ...IDLE, state: "running", quote: input.quote });
    let seen: RunFacts = NO_FACTS;
    let came: Output | null = null;
    const onProgress = (output: Output, facts: RunFacts) => {
      seen = facts;
      came = output;
      setView((now) => ({ ...now, output, facts }));
    };
    runPlan({ ...input, maxUsd, signal: abort.signal, onProgress }).then(
      ({ output, facts }) => {
        const failed = output.kind === "video" && output.task.status !== "completed";
        endRun(id, { state: failed ? "failed" : "done", costUsd: facts.costUsd, requestId: facts.requestId });
        setView((now) => ({ ...now, state: failed ? "failed" : "done", output, facts }));
        ended.current(failed ? { state: "failed", output } : { state: "done", output });
      },
      (error: unknown) => {
        const stopped = isAbort(error);
        const requestId = error instanceof ApiError ? error.requestId : seen.requestId;
        endRun(id, { state: stopped ? "stopped" : "failed", costUsd: stopped ? null : "0", requestId });
        setView((now) => ({ ...now, state: stopped ? "stopped" : "failed", error: stopped ? null : error }));
        ended.current({ state: stopped ? "stopped" : "failed", output: came });
      },
    );
  }, []);
  const stop = useCallback(() => control.current?.abort(), []);
  const reset = useCallback(() => setView(IDLE), []);
  return { view, start, stop, reset };
}

/** A recording's length as this browser reads it, or null where it cannot. */
export function useFileFacts(file: File | null): FileFacts | null {
  const [seconds, setSeconds] = useState<{ file: File; seconds: number | null } | null>(null);
  useEffect(() => {
    if (file === null) return;
    const url = URL.createObjectURL(file);
    const audio = new Audio();
    const tell = (length: number | null) => {
      setSeconds({ file, seconds: length });
      URL.revokeObjectURL(url);
    };
    audio.preload = "metadata";
    audio.onloadedmetadata = () => tell(Number.isFinite(audio.duration) ? audio.duration : null);
    audio.onerror = () => tell(null);
    audio.src = url;
    return () => {
      audio.onloadedmetadata = null;
      audio.onerror = null;
      audio.removeAttribute("src");
      URL.revokeObjectURL(url);
    };
  }, [file]);
  if (file === null) return null;
  return {
    name: file.name,
    bytes: file.size,
    type: file.type,
    seconds: seconds?.file === file ? seconds.seconds : null,
  };
}

export { usableFormat };
