import { describe, expect, it } from "vitest";
import {
  allSnippets,
  CLIENT_IDS,
  cappedLine,
  isAgent,
  KEY_PLACEHOLDER,
  pickModel,
  rootOf,
  snippetFor,
} from "./snippets";

const input = { base: "https://api.example/v1", key: "sk-tl-1", model: "m" };
const text = (client: (typeof CLIENT_IDS)[number], key: string | null = "sk-tl-1") =>
  JSON.stringify(snippetFor(client, { ...input, key }));

describe("snippets", () => {
  it("gives each client the address it wants", () => {
    expect(text("python")).toContain("https://api.example/v1'");
    expect(text("claude-code")).toContain("ANTHROPIC_BASE_URL='https://api.example'");
    expect(text("gemini-cli")).toContain("GOOGLE_GEMINI_BASE_URL='https://api.example'");
    expect(text("codex")).toContain('base_url = \\"https://api.example/v1\\"');
    expect(rootOf("https://api.example/v1/")).toBe("https://api.example");
  });

  it("has the key in every client, or its placeholder", () => {
    for (const client of CLIENT_IDS) {
      expect(text(client)).toContain("sk-tl-1");
      expect(text(client, null)).toContain(KEY_PLACEHOLDER);
    }
    expect(allSnippets(input, () => "m")).toHaveLength(CLIENT_IDS.length);
  });

  it("starts an agent under a budget by one line", () => {
    expect(cappedLine("claude-code", input, "0.5", "1h")).toBe(
      "TRUNKLINE_BASE_URL='https://api.example' TRUNKLINE_KEY='sk-tl-1' trunkline run --budget 0.5 --for 1h --model 'm' -- claude",
    );
    expect(cappedLine("gemini-cli", { ...input, key: null }, "2", "8h")).toContain(
      `TRUNKLINE_KEY='${KEY_PLACEHOLDER}' trunkline run --budget 2 --for 8h --model 'm' -- gemini`,
    );
    expect(CLIENT_IDS.filter(isAgent)).toEqual(["claude-code", "codex", "gemini-cli", "opencode"]);
  });

  it("names a model that the client can call", () => {
    const models = [
      { name: "a", endpoints: ["openai"] },
      { name: "claude-sonnet-5", endpoints: ["openai", "anthropic"] },
      { name: "gemini-x", endpoints: ["openai", "gemini"] },
    ];
    expect(pickModel("curl", models)).toBe("a");
    expect(pickModel("claude-code", models)).toBe("claude-sonnet-5");
    expect(pickModel("gemini-cli", models)).toBe("gemini-x");
    expect(pickModel("gemini-cli", [])).toBe("");
  });
});
