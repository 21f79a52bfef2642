/** What the margins page is asked for, read from its address. */
import type { MarginRow, Query } from "@/api";
import { addDays, type Days, daysOfPreset, isDay, tidyDays } from "@/kit/records/days";
import { type Search, textOf } from "@/kit/records/search";

export const DIMENSIONS = ["channel", "model", "customer", "group", "day"] as const;
export type Dimension = (typeof DIMENSIONS)[number];
export const PRESETS = ["yesterday", "today", "7d", "30d"] as const;
export type Preset = (typeof PRESETS)[number];
const USUAL: Preset = "30d";

export interface MarginFilters {
  by: Dimension;
  days: Days;
  /** Null where the days were chosen one by one. */
  preset: Preset | null;
  channel: string;
  model: string;
  customer: string;
  group: string;
  isBelowCost: boolean;
}

function presetDays(preset: Preset, today: string): Days {
  switch (preset) {
    case "yesterday": {
      const day = addDays(today, -1);
      return { from: day, to: day };
    }
    case "today":
      return { from: today, to: today };
    case "7d":
    case "30d":
      return daysOfPreset(preset, today);
  }
}

export function readFilters(search: Search, today: string): MarginFilters {
  const by = DIMENSIONS.find((one) => one === textOf(search, "by")) ?? "channel";
  const [from, to] = [textOf(search, "from"), textOf(search, "to")];
  const chosen = isDay(from) && isDay(to);
  const preset = PRESETS.find((one) => one === textOf(search, "days")) ?? USUAL;
  return {
    by,
    days: chosen ? tidyDays(from, to, today) : presetDays(preset, today),
    preset: chosen ? null : preset,
    channel: textOf(search, "channel"),
    model: textOf(search, "model"),
    customer: textOf(search, "customer"),
    group: textOf(search, "group"),
    isBelowCost: textOf(search, "below_cost") === "true",
  };
}

/** The filters as the interface takes them. */
export function queryOf(filters: MarginFilters): Query {
  const { days, channel, model, customer, group } = filters;
  return { from: days.from, to: days.to, channel, model, customer, group };
}

/** The address that narrows to one line and asks what it is made of. */
export function intoLine(filters: MarginFilters, row: MarginRow): Query {
  const next = (taken: Dimension[]) => DIMENSIONS.find((one) => !taken.includes(one) && one !== "day") ?? "day";
  const taken: Dimension[] = [filters.by];
  if (filters.channel !== "") taken.push("channel");
  if (filters.model !== "") taken.push("model");
  if (filters.customer !== "") taken.push("customer");
  if (filters.group !== "") taken.push("group");
  const narrowed: Record<Dimension, Query> = {
    channel: { channel: row.channel_id },
    model: { model: row.model },
    customer: { customer: row.customer_id },
    group: { group: row.group },
    day: { from: row.day, to: row.day, days: undefined },
  };
  return { ...narrowed[filters.by], by: next(taken), calls: 1 };
}

/** What a line is called. */
export function nameOf(row: MarginRow, by: Dimension, noChannel: string): string {
  switch (by) {
    case "channel":
      return row.channel ?? (row.channel_id === 0 ? noChannel : `#${row.channel_id}`);
    case "model":
      return row.model ?? "";
    case "customer":
      return row.customer ?? `#${row.customer_id}`;
    case "group":
      return row.group ?? "";
    case "day":
      return row.day ?? "";
  }
}
