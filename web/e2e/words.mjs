// What the pages say in Chinese for something that they say in English, from the texts that they are built of. A walk is
// written once, in English, and looks for these where its browser is Chinese.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { createServer } from "vite";

const ROOT = join(import.meta.dirname, "..");
/** Stand for the parameters of a text. */
const HOLE = /\uE000/g;
const literal = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** Every text as `[English, Chinese]`, with holes for parameters. One that computes with them is left out. */
async function pairs() {
  const server = await createServer({ root: ROOT, logLevel: "error", server: { middlewareMode: true, ws: false } });
  const found = [];
  const add = (en, zh) => {
    if (typeof en === "string") found.push([en, zh]);
    else if (typeof en === "function") {
      // One of a thing is often said in another way.
      for (const one of ["\uE000", 1]) {
        const words = Array(en.length).fill(one);
        try {
          found.push([en(...words), zh(...words)]);
        } catch {}
      }
    } else for (const key of Object.keys(en)) add(en[key], zh[key]);
  };
  try {
    const files = readdirSync(join(ROOT, "src"), { recursive: true }).filter((file) => file.endsWith("texts.ts"));
    for (const file of files) {
      const module = await server.ssrLoadModule(`/src/${file}`);
      for (const texts of Object.values(module)) if (texts?.en && texts?.zh) add(texts.en, texts.zh);
    }
  } finally {
    await server.close();
  }
  return found.filter(([en]) => /[a-z]/i.test(en));
}

let known;

/** A function from the name of something in English, or a pattern of names, to the pattern of the same in Chinese. What is
 * no text of the pages, such as the name of a customer, is the same in both. */
export async function chineseWords() {
  known ??= await pairs();
  return (name) => {
    const isOf =
      typeof name === "string"
        ? (en) => new RegExp(`^${literal(en).replace(HOLE, ".+")}$`).test(name)
        : (en) => name.test(en.replace(HOLE, "1"));
    const zh = known.filter(([en]) => isOf(en)).map(([, text]) => literal(text).replace(HOLE, ".*"));
    if (zh.length === 0) return name;
    const all = `(?:${[...new Set(zh)].join("|")})`;
    if (typeof name === "string") return new RegExp(`^${all}$`);
    return new RegExp(name.source.startsWith("^") ? `^${all}` : all);
  };
}
