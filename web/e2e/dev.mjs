/**
 * A `trunkline dev` of one's own: its addresses, what it logs, and a person who asks it. Everything is gone when it is
 * stopped.
 */
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const root = resolve(import.meta.dirname, "../..");
const START_MS = 60_000;
const STOP_MS = 20_000;

/** Where cargo has put the executable. */
export function executable() {
  const target = process.env.CARGO_TARGET_DIR ?? join(root, "target");
  const found = ["debug", "release"].map((kind) => join(target, kind, "trunkline")).find(existsSync);
  if (!found) throw new Error("no executable; run `cargo build -p trunkline-app`");
  return found;
}

/** Starts one. `config` is text of a configuration file. */
export async function startDev(config = "") {
  const folder = mkdtempSync(join(tmpdir(), "trunkline-walk-"));
  const file = join(folder, "trunkline.toml");
  writeFileSync(file, config);
  const child = spawn(executable(), ["dev", "--ephemeral", "--json", "--exit-on-eof", "--config", file], {
    cwd: folder,
    stdio: ["pipe", "pipe", "pipe"],
    env: { PATH: process.env.PATH, HOME: process.env.HOME, RUST_LOG: "info" },
  });
  const said = { out: "", err: "" };
  child.stdout.on("data", (piece) => (said.out += piece));
  child.stderr.on("data", (piece) => (said.err += piece));
  const ended = new Promise((done) => child.on("exit", done));
  const stop = async () => {
    // The end of its input may be nothing to it; a signal always is.
    child.stdin.end();
    child.kill("SIGTERM");
    const late = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
    await ended;
    clearTimeout(late);
    rmSync(folder, { recursive: true, force: true });
  };
  const greeting = await waitFor(() => greetingOf(said.out), START_MS).catch(async () => {
    await stop();
    throw new Error(`trunkline dev did not start:\n${said.out}\n${said.err}`);
  });
  return { ...greeting, logs: () => said.out + said.err, stop, file, folder };
}

/** The one JSON object that it prints, if it is whole. */
function greetingOf(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What `look` finds, asked again until it finds something. */
export async function waitFor(look, milliseconds = 15_000, pause = 50) {
  const end = Date.now() + milliseconds;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (Date.now() > end) throw new Error(`waited ${milliseconds} ms in vain for ${look}`);
    await new Promise((done) => setTimeout(done, pause));
  }
}

/** A person at the console's interface: a browser's cookies, of which `cookie` is the sign-in. */
export class Person {
  constructor(dash, cookie = "") {
    this.dash = dash;
    this.cookie = cookie;
    this.others = new Map();
    this.seen = [];
  }

  /** Asks as the pages do; `headers` wins over what they send. */
  async ask(method, path, body, headers = {}) {
    const sent = {
      "x-trunkline-console": "1",
      origin: this.dash,
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...(this.cookies() ? { cookie: this.cookies() } : {}),
      ...headers,
    };
    for (const name of Object.keys(sent)) if (sent[name] === null) delete sent[name];
    const text = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
    const answered = await fetch(this.dash + path, { method, headers: sent, body: text, redirect: "manual" });
    const fresh = answered.headers.getSetCookie().map((line) => line.split(";")[0]);
    for (const cookie of fresh) {
      if (/^(__Host-)?trunkline=/.test(cookie)) this.cookie = cookie;
      else this.others.set(cookie.split("=")[0], cookie);
    }
    const raw = await answered.text();
    this.seen.push(raw);
    return { status: answered.status, headers: answered.headers, raw, json: parsed(raw) };
  }

  cookies() {
    return [this.cookie, ...this.others.values()].filter(Boolean).join("; ");
  }

  /** The same, and it must succeed. */
  async must(method, path, body) {
    const answered = await this.ask(method, path, body);
    if (answered.status >= 300) throw new Error(`${method} ${path}: ${answered.status} ${answered.raw}`);
    return answered.json;
  }
}

export function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The token in the fragment of a link. */
export function tokenOf(link) {
  return decodeURIComponent(new URL(link).hash.slice(1));
}

/** Whether a file is the one that was started, and not only imported. */
export function isStarted(address) {
  return process.argv[1] !== undefined && resolve(process.argv[1]) === fileURLToPath(address);
}

/** Checks that are counted, so that a walk that checked nothing fails. */
export class Checks {
  constructor() {
    this.passed = 0;
    this.failed = [];
  }

  that(holds, sentence, detail = "") {
    if (holds) this.passed += 1;
    else {
      this.failed.push(sentence);
      console.error(`FAILED: ${sentence}${detail ? `\n  ${String(detail).slice(0, 600)}` : ""}`);
    }
    return holds;
  }

  /** The exit code of a walk; one that breaks off is a failed check, and is counted too. */
  async of(name, atLeast, walk) {
    try {
      await walk();
    } catch (error) {
      this.that(false, `${name} broke off`);
      console.error(error);
    }
    return this.end(name, atLeast);
  }

  end(name, atLeast) {
    const enough = this.passed + this.failed.length >= atLeast;
    if (!enough) console.error(`only ${this.passed} checks were made, ${atLeast} are expected`);
    console.log(`${name}: ${this.passed} passed, ${this.failed.length} failed`);
    return this.failed.length === 0 && enough ? 0 : 1;
  }
}
