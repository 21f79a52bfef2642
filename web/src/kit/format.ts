/** Numbers, money and times as people read them. Pure: no clock, no browser, no language but the one given. */

const NANOS = 1_000_000_000n;
/** How many digits of a small amount are shown; the exact one is a hover away. */
const SIGNIFICANT = 4;

export type MoneyKind = "balance" | "call" | "price";

/** Exact nano-dollars of a decimal string ("-0.000245"); null if it is not one. */
export function nanosOf(usd: string): bigint | null {
  const match = /^(-)?(\d+)(?:\.(\d{1,9}))?$/.exec(usd.trim());
  if (match === null) return null;
  const [, minus, whole, part] = match;
  const nanos = BigInt(whole ?? "0") * NANOS + BigInt((part ?? "").padEnd(9, "0"));
  return minus === "-" ? -nanos : nanos;
}

/** The decimal string of nano-dollars, without needless zeros. */
export function usdOf(nanos: bigint): string {
  const sign = nanos < 0n ? "-" : "";
  const size = nanos < 0n ? -nanos : nanos;
  const part = (size % NANOS).toString().padStart(9, "0").replace(/0+$/, "");
  return `${sign}${size / NANOS}${part === "" ? "" : `.${part}`}`;
}

function grouped(whole: bigint): string {
  return whole.toString().replace(/\B(?=(\d{3})+$)/g, ",");
}

/** `decimals` of a positive amount; cuts what is beyond for a balance (never more than is there), else rounds. */
function decimals(size: bigint, digits: number, cut: boolean): string {
  const step = 10n ** BigInt(9 - digits);
  const rounded = cut ? size / step : (size + step / 2n) / step;
  const scale = 10n ** BigInt(digits);
  const part = (rounded % scale).toString().padStart(digits, "0");
  return `${grouped(rounded / scale)}${digits === 0 ? "" : `.${part}`}`;
}

function trimmed(text: string, least: number): string {
  const dot = text.indexOf(".");
  if (dot === -1) return text;
  let end = text.length;
  while (end > dot + 1 + least && text[end - 1] === "0") end -= 1;
  return text.slice(0, end);
}

function digitsFor(size: bigint, kind: MoneyKind): number {
  if (kind === "price") return 9;
  if (size === 0n) return 2;
  const text = size.toString();
  // The first digit that is not zero, counted after the point: 0.000245 has it at the fourth place.
  const first = 10 - text.length;
  const small = Math.min(9, Math.max(2, first + SIGNIFICANT - 1));
  if (kind === "balance") return size >= NANOS / 100n ? 2 : small;
  return size >= NANOS ? (size >= 100n * NANOS ? 2 : 4) : small;
}

/** "$12.40", "$0.000245", "($3.00)". What is not an amount is shown as it came. */
export function money(usd: string, kind: MoneyKind): string {
  const nanos = nanosOf(usd);
  if (nanos === null) return usd;
  const size = nanos < 0n ? -nanos : nanos;
  const text = `$${trimmed(decimals(size, digitsFor(size, kind), kind === "balance"), 2)}`;
  return nanos < 0n ? `(${text})` : text;
}

/** "$9.1B" for places too small for more; from a million up, cut and never rounded up. The exact one is a hover away. */
export function shortMoney(usd: string): string {
  const nanos = nanosOf(usd);
  if (nanos === null) return usd;
  const size = nanos < 0n ? -nanos : nanos;
  const steps: [bigint, string][] = [
    [1_000_000_000_000n, "T"],
    [1_000_000_000n, "B"],
    [1_000_000n, "M"],
  ];
  for (const [step, suffix] of steps) {
    if (size >= step * NANOS) {
      const tenths = size / ((step * NANOS) / 10n);
      const text = `$${tenths / 10n}.${tenths % 10n}${suffix}`;
      return nanos < 0n ? `(${text})` : text;
    }
  }
  return money(usd, "balance");
}

/** Every digit: for the hover. */
export function exactMoney(usd: string): string {
  const nanos = nanosOf(usd);
  if (nanos === null) return usd;
  const size = nanos < 0n ? -nanos : nanos;
  return `${nanos < 0n ? "−" : ""}$${trimmed(decimals(size, 9, false), 2)}`;
}

/** A number a chart can draw. Never for adding up or comparing. */
export function approximate(usd: string): number {
  return Number(usd);
}

export function addUsd(amounts: readonly string[]): string {
  return usdOf(amounts.reduce((sum, one) => sum + (nanosOf(one) ?? 0n), 0n));
}
export function compareUsd(a: string, b: string): number {
  const difference = (nanosOf(a) ?? 0n) - (nanosOf(b) ?? 0n);
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}
export function isZeroUsd(usd: string): boolean {
  return nanosOf(usd) === 0n;
}

export function count(value: number, locale: string): string {
  return new Intl.NumberFormat(locale).format(value);
}
/** "1.2M": for places where the exact number is a hover away. */
export function shortCount(value: number, locale: string): string {
  return new Intl.NumberFormat(locale, { notation: "compact", maximumFractionDigits: 1 }).format(value);
}
export function percent(part: number, whole: number, locale: string): string {
  if (whole === 0) return "–";
  const share = part / whole;
  const digits = share > 0 && share < 0.01 ? 2 : share < 0.1 ? 1 : 0;
  return new Intl.NumberFormat(locale, { style: "percent", maximumFractionDigits: digits }).format(share);
}
export function bytes(value: number, locale: string): string {
  const units = ["B", "KB", "MB", "GB", "TB"];
  let size = value;
  let unit = 0;
  while (size >= 1000 && unit < units.length - 1) {
    size /= 1000;
    unit += 1;
  }
  return `${new Intl.NumberFormat(locale, { maximumFractionDigits: unit === 0 ? 0 : 1 }).format(size)} ${units[unit]}`;
}
/** "840 ms", "2.4 s", "3 min 20 s"; in Chinese "840 毫秒", "2.4 秒", "3 分 20 秒". */
export function duration(ms: number, locale: string): string {
  const number = (value: number, digits: number) =>
    new Intl.NumberFormat(locale, { maximumFractionDigits: digits }).format(value);
  const [hour, minute, second, milli] = locale.startsWith("zh")
    ? ["小时", "分", "秒", "毫秒"]
    : ["h", "min", "s", "ms"];
  if (ms < 1000) return `${number(ms, 0)} ${milli}`;
  if (ms < 60_000) return `${number(ms / 1000, ms < 10_000 ? 2 : 1)} ${second}`;
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 60) return `${minutes} ${minute} ${Math.floor((ms % 60_000) / 1000)} ${second}`;
  return `${number(Math.floor(minutes / 60), 0)} ${hour} ${minutes % 60} ${minute}`;
}

/** "3 minutes ago", "in 2 days", "just now"; beyond a month the date itself, which says more. */
export function relative(at: string, now: number, locale: string): string {
  const then = Date.parse(at);
  if (Number.isNaN(then)) return at;
  const seconds = Math.round((then - now) / 1000);
  const size = Math.abs(seconds);
  const words = new Intl.RelativeTimeFormat(locale, { numeric: "auto", style: "long" });
  if (size < 10) return words.format(0, "second");
  if (size < 60) return words.format(seconds, "second");
  if (size < 3600) return words.format(Math.trunc(seconds / 60), "minute");
  if (size < 86_400) return words.format(Math.trunc(seconds / 3600), "hour");
  if (size < 30 * 86_400) return words.format(Math.trunc(seconds / 86_400), "day");
  return new Intl.DateTimeFormat(locale, { year: "numeric", month: "short", day: "numeric" }).format(then);
}
/** The exact time in the reader's zone, with the zone's name. */
export function exactTime(at: string, locale: string, zone?: string): string {
  const then = Date.parse(at);
  if (Number.isNaN(then)) return at;
  return new Intl.DateTimeFormat(locale, {
    year: "numeric",
    month: "short",
    day: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    hourCycle: "h23",
    timeZoneName: "short",
    ...(zone === undefined ? {} : { timeZone: zone }),
  }).format(then);
}
/** A day of the books ("2026-03-04", UTC) as "Mar 4"; never shifted by the reader's zone. */
export function dayLabel(day: string, locale: string): string {
  const then = Date.parse(`${day}T00:00:00Z`);
  if (Number.isNaN(then)) return day;
  return new Intl.DateTimeFormat(locale, { month: "short", day: "numeric", timeZone: "UTC" }).format(then);
}

/** What a server said, as a sentence: with a capital, unless it begins with the name of a field, and with a stop. */
export function sentence(text: string): string {
  const begun = /^[a-z]{2,}[ ,]/.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text;
  return /[\p{L}\p{N})"'`]$/u.test(begun) ? `${begun}.` : begun;
}

/** "req_01HF…9KQ2": enough of both ends to tell two apart. */
export function shortId(value: string, head = 10, tail = 4): string {
  return value.length <= head + tail + 1 ? value : `${value.slice(0, head)}…${value.slice(-tail)}`;
}
