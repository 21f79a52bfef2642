import { describe, expect, it } from "vitest";
import { looksWhole, tidyCode } from "./code";
import { readLedgerFilters, writeLedgerFilters } from "./filters";

describe("redemption codes as people type them", () => {
  it("forgives case, blanks, dashes and look-alikes", () => {
    expect(tidyCode(" tl 7k3m–9qxa 2bvd.w4tn ")).toBe("TL-7K3M-9QXA-2BVD-W4TN");
    expect(tidyCode("tl7k3m9qxa2bvdw4tn")).toBe("TL-7K3M-9QXA-2BVD-W4TN");
    expect(tidyCode("TL-oiil-0000-0000-0000")).toBe("TL-0111-0000-0000-0000");
  });
  it("sees when something is missing", () => {
    expect(looksWhole("TL-7K3M-9QXA-2BVD-W4TN")).toBe(true);
    expect(looksWhole("TL-7K3M-9QXA-2BVD")).toBe(false);
    expect(looksWhole("7K3M-9QXA-2BVD-W4TN")).toBe(false);
    expect(looksWhole("")).toBe(false);
  });
});

describe("filters of the movements", () => {
  const now = new Date("2026-11-14T10:00:00Z");
  it("come back from the address, and nonsense does not", () => {
    const filters = readLedgerFilters({ kind: "refund", from: "2026-11-05", to: "2026-11-01" }, now);
    expect(filters).toEqual({ kind: "refund", from: "2026-11-01", to: "2026-11-05" });
    expect(readLedgerFilters(writeLedgerFilters(filters), now)).toEqual(filters);
    expect(readLedgerFilters({ kind: "theft", from: "x" }, now)).toEqual({ kind: "", from: "", to: "" });
  });
});
