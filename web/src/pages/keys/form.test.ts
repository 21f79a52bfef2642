import { describe, expect, it } from "vitest";
import { dayOf, draftFaults, emptyDraft, endDraftOf, endFault, endOf, isNetwork, newKeyOf, percentUsed } from "./form";

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

describe("the end of a key", () => {
  it("is a day and a time of the reader's, and without a time the end of the day", () => {
    const end = endOf({ end: "date", endDate: "2026-11-20", endTime: "14:30" }, now);
    expect(end).toEqual(new Date(2026, 10, 20, 14, 30, 0));
    expect(endOf({ end: "date", endDate: "2026-11-20", endTime: "" }, now)).toEqual(new Date(2026, 10, 20, 23, 59, 59));
    expect(endOf({ end: "never", endDate: "2026-11-20", endTime: "" }, now)).toBeNull();
  });

  it("is none while the day is not written out, and wrong then", () => {
    expect(endOf({ end: "date", endDate: "", endTime: "14:30" }, now)).toBeNull();
    expect(endFault({ end: "date", endDate: "", endTime: "" }, now)).toBe(true);
    expect(endFault({ end: "never", endDate: "", endTime: "" }, now)).toBe(false);
  });

  it("may lie later on the same day, and not a minute ago", () => {
    const soon = new Date(now.getTime() + 60_000);
    const gone = new Date(now.getTime() - 60_000);
    const at = (when: Date) => endDraftOf(when.toISOString());
    expect(endFault(at(soon), now)).toBe(false);
    expect(endFault(at(gone), now)).toBe(true);
  });

  it("comes back from the form as it was", () => {
    for (const end of ["2026-11-20T13:30:00.000Z", "2027-01-01T00:00:07.000Z"]) {
      expect(endOf(endDraftOf(end), now)?.toISOString()).toBe(end);
    }
    const late = new Date(2026, 10, 20, 23, 59, 59);
    expect(endDraftOf(late.toISOString())).toEqual({ end: "date", endDate: "2026-11-20", endTime: "" });
    expect(endDraftOf(null).end).toBe("never");
    expect(dayOf(new Date(2026, 0, 2))).toBe("2026-01-02");
  });
});

describe("the routes of a key", () => {
  it("sends order, highest prices and demands, and nothing that was left empty", () => {
    const routes = {
      ...emptyDraft("UTC").routes,
      policy: "cheapest" as const,
      maxInput: " 2.50 ",
      residencies: "de, fr",
    };
    expect(draftFaults({ ...draft, routes }, now)).toEqual([]);
    expect(newKeyOf({ ...draft, routes }, now)).toEqual({
      name: "Checkout",
      policy: "cheapest",
      max_price: { input: "2.50", output: null, unit: null },
      residencies: ["de", "fr"],
    });
  });

  it("calls a price wrong that is none", () => {
    const routes = { ...emptyDraft("UTC").routes, maxOutput: "a lot" };
    expect(draftFaults({ ...draft, routes }, now)).toEqual([{ field: "maxOutput", why: "price" }]);
  });
});
