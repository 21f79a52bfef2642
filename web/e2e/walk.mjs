/**
 * The top tasks of a customer in a real browser against a real `trunkline dev`, in both themes and widths: from the
 * set-up link to the first call and its cost, then catalog, playground, logs, tasks, usage, wallet, members, and the
 * sign-in by keyboard alone.
 *
 *   node e2e/walk.mjs [--only light-1440,dark-390] [--pictures folder] [--no-pictures] [--patience 30]
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { picture } from "../fixtures/made/picture.mjs";
import { Checks, executable, isStarted, startDev } from "./dev.mjs";
import { launch } from "./harness.mjs";
import { Asked, axeSource, findings, quiet } from "./look.mjs";

/** What a new customer's first minute may take: steps of people, not of a slow machine's start. */
const FIRST_CALL_MS = 60_000;
const PASSWORD = "a walk along the river";
const EMAIL = "ada@walk.example";
/** A page that watches a list asks without end; its picture is taken all the same. */
const QUIET_MS = 5_000;
export const COMBINATIONS = ["light-1440", "dark-1440", "light-390", "dark-390"];
const option = (name) => {
  const at = process.argv.indexOf(`--${name}`);
  return at === -1 ? undefined : process.argv[at + 1];
};
/** `--patience` in seconds, for a machine that has other work. */
const PATIENCE_MS = Number(option("patience") ?? "30") * 1_000;
const pictures = option("pictures") ?? join(import.meta.dirname, "../out/walk");
const checks = new Checks();
let dev;
let browser;
let withPictures;

/** The exit code of the walk through a house in which no operator is set up yet. */
export async function walks(house, shared, combinations, isPictured) {
  [dev, browser, withPictures] = [house, shared, isPictured];
  mkdirSync(pictures, { recursive: true });
  return checks.of("walk", combinations.length * 25, async () => {
    for (const [at, name] of combinations.entries()) await walk(name, at === 0);
  });
}

async function walk(name, isFirst) {
  const [theme, width] = name.split("-");
  const context = await browser.newContext({
    viewport: { width: Number(width), height: width === "390" ? 844 : 900 },
    colorScheme: theme,
    reducedMotion: "reduce",
    hasTouch: width === "390",
    locale: "en-US",
    acceptDownloads: true,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  const faults = [];
  page.on("pageerror", (error) => faults.push(String(error)));
  page.on("console", (line) => {
    // A refused call is shown by the browser too; the walk refuses some on purpose.
    if (line.type() === "error" && !/status of (4\d\d)/.test(line.text())) faults.push(line.text());
  });
  const asked = new Asked();
  page.on("request", (request) => asked.began(request));
  page.on("requestfinished", (request) => asked.ended(request));
  page.on("requestfailed", (request) => asked.ended(request));
  const visit = { page, name, width: Number(width), asked };
  try {
    await firstMinute(visit, isFirst);
    if (isFirst) await devLink(name);
    for (const task of [
      catalog,
      playground,
      video,
      files,
      logs,
      tasks,
      usage,
      wallet,
      members,
      search,
      documentation,
    ]) {
      await task(visit);
    }
    await keyboard(visit);
  } catch (error) {
    // What went wrong matters more than its picture.
    await page.screenshot({ path: join(pictures, `${name}-broken.png`) }).catch(() => {});
    throw new Error(`${name}, at ${page.url()}: ${error.stack ?? error}`);
  }
  checks.that(faults.length === 0, `${name}: no page reported an error`, faults.join("\n"));
  await context.close();
}

/** What must hold wherever one stands, and a picture. */
async function stand({ page, name, width, asked }, title) {
  await page.waitForLoadState("load");
  await quiet(asked, QUIET_MS).catch(() => {});
  await page.waitForFunction(() => document.querySelector("[aria-busy=true]") === null);
  if (withPictures) await page.screenshot({ path: join(pictures, `${name}-${title}.png`) });
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  checks.that(wide <= width, `${name}: ${title} does not scroll sideways`, wide);
  await page.evaluate(axeSource);
  const found = await findings(page);
  checks.that(found.length === 0, `${name}: ${title} has no serious problem of accessibility`, found.join("\n"));
}

function go(visit, path) {
  return visit.page.goto(dev.dash_url + path, { waitUntil: "domcontentloaded" });
}

/** Set-up or sign-in, a key, the snippet in a shell, the page turns green and says what it cost. */
async function firstMinute(visit, isFirst) {
  const { page, name } = visit;
  const began = Date.now();
  if (isFirst) {
    await page.goto(dev.operator_link);
    await page.getByLabel("E-mail").fill(EMAIL);
    await page.getByLabel("Your name").fill("Ada");
    await page.getByLabel("Organisation").fill("Walkers");
    await page.getByLabel("Password", { exact: true }).fill(PASSWORD);
    checks.that(!page.url().includes("#"), `${name}: the token is out of the address`, page.url());
    await stand(visit, "setup");
    await page.getByRole("button", { name: "Finish set-up" }).click();
  } else {
    await go(visit, "/sign-in");
    await page.getByLabel("E-mail").fill(EMAIL);
    await page.getByLabel("Password", { exact: true }).fill(PASSWORD);
    await stand(visit, "sign-in");
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
  }
  await page.waitForURL(`${dev.dash_url}/`);
  await page.getByRole("heading", { level: 1 }).waitFor();
  await stand(visit, "home");
  await go(visit, "/keys/new");
  await page.getByLabel("Name", { exact: true }).fill(`Walk ${name}`);
  await page.getByRole("button", { name: "Create key" }).click();
  await page.getByRole("link", { name: "Connect a client" }).click();
  const snippet = page.locator("pre").first();
  await snippet.waitFor();
  await page.getByRole("button", { name: /show/i }).first().click();
  const pasted = await snippet.textContent();
  checks.that(
    pasted.includes("sk-tl-") && pasted.includes(dev.base_url),
    `${name}: the snippet has the reader's key and address`,
    pasted,
  );
  const said = pasteUntilKnown(pasted);
  checks.that(said.includes("choices"), `${name}: the pasted snippet works`, said);
  const green = page.locator("[data-arrived=ok]");
  await green.waitFor();
  const text = await green.textContent();
  const took = Date.now() - began;
  checks.that(/\$0\.0*[1-9]/.test(text), `${name}: the page turned green and shows what the call cost`, text);
  checks.that(took < FIRST_CALL_MS, `${name}: from the sign-in to the cost in under a minute (${took} ms)`);
  console.log(`${name}: from the sign-in to the first call's cost in ${took} ms`);
  await stand(visit, "connected");
}

/** The link that `trunkline dev` prints opens the console signed in, in a browser that was never there. */
async function devLink(name) {
  const context = await browser.newContext({ locale: "en-US" });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  await page.goto(dev.console_link);
  await page.getByRole("heading", { level: 1, name: "Home" }).waitFor();
  checks.that(page.url() === `${dev.dash_url}/`, `${name}: the link of dev leads home, without its token`, page.url());
  const session = await page.evaluate(async () => (await fetch("/api/session")).json());
  checks.that(session.account?.name === "Walkers", `${name}: it opens the seeded account`, JSON.stringify(session));
  await context.close();
}

/** A key is known to every node within a second. */
function pasteUntilKnown(snippet) {
  for (let tries = 1; ; tries += 1) {
    const said = execFileSync("bash", ["-c", snippet], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
      timeout: PATIENCE_MS,
    });
    if (!said.includes("invalid_api_key") || tries === 25) return said;
    execFileSync("sleep", ["0.2"]);
  }
}

async function catalog(visit) {
  const { page, name } = visit;
  await go(visit, "/catalog");
  await page
    .getByRole("searchbox")
    .or(page.getByPlaceholder(/search/i))
    .last()
    .fill("sim-fast");
  const model = page.getByRole("link", { name: /sim-fast/ }).first();
  await model.waitFor();
  await stand(visit, "catalog");
  await model.click();
  await page.waitForURL(/catalog\/sim-fast/);
  await page.getByText(/\$/).first().waitFor();
  const text = await page.locator("main").textContent();
  checks.that(
    /\$[\d.]+/.test(text) && /million|1M/i.test(text),
    `${name}: a model's price is in dollars with its unit`,
    text,
  );
  await stand(visit, "model");
}

async function playground(visit) {
  const { page, name } = visit;
  await go(visit, "/playground/chat");
  const chosen = await page.getByRole("button", { name: /^Remove / }).getAttribute("aria-label");
  checks.that(chosen === "Remove gpt-5-mini", `${name}: the playground opens on a model that readers know`, chosen);
  await go(visit, "/playground/chat?model=sim-fast");
  await page.getByLabel("Message").fill("What is the capital of France?");
  const run = page.getByRole("button", { name: /^Run.*\$/ });
  await run.waitFor();
  const first = await run.textContent();
  checks.that(/\$/.test(first), `${name}: the price stands on the button before the call`, first);
  await run.click();
  await page.getByRole("link", { name: "Receipt" }).waitFor();
  await stand(visit, "playground");
  await page.getByRole("tab", { name: /Fields/ }).click();
  await stand(visit, "playground-fields");
  await page.getByRole("tab", { name: /Code/ }).click();
  const shown = await page.locator("main").textContent();
  checks.that(
    !shown.includes("sk-tl-") || shown.includes("•"),
    `${name}: the key is hidden in the code until asked for`,
  );
}

async function video(visit) {
  const { page, name } = visit;
  await go(visit, "/playground/video?model=sim-video");
  await page
    .getByLabel(/Prompt/i)
    .first()
    .fill("A cat on a bridge at night");
  const run = page.getByRole("button", { name: /^Run.*\$/ });
  await run.waitFor();
  await run.click();
  await page.locator("video").first().waitFor({ timeout: 60_000 });
  await stand(visit, "playground-video");
  checks.that(true, `${name}: a video was made and is shown`);
}

/** Files of the reader's own: a first frame, dropped; a picture to edit, chosen. The code that is shown works. */
async function files(visit) {
  const { page, name } = visit;
  await go(visit, "/playground/video?model=kling-v3");
  await page.getByLabel("Prompt", { exact: true }).fill("The sun goes down");
  const bytes = [...picture()];
  const dropped = await page.evaluateHandle((list) => {
    const data = new DataTransfer();
    data.items.add(new File([new Uint8Array(list)], "harbour.png", { type: "image/png" }));
    return data;
  }, bytes);
  await page.getByRole("textbox", { name: "First frame" }).dispatchEvent("drop", { dataTransfer: dropped });
  await page.getByRole("button", { name: "Remove harbour.png" }).waitFor();
  await page.getByRole("button", { name: /^Run.*\$/ }).click();
  await page.locator("video").first().waitFor({ timeout: 60_000 });
  await stand(visit, "playground-frame");
  checks.that(true, `${name}: a video was made from a first frame of one's own`);
  await go(visit, "/playground/image?model=gpt-image-1.5");
  await page.getByText("Edit pictures").click();
  const file = { name: "harbour.png", mimeType: "image/png", buffer: picture() };
  await page.locator('input[type=file][aria-label="Pictures to edit"]').setInputFiles(file);
  await page.getByLabel("Prompt", { exact: true }).fill("Put a boat into it");
  await page.getByRole("button", { name: /^Run.*\$/ }).click();
  await page.getByRole("img", { name: /Put a boat into it/ }).waitFor();
  await page.getByRole("tab", { name: /Code/ }).click();
  await page.getByRole("button", { name: "Show" }).click();
  await stand(visit, "playground-edit");
  const code = await page.locator("main pre").first().textContent();
  const folder = mkdtempSync(join(tmpdir(), "trunkline-edit-"));
  writeFileSync(join(folder, "harbour.png"), picture());
  const answer = execFileSync("sh", ["-c", code], { cwd: folder, encoding: "utf8" });
  rmSync(folder, { recursive: true });
  checks.that(/"url":"http/.test(answer), `${name}: the code of an edit makes the same call`, `${code}\n${answer}`);
}

async function logs(visit) {
  const { page, name } = visit;
  await go(visit, "/logs");
  const row = page.getByText("sim-fast").first();
  await row.waitFor();
  await stand(visit, "logs");
  await row.click();
  await page.waitForURL(/logs\/req_/);
  await page
    .getByText(/Charged/)
    .first()
    .waitFor();
  await stand(visit, "receipt");
  const text = await page.locator("body").textContent();
  checks.that(
    /once/.test(text) && /\$0\.0/.test(text),
    `${name}: a receipt says that and what was charged`,
    text.slice(0, 2_000),
  );
}

async function tasks(visit) {
  const { page, name } = visit;
  await go(visit, "/tasks");
  const task = page
    .getByRole("link", { name: /sim-video/ })
    .first()
    .or(page.getByText("sim-video").first())
    .first();
  await task.waitFor();
  await stand(visit, "tasks");
  await task.click();
  await page.waitForURL(/tasks\/.+/);
  const download = page.getByRole("link", { name: /Download/ }).first();
  await download.waitFor();
  await stand(visit, "task");
  const address = await download.getAttribute("href");
  const file = await fetch(new URL(address, dev.dash_url));
  checks.that(
    file.status === 200 && (await file.arrayBuffer()).byteLength > 100,
    `${name}: the video can be downloaded`,
    `${address} ${file.status}`,
  );
}

async function usage(visit) {
  const { page, name } = visit;
  await go(visit, "/usage");
  await page.getByText("sim-fast").first().waitFor();
  await stand(visit, "usage");
  const answered = await page.request.get(`${dev.dash_url}/api/usage.csv?group_by=day,model`);
  const csv = await answered.text();
  checks.that(
    answered.status() === 200 && csv.includes("sim-fast"),
    `${name}: usage can be taken along as a file`,
    csv,
  );
}

async function wallet(visit) {
  const { page, name } = visit;
  const made = execFileSync(
    executable(),
    ["code", "create", "--amount", "5", "--count", "1", "--wallet", "paid", "--expires", "30d", "--json"],
    {
      encoding: "utf8",
      env: { ...process.env, TRUNKLINE__DATABASE__URL: dev.database_url },
    },
  );
  const text = made.match(/TL-[0-9A-Z-]+/)?.[0];
  checks.that(Boolean(text), `${name}: an operator makes a code`, made);
  await go(visit, "/wallet");
  await page.getByLabel(/code/i).first().fill(text.toLowerCase().replaceAll("-", " "));
  await page.getByRole("button", { name: /redeem/i }).click();
  await page.getByText(/\$5/).first().waitFor();
  await stand(visit, "wallet");
  const balance = await (await page.request.get(`${dev.dash_url}/api/wallet/ledger?limit=50`)).json();
  const booked = balance.data.filter((line) => line.kind === "redemption");
  checks.that(
    booked.length >= 1 && booked[0].amount_usd === "5",
    `${name}: the code is in the books`,
    JSON.stringify(balance.data.slice(0, 5)),
  );
}

async function members(visit) {
  const { page, name } = visit;
  await go(visit, "/members");
  await page
    .getByRole("button", { name: /invite/i })
    .first()
    .click();
  await page.getByLabel("E-mail").fill(`guest-${name}@walk.example`);
  await page.getByRole("dialog").getByRole("button").last().click();
  await page
    .getByText(/invitation#/)
    .first()
    .waitFor();
  checks.that(true, `${name}: without a mail server the inviter gets the link`);
  await page.keyboard.press("Escape");
  await go(visit, "/members");
  await page.getByText(`guest-${name}@walk.example`).first().waitFor();
  await stand(visit, "members");
}

/** Search from anywhere leads to a page. */
async function search(visit) {
  const { page, name, width } = visit;
  await go(visit, "/");
  await page.getByRole("heading", { level: 1 }).waitFor();
  if (width < 640) return;
  await page.keyboard.press("Control+k");
  await page.getByRole("dialog").getByRole("combobox").waitFor();
  await page.keyboard.type("wallet");
  await page.getByRole("option").first().waitFor();
  await stand(visit, "search");
  await page.keyboard.press("Enter");
  await page.waitForURL(/wallet/);
  checks.that(true, `${name}: search leads to a page by keyboard`);
}

async function documentation(visit) {
  const { page, name } = visit;
  for (const path of ["/docs", "/docs/quickstart", "/docs/errors"]) {
    await go(visit, path);
    await page.getByRole("heading", { level: 1 }).waitFor();
    await stand(visit, path.slice(1).replaceAll("/", "-"));
  }
  checks.that(true, `${name}: the documentation is there`);
}

/** Signs out and in, and makes a key, with Tab and Enter alone. */
async function keyboard(visit) {
  const { page, name } = visit;
  await page.context().clearCookies();
  await go(visit, "/sign-in?return_to=/keys/new");
  await page.getByLabel("E-mail").waitFor();
  await reach(page, (focused) => focused.name === "email");
  await page.keyboard.type(EMAIL);
  await reach(page, (focused) => focused.name === "password");
  await page.keyboard.type(PASSWORD);
  await page.keyboard.press("Enter");
  await page.waitForURL(/keys\/new/);
  await page.getByLabel("Name", { exact: true }).waitFor();
  await reach(page, (focused) => focused.placeholder === "Checkout service");
  await page.keyboard.type("by keyboard");
  await page.keyboard.press("Enter");
  await page.getByText("shown this once").waitFor();
  await reach(page, (focused) => /Connect/.test(focused.text));
  await page.keyboard.press("Enter");
  await page.waitForURL(/connect\//);
  checks.that(true, `${name}: sign-in and a key by keyboard alone`);
}

/** Presses Tab until what has the focus is wanted. */
async function reach(page, wanted) {
  for (let presses = 0; presses < 60; presses += 1) {
    const focused = await page.evaluate(() => {
      const one = document.activeElement;
      return {
        name: one?.getAttribute("name"),
        placeholder: one?.getAttribute("placeholder"),
        text: one === document.body ? "" : (one?.textContent ?? ""),
      };
    });
    if (wanted(focused)) return;
    await page.keyboard.press("Tab");
  }
  throw new Error(`nothing with the focus is ${wanted}`);
}

if (isStarted(import.meta.url)) {
  const wanted = option("only")?.split(",") ?? COMBINATIONS;
  const [house, own] = await Promise.all([startDev(), launch()]);
  const code = await walks(house, own, wanted, !process.argv.includes("--no-pictures")).finally(async () => {
    await own.close();
    await house.stop();
  });
  process.exit(code);
}
