import { describe, expect, it } from "vitest";
import { marks, runs, shownLabels } from "./scale";

describe("marks of an axis", () => {
  it("are round and reach the largest value", () => {
    expect(marks(21.33)).toEqual([0, 10, 20, 30]);
    expect(marks(0.00019)).toHaveLength(5);
    expect(marks(9_000_000_000).at(-1)).toBeGreaterThanOrEqual(9_000_000_000);
    for (const largest of [0.000000001, 0.3, 1, 7, 99, 123456, 9.2e9]) {
      const all = marks(largest);
      expect(all[0]).toBe(0);
      expect(all.at(-1)).toBeGreaterThanOrEqual(largest * 0.999999);
      expect(all.length).toBeLessThanOrEqual(6);
    }
  });
  it("count calls in whole numbers", () => {
    expect(marks(2, 4, true)).toEqual([0, 1, 2]);
    expect(marks(0, 4, true)).toEqual([0, 1]);
  });
});

it("labels thin out until they fit, and the last one stays", () => {
  expect(shownLabels(14, 1400, 50).size).toBe(14);
  const few = shownLabels(90, 300, 50);
  expect(few.has(89)).toBe(true);
  expect(few.size).toBeLessThanOrEqual(7);
});

it("a line breaks where nothing was measured", () => {
  expect(runs([1, 2, null, 3])).toEqual([[0, 1], [3]]);
  expect(runs([null])).toEqual([]);
});
