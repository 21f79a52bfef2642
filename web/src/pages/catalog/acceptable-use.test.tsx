// covers: S-1-12
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it, vi } from "vitest";
import page from "../../../../docs/guide/social.md?raw";
import social from "../../../fixtures/made/social.json";
import { SocialTab } from "./SocialTab";
import { catalogTexts } from "./texts";

const now = vi.hoisted(() => ({ language: "en" as "en" | "zh" }));
// Of the page's surroundings only what needs a browser is left out.
vi.mock("@/text", async (original) => ({
  ...(await original<typeof import("@/text")>()),
  useLanguage: () => now.language,
  useTexts: (texts: { en: unknown; zh: unknown }) => texts[now.language],
}));
vi.mock("@/kit", async (original) => ({
  ...(await original<typeof import("@/kit")>()),
  DataTable: () => null,
  Select: () => null,
  useSearch: () => [{}, () => undefined],
  Link: ({ href, children }: { href: string; children: string }) => <a href={href}>{children}</a>,
}));

/** What a person sees who looks at social data in the catalog. */
function shown(language: "en" | "zh"): string {
  now.language = language;
  const client = new QueryClient();
  client.setQueryData(["social-catalog"], social);
  return renderToStaticMarkup(
    <QueryClientProvider client={client}>
      <SocialTab />
    </QueryClientProvider>,
  );
}

describe("the acceptable-use rule", () => {
  it("stands in the console where social data is sold, and leads to the documentation", () => {
    const html = shown("en");
    expect(html).toContain("terms and the data-protection rules that apply to you");
    expect(html).toContain("do not build profiles of individuals");
    expect(html).toContain('href="/docs/social#acceptable-use"');
  });
  it("is said in both languages", () => {
    expect(shown("zh")).toMatch(/条款.*数据保护.*个人画像/);
  });
  it("stands in the documentation in the same words", () => {
    const [, rule = ""] = page.split("### Acceptable use");
    expect(rule).toContain(catalogTexts.en.social.rule);
  });
});
