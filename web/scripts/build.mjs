// Builds the pages into dist, and does nothing if dist is already the build of these sources: each rewritten file of
// dist makes cargo compile the crates that embed it again.
//
//   npm run build [-- --force]
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const web = fileURLToPath(new URL("..", import.meta.url));
const dist = join(web, "dist");
// Outside of dist, which is embedded into the executable as it is.
const cache = join(web, "node_modules/.cache/trunkline");
const stampFile = join(cache, "build.json");
/** Everything that the build reads; the versions of packages are those of the lock file. */
const SOURCES = [
  "src",
  "public",
  "index.html",
  "vite.config.ts",
  "tsconfig.json",
  "package.json",
  "package-lock.json",
  "scripts/build.mjs",
  "scripts/compress.mjs",
];

/** The files under a path, sorted. */
function files(path) {
  if (!existsSync(path)) return [];
  if (!statSync(path).isDirectory()) return [path];
  return readdirSync(path)
    .sort()
    .flatMap((name) => files(join(path, name)));
}

/** One hash of the names and contents of all files. */
function hash(paths, ...words) {
  const sum = createHash("sha256").update(words.join("\0"));
  for (const path of paths) {
    const bytes = readFileSync(path);
    sum.update(`\0${relative(web, path)}\0${bytes.length}\0`).update(bytes);
  }
  return sum.digest("hex");
}

function stampNow() {
  // What vite puts into pages from the environment is read by the build too.
  const environment = Object.entries(process.env).filter(([name]) => name.startsWith("VITE_") || name === "NODE_ENV");
  const words = [process.version, ...environment.sort().flat()];
  const sources = hash(SOURCES.map((name) => join(web, name)).flatMap(files), ...words);
  return JSON.stringify({ sources, dist: hash(files(dist)) });
}

function run(tool, ...args) {
  execFileSync(join(web, "node_modules/.bin", tool), args, { cwd: web, stdio: "inherit" });
}

/** Makes `dist` equal to `made`, and leaves files alone that are equal already, so that their times stay. */
function replace(made) {
  const wanted = new Set(files(made).map((path) => relative(made, path)));
  for (const path of files(dist)) if (!wanted.has(relative(dist, path))) rmSync(path);
  for (const name of wanted) {
    const [from, to] = [readFileSync(join(made, name)), join(dist, name)];
    if (existsSync(to) && readFileSync(to).equals(from)) continue;
    mkdirSync(dirname(to), { recursive: true });
    writeFileSync(to, from);
  }
}

const known = existsSync(stampFile) ? readFileSync(stampFile, "utf8") : "";
if (!process.argv.includes("--force") && existsSync(join(dist, "index.html")) && known === stampNow()) {
  console.log("dist is the build of these sources");
} else {
  const made = join(cache, "dist");
  rmSync(stampFile, { force: true });
  run("tsc", "--noEmit");
  run("vite", "build", "--outDir", made, "--emptyOutDir");
  execFileSync(process.execPath, [join(web, "scripts/compress.mjs"), made], { stdio: "inherit" });
  replace(made);
  rmSync(made, { recursive: true });
  writeFileSync(stampFile, stampNow());
}
