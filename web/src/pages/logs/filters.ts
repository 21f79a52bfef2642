// The filters of the log: read from the address, written to it, and turned into what the API is asked.

import { readTypedUsd } from "@/kit/records/money";
import { type Search, textOf } from "@/kit/records/search";

export const RANGES = ["any", "1h", "24h", "7d", "30d", "custom"] as const;
export type Range = (typeof RANGES)[number];

/** Words of the API beside the outcomes themselves. */
export const OUTCOME_GROUPS = ["failed", "charged"] as const;

export interface LogFilters {
  q: string;
  key: string;
  model: string;
  endpoint: string;
  outcome: string;
  range: Range;
  /** Moments as RFC 3339, only of a custom range. */
  from: string;
  to: string;
  /** Dollars, as a decimal text. */
  min: string;
}

export const NO_FILTERS: LogFilters = {
  q: "",
  key: "",
  model: "",
  endpoint: "",
  outcome: "",
  range: "any",
  from: "",
  to: "",
  min: "",
};

const SPANS: Record<Exclude<Range, "any" | "custom">, number> = {
  "1h": 3_600_000,
  "24h": 86_400_000,
  "7d": 7 * 86_400_000,
  "30d": 30 * 86_400_000,
};

/** The beginning of a request id that is long enough to be looked for. */
export const SHORTEST_ID = 8;

export function readFilters(search: Search): LogFilters {
  const from = momentOf(textOf(search, "from"));
  const to = momentOf(textOf(search, "to"));
  const asked = textOf(search, "range");
  const range = from || to ? "custom" : (RANGES.find((word) => word === asked && word !== "custom") ?? "any");
  const key = textOf(search, "key");
  return {
    q: textOf(search, "q"),
    key: /^\d{1,18}$/.test(key) ? key : "",
    model: textOf(search, "model"),
    endpoint: textOf(search, "endpoint"),
    outcome: textOf(search, "outcome"),
    range,
    from,
    to,
    min: readTypedUsd(textOf(search, "min")) ?? "",
  };
}

/** What the address says: only what differs from no filter at all. */
export function writeFilters(filters: LogFilters): Record<string, string> {
  const search: Record<string, string> = {};
  for (const name of ["q", "key", "model", "endpoint", "outcome", "min"] as const) {
    if (filters[name]) search[name] = filters[name];
  }
  if (filters.range === "custom") {
    if (filters.from) search.from = filters.from;
    if (filters.to) search.to = filters.to;
  } else if (filters.range !== "any") {
    search.range = filters.range;
  }
  return search;
}

/** How many filters are set; what was searched for is not counted, it is seen. */
export function countFilters(filters: LogFilters): number {
  const set = [
    filters.key,
    filters.model,
    filters.endpoint,
    filters.outcome,
    filters.min,
    filters.range === "any" ? "" : filters.range,
  ];
  return set.filter(Boolean).length;
}

/** The API's parameters. A search by id stands alone: it finds a call whatever else is set. */
export function askFor(filters: LogFilters, now: Date): Record<string, string> {
  if (filters.q.length >= SHORTEST_ID) return { q: filters.q };
  const asked: Record<string, string> = {};
  if (filters.range === "custom") {
    if (filters.from) asked.from = filters.from;
    if (filters.to) asked.to = filters.to;
  } else if (filters.range !== "any") {
    asked.from = new Date(now.getTime() - SPANS[filters.range]).toISOString();
  }
  for (const name of ["key", "model", "endpoint", "outcome"] as const) {
    if (filters[name]) asked[name] = filters[name];
  }
  if (filters.min) asked.min_cost_usd = filters.min;
  return asked;
}

function momentOf(text: string): string {
  if (!text) return "";
  const read = new Date(text);
  return Number.isNaN(read.getTime()) ? "" : read.toISOString().replace(".000Z", "Z");
}

/** For a field of date and time: in the reader's zone, to the minute. */
export function toLocalField(moment: string): string {
  if (!moment) return "";
  const read = new Date(moment);
  const shifted = new Date(read.getTime() - read.getTimezoneOffset() * 60_000);
  return shifted.toISOString().slice(0, 16);
}

export function fromLocalField(field: string): string {
  if (!field) return "";
  return momentOf(new Date(field).toString());
}
