// Walks every page in every state, theme and width: a picture of each, no sideways scrolling, no errors in the
// console, no request elsewhere, no serious finding of axe-core. Then one sheet of pictures per theme and width.
//
//   node e2e/states.mjs [--only keys,logs] [--state usual] [--theme dark] [--width 390] [--dist dir] [--out dir] [--no-axe] [--short]
//
// With `--clock real` no picture is taken and the browser's clock runs: the usual state of every page, its width and its
// console, and whether it comes to rest. A page that draws or asks without end can look right under a clock that stands.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import base, { REAL_CLOCK } from "../fixtures/base.mjs";
import { answerFor, dress, launch, mock, option } from "./harness.mjs";
import { countCommits, restless, within } from "./rest.mjs";
import { serve } from "./serve.mjs";

const here = new URL("..", import.meta.url).pathname;
const args = process.argv.slice(2);
const only = option("only", "")?.split(",").filter(Boolean) ?? [];
const onlyState = option("state", "")?.split(",").filter(Boolean) ?? [];
const themes = option("theme", "light,dark").split(",");
const widths = option("width", "390,1440").split(",").map(Number);
const dist = resolve(option("dist", join(here, "dist")));
const out = resolve(option("out", join(here, "out")));
const withAxe = !args.includes("--no-axe");
const heights = { 390: 844, 1440: 900 };
/** Pictures end here: a list of a thousand rows says nothing more further down. */
const TALLEST = 2200;
/** For the gate: every state once, and usual ones in both widths. */
const SHORT = args.includes("--short");
const AT_ONCE = Number(option("jobs", "2"));
const PATIENCE_MS = 90_000;
/** One walk, all its themes and steps. */
const WALK_MS = REAL_CLOCK ? 120_000 : 5 * PATIENCE_MS;

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const shots = join(out, "shots");
mkdirSync(shots, { recursive: true });

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
        const job = { area: area.area, page, stateName, state };
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

async function settle(page) {
  await page.evaluate(async () => {
    await document.fonts.ready;
    const frame = () => new Promise((done) => requestAnimationFrame(() => done()));
    await frame();
    await frame();
    // Charts come in a piece of their own, and are drawn when their width is known.
    const drawn = () => document.querySelector("[data-coming], figure svg[width='0']") === null;
    for (let tries = 0; tries < 100 && !drawn(); tries += 1) await new Promise((done) => setTimeout(done, 50));
    const running = document.getAnimations().filter((one) => one.effect?.getComputedTiming().iterations !== Infinity);
    await Promise.race([
      Promise.allSettled(running.map((one) => one.finished)),
      new Promise((done) => setTimeout(done, 2000)),
    ]);
    await frame();
  });
}

async function quiet(page, asked) {
  // Network idle, but questions that are never answered do not count.
  const until = Date.now() + PATIENCE_MS;
  let calm = 0;
  while (calm < 3) {
    if (Date.now() > until) throw new Error("the page never came to rest");
    const before = asked.count;
    await page.waitForTimeout(60);
    calm = asked.open.size === 0 && asked.count === before ? calm + 1 : 0;
  }
}

/** Names, roles and order are the same in both themes: in the second only the contrast is looked at. */
async function axe(page, isFirst) {
  if (isFirst) await page.evaluate(axeSource);
  const findings = await page.evaluate(async (all) => {
    const result = await globalThis.axe.run(document, {
      resultTypes: ["violations"],
      ...(all ? {} : { runOnly: ["color-contrast", "link-in-text-block"] }),
    });
    return result.violations
      .filter((one) => one.impact === "serious" || one.impact === "critical")
      .map(
        (one) =>
          `${one.id}: ${one.help} — ${one.nodes
            .slice(0, 4)
            .map((node) => `${node.target.join(" ")} ${node.any?.[0]?.message ?? ""}`)
            .join(" | ")}`,
      );
  }, isFirst);
  return findings;
}

/** How tall a page is, and what is wrong with its shape. */
async function shape(page, theme) {
  const size = await page.evaluate(() => ({
    scroll: document.documentElement.scrollWidth,
    client: document.documentElement.clientWidth,
    tall: document.documentElement.scrollHeight,
    h1: document.querySelectorAll("h1").length,
  }));
  const problems = [];
  if (size.scroll > size.client) problems.push(`scrolls sideways: ${size.scroll} > ${size.client} (${theme})`);
  if (size.h1 !== 1) problems.push(`${size.h1} first headings`);
  return { tall: size.tall, problems };
}

async function walk(browser, site, job) {
  const { page: entry, state, stateName, width, themes } = job;
  const height = heights[width] ?? 900;
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: themes[0],
    reducedMotion: "reduce",
    timezoneId: "Europe/Berlin",
    locale: state.language === "zh" ? "zh-CN" : "en-US",
    hasTouch: width < 640,
    permissions: [],
  });
  const problems = [];
  const page = await context.newPage();
  const asked = { open: new Set(), count: 0 };
  const responses = { ...base.responses, ...(state.responses ?? {}) };
  page.on("request", (request) => {
    asked.count += 1;
    const url = new URL(request.url());
    if (answerFor(responses, request.method(), url) !== "never") asked.open.add(request);
  });
  page.on("requestfinished", (request) => asked.open.delete(request));
  page.on("requestfailed", (request) => asked.open.delete(request));
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
  if (REAL_CLOCK) await countCommits(page);
  await mock(page, site, state, problems);
  const results = [];
  const look = async () => {
    await page.goto(`${site}${state.path ?? entry.path}`, { timeout: PATIENCE_MS });
    await page.waitForSelector("h1, [role=dialog]", { timeout: PATIENCE_MS });
    await quiet(page, asked);
    if (state.do !== undefined) {
      await state.do(page);
      await quiet(page, asked);
    }
    if (REAL_CLOCK) {
      problems.push(...(await restless(page, asked)), ...(await shape(page, themes[0])).problems);
      results.push({ name: `${job.area}-${entry.name}-${stateName}`, theme: themes[0], width });
      return;
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

const list = await areas();
const todo = jobs(list);
if (todo.length === 0) {
  console.error("nothing to walk");
  process.exit(2);
}
const data = new URL(base.session.house.base_url).origin;
const server = await serve(dist, data);
const browser = await launch();
const taken = [];
let bad = 0;
let next = 0;
async function worker() {
  while (next < todo.length) {
    const job = todo[next];
    next += 1;
    const { results, problems } = await walk(browser, server.url, job);
    taken.push(...results);
    if (problems.length > 0) {
      bad += 1;
      console.log(`✗ ${job.area} ${job.page.name} ${job.stateName} ${job.width}\n    ${problems.join("\n    ")}`);
    }
  }
}
await Promise.all(Array.from({ length: AT_ONCE }, worker));
taken.sort((a, b) => (a.name < b.name ? -1 : 1));
const mark = only.length === 0 ? "" : `-${only.join("-")}`;
for (const theme of REAL_CLOCK ? [] : themes) {
  for (const width of widths) {
    const chosen = taken.filter((shot) => shot.theme === theme && shot.width === width);
    if (chosen.length > 0) await sheet(browser, `sheet${mark}-${theme}-${width}`, chosen, width);
  }
}
await browser.close();
server.close();
if (REAL_CLOCK) console.log(`${todo.length} walks by the real clock, ${bad} with problems`);
else console.log(`${taken.length} pictures of ${todo.length} walks, ${bad} with problems; sheets in ${out}`);
process.exit(bad === 0 ? 0 : 1);
