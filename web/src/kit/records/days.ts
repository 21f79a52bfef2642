// Days as the ledger counts them: UTC, both ends of a range included.

export const DAY_MS = 86_400_000;
/** The ledger keeps day sums for this long, and answers no longer range. */
export const MOST_DAYS = 400;

const DAY = /^\d{4}-\d{2}-\d{2}$/;

export interface Days {
  from: string;
  to: string;
}

export function dayOf(moment: Date): string {
  return moment.toISOString().slice(0, 10);
}

export function isDay(text: string): boolean {
  if (!DAY.test(text)) return false;
  const read = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(read.getTime()) && dayOf(read) === text;
}

export function addDays(day: string, count: number): string {
  return dayOf(new Date(Date.parse(`${day}T00:00:00Z`) + count * DAY_MS));
}

export function countDays(days: Days): number {
  return Math.round((Date.parse(`${days.to}T00:00:00Z`) - Date.parse(`${days.from}T00:00:00Z`)) / DAY_MS) + 1;
}

/** Every day of the range, oldest first; a chart without gaps needs the days on which nothing happened too. */
export function everyDay(days: Days): string[] {
  const count = Math.min(Math.max(countDays(days), 0), MOST_DAYS);
  return Array.from({ length: count }, (_, at) => addDays(days.from, at));
}

/** In order, not in the future, and no longer than the ledger answers. */
export function tidyDays(one: string, other: string, today: string): Days {
  let [from, to] = one <= other ? [one, other] : [other, one];
  if (to > today) to = today;
  if (from > to) from = to;
  if (countDays({ from, to }) > MOST_DAYS) from = addDays(to, 1 - MOST_DAYS);
  return { from, to };
}

export const DAY_PRESETS = ["7d", "30d", "90d", "month", "last_month"] as const;
export type DayPreset = (typeof DAY_PRESETS)[number];

export function isDayPreset(text: unknown): text is DayPreset {
  return DAY_PRESETS.some((preset) => preset === text);
}

export function daysOfPreset(preset: DayPreset, today: string): Days {
  const first = `${today.slice(0, 8)}01`;
  switch (preset) {
    case "7d":
      return { from: addDays(today, -6), to: today };
    case "30d":
      return { from: addDays(today, -29), to: today };
    case "90d":
      return { from: addDays(today, -89), to: today };
    case "month":
      return { from: first, to: today };
    case "last_month": {
      const to = addDays(first, -1);
      return { from: `${to.slice(0, 8)}01`, to };
    }
  }
}
