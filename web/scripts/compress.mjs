// Writes a .br and a .gz beside every file of a folder (dist unless named) that gains by it: the executable serves them
// as they are.
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { extname, join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const dist = process.argv[2] ?? new URL("../dist/", import.meta.url).pathname;
const worth = new Set([".js", ".css", ".html", ".svg", ".json", ".txt"]);

function* files(directory) {
  for (const name of readdirSync(directory).sort()) {
    const path = join(directory, name);
    if (statSync(path).isDirectory()) yield* files(path);
    else yield path;
  }
}
for (const path of files(dist)) {
  if (!worth.has(extname(path)) || path.includes("/.vite/")) continue;
  const plain = readFileSync(path);
  const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: plain.length };
  writeFileSync(`${path}.br`, brotliCompressSync(plain, { params }));
  writeFileSync(`${path}.gz`, gzipSync(plain, { level: 9 }));
}
