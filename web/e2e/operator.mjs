/**
 * The ten tasks of an operator in a real browser against a real `trunkline dev`, each written as what a person sees and
 * does. Clicks are counted, and a task that needs more than a person would is a failed check.
 *
 *   node e2e/operator.mjs [--only light-1440,dark-390-zh]
 *
 * The set-up is by password, so the operator also sets up a second factor, as in production.
 */
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Checks, isStarted, startDev, waitFor } from "./dev.mjs";
import { launch } from "./harness.mjs";
import { Asked, axeSource, findings, quiet } from "./look.mjs";
import { startStripe } from "./stripe.mjs";
import { totp } from "./totp.mjs";
import { chineseWords } from "./words.mjs";

const PASSWORD = "an operator along the river";
const EMAIL = "olga@operator.example";
const CUSTOMER = "cora@customer.example";
const MODEL = "sim-fast";
/** A platform, and what is asked of it. */
const SOCIAL = "kuaishou/search";
const FIRST_PAYMENT_MS = 60_000;
const PATIENCE_MS = 30_000;
const QUIET_MS = 5_000;
/** A loss is in parentheses, in the way of either language. */
const LOSS = /\((?:US)?\$/;
/** Dear enough that every call of the model is sold below it: 1,000 USD for a million units. */
const COSTS = {
  currency: "USD",
  rate: { numerator: 1, denominator: 1, as_of: "2026-11-01" },
  models: { [MODEL]: { input: 1_000_000_000, output: 1_000_000_000 } },
};

/** The exit code of the ten tasks in one theme and width, in English or in Chinese. */
export async function operatorWalk(browser, name = "light-1440") {
  const stripe = await startStripe();
  const folder = mkdtempSync(join(tmpdir(), "trunkline-operator-"));
  writeFileSync(join(folder, "key"), stripe.files.key, { mode: 0o600 });
  writeFileSync(join(folder, "webhook"), stripe.files.webhook, { mode: 0o600 });
  const dev = await startDev(
    `[payments]\nstripe_api = "${stripe.url}"\nstripe_key_file = "${join(folder, "key")}"\n` +
      `stripe_webhook_secret_file = "${join(folder, "webhook")}"\n`,
  );
  stripe.sendTo(`${dev.dash_url}/webhooks/stripe`);
  const checks = new Checks();
  const code = await checks.of(`operator ${name}`, 30, async () => {
    const walk = await Walk.begin(browser, dev, stripe, checks, name);
    for (const [task, most] of TASKS) await walk.task(task, most);
    await walk.end();
  });
  await dev.stop();
  await stripe.stop();
  return code;
}

/** One operator at a browser. What tasks learn, later ones use. */
class Walk {
  static async begin(browser, dev, stripe, checks, name) {
    const [theme, width, language = "en"] = name.split("-");
    const say = language === "zh" ? await chineseWords() : (text) => text;
    const look = { theme, width, language, say };
    const walk = Object.assign(new Walk(), { browser, dev, stripe, checks, name, ...look, clicks: 0, faults: [] });
    walk.page = await walk.open();
    await walk.setUp();
    return walk;
  }

  async open() {
    const isNarrow = this.width === "390";
    const context = await this.browser.newContext({
      viewport: { width: Number(this.width), height: isNarrow ? 844 : 900 },
      colorScheme: this.theme,
      reducedMotion: "reduce",
      hasTouch: isNarrow,
      locale: this.language === "zh" ? "zh-CN" : "en-US",
    });
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    page.on("pageerror", (error) => this.faults.push(String(error)));
    this.asked = new Asked();
    page.on("request", (request) => this.asked.began(request));
    page.on("requestfinished", (request) => this.asked.ended(request));
    page.on("requestfailed", (request) => this.asked.ended(request));
    return page;
  }

  /** What has this name, in the language of the walk. */
  named(role, name, scope = this.page, more = {}) {
    return scope.getByRole(role, { name: this.say(name), exact: true, ...more });
  }

  /** What has this text. */
  text(text, scope = this.page) {
    return scope.getByText(this.say(text));
  }

  /** The rows of a table, which are cards on a narrow screen. */
  rows(table) {
    if (this.width === "390") return this.named("list", table).getByRole("listitem");
    return this.named("table", table).locator("tbody").getByRole("row");
  }

  labelled(label, scope = this.page) {
    return scope.getByLabel(this.say(label), { exact: true });
  }

  /** Presses a button, link or row, and counts it. */
  async click(role, name, scope = this.page) {
    this.clicks += 1;
    await this.named(role, name, scope).first().click();
  }

  async fill(label, text, scope = this.page) {
    await this.labelled(label, scope).first().fill(text);
  }

  /** Presses the button of a dialog that acts, and waits until it is gone. */
  async act(name) {
    const button = this.named("button", name, this.page.getByRole("dialog")).last();
    this.clicks += 1;
    await button.click();
    await this.stepUp(button.waitFor({ state: "hidden" }));
    await button.waitFor({ state: "hidden" });
  }

  /** Gives the password once more, if it is asked for before something else is done. */
  async stepUp(done) {
    const dialog = this.named("dialog", "Confirm your identity");
    const asked = dialog.waitFor().then(
      () => true,
      () => false,
    );
    const settled = done.then(
      () => false,
      () => false,
    );
    if (!(await Promise.race([asked, settled]))) return;
    await this.fill("Password", PASSWORD, dialog);
    await this.named("button", "Confirm", dialog).click();
    await dialog.waitFor({ state: "hidden" });
  }

  /** From the rail, as a person goes. On a narrow screen a side panel covers the page and the rail is behind a button;
   * that is the same for every task and not counted. */
  async place(name) {
    if (this.width === "390") {
      const panel = this.page.getByRole("dialog");
      if (await panel.isVisible()) await this.named("button", "Back", panel).first().click();
      await this.named("button", "More").click();
      await this.click("link", name);
    } else await this.click("link", name, this.named("navigation", "Navigation"));
    await this.page.getByRole("heading", { level: 1 }).waitFor();
  }

  that(holds, sentence, detail) {
    this.checks.that(holds, `${this.name}: ${sentence}`, detail);
  }

  /** What must hold wherever one stands. */
  async stand(title) {
    await quiet(this.asked, QUIET_MS).catch(() => {});
    await this.page.waitForFunction(() => document.querySelector("[aria-busy=true]") === null);
    const width = this.page.viewportSize().width;
    const wide = await this.page.evaluate(() => document.documentElement.scrollWidth);
    this.that(wide <= width, `${title} does not scroll sideways`, wide);
    await this.page.evaluate(axeSource);
    const found = await findings(this.page);
    this.that(found.length === 0, `${title} has no serious problem of accessibility`, found.join("\n"));
  }

  /** Runs a task, counts its clicks and looks at where it ends. */
  async task(run, most) {
    this.clicks = 0;
    await run(this);
    await this.stand(run.name);
    this.that(this.clicks <= most, `${run.name} takes ${most} clicks at most`, this.clicks);
    console.log(`${this.name}: ${run.name}, ${this.clicks} clicks`);
  }

  /** The operator's account, and the second factor that its pages need. */
  async setUp() {
    const { page } = this;
    await page.goto(this.dev.operator_link);
    await this.fill("Email", EMAIL);
    await this.fill("Your name", "Olga");
    await this.fill("Organisation", "Operators");
    await this.fill("Password", PASSWORD);
    await this.click("button", "Finish setup");
    await page.waitForURL(`${this.dev.dash_url}/`);
    await page.goto(`${this.dev.dash_url}/operator`);
    await this.click("link", "Set up now");
    await this.click("button", "Set up");
    await this.stepUp(page.locator("pre").first().waitFor());
    const secret = (await page.locator("pre").first().textContent()).trim();
    await this.fill("Code", totp(secret));
    await this.click("button", "Turn on");
    await this.named("button", "I have stored them").waitFor();
    const codes = await page.locator("pre").first().textContent();
    this.that(codes.trim().split("\n").length === 10, "ten recovery codes are shown once", codes);
    await this.click("button", "I have stored them");
    await page.waitForURL(`${this.dev.dash_url}/operator`);
    await this.stand("overview");
  }

  /** A call of the customer; what came back. */
  async call(content, key = this.key) {
    const answered = await fetch(`${this.dev.base_url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ model: MODEL, messages: [{ role: "user", content }] }),
    });
    return { status: answered.status, id: answered.headers.get("x-request-id"), text: await answered.text() };
  }

  /** A call for social data of the customer. */
  async social() {
    const answered = await fetch(`${this.dev.base_url}/v1/social/${SOCIAL}?keyword=tea`, {
      headers: { authorization: `Bearer ${this.key}` },
    });
    return { status: answered.status, text: await answered.text() };
  }

  /** The same until something holds: nodes learn of a change within a second. */
  callUntil(holds, content = "hello") {
    return waitFor(async () => {
      const answered = await this.call(content);
      return holds(answered) ? answered : undefined;
    });
  }

  /** Nothing went wrong unseen, and the log has what was done. */
  async end() {
    this.that(this.faults.length === 0, "no page reported an error", this.faults.join("\n"));
    const log = await this.page.evaluate(async () => (await fetch("/api/operator/actions?limit=200")).json());
    const seen = new Set(log.data.map((one) => one.action));
    for (const action of ACTIONS) this.that(seen.has(action), `the action log has ${action}`, [...seen].join(", "));
    await this.page.context().close();
  }
}

/** What the walk did, by the names of the log. */
const ACTIONS = [
  "create_customer",
  "invite_to_customer",
  "add_channel",
  "publish_prices",
  "refund_payment",
  "suspend_customer",
  "resume_customer",
  "replace_credential",
  "rollback_prices",
];

/** 1. A customer from sign-up to paid call. */
async function customerToPaidCall(walk) {
  const { page, dev } = walk;
  await walk.place("Customers");
  await walk.click("button", "New customer");
  await walk.fill("Name", "Cora and Sons");
  await walk.act("Create customer");
  await page.getByRole("heading", { level: 1, name: /Cora and Sons/ }).waitFor();
  walk.customer = page.url().split("/").at(-1);
  await walk.click("button", /^More actions/);
  await walk.click("menuitem", "Invite a member");
  await walk.fill("Email", CUSTOMER);
  await walk.click("button", "Create invitation");
  await walk.stepUp(page.locator("pre").last().waitFor());
  const link = (await page.locator("pre").last().textContent()).trim();
  await walk.click("button", "Done");
  // The customer, in a browser of their own.
  const theirs = await walk.open();
  await theirs.goto(link);
  await walk.fill("Your name", "Cora", theirs);
  await walk.fill("Password", PASSWORD, theirs);
  await walk.named("button", "Join", theirs).click();
  await theirs.waitForURL(`${dev.dash_url}/`);
  const made = await theirs.evaluate(async () => {
    const headers = { "x-trunkline-console": "1", "content-type": "application/json" };
    return (await fetch("/api/keys", { method: "POST", headers, body: '{"name":"walk"}' })).json();
  });
  walk.key = made.secret;
  walk.theirs = theirs;
  await firstPayment(walk, theirs);
  const answered = await walk.callUntil((one) => one.status === 200);
  walk.that(answered.status === 200, "the customer's first paid call works", answered.text);
  await page.reload();
  await page.getByText(MODEL).first().waitFor();
  walk.that(true, "the operator sees the paid call on the customer's page");
}

/** From the first payment to the first call for social data, which paid credit alone buys, in under a minute. */
async function firstPayment(walk, page) {
  const refused = await waitFor(async () => {
    const answered = await walk.social();
    return answered.status === 401 ? undefined : answered;
  });
  const code = JSON.parse(refused.text).error?.code;
  walk.that(code === "model_requires_topup", "social data is refused before the first payment", refused.text);
  const began = Date.now();
  await page.goto(`${walk.dev.dash_url}/wallet`);
  await walk.fill("Amount in USD", "20", page);
  await walk.named("button", /^Pay/, page).click();
  await page.getByRole("button", { name: "Pay with a test card" }).click();
  await page.waitForURL(/wallet/);
  await page.getByText("$20.00").first().waitFor();
  const served = await waitFor(async () => {
    const answered = await walk.social();
    return answered.status === 200 ? answered : undefined;
  });
  await page.goto(`${walk.dev.dash_url}/logs`);
  await page.getByText(SOCIAL.split("/").at(0)).first().waitFor();
  const took = Date.now() - began;
  walk.that(JSON.parse(served.text).object === "social.result", "social data is sold after it", served.text);
  walk.that(took < FIRST_PAYMENT_MS, "from the payment to the call in the logs in under a minute", took);
  console.log(`${walk.name}: from the first payment to the first call for social data in ${took} ms`);
}

/** 2. A channel is added, and calls are routed to it. */
async function channelAdded(walk) {
  const { page } = walk;
  await walk.place("Channels");
  await walk.click("button", "Add channel");
  await walk.fill("Name", "walk-channel");
  await walk.click("combobox", "Provider");
  await walk.click("option", "openai");
  await walk.fill("Credential", "sk-walk-first");
  await walk.fill("Address", walk.dev.simulator_url);
  await walk.fill("Models", MODEL);
  await walk.fill("Priority", "0");
  await walk.fill("Price list (JSON)", JSON.stringify(COSTS));
  await walk.act("Add channel");
  await page.getByRole("dialog", { name: "walk-channel" }).waitFor();
  walk.channel = page.url().split("/").at(-1);
  const through = await waitFor(async () => {
    // Turns of one conversation stay with one channel, so each try begins another one.
    const { id } = await walk.call(`hello ${Date.now()}`);
    const shown = await page.evaluate(async (one) => (await fetch(`/api/operator/calls/${one}`)).json(), id);
    return shown.attempts?.some((attempt) => attempt.channel === "walk-channel");
  });
  walk.that(through, "calls go through the new channel");
}

/** 3. A price is raised, after a look at what that does. */
async function priceRaised(walk) {
  await walk.place("Prices");
  await walk.named("searchbox", "Search models").fill(MODEL);
  await walk.click("link", MODEL);
  await walk.fill("Change all by", "10");
  await walk.click("button", "Apply");
  await walk.click("button", "Preview change");
  const preview = walk.named("dialog", "Preview");
  await walk.text("Last 30 days at the new prices", preview).waitFor();
  const text = await preview.textContent();
  walk.that(text.includes("Cora and Sons"), "the preview names the customers whom the change touches", text);
  const allow = walk.labelled("Publish even though the price is below cost", preview);
  if (await allow.isVisible()) await allow.check();
  await walk.fill("Note", "Ten percent more");
  await walk.act(/^Publish/);
  await walk.text(/Published as revision/).waitFor();
  walk.that(true, "the price is published");
}

/** 4. Why a call failed, from any part of its id. */
async function whyACallFailed(walk) {
  const { page } = walk;
  const failed = await walk.call("hello [[fault:status:503]]");
  walk.that(failed.status >= 500, "the call failed", failed.text);
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox").last().fill(failed.id.slice(-8));
  await walk.click("option", new RegExp(failed.id.slice(-4)));
  await walk.named("heading", /^Call/, page, { level: 1 }).waitFor();
  await page.getByText("503").first().waitFor();
  const text = await page.locator("main").textContent();
  walk.that(text.includes("walk-channel"), "the page says which channel answered what", text);
}

/** 5. A refund by hand. */
async function refundByHand(walk) {
  await walk.place("Payments");
  await walk.click("link", "Cora and Sons");
  await walk.click("button", "Refund");
  const dialog = walk.named("dialog", "Refund payment");
  await walk.fill("Amount in USD", "5", dialog);
  await walk.fill("Reason", "Asked for it", dialog);
  await walk.act("Refund $5.00");
  await walk.text("The refund was sent to the provider").waitFor();
  walk.that(true, "the refund is sent");
}

/** 6. An abuser is suspended. */
async function abuserSuspended(walk) {
  await walk.place("Customers");
  await walk.named("searchbox", "Search customers").fill("Cora");
  await walk.click("link", /Cora and Sons/);
  await walk.click("button", "Suspend");
  await walk.fill("Reason", "Calls from a leaked key");
  await walk.act(/^Suspend customer/);
  const refused = await walk.callUntil((one) => one.status === 401 || one.status === 403);
  walk.that(refused.status < 500, "the keys of a suspended customer are refused", refused.text);
  await walk.click("button", "Resume");
  await walk.fill("Reason", "The key was replaced");
  await walk.act("Resume customer");
  await walk.callUntil((one) => one.status === 200);
  walk.that(true, "they work again after it is resumed");
}

/** 7. A leaked credential is replaced. */
async function credentialReplaced(walk) {
  const { page } = walk;
  await walk.place("Channels");
  await walk.click("link", /walk-channel/);
  await walk.click("button", "Actions for credential main");
  await walk.click("menuitem", "Replace");
  await walk.fill("Secret", "sk-walk-the-second-credential");
  await walk.act("Replace credential");
  await page.getByText("…tial").first().waitFor();
  walk.that(true, "the new credential's last characters are shown");
}

/** 8. Today's margin, and its worst line explained down to a call. */
async function worstLineExplained(walk) {
  const { page } = walk;
  await walk.place("Margins");
  await page.getByText(walk.say("Today"), { exact: true }).first().click();
  const worst = walk.rows("Margins").first();
  await worst.getByText("walk-channel").waitFor();
  const line = await worst.textContent();
  walk.that(LOSS.test(line), "the worst line is a loss, in parentheses", line);
  await walk.click("link", /walk-channel/);
  await walk.named("heading", "Calls", page, { level: 2 }).waitFor();
  const losses = walk.rows("Calls").filter({ hasText: LOSS });
  const call = losses.first().getByRole("link").first();
  walk.clicks += 1;
  await call.click();
  await walk.text("Cost breakdown").waitFor();
  const text = await page.getByRole("dialog").textContent();
  walk.that(
    walk.say(/below cost/).test(text) && /1000 USD/.test(text),
    "the call shows its cost by the price list",
    text,
  );
}

/** 9. A dispute is settled. */
async function disputeSettled(walk) {
  const { page } = walk;
  const dispute = await walk.stripe.dispute();
  await walk.place("Overview");
  await page.reload();
  await walk.click("link", /dispute is open/);
  await page.getByText("Cora and Sons").first().waitFor();
  await dispute.close("won");
  await page.reload();
  await walk.click("button", "Resume customer");
  await walk.fill("Reason", "The dispute was won");
  await walk.act("Resume customer");
  await walk.text("The customer is active again").waitFor();
  walk.that(true, "the customer is active again");
}

/** 10. A bad price is rolled back. */
async function priceRolledBack(walk) {
  const { page } = walk;
  await walk.place("Prices");
  await walk.click("tab", "History");
  walk.clicks += 1;
  await walk
    .named("button", /^Roll back to this/)
    .first()
    .click();
  const allow = walk.labelled("Publish even though the price is below cost");
  await walk.text("Changes", page.getByRole("dialog")).waitFor();
  if (await allow.isVisible()) await allow.check();
  await walk.fill("Note", "The price was a mistake");
  await walk.act(/^Roll back to revision/);
  await walk.text(/Published as revision/).waitFor();
  walk.that(true, "the former prices are in use again");
}

/** Each with the clicks that it may take. */
const TASKS = [
  [customerToPaidCall, 7],
  [channelAdded, 5],
  [priceRaised, 6],
  [whyACallFailed, 1],
  [refundByHand, 4],
  [abuserSuspended, 6],
  [credentialReplaced, 5],
  [worstLineExplained, 3],
  [disputeSettled, 4],
  [priceRolledBack, 4],
];

if (isStarted(import.meta.url)) {
  const at = process.argv.indexOf("--only");
  const names = at === -1 ? ["light-1440"] : process.argv[at + 1].split(",");
  const browser = await launch();
  let code = 0;
  for (const name of names) code = Math.max(code, await operatorWalk(browser, name));
  await browser.close();
  process.exit(code);
}
