import { describe, expect, it } from "vitest";
import {
  addUsd,
  bytes,
  compareUsd,
  dayLabel,
  duration,
  exactMoney,
  exactTime,
  money,
  nanosOf,
  percent,
  relative,
  sentence,
  shortId,
  shortMoney,
  usdOf,
} from "./format";

describe("money", () => {
  it("a balance has two digits and is never shown as more than it is", () => {
    expect(money("12.4", "balance")).toBe("$12.40");
    expect(money("12.409999999", "balance")).toBe("$12.40");
    expect(money("1234567.5", "balance")).toBe("$1,234,567.50");
  });
  it("a small amount keeps its significant digits and is never rounded to zero", () => {
    expect(money("0.000245", "call")).toBe("$0.000245");
    expect(money("0.000000001", "call")).toBe("$0.000000001");
    expect(money("0.000000001", "balance")).toBe("$0.000000001");
    expect(money("0.0123456", "call")).toBe("$0.01235");
    expect(money("0.0042", "balance")).toBe("$0.0042");
  });
  it("nothing is nothing", () => {
    for (const kind of ["balance", "call", "price"] as const) expect(money("0", kind)).toBe("$0.00");
  });
  it("negative amounts stand in parentheses", () => {
    expect(money("-3", "balance")).toBe("($3.00)");
    expect(money("-0.0004", "call")).toBe("($0.0004)");
  });
  it("a price shows every digit it has", () => {
    expect(money("3", "price")).toBe("$3.00");
    expect(money("0.075", "price")).toBe("$0.075");
    expect(money("0.123456789", "price")).toBe("$0.123456789");
  });
  it("the largest amount of the books is exact", () => {
    expect(money("9223372036.854775807", "balance")).toBe("$9,223,372,036.85");
    expect(exactMoney("9223372036.854775807")).toBe("$9,223,372,036.854775807");
    expect(shortMoney("9223372036.854775807")).toBe("$9.2B");
    expect(shortMoney("1999999.99")).toBe("$1.9M");
    expect(shortMoney("12.4")).toBe("$12.40");
  });
  it("what is not an amount is shown as it came", () => {
    for (const odd of ["", "abc", "1e9", "0x10", "1.0000000001", "--1"]) {
      expect(nanosOf(odd)).toBeNull();
      expect(money(odd, "call")).toBe(odd);
    }
  });
  it("adding and comparing never pass through a float", () => {
    expect(addUsd(["0.1", "0.2", "-0.3"])).toBe("0");
    expect(addUsd(["9007199254.740993", "0.000000001"])).toBe("9007199254.740993001");
    expect(compareUsd("0.000000002", "0.000000001")).toBe(1);
    expect(compareUsd("1", "1.000")).toBe(0);
  });
  it("reading and writing agree", () => {
    for (const usd of ["0", "1", "-1.5", "0.000000001", "123456789.987654321"]) {
      expect(usdOf(nanosOf(usd) ?? 0n)).toBe(usd);
    }
  });
});

describe("times", () => {
  const now = Date.parse("2026-11-14T10:00:00Z");
  it("says how long ago in words of the language", () => {
    expect(relative("2026-11-14T09:57:00Z", now, "en-US")).toBe("3 minutes ago");
    expect(relative("2026-11-14T09:59:58Z", now, "en-US")).toBe("now");
    expect(relative("2026-11-16T11:00:00Z", now, "en-US")).toBe("in 2 days");
    expect(relative("2026-11-14T09:57:00Z", now, "zh-CN")).toBe("3分钟前");
  });
  it("beyond a month says the date", () => {
    expect(relative("2026-01-02T12:00:00Z", now, "en-US")).toBe("Jan 2, 2026");
  });
  it("the exact time names its zone", () => {
    expect(exactTime("2026-11-14T10:00:00Z", "en-US", "Europe/Berlin")).toBe("Nov 14, 2026, 11:00:00 GMT+1");
  });
  it("a day of the books is not shifted by the reader's zone", () => {
    expect(dayLabel("2026-03-04", "en-US")).toBe("Mar 4");
  });
  it("what is not a time is shown as it came", () => {
    expect(relative("soon", now, "en-US")).toBe("soon");
    expect(dayLabel("soon", "en-US")).toBe("soon");
  });
});

describe("other numbers", () => {
  it("durations choose their unit", () => {
    expect(duration(840, "zh-CN")).toBe("840 毫秒");
    expect(duration(840, "en-US")).toBe("840 ms");
    expect(duration(2400, "en-US")).toBe("2.4 s");
    expect(duration(200_000, "en-US")).toBe("3 min 20 s");
    expect(duration(200_000, "zh-CN")).toBe("3 分 20 秒");
    expect(duration(7_260_000, "zh-CN")).toBe("2 小时 1 分");
    expect(duration(7_500_000, "en-US")).toBe("2 h 5 min");
  });
  it("a small share is not rounded to zero", () => {
    expect(percent(37, 4812, "en-US")).toBe("0.77%");
    expect(percent(1, 3, "en-US")).toBe("33%");
    expect(percent(0, 0, "en-US")).toBe("–");
  });
  it("sizes and ids", () => {
    expect(bytes(1_234_567, "en-US")).toBe("1.2 MB");
    expect(shortId("req_01JCKZ7Q4M8T2V6X9B3D5F7H1K")).toBe("req_01JCKZ…7H1K");
    expect(shortId("short")).toBe("short");
  });
  it("words of a server begin and end as a sentence, and names of fields stay as they are", () => {
    expect(sentence("the database is temporarily unavailable; try again")).toBe(
      "The database is temporarily unavailable; try again.",
    );
    expect(sentence("max_tokens must be a number")).toBe("max_tokens must be a number.");
    expect(sentence("n must be 1")).toBe("n must be 1.");
    expect(sentence("did you mean `top_p`?")).toBe("Did you mean `top_p`?");
    expect(sentence('no channel is available for model "gpt-5"')).toBe('No channel is available for model "gpt-5".');
  });
});
