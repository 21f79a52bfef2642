import { describe, expect, it } from "vitest";
import type { UsageLine } from "@/api";
import { readUsageFilters, usageQuery, writeUsageFilters } from "./filters";
import { meanUsd, namesOf, requestDays, spendDays, sumBy } from "./series";

const TODAY = "2026-11-14";
const words = { noKey: "Without a key", endpoint: (word: string) => word.toUpperCase() };
const line = (more: Partial<UsageLine>): UsageLine => ({
  calls: 1,
  failed_calls: 0,
  input_units: 0,
  output_units: 0,
  charged_usd: "0",
  refunded_usd: "0",
  spent_usd: "0",
  ...more,
});

describe("filters of usage", () => {
  it("are 30 days by model when nothing is said, and then the address is bare", () => {
    const filters = readUsageFilters({}, TODAY);
    expect(filters).toEqual({ preset: "30d", from: "2026-10-16", to: TODAY, by: "model", key: "", model: "" });
    expect(writeUsageFilters(filters)).toEqual({});
    expect(usageQuery(filters)).toEqual({ from: "2026-10-16", to: TODAY, group_by: "day,model" });
  });
  it("come back from the address as they went in", () => {
    const filters = readUsageFilters({ from: "2026-11-01", to: "2026-11-03", by: "key", key: "4", model: "m" }, TODAY);
    expect(readUsageFilters(writeUsageFilters(filters), TODAY)).toEqual(filters);
  });
});

describe("from lines to charts", () => {
  const lines = [
    line({ day: "2026-11-13", model: "a", charged_usd: "0.1", spent_usd: "0.1", calls: 2 }),
    line({ day: "2026-11-13", model: "b", charged_usd: "0.2", spent_usd: "0.2", calls: 1, failed_calls: 1 }),
    line({ day: "2026-11-14", model: "a", charged_usd: "0.2", refunded_usd: "0.05", spent_usd: "0.15", calls: 3 }),
    line({ day: "2026-11-14", model: "c", calls: 9 }),
    line({ day: "2026-11-14", model: "d", refunded_usd: "0.3", spent_usd: "-0.3", calls: 0 }),
  ];
  const names = namesOf(lines, "model", words);
  it("spends what was charged less what was refunded, summed exactly, dearest first", () => {
    const sums = sumBy(lines, "model", names);
    expect(sums.map((sum) => [sum.name, sum.spent, sum.refunded, sum.calls])).toEqual([
      ["a", "0.25", "0.05", 5],
      ["b", "0.2", "0", 1],
      ["c", "0", "0", 9],
      ["d", "-0.3", "0.3", 0],
    ]);
  });
  it("has every day of the range, also empty ones, and no series that cost nothing", () => {
    const days = spendDays(lines, "model", names, { from: "2026-11-12", to: "2026-11-14" });
    expect(days.map((day) => day.parts.map((part) => part.name))).toEqual([[], ["a", "b"], ["a"]]);
    expect(requestDays(lines, { from: "2026-11-12", to: "2026-11-14" })).toEqual([
      { at: "2026-11-12", calls: 0, failed: 0 },
      { at: "2026-11-13", calls: 3, failed: 1 },
      { at: "2026-11-14", calls: 12, failed: 0 },
    ]);
  });
  it("tells keys of one name apart and names calls without a key", () => {
    const keys = [
      line({ key_id: 1, key_name: "Bot" }),
      line({ key_id: 2, key_name: "Bot" }),
      line({ key_id: null }),
      line({ key_id: 3, key_name: null }),
    ];
    expect([...namesOf(keys, "key", words).values()]).toEqual(["Bot #1", "Bot #2", "Without a key", "#3"]);
    expect([...namesOf([line({ endpoint: "chat" })], "endpoint", words).values()]).toEqual(["CHAT"]);
  });
  it("takes a mean without inventing digits", () => {
    expect(meanUsd("1", 3)).toBe("0.333333333");
    expect(meanUsd("1", 0)).toBe("0");
  });
});
