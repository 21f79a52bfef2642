import { describe, expect, it } from "vitest";
import { fileName, firstFrame, inOrder, moneyState, waitBeforeAsking, wouldGoBack } from "./logic";

describe("following a task", () => {
  it("asks every two seconds, then less often, never more rarely than every 15, and not at all when nothing runs", () => {
    expect(waitBeforeAsking(true, 1)).toBe(2000);
    expect(waitBeforeAsking(true, 15)).toBe(2000);
    expect(waitBeforeAsking(true, 20)).toBeGreaterThan(2000);
    expect(waitBeforeAsking(true, 10_000)).toBe(15_000);
    expect(waitBeforeAsking(false, 1)).toBe(false);
  });
  it("says what became of its money", () => {
    expect(moneyState({ state: "queued", cost_usd: "0", refunded_usd: "0" })).toBe("reserved");
    expect(moneyState({ state: "in_progress", cost_usd: "0.5", refunded_usd: "0" })).toBe("charged");
    expect(moneyState({ state: "failed", cost_usd: "0.5", refunded_usd: "0.5" })).toBe("refunded");
    expect(moneyState({ state: "completed", cost_usd: "0.5", refunded_usd: "0.1" })).toBe("partly_refunded");
    expect(moneyState({ state: "cancelled", cost_usd: "0", refunded_usd: "0" })).toBe("free");
  });
  it("knows what would go back", () => {
    const held = { at: "2026-11-14T10:00:00Z", what: "held" as const, amount_usd: "1.2", text: null };
    expect(wouldGoBack({ timeline: [held], cost_usd: "0", refunded_usd: "0" })).toBe("1.2");
    expect(wouldGoBack({ timeline: [held], cost_usd: "0.9", refunded_usd: "0.1" })).toBe("0.8");
    expect(wouldGoBack({ timeline: [], cost_usd: "0", refunded_usd: "0" })).toBeNull();
  });
  it("orders its timeline and keeps equal moments as they came", () => {
    const step = (at: string, what: "submitted" | "held" | "sent") => ({ at, what, amount_usd: null, text: null });
    const steps = [
      step("2026-11-14T10:00:05Z", "sent"),
      step("2026-11-14T10:00:00Z", "submitted"),
      step("2026-11-14T10:00:00Z", "held"),
    ];
    expect(inOrder(steps).map((one) => one.what)).toEqual(["submitted", "held", "sent"]);
  });
  it("names its file by what it is, and shows a frame that is not the first", () => {
    const media = { url: "u", download_url: "d", bytes: 1, content_type: "video/webm; codecs=vp9", expires_at: "" };
    expect(fileName({ id: "task_1", media })).toBe("task_1.webm");
    expect(fileName({ id: "task_1", media: { ...media, content_type: "odd" } })).toBe("task_1.mp4");
    expect(firstFrame("https://x/y.mp4?sig=1#t=9")).toBe("https://x/y.mp4?sig=1#t=0.1");
  });
});
