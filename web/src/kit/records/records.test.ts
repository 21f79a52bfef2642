import { describe, expect, it } from "vitest";
import { addDays, countDays, daysOfPreset, everyDay, isDay, MOST_DAYS, tidyDays } from "./days";
import { keyOptions } from "./filterOptions";
import { minusUsd, readTypedUsd, shareOf, sumUsd } from "./money";
import { textOf, wordOf } from "./search";

describe("exact money", () => {
  it("adds and subtracts to the last billionth", () => {
    expect(sumUsd(["0.1", "0.2", "0.000000001"])).toBe("0.300000001");
    expect(minusUsd("9223372036.854775807", "0.000000001")).toBe("9223372036.854775806");
    expect(minusUsd("0.5", "0.75")).toBe("-0.25");
  });
  it("reads what people type and refuses what could mean two things", () => {
    expect(readTypedUsd("$1,000.50")).toBe("1000.5");
    expect(readTypedUsd(" .5 ")).toBe("0.5");
    expect(readTypedUsd("5.")).toBe("5");
    expect(readTypedUsd("0,5")).toBeNull();
    expect(readTypedUsd("-3")).toBeNull();
    expect(readTypedUsd("1e3")).toBeNull();
    expect(readTypedUsd("0.0000000001")).toBeNull();
    expect(readTypedUsd("")).toBeNull();
  });
  it("keeps a share between nothing and all", () => {
    expect(shareOf("1", "4")).toBe(0.25);
    expect(shareOf("9", "4")).toBe(1);
    expect(shareOf("1", "0")).toBe(0);
    expect(shareOf("-1", "4")).toBe(0);
  });
});

describe("UTC days", () => {
  it("counts both ends and crosses months, leap days and years", () => {
    expect(countDays({ from: "2026-11-01", to: "2026-11-30" })).toBe(30);
    expect(addDays("2028-02-28", 1)).toBe("2028-02-29");
    expect(everyDay({ from: "2026-12-30", to: "2027-01-02" })).toEqual([
      "2026-12-30",
      "2026-12-31",
      "2027-01-01",
      "2027-01-02",
    ]);
  });
  it("knows a day when it sees one", () => {
    expect(isDay("2026-02-28")).toBe(true);
    expect(isDay("2026-02-30")).toBe(false);
    expect(isDay("2026-2-3")).toBe(false);
    expect(isDay("<script>")).toBe(false);
  });
  it("puts a range in order, out of the future, and within what the ledger answers", () => {
    expect(tidyDays("2026-11-10", "2026-11-01", "2026-11-14")).toEqual({ from: "2026-11-01", to: "2026-11-10" });
    expect(tidyDays("2026-11-20", "2026-12-01", "2026-11-14")).toEqual({ from: "2026-11-14", to: "2026-11-14" });
    expect(countDays(tidyDays("2001-01-01", "2026-11-14", "2026-11-14"))).toBe(MOST_DAYS);
  });
  it("knows this month and the one before", () => {
    expect(daysOfPreset("month", "2026-11-14")).toEqual({ from: "2026-11-01", to: "2026-11-14" });
    expect(daysOfPreset("last_month", "2026-01-09")).toEqual({ from: "2025-12-01", to: "2025-12-31" });
    expect(countDays(daysOfPreset("7d", "2026-11-14"))).toBe(7);
  });
});

describe("what an address says", () => {
  it("is text or nothing", () => {
    expect(textOf({ a: " x " }, "a")).toBe("x");
    expect(textOf({ a: 12 }, "a")).toBe("12");
    expect(textOf({ a: { b: 1 } }, "a")).toBe("");
    expect(textOf({}, "a")).toBe("");
  });
  it("is one of a closed list or its first", () => {
    expect(wordOf({ by: "key" }, "by", ["model", "key"])).toBe("key");
    expect(wordOf({ by: "nonsense" }, "by", ["model", "key"])).toBe("model");
  });
});

describe("keys to choose from", () => {
  it("stand there once, wherever they were found", () => {
    const newest = [
      { id: 3, name: "third", hint: "sk-tl-…3" },
      { id: 2, name: "second", hint: "sk-tl-…2" },
    ];
    const found = [
      { id: 2, name: "second", hint: "sk-tl-…2" },
      { id: 1, name: "first", hint: "sk-tl-…1" },
    ];
    expect(keyOptions([...newest, ...found])).toEqual([
      { value: "3", label: "third", hint: "sk-tl-…3" },
      { value: "2", label: "second", hint: "sk-tl-…2" },
      { value: "1", label: "first", hint: "sk-tl-…1" },
    ]);
  });
});
