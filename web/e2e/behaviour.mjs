// What pictures cannot show: the sign-in page, the keyboard, the step-up, what a browser remembers. Against a built console with
// answers from fixtures.   node e2e/behaviour.mjs [--dist dir]
import assert from "node:assert/strict";
import { join, resolve } from "node:path";
import base, { logRow, session, signedOut } from "../fixtures/base.mjs";
import home from "../fixtures/home.mjs";
import { picture } from "../fixtures/made/picture.mjs";
import people from "../fixtures/people.mjs";
import playground from "../fixtures/playground.mjs";
import { dress, launch, mock, option } from "./harness.mjs";
import { serve } from "./serve.mjs";

const dist = resolve(option("dist", join(new URL("..", import.meta.url).pathname, "dist")));
const server = await serve(dist, new URL(base.session.instance.base_url).origin);
const browser = await launch();
const usualHome = home.pages[0].states.usual.responses;
const usualMembers = people.pages[0].states.usual.responses;
const refused = (status, code) => ({
  status,
  body: {
    error: {
      message: "No.",
      type: "x",
      param: null,
      code,
      request_id: "req_1",
      charged: false,
      retryable: false,
      doc_url: null,
    },
  },
});
let bad = 0;

/** One sentence about the console, and the walk that proves it. */
async function it(sentence, state, walk) {
  const context = await browser.newContext({
    viewport: { width: 1440, height: 900 },
    reducedMotion: "reduce",
    locale: "en-US",
  });
  const problems = [];
  const page = await context.newPage();
  page.setDefaultTimeout(90_000);
  page.on("pageerror", (error) => problems.push(error.message));
  await dress(page);
  await mock(page, server.url, state, problems);
  try {
    await walk(page, (path) => page.goto(`${server.url}${path}`));
    assert.deepEqual(problems, []);
    console.log(`✓ ${sentence}`);
  } catch (error) {
    bad += 1;
    console.log(`✗ ${sentence}\n    ${error instanceof Error ? error.message : error}`);
  }
  await context.close();
}
const path = (page) => page.evaluate(() => location.pathname + location.search + location.hash);
const focused = (page) => page.evaluate(() => document.activeElement?.textContent ?? "");

const posted = [];
await it(
  "a token leaves the address at once and goes to the server in the body only",
  {
    session: signedOut,
    responses: {
      ...usualHome,
      "POST /api/password/reset": (request) => {
        posted.push(request.postDataJSON());
        return session;
      },
    },
  },
  async (page, open) => {
    await open("/reset#tok_secret");
    await page.getByLabel("New password").waitFor();
    assert.equal(await path(page), "/reset");
    assert.equal(await page.evaluate(() => history.length), 2, "about:blank and the page, no entry with the token");
    await page.getByLabel("New password").fill("copper lantern 4 rivers");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Home", level: 1 }).waitFor();
    assert.deepEqual(posted, [{ token: "tok_secret", password: "copper lantern 4 rivers" }]);
  },
);

await it(
  "a visitor without a session comes to the sign-in page, and from there to where they wanted to go",
  { session: signedOut, responses: { ...usualMembers, "POST /api/session": session } },
  async (page, open) => {
    await open("/members?invite=1");
    await page.getByLabel("Email").fill("ada@northwind.example");
    assert.equal(await path(page), `/sign-in?return_to=${encodeURIComponent("/members?invite=1")}`);
    await page.getByLabel("Password", { exact: true }).fill("x");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog", { name: "Invite a member" }).waitFor();
    assert.equal(await path(page), "/members?invite=1");
  },
);

await it(
  "the sign-in page never leads elsewhere",
  { session: signedOut, responses: { ...usualHome, "POST /api/session": session } },
  async (page, open) => {
    await open("/sign-in?return_to=//evil.example/keys");
    await page.getByLabel("Email").fill("ada@northwind.example");
    await page.getByLabel("Password", { exact: true }).fill("x");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Home", level: 1 }).waitFor();
    assert.equal(new URL(page.url()).origin, server.url);
    assert.equal(await path(page), "/");
  },
);

await it(
  "a sign-in that ended while a page was open leads to the sign-in page",
  { responses: { "GET /api/members": refused(401, "not_signed_in"), "GET /api/session": ended() } },
  async (page, open) => {
    await open("/members");
    await page.getByRole("heading", { name: /Sign in/ }).waitFor();
    assert.equal(await path(page), "/sign-in?return_to=%2Fmembers");
  },
);
/** Signed in when first asked, signed out from then on. */
function ended() {
  let asked = 0;
  return () => {
    asked += 1;
    return asked === 1 ? session : signedOut;
  };
}

let stepped = false;
await it(
  "money and secrets ask for the password once, then do what was asked",
  {
    responses: {
      ...usualMembers,
      "POST /api/members/invitations": () =>
        stepped
          ? { status: 201, body: { ...usualMembers["GET /api/members"].invitations[0], link: null } }
          : refused(403, "step_up_required"),
      "POST /api/session/step-up": (request) => {
        if (request.postDataJSON().password !== "right") return refused(401, "sign_in_failed");
        stepped = true;
        return session;
      },
    },
  },
  async (page, open) => {
    await open("/members?invite=1");
    await page.getByLabel("Email").fill("tomas@northwind.example");
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog", { name: "Confirm your identity" });
    await dialog.getByLabel("Password").fill("wrong");
    await page.keyboard.press("Enter");
    await dialog.getByText("Incorrect password").waitFor();
    await dialog.getByLabel("Password").fill("right");
    await page.keyboard.press("Enter");
    await page.getByText("Invitation sent to tomas@northwind.example.").waitFor();
    assert.equal(await page.getByRole("dialog").count(), 0);
  },
);

await it(
  "characters typed before the search has come are kept, and so is the Enter",
  {
    responses: {
      ...usualHome,
      ...usualMembers,
      "GET /api/pricing": { auto_groups: [], data: [] },
      "GET /api/keys": { data: [], next: null },
    },
  },
  async (page, open) => {
    let letGo = () => {};
    const held = new Promise((done) => {
      letGo = done;
    });
    await page.route("**/assets/Palette-*.js", async (route) => {
      await held;
      await route.continue();
    });
    await open("/");
    await page.getByRole("heading", { name: "Home", level: 1 }).waitFor();
    await page.keyboard.type("/memb");
    const box = page.getByRole("combobox", { name: /Models, keys/ });
    assert.equal(await box.inputValue(), "memb");
    assert.equal(await page.getByRole("option").count(), 0, "what finds is still held back");
    await page.keyboard.type("ers");
    await page.keyboard.press("Enter");
    letGo();
    await page.waitForURL(`${server.url}/members`);
    assert.equal(await box.count(), 0, "the box is gone with the choice");
  },
);

await it(
  "search opens with a key, goes where it says, and closes with another",
  {
    responses: {
      ...usualHome,
      ...usualMembers,
      "GET /api/pricing": { auto_groups: [], data: [] },
      "GET /api/keys": { data: [], next: null },
    },
  },
  async (page, open) => {
    await open("/");
    await page.getByRole("heading", { name: "Home", level: 1 }).waitFor();
    await page.keyboard.press("/");
    await page.getByRole("combobox", { name: /Models, keys/ }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("combobox").waitFor({ state: "detached" });
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox").pressSequentially("membe");
    await page.getByRole("option", { name: "Members" }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Members", level: 1 }).waitFor();
  },
);

const wanted = home.pages[0].states.usual.responses["GET /api/home"].last_errors[1].request_id;
await it(
  "rows are walked with j and k, and Enter opens one",
  {
    responses: {
      ...usualHome,
      "GET /api/logs": { data: [logRow()], next: null },
      [`GET /api/logs/${wanted}`]: "never",
      "GET /api/keys": { data: [], next: null },
      "GET /api/usage": { from: "", to: "", timezone: "UTC", data: [], totals: {}, truncated: false },
    },
  },
  async (page, open) => {
    await open("/");
    await page.getByRole("row", { name: /veo-3.1-fast/ }).waitFor();
    await page.keyboard.press("j");
    await page.waitForFunction(() => document.activeElement?.getAttribute("data-row") === "0");
    await page.keyboard.press("j");
    await page.waitForFunction(() => document.activeElement?.getAttribute("data-row") === "1");
    await page.keyboard.press("Enter");
    await page.waitForURL(`**/logs/${wanted}`);
  },
);

await it("the first Tab offers the way past the rail", { responses: usualHome }, async (page, open) => {
  await open("/");
  await page.getByRole("heading", { name: "Home", level: 1 }).waitFor();
  await page.keyboard.press("Tab");
  assert.equal(await focused(page), "Skip to content");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.activeElement?.id === "content");
});

await it("a menu works by keyboard and gives the focus back", { responses: usualHome }, async (page, open) => {
  await open("/");
  const menu = page.getByRole("button", { name: /Your account/ });
  await menu.focus();
  await page.keyboard.press("Enter");
  await page.getByRole("menuitem", { name: "Dark" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("menu").waitFor({ state: "detached" });
  assert.match(await focused(page), /Your account/);
});

await it(
  "theme, language and the narrow rail are remembered",
  { responses: { ...usualHome, "GET /api/account/routes": {}, "GET /api/sessions": { data: [] } } },
  async (page, open) => {
    await open("/settings");
    await page.getByRole("radio", { name: "Dark" }).check({ force: true });
    await page.getByRole("button", { name: "Collapse menu" }).click();
    await page.getByRole("radio", { name: "中文" }).check({ force: true });
    await page.getByRole("heading", { name: "设置", level: 1 }).waitFor();
    await page.reload();
    await page.getByRole("heading", { name: "设置", level: 1 }).waitFor();
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
    assert.equal(await page.evaluate(() => document.documentElement.lang), "zh");
    await page.getByRole("button", { name: "展开菜单" }).waitFor();
  },
);

let gone = false;
await it(
  "signing out forgets what was seen",
  {
    responses: {
      ...usualHome,
      "DELETE /api/session": () => {
        gone = true;
        return { status: 204, body: null };
      },
    },
  },
  async (page, open) => {
    await open("/");
    await page.getByRole("heading", { name: "Home", level: 1 }).waitFor();
    await page.getByRole("button", { name: /Your account/ }).click();
    await page.getByRole("menuitem", { name: "Sign out" }).click();
    await page.getByRole("heading", { name: /Sign in/ }).waitFor();
    assert.equal(gone, true);
    assert.equal(await page.getByText("$411.73").count(), 0);
  },
);

await it(
  "a file is chosen and removed by keyboard, the focus stays beside it, and what is sent is the file",
  { responses: playground.pages.find((one) => one.name === "video").states.usual.responses },
  async (page, open) => {
    const sent = [];
    page.on("request", (request) => {
      if (request.method() === "POST" && request.url().endsWith("/v1/videos")) sent.push(request);
    });
    const choose = page.getByRole("button", { name: "Choose a file: First frame" });
    const remove = page.getByRole("button", { name: "Remove frame.png" });
    // Listened for before the page is asked for: a chooser that opens before that is the browser's own.
    page.on("filechooser", (chooser) =>
      chooser.setFiles({ name: "frame.png", mimeType: "image/png", buffer: picture() }),
    );
    await open("/playground/video?model=kling-v3");
    const take = async () => {
      await page.keyboard.press("Enter");
      await remove.waitFor();
      await page.waitForFunction(() => document.activeElement?.getAttribute("aria-label") === "Remove frame.png");
    };
    await choose.focus();
    await take();
    await page.keyboard.press("Enter");
    await choose.waitFor();
    await page.waitForFunction(() => document.activeElement?.hasAttribute("data-choose"));
    await take();
    await page.getByLabel("Prompt", { exact: true }).fill("a lighthouse at dawn");
    await page.getByRole("button", { name: /^Run for/ }).waitFor();
    await page.keyboard.press("Control+Enter");
    await page.getByText("Receipt").first().waitFor();
    assert.equal(sent.length, 1);
    assert.match(sent[0].headers()["content-type"], /^multipart\/form-data/);
  },
);

await it(
  "leads of a problem: what happened, that nothing was charged, the request, a retry",
  home.pages[0].states.error,
  async (page, open) => {
    await open("/");
    const alert = page.getByRole("alert");
    await alert.getByText("Nothing was charged.").waitFor();
    await alert.getByRole("button", { name: "Try again" }).waitFor();
    assert.equal(
      await alert.getByRole("link", { name: "What this means" }).getAttribute("href"),
      "/docs/errors/temporarily_unavailable",
    );
  },
);

await browser.close();
server.close();
process.exit(bad === 0 ? 0 : 1);
