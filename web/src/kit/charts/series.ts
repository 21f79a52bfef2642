/** Which series a chart shows and in which colours. Pure. */
import { addUsd, compareUsd } from "../format";

export const SERIES_MAX = 7;
export const PALETTE = 10;

export interface SpendDay {
  day: string;
  parts: readonly { name: string; usd: string; calls?: number }[];
}

/** FNV-1a: the same name has the same colour on every page and every day. */
function hash(name: string): number {
  let value = 0x811c9dc5;
  for (let index = 0; index < name.length; index += 1) {
    value = Math.imul(value ^ name.charCodeAt(index), 0x01000193) >>> 0;
  }
  return value;
}

/** A colour for each name. Two that want the same one: the later in the alphabet takes the next that is free. */
export function colours(names: readonly string[]): Map<string, string> {
  const taken = new Set<number>();
  const given = new Map<string, string>();
  for (const name of [...names].sort()) {
    let slot = hash(name) % PALETTE;
    for (let tries = 0; taken.has(slot) && tries < PALETTE; tries += 1) slot = (slot + 1) % PALETTE;
    taken.add(slot);
    given.set(name, `var(--series-${slot + 1})`);
  }
  return given;
}

/** The dearest names, at most seven, dearest first; the rest is "other". */
export function topSeries(days: readonly SpendDay[]): { names: string[]; hasOther: boolean } {
  const amounts = new Map<string, string[]>();
  for (const { parts } of days) {
    for (const { name, usd } of parts) amounts.set(name, [...(amounts.get(name) ?? []), usd]);
  }
  const totals = [...amounts].map(([name, all]) => ({ name, total: addUsd(all) }));
  totals.sort((a, b) => compareUsd(b.total, a.total) || (a.name < b.name ? -1 : 1));
  return { names: totals.slice(0, SERIES_MAX).map((one) => one.name), hasOther: totals.length > SERIES_MAX };
}

/** The spend of one day by series, exact. */
export function spendOf(day: SpendDay, name: string): string {
  return addUsd(day.parts.filter((part) => part.name === name).map((part) => part.usd));
}
export function otherOf(day: SpendDay, names: readonly string[]): string {
  return addUsd(day.parts.filter((part) => !names.includes(part.name)).map((part) => part.usd));
}
