/** Where things lie on a chart. Pure. */

/** Round marks from zero to just above the largest value: 1, 2, 2.5 or 5 times a power of ten apart. */
export function marks(largest: number, wanted = 4, whole = false): number[] {
  if (!(largest > 0) || !Number.isFinite(largest)) return whole ? [0, 1] : [0];
  const rough = largest / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const nice = [1, 2, 2.5, 5, 10].map((one) => one * power).find((step) => step >= rough * 0.999) ?? 10 * power;
  const step = whole ? Math.max(1, Math.ceil(nice)) : nice;
  const count = Math.ceil(largest / step - 1e-9);
  // Multiplied and not added up: a sum of tenths would not end at a round number.
  return Array.from({ length: count + 1 }, (_, index) => index * step);
}

/** Which labels of the axis below fit: every one, every second, every third … the last always among them. */
export function shownLabels(count: number, width: number, each: number): Set<number> {
  const step = Math.max(1, Math.ceil((count * each) / Math.max(width, 1)));
  const shown = new Set<number>();
  for (let index = count - 1; index >= 0; index -= step) shown.add(index);
  return shown;
}

/** Lines through the points that are there; a gap where one is missing. */
export function runs(values: readonly (number | null)[]): number[][] {
  const all: number[][] = [];
  let run: number[] = [];
  values.forEach((value, index) => {
    if (value === null) {
      if (run.length > 0) all.push(run);
      run = [];
    } else {
      run.push(index);
    }
  });
  if (run.length > 0) all.push(run);
  return all;
}
