// Saved views: filters under a name, kept in this browser.
import { type LogFilters, readFilters, writeFilters } from "./filters";

export interface SavedView {
  name: string;
  search: Record<string, string>;
}

export const MOST_VIEWS = 20;
export const LONGEST_NAME = 60;
const PLACE = "trunkline.logs.views";

export function readViews(stored: string | null): SavedView[] {
  if (!stored) return [];
  let read: unknown;
  try {
    read = JSON.parse(stored);
  } catch {
    return [];
  }
  if (!Array.isArray(read)) return [];
  const views: SavedView[] = [];
  for (const one of read.slice(0, MOST_VIEWS)) {
    if (typeof one !== "object" || one === null) continue;
    const { name, search } = one as { name?: unknown; search?: unknown };
    if (typeof name !== "string" || typeof search !== "object" || search === null) continue;
    // Through the filters and back: whatever else stands there is dropped.
    views.push({
      name: name.slice(0, LONGEST_NAME),
      search: writeFilters(readFilters(search as Record<string, unknown>)),
    });
  }
  return views;
}

/** A view of the same name is replaced; the newest stands first. */
export function withView(views: SavedView[], name: string, filters: LogFilters): SavedView[] {
  const kept = views.filter((view) => view.name !== name);
  return [{ name, search: writeFilters(filters) }, ...kept].slice(0, MOST_VIEWS);
}

export function withoutView(views: SavedView[], name: string): SavedView[] {
  return views.filter((view) => view.name !== name);
}

/** A browser that keeps nothing (private windows) has no views; that is no error. */
export function loadViews(): SavedView[] {
  try {
    return readViews(window.localStorage.getItem(PLACE));
  } catch {
    return [];
  }
}

export function keepViews(views: SavedView[]): boolean {
  try {
    window.localStorage.setItem(PLACE, JSON.stringify(views));
    return true;
  } catch {
    return false;
  }
}
