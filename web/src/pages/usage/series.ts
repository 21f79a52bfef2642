// From the lines of a usage report to what charts and tables show.
import type { UsageLine } from "@/api";
import type { RequestPoint, SpendDay } from "@/kit";
import { usdOf } from "@/kit/format";
import { type Days, everyDay } from "@/kit/records/days";
import { nano } from "@/kit/records/money";

export const GROUPS = ["model", "key", "endpoint"] as const;
export type Group = (typeof GROUPS)[number];

export interface Sum {
  /** The model, the number of the key, or the endpoint; empty for calls without a key. */
  id: string;
  name: string;
  calls: number;
  failed: number;
  input: number;
  output: number;
  refunded: string;
  /** Charges minus refunds, as everywhere. */
  spent: string;
}

function idOf(line: UsageLine, group: Group): string {
  switch (group) {
    case "model":
      return line.model ?? "";
    case "endpoint":
      return line.endpoint ?? "";
    case "key":
      return line.key_id === null || line.key_id === undefined ? "" : String(line.key_id);
  }
}

/** A name for each id, never two alike: keys may share a name, then their numbers tell them apart. */
export function namesOf(
  lines: UsageLine[],
  group: Group,
  words: { noKey: string; endpoint: (word: string) => string },
): Map<string, string> {
  const names = new Map<string, string>();
  for (const line of lines) {
    const id = idOf(line, group);
    if (names.has(id)) continue;
    if (group === "key") names.set(id, id === "" ? words.noKey : (line.key_name ?? `#${id}`));
    else names.set(id, group === "endpoint" ? words.endpoint(id) : id);
  }
  const used = new Map<string, number>();
  for (const name of names.values()) used.set(name, (used.get(name) ?? 0) + 1);
  for (const [id, name] of names) {
    if ((used.get(name) ?? 0) > 1) names.set(id, `${name} #${id}`);
  }
  return names;
}

interface Adding {
  calls: number;
  failed: number;
  input: number;
  output: number;
  refunded: bigint;
  spent: bigint;
}

/** Dearest first; the same spend by more calls, then by name, so that equal answers look equal. */
export function sumBy(lines: UsageLine[], group: Group, names: Map<string, string>): Sum[] {
  const found = new Map<string, Adding>();
  for (const line of lines) {
    const id = idOf(line, group);
    const sum = found.get(id) ?? { calls: 0, failed: 0, input: 0, output: 0, refunded: 0n, spent: 0n };
    sum.calls += line.calls;
    sum.failed += line.failed_calls;
    sum.input += line.input_units;
    sum.output += line.output_units;
    sum.refunded += nano(line.refunded_usd);
    sum.spent += nano(line.spent_usd);
    found.set(id, sum);
  }
  const all = [...found].map(([id, sum]) => ({
    ...sum,
    id,
    name: names.get(id) ?? id,
    refunded: usdOf(sum.refunded),
    spent: usdOf(sum.spent),
  }));
  return all.sort((one, other) => {
    const money = nano(other.spent) - nano(one.spent);
    if (money !== 0n) return money > 0n ? 1 : -1;
    return other.calls - one.calls || (one.name < other.name ? -1 : 1);
  });
}

/** Every day of the range with the spend of each series; days without spend are there, empty. A bar cannot show less than nothing. */
export function spendDays(lines: UsageLine[], group: Group, names: Map<string, string>, days: Days): SpendDay[] {
  const found = new Map<string, { name: string; usd: string; calls: number }[]>();
  for (const line of lines) {
    if (line.day === undefined || nano(line.spent_usd) <= 0n) continue;
    const id = idOf(line, group);
    const parts = found.get(line.day) ?? [];
    parts.push({ name: names.get(id) ?? id, usd: line.spent_usd, calls: line.calls });
    found.set(line.day, parts);
  }
  return everyDay(days).map((day) => ({ day, parts: found.get(day) ?? [] }));
}

export function requestDays(lines: UsageLine[], days: Days): RequestPoint[] {
  const found = new Map<string, { calls: number; failed: number }>();
  for (const line of lines) {
    if (line.day === undefined) continue;
    const sum = found.get(line.day) ?? { calls: 0, failed: 0 };
    sum.calls += line.calls;
    sum.failed += line.failed_calls;
    found.set(line.day, sum);
  }
  return everyDay(days).map((day) => ({
    at: day,
    calls: found.get(day)?.calls ?? 0,
    failed: found.get(day)?.failed ?? 0,
  }));
}

/** The mean of some days, to the nano, rounded down; for a hint, never for a bill. */
export function meanUsd(total: string, days: number): string {
  return days > 0 ? usdOf(nano(total) / BigInt(days)) : "0";
}
