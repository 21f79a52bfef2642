/**
 * Prices for people: whole pico-USD for one unit become dollars for the unit that people think in.
 *
 * Everything is integer arithmetic. A price that leaves here is a decimal text, exact to the nano-dollar.
 */
import type { Face, FacePrices, Model, PriceTier, TierCondition } from "./record";

/** What a price is for: a million tokens, a second of video, a picture. */
export type PriceUnit =
  | "million_tokens"
  | "million_characters"
  | "minute"
  | "second"
  | "image"
  | "extra_image"
  | "video"
  | "track"
  | "call";

export interface PriceLine {
  face: Face;
  unit: PriceUnit;
  usd: string;
  /** Another price for accounts that have topped up, where there is one. */
  paidUsd: string | null;
}

export interface TierPrices {
  name: string;
  when: TierCondition[];
  lines: PriceLine[];
}

const FACE_ORDER: Face[] = [
  "input",
  "output",
  "cache_read",
  "cache_write",
  "cache_write_1h",
  "video_second",
  "per_call",
  "image_input",
  "image_output",
  "audio_input",
  "audio_output",
];

const PICO_PLACES = 12;
const NANO_PLACES = 9;

/** How many billed units make the unit that people think in. */
const UNIT_COUNT: Record<PriceUnit, bigint> = {
  million_tokens: 1_000_000n,
  million_characters: 1_000_000n,
  // Recordings are billed as a thousand tokens a minute.
  minute: 1_000n,
  second: 1n,
  image: 1n,
  extra_image: 1n,
  video: 1n,
  track: 1n,
  call: 1n,
};

export function unitOf(face: Face, model: Pick<Model, "kind" | "record">): PriceUnit {
  switch (face) {
    case "video_second":
      return "second";
    case "per_call":
      if (model.kind === "image") return "image";
      if (model.kind === "video") return "video";
      return model.kind === "music" ? "track" : "call";
    case "image_input":
      return model.kind === "video" ? "extra_image" : "million_tokens";
    case "audio_input":
      return model.record.billing_unit === "audio_duration" ? "minute" : "million_tokens";
    case "input":
      return model.record.billing_unit === "characters" ? "million_characters" : "million_tokens";
    case "output":
    case "cache_read":
    case "cache_write":
    case "cache_write_1h":
    case "image_output":
    case "audio_output":
      return "million_tokens";
  }
}

/** A decimal number such as 1.33 as a fraction of whole numbers. */
export function fractionOf(rate: number): { top: bigint; bottom: bigint } {
  const text = rate.toFixed(12).replace(/0+$/, "").replace(/\.$/, "");
  const [whole = "0", part = ""] = text.split(".");
  return { top: BigInt(whole + part), bottom: 10n ** BigInt(part.length) };
}

/**
 * `pico` for one unit, times `count` units, times the group's rate, as a decimal text in USD without trailing zeros. What
 * is below a nano-dollar is rounded up: money has no smaller part, and a price must not look lower than it is.
 */
export function dollars(pico: number, count: bigint, rate: number): string {
  const { top, bottom } = fractionOf(rate);
  const below = bottom * 10n ** BigInt(PICO_PLACES - NANO_PLACES);
  const nanos = (BigInt(Math.round(pico)) * count * top + below - 1n) / below;
  const digits = nanos.toString().padStart(NANO_PLACES + 1, "0");
  const whole = digits.slice(0, digits.length - NANO_PLACES);
  const part = digits.slice(digits.length - NANO_PLACES).replace(/0+$/, "");
  return part === "" ? whole : `${whole}.${part}`;
}

function linesOf(model: Model, standard: FacePrices, paid: FacePrices | null): PriceLine[] {
  const rate = model.record.billing_rate;
  const lines: PriceLine[] = [];
  for (const face of FACE_ORDER) {
    const pico = standard[face];
    if (pico === undefined) continue;
    const unit = unitOf(face, model);
    const count = UNIT_COUNT[unit];
    const paidPico = paid?.[face];
    const usd = dollars(pico, count, rate);
    const paidUsd = paidPico === undefined ? null : dollars(paidPico, count, rate);
    lines.push({ face, unit, usd, paidUsd: paidUsd === usd ? null : paidUsd });
  }
  return lines;
}

/** The prices that hold where no narrower tier does. */
export function basePrices(model: Model): PriceLine[] {
  const book = model.record.book_faces;
  return linesOf(model, book.standard, book.paid);
}

/** Every tier that asks for something, with its conditions. */
export function tierPrices(model: Model): TierPrices[] {
  const tiers: PriceTier[] = model.record.book_faces.tiers ?? [];
  return tiers
    .filter((tier) => (tier.when ?? []).length > 0)
    .map((tier) => ({ name: tier.tier, when: tier.when ?? [], lines: linesOf(model, tier.standard, tier.paid) }));
}

/**
 * The one or two prices that a card shows. Where tiers cover everything (pictures by size, videos by mode), the cheapest
 * and the dearest of them, since the price without a tier is never charged.
 */
export function headlinePrices(model: Model): { line: PriceLine; toUsd: string | null }[] {
  const base = basePrices(model);
  const tiers = tierPrices(model);
  const faces: Face[] =
    base.some((line) => line.face === "input") && base.some((line) => line.face === "output")
      ? ["input", "output"]
      : base.slice(0, 1).map((line) => line.face);
  const chosen: { line: PriceLine; toUsd: string | null }[] = [];
  for (const face of faces) {
    const line = base.find((one) => one.face === face);
    if (line === undefined) continue;
    const byRequest = tiers.filter((tier) => tier.when.every((condition) => condition.dim === "request_attr"));
    const spread = model.kind === "image" || model.kind === "video" ? byRequest : [];
    const amounts = spread.flatMap((tier) => tier.lines.filter((one) => one.face === face).map((one) => one.usd));
    if (amounts.length === 0) {
      chosen.push({ line, toUsd: null });
      continue;
    }
    const sorted = [...amounts].sort(compareUsd);
    const low = sorted[0] ?? line.usd;
    const high = sorted[sorted.length - 1] ?? low;
    chosen.push({ line: { ...line, usd: low }, toUsd: low === high ? null : high });
  }
  return chosen;
}

/** Exact comparison of two decimal texts that are not negative. */
export function compareUsd(left: string, right: string): number {
  const a = scaled(left);
  const b = scaled(right);
  return a < b ? -1 : a > b ? 1 : 0;
}

const COMPARED_PLACES = 24;

function scaled(usd: string): bigint {
  const [whole = "0", part = ""] = usd.split(".");
  return BigInt(whole + part.slice(0, COMPARED_PLACES).padEnd(COMPARED_PLACES, "0"));
}

/** What "cheapest first" sorts by: output where there is one, else the first price. Only within one unit it means much. */
export function sortPrice(model: Model): string {
  const prices = headlinePrices(model);
  return (prices[1] ?? prices[0])?.line.usd ?? "0";
}

/** Hours such as 9, 10, 11, 14 as spans: 9 to 12, 14 to 15. */
export function hourSpans(hours: number[]): [number, number][] {
  const spans: [number, number][] = [];
  for (const hour of [...new Set(hours)].sort((a, b) => a - b)) {
    const last = spans[spans.length - 1];
    if (last !== undefined && last[1] === hour) last[1] = hour + 1;
    else spans.push([hour, hour + 1]);
  }
  return spans;
}

/** Weekdays (1 is Monday) as spans: 1 to 5. */
export function daySpans(days: number[]): [number, number][] {
  const spans: [number, number][] = [];
  for (const day of [...new Set(days)].sort((a, b) => a - b)) {
    const last = spans[spans.length - 1];
    if (last !== undefined && last[1] + 1 === day) last[1] = day;
    else spans.push([day, day]);
  }
  return spans;
}

/** A price that came as a number of dollars, as a decimal text: 1e-7 is none. */
export function dollarsOfNumber(usd: number): string {
  return usd.toFixed(NANO_PLACES).replace(/0+$/, "").replace(/\.$/, "");
}
