import { expect, test } from "vitest";
import { picoOfUsd, raised, usdOfPico } from "./pico";

test("a price is shown for a million units, or for one call, exactly", () => {
  expect(usdOfPico(2_500_000, "input")).toBe("2.5");
  expect(usdOfPico(1, "input")).toBe("0.000001");
  expect(usdOfPico(0, "output")).toBe("0");
  expect(usdOfPico(40_000_000_000, "per_call")).toBe("0.04");
});

test("what an operator typed is read exactly or not at all", () => {
  expect(picoOfUsd("2.50", "input")).toBe(2_500_000);
  expect(picoOfUsd("$ 0.04", "per_call")).toBe(40_000_000_000);
  for (const pico of [0, 1, 999_999, 123_456_789]) {
    for (const face of ["input", "per_call"]) expect(picoOfUsd(usdOfPico(pico, face), face)).toBe(pico);
  }
  for (const wrong of ["", "-1", "1e3", "2,5", "0.0000001", "1.", "free"]) expect(picoOfUsd(wrong, "input")).toBeNull();
});

test("a raise in percent is rounded once", () => {
  expect(raised(2_500_000, 10)).toBe(2_750_000);
  expect(raised(3, 50)).toBe(5);
  expect(raised(100, -100)).toBe(0);
  expect(raised(100, -101)).toBeNull();
  expect(raised(100, Number.NaN)).toBeNull();
});
