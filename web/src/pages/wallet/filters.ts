// The filters of the wallet's movements, in the address.
import type { LedgerLine } from "@/api";
import { dayOf, isDay, tidyDays } from "@/kit/records/days";
import { type Search, textOf } from "@/kit/records/search";

export const KINDS = [
  "charge",
  "refund",
  "settlement_adjustment",
  "undelivered",
  "top_up",
  "redemption",
  "trial_grant",
  "trial_expiry",
  "adjust",
] as const satisfies readonly LedgerLine["kind"][];

export interface LedgerFilters {
  kind: LedgerLine["kind"] | "";
  from: string;
  to: string;
}

export function readLedgerFilters(search: Search, now: Date): LedgerFilters {
  const asked = textOf(search, "kind");
  const kind = KINDS.find((word) => word === asked) ?? "";
  const from = textOf(search, "from");
  const to = textOf(search, "to");
  if (isDay(from) && isDay(to)) return { kind, ...tidyDays(from, to, dayOf(now)) };
  return { kind, from: isDay(from) ? from : "", to: isDay(to) ? to : "" };
}

export function writeLedgerFilters(filters: LedgerFilters): Record<string, string> {
  const search: Record<string, string> = {};
  for (const name of ["kind", "from", "to"] as const) {
    if (filters[name]) search[name] = filters[name];
  }
  return search;
}
