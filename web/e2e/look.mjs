// What is looked at in every state of a page: whether it came to rest, its shape, and what axe-core finds.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { option } from "./harness.mjs";

/** `--patience` in seconds, for a machine that has other work. */
export const PATIENCE_MS = Number(option("patience", "90")) * 1_000;
/** So long without a new question and without an open one, and a page is quiet. */
const CALM_MS = 180;
export const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export async function settle(page) {
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

/** The questions of a page. Those that are never answered do not count as open. */
export class Asked {
  constructor(isNever = () => false) {
    this.isNever = isNever;
    this.open = new Set();
    this.count = 0;
    this.changed = Date.now();
  }

  began(request) {
    this.count += 1;
    this.changed = Date.now();
    if (!this.isNever(request)) this.open.add(request);
  }

  ended(request) {
    if (this.open.delete(request)) this.changed = Date.now();
  }
}

/** Network idle, but questions that are never answered do not count. */
export async function quiet(asked, patience = PATIENCE_MS) {
  const until = Date.now() + patience;
  for (;;) {
    const calm = asked.open.size === 0 ? Date.now() - asked.changed : 0;
    if (calm >= CALM_MS) return;
    if (Date.now() > until) throw new Error("the page never came to rest");
    await new Promise((done) => setTimeout(done, Math.min(CALM_MS - calm, 60)));
  }
}

/** How tall a page is, and what is wrong with its shape. */
export async function shape(page, theme) {
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

/** Serious and critical findings of axe-core, which must be in the page; `only` names rules, else all are run. */
export async function findings(page, only) {
  return page.evaluate(async (rules) => {
    const axe = globalThis.axe;
    const grave = (impact) => impact === "serious" || impact === "critical";
    // A rule's impact is that of all it finds: rules of less weight cannot find anything that is reported here.
    const light = axe._audit.rules.filter((rule) => rule.impact !== undefined && !grave(rule.impact));
    const off = Object.fromEntries(light.map((rule) => [rule.id, { enabled: false }]));
    const result = await axe.run(document, {
      resultTypes: ["violations"],
      ...(rules === undefined ? { rules: off } : { runOnly: rules }),
    });
    return result.violations
      .filter((one) => grave(one.impact))
      .map(
        (one) =>
          `${one.id}: ${one.help} — ${one.nodes
            .slice(0, 4)
            .map((node) => `${node.target.join(" ")} ${node.any?.[0]?.message ?? ""}`)
            .join(" | ")}`,
      );
  }, only);
}
