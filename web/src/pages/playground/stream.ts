/** Streams of answers: frames of server-sent events, and what each of four formats says in them. */
import { normalised } from "./errors";
import type { ChatFormat } from "./forms";

export interface Frame {
  event: string;
  data: string;
  comment: string;
}

/** One frame may be this long; a longer one is rejected as unreadable. */
const LONGEST_FRAME = 4_000_000;

/** Takes pieces of text as they come and gives whole frames. */
export class FrameReader {
  private rest = "";

  feed(piece: string): Frame[] {
    this.rest += piece;
    const parts = this.rest.split(/\r\n\r\n|\n\n|\r\r/);
    this.rest = parts.pop() ?? "";
    if (this.rest.length > LONGEST_FRAME) throw new Error("a frame of the stream is too long");
    return parts.map(readFrame);
  }
}

function readFrame(text: string): Frame {
  const frame: Frame = { event: "", data: "", comment: "" };
  const data: string[] = [];
  for (const line of text.split(/\r\n|\n|\r/)) {
    if (line.startsWith(":")) frame.comment = line.slice(1).trim();
    else if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
    else if (line.startsWith("event:")) frame.event = line.slice(6).trim();
  }
  frame.data = data.join("\n");
  return frame;
}

export interface Piece {
  text?: string;
  thought?: string;
  costUsd?: string;
  inputTokens?: number;
  outputTokens?: number;
  stop?: string;
  /** An error in the shape of the instance; null for a frame that cannot be read. */
  error?: unknown;
}

type Loose = { [key: string]: Loose } & Loose[] & string;

const COST_COMMENT = /^trunkline-cost-usd=(\d+(?:\.\d+)?)$/;

/** A number of the wire as a decimal text: money is never shown in powers of ten. */
export function decimalText(value: number): string {
  return value.toFixed(9).replace(/0+$/, "").replace(/\.$/, "");
}

function costOf(value: unknown): { costUsd?: string } {
  return typeof value === "number" ? { costUsd: decimalText(value) } : {};
}

function count(value: unknown, name: "inputTokens" | "outputTokens"): Piece {
  return typeof value === "number" ? { [name]: value } : {};
}

function word(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** Leaves out members that say nothing, so that a piece overwrites only what it knows. */
function known(piece: { [K in keyof Piece]: Piece[K] | undefined }): Piece {
  return Object.fromEntries(Object.entries(piece).filter(([, value]) => value !== undefined)) as Piece;
}

export function readPiece(format: ChatFormat, frame: Frame): Piece {
  const cost = COST_COMMENT.exec(frame.comment);
  const fromComment: Piece = cost?.[1] === undefined ? {} : { costUsd: cost[1] };
  if (frame.data === "" || frame.data === "[DONE]") return fromComment;
  let value: Loose;
  try {
    value = JSON.parse(frame.data) as Loose;
  } catch {
    return { ...fromComment, error: null };
  }
  const failed = value?.["type"] === "response.failed" ? value["response"] : value;
  if (failed?.["error"] !== undefined && failed["error"] !== null) return { ...fromComment, error: normalised(failed) };
  return { ...readers[format](value), ...fromComment };
}

const readers: Record<ChatFormat, (value: Loose) => Piece> = {
  chat: (value) => {
    const choice = value["choices"]?.[0];
    const usage = value["usage"];
    return {
      ...known({
        text: word(choice?.["delta"]?.["content"]),
        thought: word(choice?.["delta"]?.["reasoning_content"]),
        stop: word(choice?.["finish_reason"]),
      }),
      ...count(usage?.["prompt_tokens"], "inputTokens"),
      ...count(usage?.["completion_tokens"], "outputTokens"),
      ...costOf(usage?.["cost"]),
    };
  },
  messages: (value) => {
    const delta = value["delta"];
    const usage = value["usage"];
    return {
      ...known({ text: word(delta?.["text"]), thought: word(delta?.["thinking"]), stop: word(delta?.["stop_reason"]) }),
      ...count(usage?.["input_tokens"], "inputTokens"),
      ...count(usage?.["output_tokens"], "outputTokens"),
      ...costOf(usage?.["cost"]),
    };
  },
  responses: (value) => {
    const type = value["type"] as string | undefined;
    if (type === "response.output_text.delta") return known({ text: word(value["delta"]) });
    if (type === "response.reasoning_summary_text.delta" || type === "response.reasoning_text.delta") {
      return known({ thought: word(value["delta"]) });
    }
    if (type !== "response.completed" && type !== "response.incomplete") return {};
    const response = value["response"];
    const usage = response?.["usage"];
    return {
      ...known({ stop: word(response?.["incomplete_details"]?.["reason"]) ?? word(response?.["status"]) }),
      ...count(usage?.["input_tokens"], "inputTokens"),
      ...count(usage?.["output_tokens"], "outputTokens"),
      ...costOf(usage?.["cost"]),
    };
  },
  gemini: (value) => {
    const candidate = value["candidates"]?.[0];
    const parts = (candidate?.["content"]?.["parts"] ?? []) as unknown as { text?: string; thought?: boolean }[];
    const join = (thoughts: boolean) =>
      parts
        .filter((part) => (part.thought === true) === thoughts)
        .map((part) => part.text ?? "")
        .join("");
    const usage = value["usageMetadata"];
    return {
      ...known({ text: word(join(false)), thought: word(join(true)), stop: word(candidate?.["finishReason"]) }),
      ...count(usage?.["promptTokenCount"], "inputTokens"),
      ...count(usage?.["candidatesTokenCount"], "outputTokens"),
      ...costOf(usage?.["cost"]),
    };
  },
};
