import { describe, expect, it } from "vitest";
import { isSearchKey, NO_SEARCH, type Search, type SearchStep, searchStep } from "./search";

const came = (steps: SearchStep[]): Search => steps.reduce(searchStep, NO_SEARCH);
const typed = (word: string): SearchStep => ({ what: "typed", word });
const key = (name: string, hits: number | null): SearchStep => ({ what: "key", key: name, hits });

describe("the search", () => {
  it("keeps what was typed before its hits are there, whatever else was pressed", () => {
    const search = came([typed("k"), key("ArrowDown", null), typed("ke"), key("ArrowUp", null), typed("key")]);
    expect(search).toEqual({ word: "key", at: 0, entered: false });
  });

  it("remembers an Enter until a hit can be opened, and forgets it when one types on", () => {
    const entered = came([typed("keys"), key("Enter", null)]);
    expect(entered).toEqual({ word: "keys", at: 0, entered: true });
    expect(searchStep(entered, { what: "opened" }).entered).toBe(false);
    expect(searchStep(entered, typed("keys x")).entered).toBe(false);
  });

  it("moves the mark within the hits, and nowhere if there is none", () => {
    expect(came([key("ArrowDown", 2), key("ArrowDown", 2), key("ArrowDown", 2)]).at).toBe(1);
    expect(came([key("ArrowDown", 2), key("ArrowUp", 2), key("ArrowUp", 2)]).at).toBe(0);
    expect(came([key("ArrowDown", 0)]).at).toBe(0);
  });

  it("marks the first hit again when one types", () => {
    expect(came([{ what: "marked", at: 3 }, typed("a")]).at).toBe(0);
  });

  it("leaves every other key to the text", () => {
    expect(["a", "Backspace", "Escape", "Tab", "ArrowLeft"].some(isSearchKey)).toBe(false);
    expect(came([typed("a"), key("x", 3)])).toEqual({ word: "a", at: 0, entered: false });
  });
});
