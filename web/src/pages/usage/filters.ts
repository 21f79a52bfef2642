// The filters of the usage page, in the address.
import { type DayPreset, daysOfPreset, isDay, isDayPreset, tidyDays } from "@/kit/records/days";
import { type Search, textOf, wordOf } from "@/kit/records/search";
import { GROUPS, type Group } from "./series";

export interface UsageFilters {
  preset: DayPreset | "custom";
  from: string;
  to: string;
  by: Group;
  key: string;
  model: string;
}

export const USUAL_PRESET: DayPreset = "30d";

export function readUsageFilters(search: Search, today: string): UsageFilters {
  const from = textOf(search, "from");
  const to = textOf(search, "to");
  const by = wordOf(search, "by", GROUPS);
  const asked = textOf(search, "key");
  const key = /^\d{1,18}$/.test(asked) ? asked : "";
  const model = textOf(search, "model");
  if (isDay(from) && isDay(to)) return { preset: "custom", ...tidyDays(from, to, today), by, key, model };
  const range = textOf(search, "range");
  const preset = isDayPreset(range) ? range : USUAL_PRESET;
  return { preset, ...daysOfPreset(preset, today), by, key, model };
}

export function writeUsageFilters(filters: UsageFilters): Record<string, string> {
  const search: Record<string, string> = {};
  if (filters.preset === "custom") {
    search.from = filters.from;
    search.to = filters.to;
  } else if (filters.preset !== USUAL_PRESET) {
    search.range = filters.preset;
  }
  if (filters.by !== GROUPS[0]) search.by = filters.by;
  if (filters.key) search.key = filters.key;
  if (filters.model) search.model = filters.model;
  return search;
}

export function usageQuery(filters: UsageFilters): Record<string, string> {
  const query: Record<string, string> = { from: filters.from, to: filters.to, group_by: `day,${filters.by}` };
  if (filters.key) query.key = filters.key;
  if (filters.model) query.model = filters.model;
  return query;
}
