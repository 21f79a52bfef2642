// What every walk through the built console needs: a browser, a page whose questions are answered from fixtures.
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { chromium } from "playwright-core";
import base, { NOW, REAL_CLOCK } from "../fixtures/base.mjs";

const here = new URL("..", import.meta.url).pathname;

/** `--name value` of the command line. */
export function option(name, otherwise) {
  const at = process.argv.indexOf(`--${name}`);
  return at === -1 ? otherwise : process.argv[at + 1];
}

export function launch(...more) {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      ...more,
    ],
  });
}

// The machine that takes the pictures may have no Chinese face; readers have one. Only the pictures use this.
const faces = join(here, "node_modules/@fontsource-variable/noto-sans-sc");
export const chinese = readFileSync(join(faces, "wght.css"), "utf8")
  .replaceAll("./files/", "/__faces/")
  .replaceAll("Noto Sans SC Variable", "Noto Sans CJK SC");

/** A fixed time, unless the real one is wanted, and a Chinese face, before the page begins. */
export async function dress(page) {
  if (!REAL_CLOCK) await page.clock.setFixedTime(NOW);
  await page.addInitScript((css) => {
    document.addEventListener("DOMContentLoaded", () => {
      const style = document.createElement("style");
      style.textContent = css;
      document.head.append(style);
    });
  }, chinese);
}

/** The answer to one question: with its query if there is one for that, else without. */
export function answerFor(responses, method, url) {
  const exact = `${method} ${url.pathname}${url.search}`;
  if (exact in responses) return responses[exact];
  return responses[`${method} ${url.pathname}`];
}

const CORS = {
  "access-control-allow-origin": "*",
  "access-control-allow-headers": "*",
  "access-control-allow-methods": "*",
  "access-control-expose-headers": "*",
};
const NO_FIXTURE = {
  error: {
    message: "no fixture",
    type: "x",
    param: null,
    code: "not_found",
    request_id: null,
    charged: false,
    retryable: false,
    doc_url: null,
  },
};

/** The session and the answers that a state gives. */
export function answersOf(state) {
  const session = { ...base.session, ...(state.session ?? {}) };
  return {
    data: new URL(session.instance.base_url).origin,
    responses: { "GET /api/session": session, ...base.responses, ...(state.responses ?? {}) },
  };
}

/** What a question is answered with: status, headers and body, or "never"; what has no fixture is a problem. */
export function reply(responses, request, problems) {
  const url = new URL(request.url());
  if (request.method() === "OPTIONS") return { status: 204, headers: CORS, body: "" };
  const found = answerFor(responses, request.method(), url);
  // A function sees the question and may answer differently each time.
  const answer = typeof found === "function" ? found(request) : found;
  if (answer === undefined) {
    problems.push(`no fixture for ${request.method()} ${url.pathname}${url.search}`);
    return { status: 404, headers: { "content-type": "application/json" }, body: JSON.stringify(NO_FIXTURE) };
  }
  if (answer === "never") return "never";
  const shaped = typeof answer === "object" && answer !== null && typeof answer.status === "number" && "body" in answer;
  const body = shaped ? answer.body : answer;
  const text = typeof body === "string" || Buffer.isBuffer(body);
  return {
    status: shaped ? answer.status : 200,
    headers: { ...CORS, "content-type": text ? "text/plain" : "application/json", ...(shaped ? answer.headers : {}) },
    body: body === undefined || body === null ? "" : text ? body : JSON.stringify(body),
  };
}

/** The file of a Chinese face that an address names. */
export function faceOf(pathname) {
  return join(faces, "files", basename(pathname));
}

/** Answers every question of a page out of its fixtures; what has none is a problem, and so is a question elsewhere. */
export async function mock(page, site, state, problems) {
  const { data, responses } = answersOf(state);
  await page.route("**/*", async (route) => {
    const request = route.request();
    const url = new URL(request.url());
    if (url.protocol === "blob:" || url.protocol === "data:") return route.continue();
    if (url.origin === site && url.pathname.startsWith("/__faces/")) {
      return route.fulfill({ path: faceOf(url.pathname), contentType: "font/woff2" });
    }
    const api = url.origin === data || (url.origin === site && url.pathname.startsWith("/api/"));
    if (!api) {
      if (url.origin !== site) {
        problems.push(`asks elsewhere: ${request.url()}`);
        return route.abort();
      }
      return route.continue();
    }
    const answer = reply(responses, request, problems);
    if (answer !== "never") return route.fulfill(answer);
  });
}
