// Walks every page in every state, theme and width: no sideways scrolling, one first heading, no errors in the console, no
// request elsewhere, no serious finding of axe-core; a picture of each, then one sheet of pictures per theme and width.
//
//   node e2e/screenshots.mjs [--only keys,logs] [--state usual] [--theme dark] [--width 390] [--language zh] [--dist dir] [--out dir] [--no-axe]
//                       [--short [--pictures]] [--clock real] [--jobs 2] [--patience 90]
//
// With `--short`, for the gate, every state is walked once and usual ones twice, in turns of the widths and themes,
// without pictures, by a clock that runs; usual states must also come to rest.
//
// With `--clock real` no picture is taken and the browser's clock runs: the usual state of every page, its width and its
// console, and whether it comes to rest. A page that draws or asks without end can look right under a clock that stands.
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import base, { REAL_CLOCK } from "../fixtures/base.mjs";
import { answerFor, dress, launch, mock, option } from "./harness.mjs";
import { within } from "./idle_checks.mjs";
import { Asked, axeSource, findings, PATIENCE_MS, quiet, settle, shape } from "./look.mjs";
import { serve } from "./serve.mjs";
import { kindOf, Tab, tools } from "./tab.mjs";

const here = new URL("..", import.meta.url).pathname;
const args = process.argv.slice(2);
const only = option("only", "")?.split(",").filter(Boolean) ?? [];
const onlyState = option("state", "")?.split(",").filter(Boolean) ?? [];
const themes = option("theme", "light,dark").split(",");
const widths = option("width", "390,1440").split(",").map(Number);
/** Opens every page in this language instead of English. Usual states are not clicked and others that click are left out: they look for English names. */
const onlyLanguage = option("language", "");
const dist = resolve(option("dist", join(here, "dist")));
const out = resolve(option("out", join(here, "out")));
const withAxe = !args.includes("--no-axe");
const heights = { 390: 844, 1440: 900 };
/** Pictures end here: a list of a thousand rows says nothing more further down. */
const TALLEST = 2200;
/** For the gate: every state once, and usual ones in both widths. */
const SHORT = args.includes("--short");
const PICTURES = !REAL_CLOCK && (!SHORT || args.includes("--pictures"));
/** Without pictures most of a walk is waiting. */
const AT_ONCE = Number(option("jobs", PICTURES ? "2" : "3"));
/** One walk, all its themes and steps. */
const WALK_MS = REAL_CLOCK ? PATIENCE_MS + 30_000 : 5 * PATIENCE_MS;

const shots = join(out, "shots");
if (PICTURES) mkdirSync(shots, { recursive: true });

async function areas() {
  const found = [];
  for (const name of readdirSync(join(here, "fixtures")).sort()) {
    if (!name.endsWith(".mjs") || name === "base.mjs") continue;
    const area = (await import(pathToFileURL(join(here, "fixtures", name)).href)).default;
    if (area !== undefined && (only.length === 0 || only.includes(area.area))) found.push(area);
  }
  return found;
}

/** Every (page, state, width); themes change in place. */
function jobs(list) {
  const all = [];
  for (const area of list) {
    for (const page of area.pages) {
      for (const [stateName, state] of Object.entries(page.states)) {
        const wanted = onlyState.length > 0 ? onlyState : REAL_CLOCK ? [usualOf(page)] : [stateName];
        if (!wanted.includes(stateName)) continue;
        if (onlyLanguage !== "" && state.do !== undefined && stateName !== usualOf(page)) continue;
        const job = {
          area: area.area,
          page,
          stateName,
          state: onlyLanguage === "" ? state : { ...state, do: undefined },
        };
        if (SHORT) {
          // One picture of each state, in turns of both widths and both themes; of usual ones two.
          const times = stateName === usualOf(page) ? 2 : 1;
          for (let time = 0; time < times; time += 1) {
            const turn = all.length;
            all.push({ ...job, width: widths[turn % widths.length], themes: [themes[(turn >> 1) % themes.length]] });
          }
        } else {
          for (const width of widths) all.push({ ...job, width, themes });
        }
      }
    }
  }
  return all;
}

/** The state that most readers see. */
function usualOf(page) {
  return "usual" in page.states ? "usual" : Object.keys(page.states)[0];
}

/** Names, roles and order are the same in both themes: in the second only the contrast is looked at. */
async function axe(page, isFirst) {
  if (isFirst) await page.evaluate(axeSource);
  return findings(page, isFirst ? undefined : ["color-contrast", "link-in-text-block"]);
}

async function walk(browser, site, job) {
  const { page: entry, state, stateName, width, themes } = job;
  const height = heights[width] ?? 900;
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: themes[0],
    reducedMotion: "reduce",
    timezoneId: "Europe/Berlin",
    locale: (onlyLanguage || state.language) === "zh" ? "zh-CN" : "en-US",
    hasTouch: width < 640,
    permissions: [],
  });
  const problems = [];
  const page = await context.newPage();
  const responses = { ...base.responses, ...(state.responses ?? {}) };
  const asked = new Asked((request) => answerFor(responses, request.method(), new URL(request.url())) === "never");
  page.on("request", (request) => asked.began(request));
  page.on("requestfinished", (request) => asked.ended(request));
  page.on("requestfailed", (request) => asked.ended(request));
  page.on("pageerror", (error) => problems.push(`threw: ${error.message}`));
  page.on("console", (message) => {
    // Answers that are errors are part of the states; the browser notes each of them.
    if (message.type() === "error" && !message.text().startsWith("Failed to load resource"))
      problems.push(`console: ${message.text()}`);
  });
  page.on("dialog", (dialog) => {
    problems.push(`a script of a fixture ran: ${dialog.message()}`);
    void dialog.dismiss();
  });
  await dress(page);
  await mock(page, site, state, problems);
  const results = [];
  const look = async () => {
    await page.goto(`${site}${state.path ?? entry.path}`, { timeout: PATIENCE_MS });
    await page.waitForSelector("h1, [role=dialog]", { timeout: PATIENCE_MS });
    await quiet(asked);
    if (state.do !== undefined) {
      await state.do(page);
      await quiet(asked);
    }
    for (const theme of themes) {
      await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
      await settle(page);
      const name = `${job.area}-${entry.name}-${stateName}-${theme}-${width}`;
      const size = await shape(page, theme);
      problems.push(...size.problems);
      // A taller window instead of a stitched picture: what is fixed to an edge then stays at it.
      const tall = Math.max(height, Math.min(size.tall, TALLEST));
      await page.setViewportSize({ width, height: tall });
      await settle(page);
      await page.screenshot({ path: join(shots, `${name}.png`), animations: "disabled" });
      if (withAxe)
        problems.push(...(await axe(page, theme === themes[0])).map((finding) => `axe (${theme}) ${finding}`));
      await page.setViewportSize({ width, height });
      results.push({ name, theme, width });
    }
  };
  try {
    // A page that never lets go of its thread answers no question at all.
    await within(WALK_MS, look(), "the page never came to rest");
  } catch (error) {
    problems.push(`walk: ${error instanceof Error ? error.message : String(error)}`);
  }
  await context.close();
  return { results, problems: [...new Set(problems)] };
}

function escaped(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
async function sheet(browser, name, shotsOf, width) {
  const tile = width < 640 ? 180 : 420;
  const tall = Math.round(tile * (width < 640 ? 2.3 : 0.9));
  const tiles = shotsOf
    .map((shot) => `<figure><img src="shots/${shot.name}.png"><figcaption>${escaped(shot.name)}</figcaption></figure>`)
    .join("");
  const html = `<!doctype html><meta charset=utf-8><style>body{margin:16px;background:#808694;font:11px system-ui;color:#fff;display:grid;gap:12px;grid-template-columns:repeat(auto-fill,${tile}px)}figure{margin:0}img{width:${tile}px;height:${tall}px;object-fit:cover;object-position:top;display:block;border-radius:4px}figcaption{padding:3px 0;white-space:nowrap;overflow:hidden}</style>${tiles}`;
  const file = join(out, `${name}.html`);
  writeFileSync(file, html);
  const page = await browser.newPage({ viewport: { width: 2240, height: 900 } });
  await page.goto(pathToFileURL(file).href, { waitUntil: "load" });
  await page.screenshot({ path: join(out, `${name}.png`), fullPage: true });
  await page.close();
}

const todo = jobs(await areas());
if (todo.length === 0) {
  console.error("nothing to walk");
  process.exit(2);
}
const data = new URL(base.session.instance.base_url).origin;
const server = await serve(dist, data, tools);
// What is asked elsewhere is a problem, and goes nowhere.
const browser = await launch("--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1");
const taken = [];
let bad = 0;
let next = 0;
function tell(job, problems) {
  if (problems.length === 0) return;
  bad += 1;
  console.log(`✗ ${job.area} ${job.page.name} ${job.stateName} ${job.width}\n    ${problems.join("\n    ")}`);
}
async function worker() {
  while (next < todo.length) {
    const job = todo[next];
    next += 1;
    const { results, problems } = await walk(browser, server.url, job);
    taken.push(...results);
    tell(job, problems);
  }
}
/** The same in tabs that are used again, for states of which no picture is taken. */
async function quickWorker() {
  let tab;
  while (next < todo.length) {
    const job = todo[next];
    next += 1;
    if (tab !== undefined && (tab.broken || tab.kind !== kindOf(job))) {
      await tab.close();
      tab = undefined;
    }
    const height = heights[job.width] ?? 900;
    const isRestWatched = REAL_CLOCK || job.stateName === usualOf(job.page);
    tab ??= await Tab.open(browser, { site: server.url, data, job, height, limit: WALK_MS });
    tell(job, await tab.walk({ ...job, tallest: TALLEST, isRestWatched, withAxe: withAxe && !REAL_CLOCK }));
  }
  await tab?.close();
}
if (!PICTURES) todo.sort((a, b) => (kindOf(a) < kindOf(b) ? -1 : kindOf(a) > kindOf(b) ? 1 : 0));
await Promise.all(Array.from({ length: AT_ONCE }, PICTURES ? worker : quickWorker));
if (PICTURES) {
  taken.sort((a, b) => (a.name < b.name ? -1 : 1));
  const mark = only.length === 0 ? "" : `-${only.join("-")}`;
  for (const theme of themes) {
    for (const width of widths) {
      const chosen = taken.filter((shot) => shot.theme === theme && shot.width === width);
      if (chosen.length > 0) await sheet(browser, `sheet${mark}-${theme}-${width}`, chosen, width);
    }
  }
  console.log(`${taken.length} pictures; sheets in ${out}`);
}
await browser.close();
server.close();
console.log(`states: ${todo.length - bad} passed, ${bad} failed`);
process.exit(bad === 0 ? 0 : 1);
