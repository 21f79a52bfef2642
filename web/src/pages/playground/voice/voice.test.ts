import { describe, expect, it } from "vitest";
import { after, NO_CONVERSATION, type ServerEvent, totalOf, typed } from "./conversation";
import { fromWire, resample, toWire } from "./pcm";
import { socketUrl } from "./useVoice";

const charge = (id: string, usd: string) => ({ trunkline: { request_id: id, cost_usd: usd } });

describe("a conversation", () => {
  it("shows what both said, and the sum of all charges", () => {
    const events: ServerEvent[] = [
      { type: "input_audio_buffer.committed", item_id: "a" },
      { type: "response.output_audio_transcript.delta", response_id: "r1", delta: "Good " },
      {
        type: "conversation.item.input_audio_transcription.completed",
        item_id: "a",
        transcript: "Hello.",
        ...charge("req_1", "0.000003"),
      },
      { type: "response.output_audio_transcript.delta", response_id: "r1", delta: "morning." },
      { type: "response.done", response: { id: "r1", status: "completed" }, ...charge("req_2", "0.0012") },
      { type: "rate_limits.updated" },
    ];
    const said = events.reduce(after, NO_CONVERSATION);
    expect(said.turns.map((turn) => [turn.from, turn.text, turn.charge?.usd])).toEqual([
      ["you", "Hello.", "0.000003"],
      ["model", "Good morning.", "0.0012"],
    ]);
    expect(totalOf(said)).toBe("0.001203");
    expect(said.fault).toBeNull();
  });

  it("keeps what was typed, and names the error that ended it", () => {
    const said = after(typed(NO_CONVERSATION, "i", "Hi"), {
      type: "error",
      error: { code: "insufficient_balance", message: "Not enough balance." },
    });
    expect(said.turns).toEqual([{ id: "i", from: "you", text: "Hi", done: true, charge: null }]);
    expect(said.fault).toEqual({ code: "insufficient_balance", message: "Not enough balance." });
    expect(totalOf(said)).toBe("0");
  });
});

describe("sound", () => {
  it("survives the wire to half a step of its 65,536", () => {
    const samples = Float32Array.from([0, 0.5, -0.5, 1, -1, 2]);
    const back = fromWire(toWire(samples));
    expect(Array.from(back, (sample) => Math.round(sample * 100) / 100)).toEqual([0, 0.5, -0.5, 1, -1, 1]);
  });

  it("keeps its length at another rate", () => {
    expect(resample(new Float32Array(480), 48_000, 24_000)).toHaveLength(240);
    expect(Array.from(resample(Float32Array.from([0, 1]), 24_000, 48_000))).toEqual([0, 0.5, 1, 1]);
  });
});

it("connects to the data plane's own host, encrypted where that is", () => {
  expect(socketUrl("https://api.example/v1", "a b")).toBe("wss://api.example/v1/realtime?model=a+b");
  expect(socketUrl("http://127.0.0.1:8080/v1/", "m")).toBe("ws://127.0.0.1:8080/v1/realtime?model=m");
});
