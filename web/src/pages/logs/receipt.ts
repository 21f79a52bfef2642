// The receipt of a call, worked out from what the API tells: what adds up to what, and when which attempt ran.
import type { LogDetail, LogRow, Outcome } from "@/api";
import { usdOf } from "@/kit/format";
import { isNothing, minusUsd, nano, sumUsd } from "@/kit/records/money";

/** Calls that delivered something; all others delivered nothing. */
const DELIVERED: ReadonlySet<Outcome> = new Set(["complete", "client_gone", "balance_exhausted", "accepted"]);

export function delivered(outcome: Outcome): boolean {
  return DELIVERED.has(outcome);
}

export type MoneyEnd = "free" | "charged" | "refunded" | "partly_refunded";

/** What became of the money of a call. */
export function moneyEnd(row: Pick<LogRow, "cost_usd" | "refunded_usd">): MoneyEnd {
  const cost = nano(row.cost_usd);
  const back = nano(row.refunded_usd);
  if (cost === 0n) return "free";
  if (back === 0n) return "charged";
  return back >= cost ? "refunded" : "partly_refunded";
}

/** What stayed charged. */
export function netOf(row: Pick<LogRow, "cost_usd" | "refunded_usd">): string {
  return minusUsd(row.cost_usd, row.refunded_usd);
}

export interface Sums {
  lines: string;
  /** What the lines do not explain: nothing, or a charge that was lowered to what the balance covered. */
  difference: string;
  addsUp: boolean;
}

export function addUp(detail: Pick<LogDetail, "lines" | "cost_usd">): Sums | null {
  if (detail.lines === null) return null;
  const lines = sumUsd(detail.lines.map((line) => line.amount_usd));
  const difference = minusUsd(detail.cost_usd, lines);
  return { lines, difference, addsUp: isNothing(difference) };
}

/** What one line counts. Tokens are priced by the million, everything else by the piece. */
export type LineUnit = "token" | "character" | "call" | "second";

export function unitOf(face: string, endpoint: string): LineUnit {
  if (face === "per_call") return "call";
  if (face === "video_second") return "second";
  if (face === "input" && endpoint === "speech") return "character";
  if (face === "audio_input" && (endpoint === "transcriptions" || endpoint === "translations")) return "second";
  return "token";
}

export function isByTheMillion(unit: LineUnit): boolean {
  return unit === "token" || unit === "character";
}

/** The price of one piece, from the price of a million; to the nano, rounded up as charges are. */
export function pieceUsd(perMillion: string): string {
  const whole = nano(perMillion);
  return usdOf(whole / 1_000_000n + (whole % 1_000_000n > 0n ? 1n : 0n));
}

export interface Bar {
  /** Parts of the whole, 0 to 1. */
  start: number;
  width: number;
  known: boolean;
}

/** The narrowest bar that is still seen. */
const NARROWEST = 0.012;

/** Attempts one after another over the time of the call. One without a time gets an equal part of what is left. */
export function attemptBars(attempts: { latency_ms: number | null }[], total: number): Bar[] {
  const known = attempts.reduce((sum, attempt) => sum + (attempt.latency_ms ?? 0), 0);
  const unknown = attempts.filter((attempt) => attempt.latency_ms === null).length;
  const whole = Math.max(total, known, 1);
  const each = unknown > 0 ? (whole - known) / unknown : 0;
  let at = 0;
  return attempts.map((attempt) => {
    const took = attempt.latency_ms ?? each;
    const width = Math.max(took / whole, NARROWEST);
    const start = Math.min(at / whole, 1 - width);
    at += took;
    return { start: Math.max(0, start), width: Math.min(width, 1), known: attempt.latency_ms !== null };
  });
}

/** The playground that can ask this endpoint again; null where there is none. */
export function playgroundOf(endpoint: string): string | null {
  if (endpoint === "videos") return "video";
  if (endpoint === "images") return "image";
  if (endpoint === "speech") return "speech";
  if (endpoint === "transcriptions" || endpoint === "translations") return "transcription";
  if (endpoint === "social") return "social";
  return ["chat", "messages", "responses", "gemini", "completions"].includes(endpoint) ? "chat" : null;
}
