/** Results of social data for reading: JSON that keeps long numbers, and a table out of whatever shape it has. */
import { type Body, isObject, type Json } from "./forms";

/**
 * Platforms number things beyond 2^53. Whole numbers of 16 digits and more become texts before they are parsed, so that
 * no digit changes; texts are left alone.
 */
export function parseKeepingNumbers(text: string): Json {
  const kept = text.replace(/"(?:[^"\\]|\\.)*"|-?\d{16,}(?![\d.eE])/g, (match) =>
    match.startsWith('"') ? match : `"${match}"`,
  );
  return JSON.parse(kept) as Json;
}

export interface ResultTable {
  /** Paths of the columns, and what all of them begin with, which says nothing in a head. */
  columns: string[];
  prefix: string;
  rows: Record<string, string>[];
  more: number;
}

const MOST_COLUMNS = 7;
const MOST_ROWS = 100;
const DEEPEST = 4;

/** The first list of objects, looked for level by level. */
export function findList(value: Json): Body[] | null {
  let level: Json[] = [value];
  for (let depth = 0; depth <= DEEPEST; depth += 1) {
    for (const one of level) {
      if (Array.isArray(one) && one.length > 0 && one.every(isObject)) return one as Body[];
    }
    level = level.flatMap((one) => (isObject(one) ? Object.values(one) : []));
  }
  return null;
}

/** Members of an object as columns: those of inner objects too, by their path. */
export function flatten(item: Body, prefix = "", depth = 0): Record<string, string> {
  const flat: Record<string, string> = {};
  for (const [key, value] of Object.entries(item)) {
    const path = prefix === "" ? key : `${prefix}.${key}`;
    if (isObject(value) && depth < DEEPEST) Object.assign(flat, flatten(value, path, depth + 1));
    else if (Array.isArray(value)) flat[path] = `[${value.length}]`;
    else if (value !== null) flat[path] = String(value);
  }
  return flat;
}

/** Columns that tell things apart come first; those that are the same in every row or hold a long address, last. */
function rank(path: string, rows: Record<string, string>[]): number {
  const values = rows.map((row) => row[path] ?? "");
  const different = new Set(values).size;
  const longest = Math.max(...values.map((value) => value.length));
  const depth = path.split(".").length;
  return (
    (different > 1 || rows.length === 1 ? 0 : 10) +
    (values[0]?.startsWith("http") ? 4 : 0) +
    (longest > 200 ? 3 : 0) +
    depth
  );
}

function commonPrefix(paths: string[]): string {
  const first = paths[0]?.split(".") ?? [];
  let prefix = "";
  for (const part of first.slice(0, -1)) {
    const longer = `${prefix}${part}.`;
    if (!paths.every((path) => path.startsWith(longer))) break;
    prefix = longer;
  }
  return prefix;
}

export function tableOf(data: Json): ResultTable {
  const list = findList(data) ?? (isObject(data) ? [data] : []);
  const flat = list.slice(0, MOST_ROWS).map((item) => flatten(item));
  const paths = [...new Set(flat.flatMap((row) => Object.keys(row)))];
  const columns = paths
    .map((path, index) => ({ path, index, rank: rank(path, flat) }))
    .sort((a, b) => a.rank - b.rank || a.index - b.index)
    .slice(0, MOST_COLUMNS)
    .map((one) => one.path);
  return { columns, prefix: commonPrefix(columns), rows: flat, more: Math.max(0, list.length - MOST_ROWS) };
}
