/** What a person typed into the form of a channel, read strictly. */

/** "gpt-5" or "gpt-5 = gpt-5-2026": ours and theirs. Null if a line cannot be read, or there is none. */
export function readModels(text: string): Record<string, string> | null {
  const models: Record<string, string> = {};
  for (const raw of text.split("\n")) {
    const line = raw.trim();
    if (line === "") continue;
    const [ours = "", theirs, more] = line.split("=").map((part) => part.trim());
    if (ours === "" || theirs === "" || more !== undefined || /\s/.test(ours)) return null;
    models[ours] = theirs ?? ours;
  }
  return Object.keys(models).length === 0 ? null : models;
}

export function writeModels(models: Record<string, string>): string {
  return Object.entries(models)
    .map(([ours, theirs]) => (ours === theirs ? ours : `${ours} = ${theirs}`))
    .join("\n");
}

/** An object, null for an empty text, undefined for what cannot be read. */
export function readCost(text: string): Record<string, unknown> | null | undefined {
  if (text.trim() === "") return null;
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

export function readList(text: string): string[] {
  return text
    .split(",")
    .map((one) => one.trim())
    .filter((one) => one !== "");
}

/** A number of at least one, null for an empty text, undefined for what is no number. */
export function readNumber(text: string): number | null | undefined {
  const bare = text.trim();
  if (bare === "") return null;
  return /^\d{1,12}$/.test(bare) ? Number(bare) : undefined;
}
