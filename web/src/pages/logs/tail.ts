// Rows that arrive while one reads. Newest first, none twice, and nothing moves under the reader's eyes.
import type { LogRow } from "@/api";

/** Above this number of new calls the list is reloaded. */
export const MOST_WAITING = 200;

/** Pages one after another, without doubles: calls that arrive shift what a page holds. */
export function joined(pages: LogRow[][]): LogRow[] {
  const seen = new Set<string>();
  const rows: LogRow[] = [];
  for (const page of pages) {
    for (const row of page) {
      if (seen.has(row.request_id)) continue;
      seen.add(row.request_id);
      rows.push(row);
    }
  }
  return rows;
}

/** What of the newest page is not in the list yet, newest first. */
export function arrived(newest: LogRow[], shown: LogRow[]): LogRow[] {
  const known = new Set(shown.map((row) => row.request_id));
  return newest.filter((row) => !known.has(row.request_id));
}

/** True when the newest page does not reach down to what is shown: calls between them were not loaded. */
export function leavesGap(newest: LogRow[], shown: LogRow[], pageIsFull: boolean): boolean {
  if (shown.length === 0 || newest.length === 0 || !pageIsFull) return false;
  const known = new Set(shown.map((row) => row.request_id));
  return !newest.some((row) => known.has(row.request_id));
}
