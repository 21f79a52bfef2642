import { describe, expect, it } from "vitest";
import type { LogRow } from "@/api";
import { askFor, countFilters, fromLocalField, NO_FILTERS, readFilters, toLocalField, writeFilters } from "./filters";
import { addUp, attemptBars, moneyEnd, pieceUsd, playgroundOf, unitOf } from "./receipt";
import { MOST_VIEWS, readViews, withoutView, withView } from "./saved";
import { arrived, joined, leavesGap } from "./tail";

const NOW = new Date("2026-11-14T10:00:00Z");

describe("filters of the log", () => {
  it("come back from the address as they went in", () => {
    const filters = readFilters({
      key: "12",
      model: "a/b",
      outcome: "failed",
      range: "7d",
      min: "0.01",
      q: "req_0123",
    });
    expect(readFilters(writeFilters(filters))).toEqual(filters);
    expect(countFilters(filters)).toBe(5);
  });
  it("write nothing when none is set", () => {
    expect(writeFilters(NO_FILTERS)).toEqual({});
    expect(askFor(NO_FILTERS, NOW)).toEqual({});
  });
  it("drop what makes no sense", () => {
    const filters = readFilters({ key: "1; drop", range: "yesterday", from: "soon", min: "many", model: ["x"] });
    expect(filters).toEqual(NO_FILTERS);
  });
  it("ask from a moment that the preset means", () => {
    expect(askFor({ ...NO_FILTERS, range: "24h", key: "7" }, NOW)).toEqual({
      from: "2026-11-13T10:00:00.000Z",
      key: "7",
    });
  });
  it("search by id alone, and only with enough of it", () => {
    const filters = readFilters({ q: "req_019a", model: "m" });
    expect(askFor(filters, NOW)).toEqual({ q: "req_019a" });
    expect(askFor({ ...filters, q: "req_01" }, NOW)).toEqual({ model: "m" });
  });
  it("take a custom range by its ends, to the minute in the reader's zone", () => {
    const filters = readFilters({ from: "2026-11-01T00:00:00Z", range: "7d" });
    expect(filters.range).toBe("custom");
    expect(askFor(filters, NOW)).toEqual({ from: "2026-11-01T00:00:00Z" });
    expect(fromLocalField(toLocalField("2026-11-01T08:30:00Z"))).toBe("2026-11-01T08:30:00Z");
    expect(fromLocalField("")).toBe("");
  });
});

describe("saved views", () => {
  it("survive storage, and nothing else does", () => {
    const views = withView([], "Failures", { ...NO_FILTERS, outcome: "failed" });
    expect(readViews(JSON.stringify(views))).toEqual(views);
    expect(readViews("not json")).toEqual([]);
    expect(readViews('{"a":1}')).toEqual([]);
    expect(readViews('[{"name":"x","search":{"evil":"1","model":"m"}},{"name":3}]')).toEqual([
      { name: "x", search: { model: "m" } },
    ]);
  });
  it("replace one of the same name, stay few, and can be deleted", () => {
    let views = withView([], "A", { ...NO_FILTERS, model: "one" });
    views = withView(views, "A", { ...NO_FILTERS, model: "two" });
    expect(views).toEqual([{ name: "A", search: { model: "two" } }]);
    for (let at = 0; at < 40; at += 1) views = withView(views, `v${at}`, NO_FILTERS);
    expect(views).toHaveLength(MOST_VIEWS);
    expect(withoutView(views, "v39")).toHaveLength(MOST_VIEWS - 1);
  });
});

const row = (id: string) => ({ request_id: id }) as LogRow;

describe("the live log", () => {
  it("joins pages without doubles", () => {
    expect(
      joined([
        [row("c"), row("b")],
        [row("b"), row("a")],
      ]).map((one) => one.request_id),
    ).toEqual(["c", "b", "a"]);
  });
  it("finds only what is new", () => {
    expect(arrived([row("d"), row("c")], [row("c"), row("b")]).map((one) => one.request_id)).toEqual(["d"]);
  });
  it("notices calls that were not displayed yet", () => {
    expect(leavesGap([row("z"), row("y")], [row("b")], true)).toBe(true);
    expect(leavesGap([row("z"), row("b")], [row("b")], true)).toBe(false);
    expect(leavesGap([row("z")], [row("b")], false)).toBe(false);
    expect(leavesGap([row("z")], [], true)).toBe(false);
  });
});

describe("the receipt", () => {
  const line = (amount: string) => ({
    face: "input",
    units: 1,
    price_usd_per_million: "1",
    amount_usd: amount,
    tier: null,
  });
  it("adds its lines up to the charge, or says by how much it does not", () => {
    expect(addUp({ lines: [line("0.00657"), line("0.0012"), line("0.013665")], cost_usd: "0.021435" })).toEqual({
      lines: "0.021435",
      difference: "0",
      addsUp: true,
    });
    expect(addUp({ lines: [line("0.02")], cost_usd: "0.015" })).toEqual({
      lines: "0.02",
      difference: "-0.005",
      addsUp: false,
    });
    expect(addUp({ lines: null, cost_usd: "1" })).toBeNull();
  });
  it("tells what became of the money", () => {
    expect(moneyEnd({ cost_usd: "0", refunded_usd: "0" })).toBe("free");
    expect(moneyEnd({ cost_usd: "0.5", refunded_usd: "0" })).toBe("charged");
    expect(moneyEnd({ cost_usd: "0.5", refunded_usd: "0.5" })).toBe("refunded");
    expect(moneyEnd({ cost_usd: "0.5", refunded_usd: "0.1" })).toBe("partly_refunded");
  });
  it("prices pieces by the piece", () => {
    expect(unitOf("video_second", "videos")).toBe("second");
    expect(unitOf("input", "speech")).toBe("character");
    expect(unitOf("input", "chat")).toBe("token");
    expect(unitOf("audio_input", "transcriptions")).toBe("second");
    expect(unitOf("audio_input", "chat")).toBe("token");
    expect(pieceUsd("100000")).toBe("0.1");
    expect(pieceUsd("0.001")).toBe("0.000000001");
  });
  it("lays attempts one after another inside the call", () => {
    const bars = attemptBars([{ latency_ms: 1000 }, { latency_ms: 3000 }], 4000);
    expect(bars.map((bar) => [bar.start, bar.width])).toEqual([
      [0, 0.25],
      [0.25, 0.75],
    ]);
    for (const bar of attemptBars([{ latency_ms: 0 }, { latency_ms: null }, { latency_ms: 90_000 }], 10)) {
      expect(bar.width).toBeGreaterThan(0);
      expect(bar.start + bar.width).toBeLessThanOrEqual(1.000001);
    }
    expect(attemptBars([], 10)).toEqual([]);
  });
  it("knows which playground can ask again", () => {
    expect(playgroundOf("messages")).toBe("chat");
    expect(playgroundOf("images")).toBe("image");
    expect(playgroundOf("translations")).toBe("transcription");
    expect(playgroundOf("rerank")).toBeNull();
  });
});
