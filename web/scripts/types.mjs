// The types of the console's interfaces, made of their OpenAPI documents (openapi/, which a test of the console compares
// with the handlers). `--check` fails if they are not the ones that are committed.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const here = new URL("..", import.meta.url).pathname;
const program = join(here, "openapi/node_modules/.bin/openapi-typescript");
const made = [
  ["openapi.json", "schema.d.ts"],
  ["operator.json", "operator-schema.d.ts"],
];
const write = (document, file, stdio) =>
  execFileSync(program, [join(here, "openapi", document), "-o", file], { stdio });

for (const [document, name] of made) {
  const kept = join(here, "src/api", name);
  if (!process.argv.includes("--check")) {
    write(document, kept, "inherit");
    continue;
  }
  const folder = mkdtempSync(join(tmpdir(), "trunkline-types-"));
  const fresh = join(folder, name);
  write(document, fresh, "ignore");
  const same = readFileSync(fresh, "utf8") === readFileSync(kept, "utf8");
  rmSync(folder, { recursive: true });
  if (!same) {
    console.error(`src/api/${name} is not made of openapi/${document}; run \`just web-types\``);
    process.exit(1);
  }
}
