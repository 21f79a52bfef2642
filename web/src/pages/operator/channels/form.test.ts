import { expect, test } from "vitest";
import { readCost, readList, readModels, readNumber, writeModels } from "./form";

test("models are lines of our name and the provider's", () => {
  expect(readModels("gpt-5\n\n claude = claude-4-5 \n")).toEqual({ "gpt-5": "gpt-5", claude: "claude-4-5" });
  for (const wrong of ["", "\n", "= x", "a = ", "a = b = c", "two words"]) expect(readModels(wrong)).toBeNull();
  const models = { a: "a", b: "c" };
  expect(readModels(writeModels(models))).toEqual(models);
});

test("a price list is an object, or nothing", () => {
  expect(readCost(" ")).toBeNull();
  expect(readCost('{"currency":"USD"}')).toEqual({ currency: "USD" });
  for (const wrong of ["{", "[]", "1", '"x"', "null"]) expect(readCost(wrong)).toBeUndefined();
});

test("numbers and lists are read strictly", () => {
  expect([readNumber(""), readNumber(" 60 "), readNumber("x"), readNumber("-1")]).toEqual([
    null,
    60,
    undefined,
    undefined,
  ]);
  expect(readList(" default, vip ,,")).toEqual(["default", "vip"]);
});
