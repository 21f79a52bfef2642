import { describe, expect, it } from "vitest";
import { colours, otherOf, SERIES_MAX, spendOf, topSeries } from "./series";

const day = {
  day: "2026-11-14",
  parts: Array.from({ length: 10 }, (_, index) => ({ name: `m${index}`, usd: `0.${index + 1}` })),
};

describe("series of a chart", () => {
  it("the dearest seven stand alone, the rest is other, and nothing is lost", () => {
    const { names, hasOther } = topSeries([day]);
    expect(names).toHaveLength(SERIES_MAX);
    expect(names[0]).toBe("m8");
    expect(hasOther).toBe(true);
    expect(otherOf(day, names)).toBe("0.4");
    expect(spendOf(day, "m8")).toBe("0.9");
  });
  it("a name has the same colour whatever stands beside it, unless two want the same", () => {
    const alone = colours(["gpt-5.2"]).get("gpt-5.2");
    expect(colours(["aaa-unrelated", "gpt-5.2"]).get("gpt-5.2")).toBe(alone);
    const all = colours(["a", "b", "c", "d", "e", "f", "g"]);
    expect(new Set(all.values()).size).toBe(7);
  });
});
