// What stands behind the question mark of an address, or in storage: anything at all, read as text or not at all.

export type Search = Record<string, unknown>;

export function textOf(search: Search, name: string): string {
  const value = search[name];
  if (typeof value === "string") return value.trim();
  return typeof value === "number" && Number.isFinite(value) ? String(value) : "";
}

/** The one of a closed list, or its first. */
export function wordOf<T extends string>(search: Search, name: string, words: readonly [T, ...T[]]): T {
  const value = textOf(search, name);
  return words.find((word) => word === value) ?? words[0];
}
