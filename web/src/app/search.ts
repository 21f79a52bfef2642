/** What was typed into the search and which hit is marked, also while what finds the hits is still on its way. */

export interface Search {
  word: string;
  /** The marked hit. */
  at: number;
  /** Enter was pressed; the list with the hits opens the marked one. */
  entered: boolean;
}

export const NO_SEARCH: Search = { word: "", at: 0, entered: false };

export type SearchStep =
  | { what: "typed"; word: string }
  | { what: "marked"; at: number }
  /** `hits` is null as long as the count is unknown. */
  | { what: "key"; key: string; hits: number | null }
  | { what: "opened" };

/** Keys that are the search's own and not the text's. */
export function isSearchKey(key: string): boolean {
  return key === "ArrowDown" || key === "ArrowUp" || key === "Enter";
}

export function searchStep(search: Search, step: SearchStep): Search {
  switch (step.what) {
    case "typed":
      return { word: step.word, at: 0, entered: false };
    case "marked":
      return { ...search, at: step.at };
    case "opened":
      return { ...search, entered: false };
    case "key":
      if (step.key === "Enter") return { ...search, entered: true };
      if (step.key === "ArrowUp") return { ...search, at: Math.max(search.at - 1, 0) };
      if (step.key === "ArrowDown")
        return { ...search, at: Math.max(Math.min(search.at + 1, (step.hits ?? 0) - 1), 0) };
      return search;
  }
}
