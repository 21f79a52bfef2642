import { afterEach, describe, expect, it, vi } from "vitest";
import { ApiError, api, problemOf, setClientHooks, withQuery } from "./client";

function answers(...list: { status: number; body?: unknown }[]) {
  const calls: { url: string; init: RequestInit }[] = [];
  vi.stubGlobal("fetch", (url: string, init: RequestInit) => {
    calls.push({ url, init });
    const next = list.shift() ?? { status: 500 };
    const text = next.body === undefined ? null : JSON.stringify(next.body);
    return Promise.resolve(new Response(text, { status: next.status }));
  });
  return calls;
}
const wrong = (code: string) => ({
  error: {
    message: "m",
    type: "t",
    param: null,
    code,
    request_id: "req_1",
    charged: false,
    retryable: false,
    doc_url: "/docs/errors/x",
  },
});
afterEach(() => {
  vi.unstubAllGlobals();
  setClientHooks({ stepUp: async () => false, signedOut: () => {} });
});

describe("the client", () => {
  it("leaves out what is empty", () => {
    expect(withQuery("/api/logs", { model: "a b", key: undefined, outcome: "", after: null, limit: 0 })).toBe(
      "/api/logs?model=a+b&limit=0",
    );
    expect(withQuery("/api/logs", {})).toBe("/api/logs");
  });
  it("marks every change as the console's own, and no read", async () => {
    const calls = answers({ status: 200, body: {} }, { status: 204 });
    await api.get("/api/home");
    await api.delete("/api/keys/1");
    expect(calls.map((call) => new Headers(call.init.headers).get("x-trunkline-console"))).toEqual([null, "1"]);
  });
  it("keeps all that an error says", async () => {
    answers({ status: 409, body: wrong("conflict") });
    const problem = await api.post("/api/x").catch((error: unknown) => error);
    expect(problem).toBeInstanceOf(ApiError);
    expect(problem).toMatchObject({
      code: "conflict",
      status: 409,
      requestId: "req_1",
      charged: false,
      docUrl: "/docs/errors/x",
    });
  });
  it("an answer that is no error of ours does not claim to know about money", () => {
    expect(problemOf(502, "<html>")).toMatchObject({ charged: null, retryable: true, code: "unreadable_answer" });
  });
  it("asks for the password once and repeats the call", async () => {
    const calls = answers({ status: 403, body: wrong("step_up_required") }, { status: 200, body: { made: true } });
    const stepUp = vi.fn(async () => true);
    setClientHooks({ stepUp, signedOut: () => {} });
    await expect(api.post("/api/keys", { name: "a" })).resolves.toEqual({ made: true });
    expect(stepUp).toHaveBeenCalledOnce();
    expect(calls.map((call) => call.init.body)).toEqual(['{"name":"a"}', '{"name":"a"}']);
  });
  it("a password that is not given leaves the refusal", async () => {
    const calls = answers({ status: 403, body: wrong("step_up_required") });
    await expect(api.post("/api/keys")).rejects.toMatchObject({ code: "step_up_required" });
    expect(calls).toHaveLength(1);
  });
  it("an ended session leads back to the sign-in page", async () => {
    answers({ status: 401, body: wrong("not_signed_in") });
    const signedOut = vi.fn();
    setClientHooks({ stepUp: async () => false, signedOut });
    await expect(api.get("/api/home")).rejects.toMatchObject({ code: "not_signed_in" });
    expect(signedOut).toHaveBeenCalledOnce();
  });
  it("a network that is away is told as such", async () => {
    vi.stubGlobal("fetch", () => Promise.reject(new TypeError("failed")));
    await expect(api.get("/api/home")).rejects.toMatchObject({ status: 0, charged: null, retryable: true });
  });
});
