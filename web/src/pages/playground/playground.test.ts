import { describe, expect, it } from "vitest";
import { kindOf, type Model, type PricingRecord, readSpecs } from "@/pages/catalog/record";
import { codeFor, pythonValue } from "./code";
import { EMPTY_DRAFT, modelPlan, socialPlan } from "./draft";
import { normalised } from "./errors";
import { fillBody, readExtra, removePath, setPath } from "./forms";
import { savingUrl } from "./links";
import { applyEdits, fixOf, fixOfRefusal } from "./quote";
import { FrameReader, readPiece } from "./stream";
import { parseKeepingNumbers, tableOf } from "./table";

function model(change: Partial<PricingRecord>): Model {
  const record: PricingRecord = {
    model_name: "m",
    specs: "{}",
    login_required: 0,
    enable_groups: ["default"],
    supported_endpoint_types: ["openai", "anthropic", "openai-response", "gemini"],
    capabilities: [],
    tasks: ["chat"],
    billing_rate: 1,
    billing_rate_source: "default",
    pricing_version: "0",
    billing_unit: "tokens",
    book_faces: { standard: { input: 1, output: 1 }, paid: null, route_count: 1 },
    ...change,
  };
  return {
    name: record.model_name,
    description: "",
    kind: kindOf(record),
    vendor: "",
    specs: readSpecs(record.specs),
    record,
  };
}

const base = "http://gateway.test/v1";

describe("plans", () => {
  it("writes what was typed where each chat format has it", () => {
    const draft = {
      ...EMPTY_DRAFT,
      model: "m",
      system: "Be brief.",
      message: "Hi",
      values: { temperature: "0.5", max_tokens: "20", stop: "a, b" },
    };
    const chat = modelPlan("chat", draft, model({}), base, null);
    expect(chat.body).toMatchObject({ temperature: 0.5, max_tokens: 20, stop: ["a", "b"], stream: true });
    expect(chat.call.url).toBe("http://gateway.test/v1/chat/completions");
    const gemini = modelPlan("chat", { ...draft, format: "gemini" }, model({}), base, null);
    expect(gemini.call.url).toBe("http://gateway.test/v1beta/models/m:streamGenerateContent?alt=sse");
    expect(gemini.call.body).not.toHaveProperty("model");
    expect(gemini.quote?.body).toMatchObject({
      model: "m",
      generationConfig: { temperature: 0.5, maxOutputTokens: 20, stopSequences: ["a", "b"] },
    });
    const responses = modelPlan("chat", { ...draft, format: "responses" }, model({}), base, null);
    expect(responses.body).toMatchObject({ instructions: "Be brief.", max_output_tokens: 20 });
    expect(responses.body).not.toHaveProperty("stop");
  });

  it("asks for no price while something that is required is missing", () => {
    const plan = modelPlan("chat", { ...EMPTY_DRAFT, model: "m" }, model({}), base, null);
    expect(plan.quote).toBeNull();
    expect(plan.missing).toEqual(["message"]);
  });

  it("sends a video's length the way its family wants it", () => {
    const kling = model({
      supported_endpoint_types: ["openai-video"],
      specs: '{"video_family":"c_multi","min_duration_seconds":3,"max_duration_seconds":15}',
    });
    const plan = modelPlan(
      "video",
      { ...EMPTY_DRAFT, values: { prompt: "a cat", length: "5", "metadata.aspect_ratio": "16:9" } },
      kling,
      base,
      null,
    );
    expect(plan.body).toMatchObject({ metadata: { duration: "5", aspect_ratio: "16:9" } });
    const wan = model({
      supported_endpoint_types: ["openai-video"],
      specs: '{"video_family":"a_text","resolutions":["720P"],"max_duration_seconds":10}',
    });
    expect(
      modelPlan("video", { ...EMPTY_DRAFT, values: { prompt: "a cat", length: "5" } }, wan, base, null).body,
    ).toMatchObject({ duration: 5 });
  });

  it("does not send a choice that this model does not have", () => {
    const image = model({ supported_endpoint_types: ["image-generation"], specs: '{"resolutions":["1024x1024"]}' });
    const plan = modelPlan(
      "image",
      { ...EMPTY_DRAFT, values: { prompt: "a cat", size: "1280*720" } },
      image,
      base,
      null,
    );
    expect(plan.body).toEqual({ model: "m", prompt: "a cat" });
  });

  it("quotes a recording by its begun seconds", () => {
    const asr = model({ supported_endpoint_types: ["audio-transcription"] });
    const plan = modelPlan("transcription", EMPTY_DRAFT, asr, base, {
      name: "a.mp3",
      bytes: 5,
      type: "audio/mpeg",
      seconds: 11.2,
    });
    expect(plan.quote).toEqual({ endpoint: "transcriptions", body: { model: "m", file: { seconds: 12 } } });
    expect(
      modelPlan("transcription", EMPTY_DRAFT, asr, base, { name: "a.mp3", bytes: 5, type: "", seconds: null }).quote,
    ).toBeNull();
  });

  it("wants one of a group of parameters", () => {
    const cell = {
      platform: "x",
      label: "",
      name: "X",
      capability: "post",
      model: "social-x-post",
      method: "GET",
      path: "/v1/social/x/post",
      params: [
        { name: "id", type: "integer" as const, required: false, description: "An id. / 编号。" },
        { name: "url", type: "string" as const, required: false, description: "" },
      ],
      require_one_of: [["id", "url"]],
      price_usd: 0.02,
      unit: "call",
      status: "available" as const,
      pages: false,
    };
    expect(socialPlan(EMPTY_DRAFT, cell, base, (text) => text).quote).toBeNull();
    const plan = socialPlan({ ...EMPTY_DRAFT, values: { id: "7345678901234567890" } }, cell, base, (text) => text);
    expect(plan.call.url).toBe("http://gateway.test/v1/social/x/post?id=7345678901234567890");
    expect(plan.quote?.endpoint).toBe("/v1/social/x/post");
  });
});

describe("bodies", () => {
  it("sets and removes paths without leaving empty objects behind", () => {
    expect(setPath({ a: 1 }, "b.c.d", true)).toEqual({ a: 1, b: { c: { d: true } } });
    expect(removePath({ a: 1, b: { c: 2 } }, "b.c")).toEqual({ a: 1 });
  });

  it("reads further fields as an object or says what is wrong", () => {
    expect(readExtra("")).toEqual({ ok: true, body: {} });
    expect(readExtra("{")).toEqual({ ok: false, why: "not_json" });
    expect(readExtra("[1]")).toEqual({ ok: false, why: "not_object" });
  });

  it("leaves a number that cannot be read to the gateway's own words", () => {
    expect(fillBody({}, [{ key: "n", path: "n", kind: "number", wire: "integer" }], { n: "two" })).toEqual({
      n: "two",
    });
  });
});

describe("fixes", () => {
  it("moves a frame to the field that is read", () => {
    const fix = fixOf(
      { field: "input_reference", fate: "ignored", code: "frame_field_unread" },
      { input_reference: "https://a" },
    );
    expect(fix?.what).toBe("move");
    const fields = [{ key: "image", path: "image", kind: "address" as const, wire: "text" as const }];
    const done = applyEdits(fix?.edits ?? [], fields, {}, '{"input_reference":"https://a"}');
    expect(done).toEqual({ values: { image: "https://a" }, extra: "" });
  });

  it("leaves out what is ignored and writes in what was filled in", () => {
    expect(fixOf({ field: "foo", fate: "ignored" }, { foo: 1 })?.what).toBe("leave_out");
    expect(fixOf({ field: "size", fate: "defaulted", value: "1024x1024" }, {})?.edits).toEqual([
      { path: "size", value: "1024x1024" },
    ]);
    expect(fixOf({ field: "model", fate: "read" }, {})).toBeNull();
  });

  it("mends a size with an x", () => {
    expect(fixOfRefusal({ code: "size_separator", param: "size" }, { size: "1280x720" })?.edits).toEqual([
      { path: "size", value: "1280*720" },
    ]);
  });
});

describe("streams", () => {
  it("finds frames wherever the pieces were cut", () => {
    const text =
      'data: {"choices":[{"delta":{"content":"Hi"}}]}\n\n: trunkline-cost-usd=0.00001125\n\ndata: [DONE]\n\n';
    for (let cut = 0; cut <= text.length; cut += 1) {
      const reader = new FrameReader();
      const frames = [...reader.feed(text.slice(0, cut)), ...reader.feed(text.slice(cut))];
      const pieces = frames.map((frame) => readPiece("chat", frame));
      expect(Object.assign({}, ...pieces)).toEqual({ text: "Hi", costUsd: "0.00001125" });
    }
  });

  it("reads cost and usage in every format", () => {
    const frame = (value: object) => ({ event: "", comment: "", data: JSON.stringify(value) });
    expect(
      readPiece(
        "messages",
        frame({
          type: "message_delta",
          delta: { stop_reason: "end_turn" },
          usage: { input_tokens: 5, output_tokens: 6, cost: 2.75e-7 },
        }),
      ),
    ).toEqual({
      stop: "end_turn",
      inputTokens: 5,
      outputTokens: 6,
      costUsd: "0.000000275",
    });
    expect(
      readPiece(
        "gemini",
        frame({
          candidates: [{ content: { parts: [{ text: "a", thought: true }, { text: "b" }] } }],
          usageMetadata: { cost: 0.5 },
        }),
      ),
    ).toEqual({
      text: "b",
      thought: "a",
      costUsd: "0.5",
    });
    expect(readPiece("responses", frame({ type: "response.output_text.delta", delta: "x" }))).toEqual({ text: "x" });
  });

  it("reads errors of all shapes as one", () => {
    const google = {
      error: {
        code: 502,
        message: "broke off",
        details: [{ reason: "upstream_error", metadata: { charged: "false", retryable: "true", request_id: "req_1" } }],
      },
    };
    expect(normalised(google)).toMatchObject({
      error: { code: "upstream_error", charged: false, retryable: true, request_id: "req_1" },
    });
    const anthropic = {
      type: "error",
      request_id: "req_2",
      error: { type: "not_found_error", code: "model_not_found", message: "no" },
    };
    expect(normalised(anthropic)).toMatchObject({
      error: { code: "model_not_found", request_id: "req_2", charged: false },
    });
  });
});

describe("social results", () => {
  it("keeps every digit of long numbers", () => {
    expect(parseKeepingNumbers('{"id":1170532917820352331,"t":"1170532917820352331, and 9","n":12.5}')).toEqual({
      id: "1170532917820352331",
      t: "1170532917820352331, and 9",
      n: 12.5,
    });
  });

  it("makes a table of the first list it finds", () => {
    const table = tableOf({
      cursor: 1,
      data: [
        { a: { id: "1" }, same: "x" },
        { a: { id: "2" }, same: "x" },
      ],
    });
    expect(table.columns[0]).toBe("a.id");
    expect(table.rows).toHaveLength(2);
  });
});

describe("code", () => {
  it("quotes what a shell would read", () => {
    expect(codeFor("curl", { method: "POST", url: base, body: { prompt: "it's" } }, "k")).toContain("it'\\''s");
    expect(pythonValue({ a: true, b: null, c: [1] })).toBe(
      '{\n    "a": True,\n    "b": None,\n    "c": [\n        1,\n    ],\n}',
    );
  });
});

describe("links to files", () => {
  it("saves what lies behind our own links, and leaves others as they are", () => {
    const own = "http://gateway.test/media/0/7/tasks/task_1?Expires=1790000000&Signature=aB-_9";
    expect(savingUrl(own)).toBe(`${own}&download=1`);
    for (const other of ["https://vendor.test/a.png?Signature=x", "data:image/png;base64,AA", `${own}&download=1`]) {
      expect(savingUrl(other)).toBe(other);
    }
  });
});
