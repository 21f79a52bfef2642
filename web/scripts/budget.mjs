// Fails if any page's first load brings more than 300,000 bytes of compressed script: the entry, the page and all they
// import; for the pages of an area that has charts also what draws them, which is asked for at once.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";

const LIMIT = 300_000;
const here = new URL("..", import.meta.url).pathname;
const dist = process.argv[2] ?? join(here, "dist");
const manifest = JSON.parse(readFileSync(join(dist, ".vite/manifest.json"), "utf8"));
const sizes = new Map();
function size(file) {
  if (!sizes.has(file)) sizes.set(file, gzipSync(readFileSync(join(dist, file)), { level: 9 }).length);
  return sizes.get(file);
}
/** A chunk with everything it imports; what a page loads lazily counts too, other pages do not. */
function closure(name, seen = new Set()) {
  if (seen.has(name)) return seen;
  seen.add(name);
  const chunk = manifest[name];
  for (const other of chunk.imports ?? []) closure(other, seen);
  for (const other of chunk.dynamicImports ?? []) {
    if (!isPage(other) && other !== DRAW && other !== PALETTE) closure(other, seen);
  }
  return seen;
}
const DRAW = "src/kit/charts/draw.tsx";
/** Opened by a key press, never by a page. */
const PALETTE = "src/app/CommandPalette.tsx";
function hasCharts(page) {
  const folder = join(here, dirname(page));
  const sources = readdirSync(folder).filter((name) => name.endsWith(".tsx"));
  return sources.some((name) =>
    /<(?:SpendBars|LatencyLines|RequestsArea)\b/.test(readFileSync(join(folder, name), "utf8")),
  );
}
const isPage = (name) => name.startsWith("src/pages/") && /(Page|Panel)\.tsx$/.test(name);

const entry = Object.keys(manifest).find((name) => manifest[name].isEntry);
const fixed = gzipSync(readFileSync(join(dist, "theme.js"))).length;
let drawn = 0;
const rows = Object.keys(manifest)
  .filter(isPage)
  .map((page) => {
    const charts = hasCharts(page);
    const chunks = [...closure(entry), ...closure(page), ...(charts ? closure(DRAW) : [])];
    const files = new Set(chunks.map((name) => manifest[name].file).filter((file) => file.endsWith(".js")));
    if (charts) drawn += 1;
    return { page, bytes: fixed + [...files].reduce((sum, file) => sum + size(file), 0) };
  })
  .sort((a, b) => b.bytes - a.bytes);
if (rows.length < 20) throw new Error(`only ${rows.length} pages in the manifest: the check no longer sees them`);
if (drawn === 0 || manifest[DRAW] === undefined) throw new Error("no page has charts: the check no longer sees them");
for (const { page, bytes } of rows) console.log(`${String(bytes).padStart(8)}  ${page}`);
const over = rows.filter((row) => row.bytes > LIMIT);
if (over.length > 0) {
  console.error(`${over.length} pages load more than ${LIMIT} bytes of compressed script first.`);
  process.exit(1);
}
