// Looks at every page of the documentation, of a `trunkline dev` of its own or of a running console: light and dark, 390 and 1,440 px wide. Fails on
// sideways scrolling, on errors of the page, on requests elsewhere, and on what axe-core calls serious or critical.
//
//   node web/e2e/docs.mjs [--at DASH_URL] [--only PAGE] [--short] [--shots FOLDER]

import { mkdirSync } from "node:fs";
import { isStarted, startDev } from "./dev.mjs";
import { launch, option } from "./harness.mjs";
import { axeSource, findings } from "./look.mjs";

const only = option("only");
const shots = option("shots");

/** The exit code of a look at all pages; `short` is for the gate: each page in both widths, in turns of the themes. */
export async function docs(base, browser, short) {
  if (shots) mkdirSync(shots, { recursive: true });
  const list = await (await fetch(`${base}/llms.txt`)).text();
  const pages = [...list.matchAll(/\/docs\/([\w-]+)\.md\)/g)]
    .map(([, page]) => page)
    .filter((page) => !only || page === only);
  pages.push("no-such-page");
  const looks = { passed: 0, failed: 0 };
  const count = (wrong) => {
    for (const line of new Set(wrong)) console.error(line);
    looks[wrong.length === 0 ? "passed" : "failed"] += 1;
  };
  for (const width of [390, 1440]) {
    for (const theme of ["light", "dark"]) {
      const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: theme });
      for (const [turn, page] of pages.entries()) {
        const isLight = (turn + (width === 390 ? 1 : 0)) % 2 === 0;
        if (short && isLight !== (theme === "light")) continue;
        // Names and roles are the same in both themes.
        const rules = theme === "light" || short ? undefined : ["color-contrast", "link-in-text-block"];
        count(await look(context, base, page, `${page} ${width} ${theme}`, rules));
      }
      await context.close();
    }
  }
  count(await search(browser, base));
  count(await ownKey(browser, base));
  console.log(`docs: ${looks.passed} passed, ${looks.failed} failed`);
  return looks.failed === 0 ? 0 : 1;
}

/** What is wrong with one page. */
async function look(context, base, page, name, rules) {
  const wrong = [];
  const tab = await context.newPage();
  tab.on("pageerror", (error) => wrong.push(`${name}: ${error}`));
  tab.on("console", (line) => {
    if (line.type() !== "error" || (page === "no-such-page" && line.text().includes("404"))) return;
    wrong.push(`${name}: ${line.text()}`);
  });
  tab.on("request", (request) => request.url().startsWith(base) || wrong.push(`${name}: asks ${request.url()}`));
  await tab.goto(`${base}/docs/${page === "index" ? "" : page}`, { waitUntil: "load", timeout: 180_000 });
  const over = await tab.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  if (over > 0) wrong.push(`${name}: ${over} px too wide`);
  if (shots) await tab.screenshot({ path: `${shots}/${name.replaceAll(" ", "-")}.png`, timeout: 180_000 });
  // Our own rules forbid scripts in a page; the debugger's way in is not the page's.
  await tab.evaluate(axeSource);
  for (const finding of await findings(tab, rules)) wrong.push(`${name}: ${finding}`);
  await tab.close();
  return wrong;
}

/** The search, by keyboard alone. */
async function search(browser, base) {
  const tab = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  try {
    await tab.goto(`${base}/docs`);
    await tab.keyboard.press("/");
    await tab.keyboard.type("insufficient_balance");
    await tab.waitForSelector("dialog.find li a");
    if (shots) await tab.screenshot({ path: `${shots}/search.png` });
    await tab.keyboard.press("Enter");
    await tab.waitForURL("**/docs/errors#insufficient_balance");
    return [];
  } catch (error) {
    return [`search: ${error}`];
  } finally {
    await tab.close();
  }
}

/** The quickstart has a place for a key, and the key itself once one was made in this tab. */
async function ownKey(browser, base) {
  const tab = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  const first = () => tab.locator(".code code").first().textContent();
  const wrong = [];
  try {
    await tab.goto(`${base}/docs/quickstart`);
    await tab.waitForSelector(".hint");
    if ((await first()) !== 'export TRUNKLINE_KEY="sk-tl-…"') wrong.push(`quickstart: begins with ${await first()}`);
    const key = `sk-tl-${"a1".repeat(24)}wxyz`;
    // As the console keeps the keys that were made in a tab; the newest counts.
    await tab.evaluate((made) => {
      sessionStorage.setItem("trunkline.made.9", `sk-tl-${"b2".repeat(24)}abcd`);
      sessionStorage.setItem("trunkline.made.12", made);
    }, key);
    await tab.reload();
    await tab.waitForSelector(".hint");
    if ((await first()) !== 'export TRUNKLINE_KEY="sk-tl-a1…wxyz"')
      wrong.push(`quickstart: has no key: ${await first()}`);
    const full = await tab.locator(".code .key").first().getAttribute("data-full");
    if (full !== key) wrong.push(`quickstart: copies ${full}`);
    return wrong;
  } catch (error) {
    return [`quickstart: ${error}`];
  } finally {
    await tab.close();
  }
}

if (isStarted(import.meta.url)) {
  const at = option("at");
  const own = at ? undefined : await startDev();
  const browser = await launch();
  const code = await docs(at ?? own.dash_url, browser, process.argv.includes("--short")).finally(async () => {
    await browser.close();
    await own?.stop();
  });
  process.exit(code);
}
