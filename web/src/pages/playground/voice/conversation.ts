/** What was said and what it cost, as the events of a realtime connection tell it. */
import { sumUsd } from "@/kit/records/money";

/** A charge of its own: a response, or the transcription of what the reader said. */
export interface Charge {
  requestId: string;
  usd: string;
}

export interface Turn {
  id: string;
  from: "you" | "model";
  text: string;
  done: boolean;
  charge: Charge | null;
}

export interface Fault {
  code: string;
  message: string;
}

export interface Conversation {
  turns: Turn[];
  fault: Fault | null;
}

export const NO_CONVERSATION: Conversation = { turns: [], fault: null };

/** An event, as far as it is read here. */
export interface ServerEvent {
  type: string;
  item_id?: string;
  response_id?: string;
  delta?: string;
  transcript?: string;
  error?: { code?: string | null; message?: string };
  response?: { id?: string; status?: string };
  trunkline?: { request_id?: string; cost_usd?: string };
}

export function totalOf({ turns }: Conversation): string {
  return sumUsd(turns.flatMap((turn) => (turn.charge === null ? [] : [turn.charge.usd])));
}

function chargeOf(event: ServerEvent): Charge | null {
  const { request_id, cost_usd } = event.trunkline ?? {};
  return request_id === undefined || cost_usd === undefined ? null : { requestId: request_id, usd: cost_usd };
}

function changed(turns: Turn[], id: string, from: Turn["from"], change: (turn: Turn) => Turn): Turn[] {
  const known = turns.some((turn) => turn.id === id);
  const all = known ? turns : [...turns, { id, from, text: "", done: false, charge: null }];
  return all.map((turn) => (turn.id === id ? change(turn) : turn));
}

/** What the reader typed; spoken words arrive as events. */
export function typed(now: Conversation, id: string, text: string): Conversation {
  return { ...now, turns: changed(now.turns, id, "you", (turn) => ({ ...turn, text, done: true })) };
}

/** The conversation after an event. Events that it does not show leave it as it is. */
export function after(now: Conversation, event: ServerEvent): Conversation {
  switch (event.type) {
    case "input_audio_buffer.committed":
      return { ...now, turns: changed(now.turns, event.item_id ?? "", "you", (turn) => turn) };
    case "conversation.item.input_audio_transcription.delta":
      return {
        ...now,
        turns: changed(now.turns, event.item_id ?? "", "you", (turn) => ({
          ...turn,
          text: turn.text + (event.delta ?? ""),
        })),
      };
    case "conversation.item.input_audio_transcription.completed":
      return {
        ...now,
        turns: changed(now.turns, event.item_id ?? "", "you", (turn) => ({
          ...turn,
          text: event.transcript ?? turn.text,
          done: true,
          charge: chargeOf(event),
        })),
      };
    case "response.output_audio_transcript.delta":
    case "response.output_text.delta":
      return {
        ...now,
        turns: changed(now.turns, event.response_id ?? "", "model", (turn) => ({
          ...turn,
          text: turn.text + (event.delta ?? ""),
        })),
      };
    case "response.done":
      return {
        ...now,
        turns: changed(now.turns, event.response?.id ?? "", "model", (turn) => ({
          ...turn,
          done: true,
          charge: chargeOf(event),
        })),
      };
    case "error":
      return { ...now, fault: { code: event.error?.code ?? "error", message: event.error?.message ?? "" } };
    default:
      return now;
  }
}
