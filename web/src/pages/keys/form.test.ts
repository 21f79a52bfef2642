import { describe, expect, it } from "vitest";
import { draftFaults, emptyDraft, isNetwork, newKeyOf, percentUsed } from "./form";

const now = new Date("2026-11-16T10:00:00Z");
const draft = { ...emptyDraft("UTC"), name: " Checkout " };

describe("a new key", () => {
  it("sends a name alone when nothing else was filled in", () => {
    expect(newKeyOf(draft, now)).toEqual({ name: "Checkout" });
  });

  it("sends budgets, lists, limits and end", () => {
    const full = {
      ...draft,
      budgets: [{ period: "daily" as const, timezone: "UTC", limit: "2.50" }],
      models: ["gpt-5.5"],
      addresses: "203.0.113.0/24\n2001:db8::/32",
      requests: "60",
      end: "7" as const,
      strict: true,
    };
    expect(draftFaults(full, now)).toEqual([]);
    expect(newKeyOf(full, now)).toEqual({
      name: "Checkout",
      budgets: [{ period: "daily", timezone: "UTC", limit_usd: "2.50" }],
      models: ["gpt-5.5"],
      addresses: ["203.0.113.0/24", "2001:db8::/32"],
      requests_per_minute: 60,
      expires_at: "2026-11-23T10:00:00.000Z",
      strict: true,
    });
  });

  it("names every fault", () => {
    const wrong = {
      ...draft,
      name: "",
      budgets: [
        { period: "daily" as const, timezone: "UTC", limit: "0" },
        { period: "daily" as const, timezone: "UTC", limit: "1" },
      ],
      addresses: "10.0.0.300",
      tokens: "-1",
      end: "date" as const,
      endDate: "2020-01-01",
    };
    expect(draftFaults(wrong, now).map((fault) => `${fault.field} ${fault.why}`)).toEqual([
      "name missing",
      "budget amount",
      "budget twice",
      "addresses address",
      "tokens count",
      "endDate past",
    ]);
  });

  it("knows networks from words", () => {
    expect(["10.0.0.0/8", "10.0.0.1", "::1", "2001:db8::/32"].every(isNetwork)).toBe(true);
    expect(["10.0.0.0/33", "10.0.0", "example.com", "10.0.0.0/8/8"].some(isNetwork)).toBe(false);
  });

  it("says how full a budget is, from nothing to all", () => {
    expect(percentUsed("5", "10")).toBe(50);
    expect(percentUsed("11", "10")).toBe(100);
    expect(percentUsed("0", "0")).toBe(100);
  });
});
