// Looks at every page of the documentation, of a `trunkline dev` of its own or of a running console: light and dark, 390 and 1,440 px wide. Fails on
// sideways scrolling, on errors of the page, on requests elsewhere, and on what axe-core calls serious or critical.
//
//   node web/e2e/docs.mjs [--at DASH_URL] [--only PAGE] [--short] [--shots FOLDER]

import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";
import { startDev } from "./dev.mjs";

const rest = process.argv.slice(2);
const option = (name) => (rest.includes(name) ? rest[rest.indexOf(name) + 1] : null);
const own = option("--at") ? null : await startDev();
const base = option("--at") ?? own.dash_url;
const only = option("--only");
const shots = option("--shots");
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
if (shots) mkdirSync(shots, { recursive: true });

const list = await (await fetch(`${base}/llms.txt`)).text();
const pages = [...list.matchAll(/\/docs\/([\w-]+)\.md\)/g)]
  .map(([, page]) => page)
  .filter((page) => !only || page === only);
pages.push("no-such-page");
const browser = await chromium.launch({
  executablePath: "/usr/bin/chromium",
  args: [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
  ],
});
const wrong = [];
const short = rest.includes("--short");
for (const width of [390, 1440]) {
  for (const theme of ["light", "dark"]) {
    const context = await browser.newContext({
      viewport: { width, height: 900 },
      colorScheme: theme,
      bypassCSP: false,
    });
    for (const [turn, page] of pages.entries()) {
      // For the gate: each page in both widths, in turns of the themes.
      const isLight = (turn + (width === 390 ? 1 : 0)) % 2 === 0;
      if (short && isLight !== (theme === "light")) continue;
      const name = `${page} ${width} ${theme}`;
      const tab = await context.newPage();
      tab.on("pageerror", (error) => wrong.push(`${name}: ${error}`));
      tab.on(
        "console",
        (line) =>
          line.type() === "error" &&
          !(page === "no-such-page" && line.text().includes("404")) &&
          wrong.push(`${name}: ${line.text()}`),
      );
      tab.on("request", (request) => request.url().startsWith(base) || wrong.push(`${name}: asks ${request.url()}`));
      await tab.goto(`${base}/docs/${page === "index" ? "" : page}`, { waitUntil: "load", timeout: 180_000 });
      const over = await tab.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      );
      if (over > 0) wrong.push(`${name}: ${over} px too wide`);
      if (shots) await tab.screenshot({ path: `${shots}/${page}-${width}-${theme}.png`, timeout: 180_000 });
      // Our own rules forbid scripts in a page; the debugger's way in is not the page's.
      await tab.evaluate(axe);
      // Names and roles are the same in both themes.
      const rules = theme === "light" || short ? {} : { runOnly: ["color-contrast", "link-in-text-block"] };
      const asked = { resultTypes: ["violations"], ...rules };
      const found = await tab.evaluate((asked) => globalThis.axe.run(document, asked), asked);
      for (const { id, impact, nodes } of found.violations) {
        if (impact === "serious" || impact === "critical")
          wrong.push(`${name}: ${id} (${impact}) ${nodes[0].html.slice(0, 200)}`);
      }
      await tab.close();
    }
    await context.close();
  }
}
// The search, by keyboard alone.
const tab = await browser.newPage({ viewport: { width: 1440, height: 900 } });
await tab.goto(`${base}/docs`);
await tab.keyboard.press("/");
await tab.keyboard.type("insufficient_balance");
await tab.waitForSelector("dialog.find li a");
if (shots) await tab.screenshot({ path: `${shots}/search.png` });
await tab.keyboard.press("Enter");
await tab.waitForURL("**/docs/errors#insufficient_balance");
await browser.close();
await own?.stop();
if (wrong.length) {
  console.error([...new Set(wrong)].join("\n"));
  process.exit(1);
}
console.log(`${pages.length} pages, two widths, two themes`);
