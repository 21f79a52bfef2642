/** Making the call of a plan, and what comes back, by task. */
import { problemOf } from "@/api";
import type { PlaygroundTask } from "@/pages/catalog/record";
import { callDataPlane, type DataPlaneCall, withDocs } from "./dataPlaneClient";
import type { Plan } from "./draft";
import type { ChatFormat, Json } from "./forms";
import { FrameReader, type Piece, readPiece } from "./stream";
import { parseKeepingNumbers } from "./table";

export interface VideoTask {
  id: string;
  status: "queued" | "in_progress" | "completed" | "failed" | "cancelled";
  progress: number;
  created_at: number;
  completed_at: number | null;
  expires_at: number | null;
  error?: { code: string; message: string } | null;
  metadata?: { cost_usd?: string; url?: string } | null;
}

export type Output =
  | { kind: "chat"; text: string; thought: string; stop: string | null }
  | { kind: "images"; urls: string[]; failed: number; endsAt: number | null }
  | { kind: "video"; task: VideoTask }
  | { kind: "audio"; url: string; fileName: string; bytes: number }
  | { kind: "text"; text: string }
  | { kind: "social"; raw: string; data: Json };

export interface RunFacts {
  requestId: string | null;
  costUsd: string | null;
  warnings: string[];
  inputTokens: number | null;
  outputTokens: number | null;
  tookMs: number | null;
}

export const NO_FACTS: RunFacts = {
  requestId: null,
  costUsd: null,
  warnings: [],
  inputTokens: null,
  outputTokens: null,
  tookMs: null,
};

export interface RunInput {
  task: PlaygroundTask;
  format: ChatFormat;
  plan: Plan;
  /** The file that a part of the call's form stands for. */
  fileOf: (upload: string) => File | null;
  /** What the button promised: the call is refused rather than cost more. */
  maxUsd: string | null;
  signal: AbortSignal;
  onProgress: (output: Output, facts: RunFacts) => void;
}

function factsOf(response: Response): RunFacts {
  const warnings = /codes=(.*)$/.exec(response.headers.get("trunkline-warnings") ?? "")?.[1];
  return {
    ...NO_FACTS,
    requestId: response.headers.get("x-request-id"),
    costUsd: response.headers.get("trunkline-cost-usd"),
    warnings: warnings === undefined || warnings === "" ? [] : [...new Set(warnings.split(","))],
  };
}

function planeCall(input: RunInput): DataPlaneCall {
  const { call } = input.plan;
  const headers: Record<string, string> = input.maxUsd === null ? {} : { "trunkline-max-cost-usd": input.maxUsd };
  if (call.form === undefined)
    return { method: call.method, url: call.url, headers, ...(call.body === undefined ? {} : { body: call.body }) };
  const form = new FormData();
  for (const [name, value] of call.form.fields) form.append(name, value);
  for (const { field, upload } of call.form.files) {
    const file = input.fileOf(upload);
    // A plan with a file that is gone asks for it again, and cannot be run.
    if (file === null) throw new Error("a chosen file is no longer here");
    form.append(field, file, file.name);
  }
  return { method: call.method, url: call.url, headers, form };
}

/** The status that an error inside an open stream stands for. */
const BROKEN = 502;

async function runChat(input: RunInput, response: Response): Promise<{ output: Output; facts: RunFacts }> {
  const reader = new FrameReader();
  const facts = factsOf(response);
  const output: Output & { kind: "chat" } = { kind: "chat", text: "", thought: "", stop: null };
  const take = (piece: Piece) => {
    if (piece.error !== undefined) throw withDocs(problemOf(BROKEN, piece.error));
    output.text += piece.text ?? "";
    output.thought += piece.thought ?? "";
    output.stop = piece.stop ?? output.stop;
    facts.costUsd = piece.costUsd ?? facts.costUsd;
    facts.inputTokens = piece.inputTokens ?? facts.inputTokens;
    facts.outputTokens = piece.outputTokens ?? facts.outputTokens;
  };
  const pieces = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const next = await pieces?.read();
    if (next === undefined || next.done) break;
    for (const frame of reader.feed(next.value)) take(readPiece(input.format, frame));
    input.onProgress({ ...output }, { ...facts });
  }
  return { output, facts };
}

function endOf(url: string): number | null {
  const ends = /[?&]Expires=(\d+)/.exec(url)?.[1];
  return ends === undefined ? null : Number(ends);
}

async function readImages(response: Response): Promise<Output> {
  const answer = (await response.json()) as {
    data: { url?: string; b64_json?: string }[];
    metadata?: { failed_count?: string };
  };
  const urls = answer.data.map((one) =>
    one.url !== undefined && one.url !== "" ? one.url : `data:image/png;base64,${one.b64_json ?? ""}`,
  );
  return { kind: "images", urls, failed: Number(answer.metadata?.failed_count ?? 0), endsAt: endOf(urls[0] ?? "") };
}

async function readAudio(response: Response, saveAs: string): Promise<Output> {
  const blob = await response.blob();
  return { kind: "audio", url: URL.createObjectURL(blob), fileName: saveAs, bytes: blob.size };
}

async function readSocial(response: Response): Promise<Output> {
  const raw = await response.text();
  const value = parseKeepingNumbers(raw);
  const data = typeof value === "object" && value !== null && !Array.isArray(value) ? (value["data"] ?? null) : value;
  return { kind: "social", raw, data };
}

/** How long one question about a task is held open. */
const WAIT_SECONDS = 20;

/** Follows a task to its end. A question that fails is asked again: the task goes on whatever this page sees. */
async function followVideo(
  input: RunInput,
  first: VideoTask,
  facts: RunFacts,
): Promise<{ output: Output; facts: RunFacts }> {
  let task = first;
  let failures = 0;
  while (task.status === "queued" || task.status === "in_progress") {
    input.onProgress({ kind: "video", task }, facts);
    try {
      const url = `${input.plan.call.url}/${encodeURIComponent(task.id)}?wait=${task.status === "queued" ? 1 : WAIT_SECONDS}`;
      const response = await callDataPlane({ method: "GET", url }, input.signal);
      task = (await response.json()) as VideoTask;
      failures = 0;
    } catch (problem) {
      if (input.signal.aborted || failures >= 5) throw problem;
      failures += 1;
    }
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  return {
    output: { kind: "video", task },
    facts: { ...facts, costUsd: task.status === "failed" ? "0" : (task.metadata?.cost_usd ?? facts.costUsd) },
  };
}

export async function runPlan(input: RunInput): Promise<{ output: Output; facts: RunFacts }> {
  const began = performance.now();
  const response = await callDataPlane(planeCall(input), input.signal);
  const finish = (output: Output, facts: RunFacts) => ({
    output,
    facts: { ...facts, tookMs: Math.round(performance.now() - began) },
  });
  switch (input.task) {
    case "chat": {
      const { output, facts } = await runChat(input, response);
      return finish(output, facts);
    }
    case "image":
      return finish(await readImages(response), factsOf(response));
    case "video": {
      const task = (await response.json()) as VideoTask;
      const { output, facts } = await followVideo(input, task, factsOf(response));
      return finish(output, facts);
    }
    case "speech":
      return finish(await readAudio(response, input.plan.call.saveAs ?? "speech.mp3"), factsOf(response));
    case "transcription": {
      const text = await response.text();
      return finish({ kind: "text", text: readable(text) }, factsOf(response));
    }
    case "social":
      return finish(await readSocial(response), factsOf(response));
  }
}

/** A transcript as JSON is shown by its text where that is all it holds; other shapes as they came. */
function readable(text: string): string {
  try {
    const value = JSON.parse(text) as Json;
    if (typeof value === "object" && value !== null && !Array.isArray(value)) {
      const inner = value["text"];
      const segments = value["segments"];
      if (typeof inner === "string" && segments === undefined) return inner;
    }
    return JSON.stringify(value, null, 2);
  } catch {
    return text;
  }
}
