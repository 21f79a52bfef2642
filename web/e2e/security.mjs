/**
 * A walk along the walls: two tenants over every route of console and data plane, posts from other sites, fixation,
 * markup in every free text, and secrets that must be nowhere. The routes are those of the two OpenAPI documents, so
 * a new one is walked by itself.
 */
import { createServer } from "node:http";
import { Checks, isStarted, Person, parsed, startDev, tokenOf, waitFor } from "./dev.mjs";
import { launch } from "./harness.mjs";
import { totp } from "./totp.mjs";

const MARKUP = `"><img src=x onerror="window.pwned=1"><script>window.pwned=1</script>`;
const PASSWORDS = { a: "canary-Otter-of-the-first-tenant", b: "canary-Heron-of-the-second-tenant" };
const CONFIG = `
[console]
sign_up = "open"
`;
/** Paths that answer without a session, and say nothing of a customer. */
const PUBLIC = [
  "/api/session",
  "/api/session/dev",
  "/api/session/second-factor",
  "/api/setup",
  "/api/sign-up",
  "/api/email/verify",
  "/api/password/forgot",
  "/api/password/reset",
  "/api/invitations/preview",
  "/api/invitations/accept",
  "/api/pricing",
  "/api/social/catalog",
  "/api/workflows",
  "/api/oidc/{id}/start",
  "/api/oidc/{id}/callback",
  "/openapi.json",
  "/schemas/workflow.json",
  "/healthz",
];
const checks = new Checks();
let dev;
let browser;

/** The exit code of the checks, on their own server: they take the operator's link and sign up other users. */
export async function security(shared) {
  browser = shared;
  const code = await checks.of("security", 150, async () => {
    dev = await startDev(CONFIG);
    const a = await firstTenant();
    const b = await secondTenant(a.person);
    const things = await fill(a);
    await foreign(a, b, things);
    await dataPlane(b, things);
    await strangers();
    await crossSite(a);
    await fixation();
    await markup(a);
    secrets(a, b);
  });
  await dev?.stop();
  return code;
}

/** The operator, whose organisation has the credit of this development server. */
async function firstTenant() {
  const person = new Person(dev.dash_url);
  const setup = tokenOf(dev.operator_link);
  const session = await person.must("POST", "/api/setup", {
    token: setup,
    email: "ada@first.example",
    name: `Ada ${MARKUP}`,
    password: PASSWORDS.a,
    organisation: `Tenant one ${MARKUP}`,
  });
  checks.that(session.signed_in, "the link for the operator signs in");
  const again = await new Person(dev.dash_url).ask("POST", "/api/setup", {
    token: setup,
    email: "eve@other.example",
    name: "Eve",
    password: PASSWORDS.b,
    organisation: "Eve",
  });
  checks.that(again.status === 400, "the link for the operator works once", again.raw);
  const refused = await person.ask("GET", "/api/operator/customers");
  checks.that(refused.status === 403, "an operator without a second factor reads nothing", refused.raw);
  await person.must("POST", "/api/session/step-up", { password: PASSWORDS.a });
  const { secret } = await person.must("POST", "/api/second-factor/enrol", {});
  await person.must("POST", "/api/second-factor/confirm", { code: totp(secret) });
  return { person, secrets: [setup, PASSWORDS.a, secret] };
}

/** Signs up by itself; the email is shown to the operator, because no mail is sent. */
async function secondTenant(operator) {
  const person = new Person(dev.dash_url);
  await person.must("POST", "/api/sign-up", {
    email: "bob@second.example",
    name: "Bob",
    password: PASSWORDS.b,
    organisation: "Second",
  });
  await operator.must("POST", "/api/session/step-up", { password: PASSWORDS.a });
  const emails = await operator.must("GET", "/api/operator/emails");
  const email = emails.data.find((one) => one.to === "bob@second.example");
  checks.that(email?.link, "without a mail server the operator sees the link");
  const session = await person.must("POST", "/api/email/verify", { token: tokenOf(email.link) });
  checks.that(session.signed_in && session.account, "a verified person is in an organisation of its own");
  await person.must("POST", "/api/session/step-up", { password: PASSWORDS.b });
  const made = await person.must("POST", "/api/keys", { name: "bob" });
  return { person, key: made.secret, secrets: [tokenOf(email.link), PASSWORDS.b, made.secret] };
}

/** One of each thing that the first tenant can own. */
async function fill({ person, secrets: known }) {
  const made = await person.must("POST", "/api/keys", {
    name: `key ${MARKUP}`,
    budgets: [{ period: "daily", limit_usd: "5" }],
  });
  known.push(made.secret);
  const invited = await person.must("POST", "/api/members/invitations", {
    email: "carl@first.example",
    role: "viewer",
  });
  if (invited.link) known.push(tokenOf(invited.link));
  const v1 = data(made.secret);
  const chat = await waitFor(async () => {
    const answered = await v1("POST", "/v1/chat/completions", {
      model: "sim-fast",
      messages: [{ role: "user", content: `hello ${MARKUP}` }],
    });
    return answered.status === 200 && answered;
  });
  const request = chat.headers.get("x-request-id");
  const video = await v1("POST", "/v1/videos", { model: "sim-video", prompt: `a cat ${MARKUP}`, seconds: "4" });
  const hook = await v1("POST", "/v1/webhooks", { url: `${dev.dash_url}/hook`, description: MARKUP });
  if (hook.json?.secret) known.push(hook.json.secret);
  const below = await v1("POST", "/v1/keys", { name: `below ${MARKUP}` });
  if (below.json?.key) known.push(below.json.key);
  await v1("PUT", "/v1/aliases/mine", { model: "sim-fast" });
  const response = await v1("POST", "/v1/responses", { model: "sim-responses", input: "hello" });
  await waitFor(async () => (await person.ask("GET", `/api/logs/${request}`)).status === 200);
  const sessions = await person.must("GET", "/api/sessions");
  const members = await person.must("GET", "/api/members");
  return {
    key: made.key.id,
    secret: made.secret,
    request,
    task: video.json?.id,
    webhook: hook.json?.id,
    below: below.json?.id,
    response: response.json?.id,
    sign_in: sessions.data[0].id,
    member: members.data[0].id,
    invitation: invited.id,
  };
}

/** Asks the data plane with a key. */
function data(key) {
  const base = dev.base_url;
  return async (method, path, body) => {
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const answered = await fetch(base + path, { method, headers, body: body && JSON.stringify(body) });
    const raw = await answered.text();
    return { status: answered.status, headers: answered.headers, raw, json: parsed(raw) };
  };
}

/** An answer without what differs by nature. */
function plain(raw, ids) {
  let text = raw.replace(/req_[0-9a-z-]+/gi, "REQ");
  for (const id of ids.filter(Boolean)) text = text.replaceAll(String(id), "ID");
  return text;
}

/** Every route with a name in its path: foreign names answer as unknown ones do, and nothing happens. */
async function foreign(a, b, things) {
  const document = await (await fetch(`${dev.dash_url}/openapi.json`)).json();
  let walked = 0;
  for (const [path, methods] of Object.entries(document.paths)) {
    const owned = ownedBy(path, things);
    if (owned === undefined) continue;
    for (const method of Object.keys(methods).map((word) => word.toUpperCase())) {
      const body = method === "GET" ? undefined : bodyFor(path);
      const theirs = await b.person.ask(method, path.replace(/\{[^}]+\}/, owned.real), body);
      const unknown = await b.person.ask(method, path.replace(/\{[^}]+\}/, owned.unknown), body);
      const same = plain(theirs.raw, [owned.real, owned.unknown]) === plain(unknown.raw, [owned.real, owned.unknown]);
      checks.that(
        theirs.status === unknown.status && same && theirs.status >= 400,
        `${method} ${path}: a foreign id answers as an unknown one`,
        `${theirs.status} ${theirs.raw}\n  ${unknown.status} ${unknown.raw}`,
      );
      walked += 1;
    }
  }
  checks.that(walked >= 12, `routes with ids were walked (${walked})`);
  const lists = Object.entries(document.paths).filter(([path, methods]) => methods.get && !path.includes("{"));
  for (const [path] of lists) {
    const answered = await b.person.ask("GET", path);
    const told = [things.request, things.task, "Tenant one ", "ada@first.example", a.person.email].filter(Boolean);
    const leaks = told.filter((word) => answered.raw.includes(word));
    checks.that(leaks.length === 0, `GET ${path} tells the second tenant nothing of the first`, leaks);
  }
}

/** Which thing of the first tenant a path names. */
function ownedBy(path, things) {
  const number = (real) => ({ real, unknown: 987_654_321 });
  if (!path.includes("{")) return undefined;
  if (path.startsWith("/api/keys/")) return number(things.key);
  if (path.startsWith("/api/members/invitations/")) return number(things.invitation);
  if (path.startsWith("/api/members/")) return number(things.member);
  if (path.startsWith("/api/sessions/"))
    return { real: things.sign_in, unknown: "00000000-0000-7000-8000-000000000000" };
  if (path.startsWith("/api/logs/")) return { real: things.request, unknown: "req_01990000000070008000000000000000" };
  if (path.startsWith("/api/tasks/")) return { real: things.task, unknown: things.task.replace(/.{6}$/, "000000") };
  return undefined;
}

/** A body that would do something, were the thing one's own. */
function bodyFor(path) {
  if (path.endsWith("/rotate")) return { overlap_seconds: 0 };
  if (path.endsWith("/budgets")) return { budgets: [] };
  if (path.startsWith("/api/members/")) return { role: "viewer" };
  if (path.startsWith("/api/keys/")) return { name: "taken" };
  return {};
}

/** The same over the data plane, by the second tenant's key. */
async function dataPlane(b, things) {
  const [ours, theirs] = [data(things.secret), data(b.key)];
  await waitFor(async () => (await theirs("GET", "/v1/key")).status === 200);
  const flip = (id) => `${String(id).slice(0, -4)}${String(id).endsWith("0000") ? "1111" : "0000"}`;
  const routes = [
    ["GET", "/v1/usage/{}", things.request, "req_01990000000070008000000000000000"],
    ["GET", "/v1/videos/{}", things.task, flip(things.task)],
    ["GET", "/v1/videos/{}/content", things.task, flip(things.task)],
    ["DELETE", "/v1/videos/{}", things.task, flip(things.task)],
    ["POST", "/v1/videos/{}/cancel", things.task, flip(things.task)],
    ["GET", "/v1/video/generations/{}", things.task, flip(things.task)],
    ["GET", "/v1/webhooks/{}", things.webhook, flip(things.webhook)],
    ["PATCH", "/v1/webhooks/{}", things.webhook, flip(things.webhook)],
    ["DELETE", "/v1/webhooks/{}", things.webhook, flip(things.webhook)],
    ["POST", "/v1/webhooks/{}/rotate", things.webhook, flip(things.webhook)],
    ["GET", "/v1/webhooks/{}/deliveries", things.webhook, flip(things.webhook)],
    ["GET", "/v1/keys/{}", things.below, 987_654_321],
    ["PATCH", "/v1/keys/{}", things.below, 987_654_321],
    ["POST", "/v1/keys/{}/rotate", things.below, 987_654_321],
    ["POST", "/v1/keys/{}/disable", things.below, 987_654_321],
    ["DELETE", "/v1/keys/{}", things.below, 987_654_321],
    ["GET", "/v1/aliases/{}", "mine", "none"],
    ["GET", "/v1/responses/{}", things.response, flip(things.response)],
    ["DELETE", "/v1/responses/{}", things.response, flip(things.response)],
    ["GET", "/v1/responses/{}/input_items", things.response, flip(things.response)],
  ];
  for (const [method, path, real, unknown] of routes) {
    const body = method === "GET" || method === "DELETE" ? undefined : { name: "taken" };
    const one = await theirs(method, path.replace("{}", real), body);
    const other = await theirs(method, path.replace("{}", unknown), body);
    const same = plain(one.raw, [real, unknown]) === plain(other.raw, [real, unknown]);
    checks.that(
      one.status === other.status && same && one.status >= 400 && one.status < 500,
      `${method} ${path}: a foreign id answers as an unknown one`,
      `${one.status} ${one.raw}\n  ${other.status} ${other.raw}`,
    );
  }
  const whole = await ours("GET", `/v1/usage/${things.request}`);
  checks.that(whole.status === 200, "the owner still finds its call");
  const still = await ours("GET", `/v1/keys/${things.below}`);
  checks.that(still.status === 200 && still.json.name !== "taken", "and its key is as it was", still.raw);
}

/** Without a session no private data can be read. */
async function strangers() {
  const document = await (await fetch(`${dev.dash_url}/openapi.json`)).json();
  for (const [path, methods] of Object.entries(document.paths)) {
    if (PUBLIC.includes(path) || path.startsWith("/api/workflows") || path.startsWith("/docs")) continue;
    for (const method of Object.keys(methods).map((word) => word.toUpperCase())) {
      const body = method === "GET" ? undefined : {};
      const answered = await new Person(dev.dash_url).ask(method, path.replaceAll(/\{[^}]+\}/g, "1"), body);
      checks.that(answered.status === 401, `${method} ${path} needs a sign-in`, `${answered.status} ${answered.raw}`);
    }
  }
}

/** Posts that another site could make a browser send. */
async function crossSite({ person }) {
  const document = await (await fetch(`${dev.dash_url}/openapi.json`)).json();
  const forms = [
    ["no header of ours", { "x-trunkline-console": null }],
    ["another origin", { origin: "https://evil.example" }],
    ["no origin", { origin: null }],
    ["an origin of null", { origin: "null" }],
    [
      "a form",
      {
        "content-type": "application/x-www-form-urlencoded",
        "x-trunkline-console": null,
        origin: "https://evil.example",
      },
    ],
    ["a browser that says so", { "sec-fetch-site": "cross-site", origin: "https://evil.example" }],
  ];
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const method of Object.keys(methods)
      .map((word) => word.toUpperCase())
      .filter((word) => word !== "GET")) {
      for (const [name, headers] of forms) {
        const answered = await person.ask(method, path.replaceAll(/\{[^}]+\}/g, "1"), "{}", headers);
        checks.that(answered.status === 403, `${method} ${path} refuses ${name}`, `${answered.status} ${answered.raw}`);
      }
    }
  }
  const session = await person.must("GET", "/api/session");
  checks.that(session.signed_in, "and nothing of it has ended the session");
  await fromAnotherSite(person);
}

/** The same by a real browser: a page of another site that posts with the reader's cookies. */
async function fromAnotherSite(person) {
  const page = `<!doctype html><form id=f method=post action="${dev.dash_url}/api/session/account"><input name=x value=y></form>
    <script>fetch("${dev.dash_url}/api/home",{credentials:"include"}).then(r=>r.text()).then(t=>document.title="READ "+t,()=>document.title="refused")</script>`;
  const site = createServer((_, answer) => answer.setHeader("content-type", "text/html").end(page)).listen(
    0,
    "127.0.0.2",
  );
  await new Promise((done) => site.once("listening", done));
  const context = await browser.newContext();
  try {
    const [name, value] = person.cookie.split("=");
    await context.addCookies([{ name, value, url: dev.dash_url, httpOnly: true, sameSite: "Lax" }]);
    const tab = await context.newPage();
    await tab.goto(`http://127.0.0.2:${site.address().port}/`);
    const title = await waitFor(async () => tab.title());
    checks.that(title === "refused", "a page of another site cannot read what the console says", title);
    const [answered] = await Promise.all([
      tab.waitForResponse((one) => one.url().includes("/api/session/account")),
      tab.evaluate(() => document.getElementById("f").submit()),
    ]);
    checks.that([401, 403].includes(answered.status()), "and cannot post in the reader's name", answered.status());
  } finally {
    await context.close();
    site.close();
  }
}

/** A cookie that was there before the sign-in is not the one after it. */
async function fixation() {
  const name = dev.dash_url.startsWith("https") ? "__Host-trunkline" : "trunkline";
  const planted = `${name}=${"a".repeat(43)}`;
  const victim = new Person(dev.dash_url, planted);
  const ada = { email: "ada@first.example", password: PASSWORDS.a };
  const half = await new Person(dev.dash_url).must("POST", "/api/session", ada);
  checks.that(!half.signed_in, "a password alone does not sign an operator in");
  const bob = { email: "bob@second.example", password: PASSWORDS.b };
  const session = await victim.must("POST", "/api/session", bob);
  checks.that(session.signed_in && victim.cookie !== planted, "a sign-in makes a new cookie");
  const thief = await new Person(dev.dash_url, planted).must("GET", "/api/session");
  checks.that(!thief.signed_in, "and the planted one opens nothing");
  const before = victim.cookie;
  await victim.must("POST", "/api/session", bob);
  const older = await new Person(dev.dash_url, before).must("GET", "/api/session");
  checks.that(!older.signed_in && victim.cookie !== before, "a second sign-in ends the first of the same browser");
  await victim.must("DELETE", "/api/session");
  const gone = await new Person(dev.dash_url, victim.cookie).must("GET", "/api/session");
  checks.that(!gone.signed_in, "a cookie that was signed out opens nothing");
}

/** Every page with names that would run, were they written as markup. */
async function markup({ person }) {
  const context = await browser.newContext();
  const [name, value] = person.cookie.split("=");
  await context.addCookies([{ name, value, url: dev.dash_url, httpOnly: true, sameSite: "Lax" }]);
  const tab = await context.newPage();
  const elsewhere = [];
  tab.on("request", (request) => {
    const known = [dev.dash_url, dev.base_url, "data:", "blob:"];
    if (!known.some((start) => request.url().startsWith(start))) elsewhere.push(request.url());
  });
  const paths = [
    "/",
    "/keys",
    "/catalog",
    "/playground/chat",
    "/tasks",
    "/logs",
    "/usage",
    "/wallet",
    "/members",
    "/settings",
    "/operator/emails",
    "/docs",
  ];
  for (const path of paths) {
    await tab.goto(dev.dash_url + path, { waitUntil: "networkidle" });
    // A busy machine may draw later than the network is idle.
    await tab.waitForSelector("h1").catch(() => undefined);
    const found = await tab.evaluate(() => ({
      pwned: window.pwned,
      images: document.querySelectorAll("img[src=x]").length,
      h1: document.querySelector("h1")?.textContent,
    }));
    checks.that(!found.pwned && found.images === 0, `markup in names is text on ${path}`, JSON.stringify(found));
    checks.that(Boolean(found.h1), `${path} is a page with a title`);
    person.seen.push(await tab.content());
  }
  checks.that(elsewhere.length === 0, "no page asks another host", elsewhere.join(" "));
  await context.close();
}

/** What must be in no log, no page and no error: it was shown once, to one reader, and never again. */
function secrets(a, b) {
  const logs = [dev.operator_link, dev.console_link, dev.key].reduce(
    (text, told) => text.replace(told, ""),
    dev.logs(),
  );
  const all = [
    ...a.secrets,
    ...b.secrets,
    tokenOf(dev.console_link),
    a.person.cookie.split("=")[1],
    b.person.cookie.split("=")[1],
  ];
  for (const secret of all.filter((one) => one && one.length > 8)) {
    checks.that(!logs.includes(secret), "no secret is in a log", secret.slice(0, 12));
    const shown = [...a.person.seen, ...b.person.seen].filter((text) => text.includes(secret)).length;
    checks.that(shown <= 1, "a secret is shown once at most", `${secret.slice(0, 12)} ${shown}`);
  }
  const pages = [...a.person.seen, ...b.person.seen].join("\n");
  for (const word of ["$argon2", "password_hash", "token_hash"]) {
    checks.that(!pages.includes(word), `${word} is in no answer`);
  }
}

if (isStarted(import.meta.url)) {
  const own = await launch();
  const code = await security(own).finally(() => own.close());
  process.exit(code);
}
