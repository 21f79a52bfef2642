// A tab that walks one state after another, for the short form. A new context per state compiled every script again and
// sent every asset through this process; here the scripts stay in the cache, only questions to the interfaces are
// intercepted, and the storage is emptied between the states. No picture is taken.
import { NOW, REAL_CLOCK } from "../fixtures/base.mjs";
import { answerFor, answersOf, chinese, faceOf, reply } from "./harness.mjs";
import { countCommits, restless, within } from "./idle_checks.mjs";
import { Asked, axeSource, findings, PATIENCE_MS, quiet, settle, shape } from "./look.mjs";

const AXE = "/__axe.js";
const BLANK = "/__blank";
const FACES = "/__faces/";

/** What the walk asks for besides the console. */
export function tools(path) {
  if (path === AXE) return { kind: "text/javascript; charset=utf-8", text: axeSource };
  if (path === BLANK) return { kind: "text/html; charset=utf-8", text: "<!doctype html><title>blank</title>" };
  if (path.startsWith(FACES)) return { kind: "font/woff2", file: faceOf(path) };
  return undefined;
}

/** The time of the fixtures, from which it runs on: a clock that stands hides a page that draws without end. */
function runFrom(now) {
  const began = Date.now();
  const Real = Date;
  const moment = () => now + Real.now() - began;
  globalThis.Date = class extends Real {
    constructor(...words) {
      super(...(words.length === 0 ? [moment()] : words));
    }
    static now() {
      return moment();
    }
  };
}

/** States of the same kind can share a tab. */
export function kindOf(job) {
  return `${job.width}-${job.state.language === "zh" ? "zh" : "en"}`;
}

export class Tab {
  /** `data` is the origin of the data plane, the same in all states. */
  static async open(browser, { site, data, job, height, limit }) {
    const { width, state } = job;
    const isChinese = state.language === "zh";
    const context = await browser.newContext({
      viewport: { width, height },
      reducedMotion: "reduce",
      timezoneId: "Europe/Berlin",
      locale: isChinese ? "zh-CN" : "en-US",
      hasTouch: width < 640,
      permissions: [],
    });
    const page = await context.newPage();
    const tab = new Tab();
    Object.assign(tab, { context, page, site, data, width, height, limit, kind: kindOf(job), tall: height });
    tab.listen();
    if (!REAL_CLOCK) await page.addInitScript(runFrom, Date.parse(NOW));
    await countCommits(page);
    if (isChinese) {
      await page.addInitScript((css) => {
        document.addEventListener("DOMContentLoaded", () => {
          const style = document.createElement("style");
          style.textContent = css;
          document.head.append(style);
        });
      }, chinese);
    }
    await tab.intercept();
    return tab;
  }

  close() {
    return this.context.close();
  }

  listen() {
    const { page } = this;
    page.on("request", (request) => {
      const { now } = this;
      if (now === undefined) return;
      now.asked.began(request);
      const url = new URL(request.url());
      const own = url.origin === this.site || url.origin === this.data;
      if (!own && url.protocol !== "blob:" && url.protocol !== "data:") {
        now.problems.push(`asks elsewhere: ${request.url()}`);
      }
    });
    page.on("requestfinished", (request) => this.now?.asked.ended(request));
    page.on("requestfailed", (request) => this.now?.asked.ended(request));
    page.on("pageerror", (error) => this.now?.problems.push(`threw: ${error.message}`));
    page.on("console", (message) => {
      // Answers that are errors are part of the states; the browser notes each of them.
      if (message.type() === "error" && !message.text().startsWith("Failed to load resource"))
        this.now?.problems.push(`console: ${message.text()}`);
    });
    page.on("dialog", (dialog) => {
      this.now?.problems.push(`a script of a fixture ran: ${dialog.message()}`);
      void dialog.dismiss();
    });
  }

  /** By the browser's protocol: Playwright's own routes intercept every asset and switch the cache off. */
  async intercept() {
    const session = await this.context.newCDPSession(this.page);
    session.on("Fetch.requestPaused", async ({ requestId, request }) => {
      const question = {
        url: () => request.url,
        method: () => request.method,
        headers: () => request.headers,
        postData: () => request.postData ?? null,
        postDataJSON: () => JSON.parse(request.postData ?? "null"),
      };
      const answer = this.now === undefined ? "never" : reply(this.now.responses, question, this.now.problems);
      if (answer === "never") return;
      const responseHeaders = Object.entries(answer.headers).map(([name, value]) => ({ name, value }));
      const body = Buffer.from(answer.body).toString("base64");
      // A page that has gone on in the meantime does not wait for its answers.
      await session
        .send("Fetch.fulfillRequest", { requestId, responseCode: answer.status, responseHeaders, body })
        .catch(() => {});
    });
    const patterns = [`${this.site}/api/*`, `${this.data}/*`].map((urlPattern) => ({ urlPattern }));
    await session.send("Fetch.enable", { patterns });
  }

  /** Nothing of the state before: no page that still works, no storage, no cookie, the usual height. */
  async clear(theme) {
    const { page, width, height } = this;
    this.now = undefined;
    await page.goto(`${this.site}${BLANK}`);
    await page.evaluate(() => {
      localStorage.clear();
      sessionStorage.clear();
    });
    await this.context.clearCookies();
    if (this.tall !== height) await page.setViewportSize({ width, height });
    this.tall = height;
    if (this.theme !== theme) await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
    this.theme = theme;
  }

  /** The problems of one state; after a walk that broke off the tab is not used again. */
  async walk(job) {
    const problems = [];
    try {
      // A page that never lets go of its thread answers no question at all.
      await within(this.limit, this.look(job, problems), "the page never came to rest");
    } catch (error) {
      problems.push(`walk: ${error instanceof Error ? error.message : String(error)}`);
      this.broken = true;
    }
    return [...new Set(problems)];
  }

  async look(job, problems) {
    const { page, width, height } = this;
    const { state, themes, tallest, isRestWatched, withAxe } = job;
    const { responses } = answersOf(state);
    await this.clear(themes[0]);
    const isNever = (request) => answerFor(responses, request.method(), new URL(request.url())) === "never";
    const asked = new Asked(isNever);
    this.now = { problems, responses, asked };
    await page.goto(`${this.site}${state.path ?? job.page.path}`, { timeout: PATIENCE_MS });
    await page.waitForSelector("h1, [role=dialog]", { timeout: PATIENCE_MS });
    await this.rest(asked);
    if (state.do !== undefined) {
      await state.do(page);
      await this.rest(asked);
    }
    if (isRestWatched) problems.push(...(await restless(page, asked)));
    const size = await shape(page, themes[0]);
    problems.push(...size.problems);
    if (!withAxe) return;
    // A taller window, so that lists that draw only what is seen are looked at further down too.
    const tall = Math.max(height, Math.min(size.tall, tallest));
    if (tall !== height) {
      this.tall = tall;
      await page.setViewportSize({ width, height: tall });
      await settle(page);
    }
    await page.evaluate((path) => import(path), AXE);
    problems.push(...(await findings(page)).map((finding) => `axe (${themes[0]}) ${finding}`));
  }

  /** Quiet, and still quiet when the page has been drawn: on a busy machine a page asks late. */
  async rest(asked) {
    for (let count = -1; count !== asked.count; ) {
      await quiet(asked);
      count = asked.count;
      await settle(this.page);
    }
  }
}
