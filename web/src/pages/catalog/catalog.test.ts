import { describe, expect, it } from "vitest";
import pricing from "../../../fixtures/made/pricing.json";
import { countBy, filterModels, NO_FILTER, readCompared } from "./filter";
import { basePrices, compareUsd, dollars, headlinePrices, hourSpans, tierPrices } from "./price";
import { healthOf, type Model, type Pricing, readModels } from "./record";

const models = readModels(pricing as unknown as Pricing);
const named = (name: string): Model => {
  const model = models.find((one) => one.name === name);
  if (model === undefined) throw new Error(name);
  return model;
};

describe("prices", () => {
  it("turns whole pico-dollars into dollars without losing a digit", () => {
    expect(dollars(2_000_000, 1_000_000n, 1)).toBe("2");
    expect(dollars(20_000_000_000, 1n, 1)).toBe("0.02");
    expect(dollars(1, 1n, 1)).toBe("0.000000001");
    expect(dollars(84_000_000_000, 1n, 1.33)).toBe("0.11172");
  });

  it("says what each price is for", () => {
    expect(basePrices(named("gpt-5.5")).map((line) => [line.face, line.usd, line.unit])).toEqual([
      ["input", "5", "million_tokens"],
      ["output", "30", "million_tokens"],
      ["cache_read", "0.5", "million_tokens"],
    ]);
    expect(basePrices(named("whisper-1"))[0]).toMatchObject({ usd: "0.006", unit: "minute" });
    expect(basePrices(named("tts-1"))[0]).toMatchObject({ usd: "15", unit: "million_characters" });
    expect(basePrices(named("kling-v3"))[0]).toMatchObject({ usd: "0.084", unit: "second" });
    expect(basePrices(named("MiniMax-Hailuo-2.3"))[0]).toMatchObject({ unit: "video" });
  });

  it("shows the span of a model whose tiers cover everything", () => {
    expect(headlinePrices(named("gpt-image-1.5"))[0]).toMatchObject({
      line: { usd: "0.009", unit: "image" },
      toUsd: "0.2",
    });
    expect(headlinePrices(named("gpt-5.5")).map((one) => one.toUsd)).toEqual([null, null]);
  });

  it("names tiers with their conditions", () => {
    expect(tierPrices(named("gpt-5.5"))).toMatchObject([{ name: "long_context", when: [{ context_len_gt: 272_000 }] }]);
  });

  it("compares amounts exactly", () => {
    expect(compareUsd("0.1", "0.10")).toBe(0);
    expect(compareUsd("9223372036.854775807", "9223372036.854775806")).toBe(1);
  });

  it("joins hours that follow each other", () => {
    expect(hourSpans([9, 10, 11, 14, 17])).toEqual([
      [9, 12],
      [14, 15],
      [17, 18],
    ]);
  });
});

describe("filters", () => {
  it("wants every word of a search", () => {
    expect(filterModels(models, { ...NO_FILTER, q: "openai image" }).map((one) => one.name)).toContain("gpt-image-1.5");
    expect(filterModels(models, { ...NO_FILTER, q: "openai kling" })).toEqual([]);
  });

  it("counts what each choice would leave", () => {
    const counts = countBy(models, { ...NO_FILTER, kind: "video" }, "kind");
    expect(counts.get("chat")).toBeGreaterThan(5);
    expect(filterModels(models, { ...NO_FILTER, kind: "video" })).toHaveLength(counts.get("video") ?? 0);
  });

  it("drops what is dearer than the price that was typed", () => {
    expect(
      filterModels(models, { ...NO_FILTER, kind: "chat", max: "3" }).every(
        (one) => compareUsd(basePrices(one)[1]?.usd ?? "0", "3") <= 0,
      ),
    ).toBe(true);
  });

  it("tells health by calls, and a model without an upstream as unserved", () => {
    expect(healthOf(named("gpt-5.5"))).toBe("good");
    expect(healthOf(named("deepseek-flash"))).toBe("degraded");
    expect(healthOf(named("gpt-image-1.5"))).toBe("failing");
    expect(healthOf(named("rerank-3"))).toBe("unserved");
  });

  it("compares four models at most, each once", () => {
    expect(readCompared("a,b,a,c,d,e")).toEqual(["a", "b", "c", "d"]);
    expect(readCompared(undefined)).toEqual([]);
  });
});
