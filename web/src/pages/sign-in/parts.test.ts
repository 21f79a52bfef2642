import { describe, expect, it } from "vitest";
import { agentName } from "@/pages/settings/agent";
import { safeReturn } from "./return";
import { strength } from "./strength";

describe("where a sign-in leads", () => {
  it("pages of ours, with their query", () => {
    expect(safeReturn("/logs?model=a")).toBe("/logs?model=a");
    expect(safeReturn(undefined)).toBe("/");
  });
  it("never elsewhere", () => {
    for (const bad of [
      "//evil.example",
      "https://evil.example",
      "/\\evil.example",
      "javascript:alert(1)",
      "evil",
      "",
      "/\t/evil.example",
      "/api/session",
    ]) {
      expect(safeReturn(bad)).toBe("/");
    }
  });
  it("never back to the sign-in page itself", () => {
    expect(safeReturn("/sign-in?return_to=/keys")).toBe("/");
    expect(safeReturn("/reset")).toBe("/");
  });
});

describe("the hint about a password", () => {
  it("tells short, weak, fair and strong apart", () => {
    expect(strength("")).toBe("empty");
    expect(strength("Xy7!")).toBe("short");
    expect(strength("aaaaaaaaaaaaaaa")).toBe("weak");
    expect(strength("password1234")).toBe("weak");
    expect(strength("ada@northwind-2026", ["ada@northwind"])).toBe("weak");
    expect(strength("copper lantern 4 rivers")).toBe("strong");
  });
});

describe("names of browsers", () => {
  it("most pretend to be others", () => {
    expect(
      agentName("Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/142.0 Safari/537.36 Edg/142.0"),
    ).toBe("Edge · Windows");
    expect(
      agentName("Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605 Version/19.0 Safari/604.1"),
    ).toBe("Safari · iPhone");
    expect(agentName("<img src=x>")).toBeNull();
  });
});
