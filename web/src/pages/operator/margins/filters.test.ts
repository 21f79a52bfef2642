import { expect, test } from "vitest";
import type { MarginRow } from "@/api";
import { intoLine, nameOf, queryOf, readFilters } from "./filters";

const TODAY = "2026-11-14";
const row = { calls: 1 } as MarginRow;

test("an operator sees thirty days by channel unless the address says otherwise", () => {
  const filters = readFilters({}, TODAY);
  expect(filters).toMatchObject({ by: "channel", preset: "30d", days: { from: "2026-10-16", to: TODAY } });
  expect(queryOf(filters)).toEqual({ from: "2026-10-16", to: TODAY, channel: "", model: "", customer: "", group: "" });
});

test("yesterday is one day, and days of the address win over a preset", () => {
  expect(readFilters({ days: "yesterday" }, TODAY).days).toEqual({ from: "2026-11-13", to: "2026-11-13" });
  const chosen = readFilters({ days: "7d", from: "2026-11-01", to: "2026-11-02" }, TODAY);
  expect(chosen).toMatchObject({ preset: null, days: { from: "2026-11-01", to: "2026-11-02" } });
  expect(readFilters({ by: "hour", days: "never" }, TODAY)).toMatchObject({ by: "channel", preset: "30d" });
});

test("a line is narrowed to, and explained by what is not chosen yet", () => {
  const byChannel = readFilters({}, TODAY);
  expect(intoLine(byChannel, { ...row, channel_id: 4 })).toEqual({ channel: 4, by: "model", calls: 1 });
  const byModel = readFilters({ by: "model", channel: "4" }, TODAY);
  expect(intoLine(byModel, { ...row, model: "m" })).toEqual({ model: "m", by: "customer", calls: 1 });
  const byDay = readFilters({ by: "day" }, TODAY);
  expect(intoLine(byDay, { ...row, day: "2026-11-03" })).toMatchObject({ from: "2026-11-03", to: "2026-11-03" });
});

test("a channel or customer without a name is called by its number", () => {
  expect(nameOf({ ...row, channel_id: 0 }, "channel", "no attempt")).toBe("no attempt");
  expect(nameOf({ ...row, channel_id: 9 }, "channel", "no attempt")).toBe("#9");
  expect(nameOf({ ...row, customer_id: 1001 }, "customer", "")).toBe("#1001");
});
