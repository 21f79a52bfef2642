// Exact arithmetic on the decimal texts in which money travels.
import { nanosOf, usdOf } from "@/kit/format";

/** Nano-dollars of a decimal text, with nothing for what cannot be read: only for sums that are shown beside their parts. */
export function nano(usd: string | null | undefined): bigint {
  return usd ? (nanosOf(usd) ?? 0n) : 0n;
}

export function sumUsd(amounts: Iterable<string>): string {
  let sum = 0n;
  for (const amount of amounts) sum += nano(amount);
  return usdOf(sum);
}

export function minusUsd(one: string, other: string): string {
  return usdOf(nano(one) - nano(other));
}

export function negativeUsd(usd: string): string {
  return usdOf(-nano(usd));
}

export function isNothing(usd: string | null | undefined): boolean {
  return nano(usd) === 0n;
}

/** The share of `part` in `whole`, 0 to 1, for bars only; never for an amount that is shown. */
export function shareOf(part: string, whole: string): number {
  const all = nano(whole);
  if (all <= 0n) return 0;
  const share = Number((nano(part) * 10_000n) / all) / 10_000;
  return Math.min(1, Math.max(0, share));
}

/** What a person typed into a field of money: "$1,000.50", ".5". Null when it is no amount; "0,5" could be two things. */
export function readTypedUsd(typed: string): string | null {
  const bare = typed
    .trim()
    .replace(/^\$\s*/, "")
    .replace(/(?<=\d),(?=\d{3}(?!\d))/g, "")
    .replace(/^\./, "0.")
    .replace(/\.$/, "");
  const amount = nanosOf(bare);
  return amount === null || amount < 0n ? null : usdOf(amount);
}
