/** Prices travel in 10^-12 USD for one unit; people read USD for a million units, or for one. Exact both ways. */

/** Faces whose unit is worth showing by itself. */
const EACH = new Set(["per_call", "video_second"]);
export function isEach(face: string): boolean {
  return EACH.has(face);
}

/** Decimal places between a pico price and what is shown: a million units, or one. */
function places(face: string): number {
  return isEach(face) ? 12 : 6;
}

export function usdOfPico(pico: number, face: string): string {
  const digits = places(face);
  const text = String(pico).padStart(digits + 1, "0");
  const whole = text.slice(0, -digits);
  const rest = text.slice(-digits).replace(/0+$/, "");
  return rest === "" ? whole : `${whole}.${rest}`;
}

/** Null for what is no price, or finer than a price can be. */
export function picoOfUsd(typed: string, face: string): number | null {
  const found = /^\$?\s*(\d{1,9})(?:\.(\d{1,12}))?$/.exec(typed.trim());
  if (found === null) return null;
  const digits = places(face);
  const rest = (found[2] ?? "").replace(/0+$/, "");
  if (rest.length > digits) return null;
  const pico = Number(`${found[1]}${rest.padEnd(digits, "0")}`);
  return Number.isSafeInteger(pico) ? pico : null;
}

/** A price changed by so many percent, rounded half up. Null if the result is no price. */
export function raised(pico: number, percent: number): number | null {
  if (!Number.isFinite(percent) || percent < -100) return null;
  const next = Number((BigInt(pico) * BigInt(Math.round((100 + percent) * 1_000)) + 50_000n) / 100_000n);
  return Number.isSafeInteger(next) ? next : null;
}
