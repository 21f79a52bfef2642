// The types of the console's interface, made of its OpenAPI document (openapi/openapi.json, which a test of the
// console compares with the handlers). `--check` fails if they are not the ones that are committed.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const here = new URL("..", import.meta.url).pathname;
const kept = join(here, "src/api/schema.d.ts");
const program = join(here, "openapi/node_modules/.bin/openapi-typescript");
const document = join(here, "openapi/openapi.json");
if (process.argv.includes("--check")) {
  const folder = mkdtempSync(join(tmpdir(), "trunkline-types-"));
  const fresh = join(folder, "schema.d.ts");
  execFileSync(program, [document, "-o", fresh], { stdio: "ignore" });
  const same = readFileSync(fresh, "utf8") === readFileSync(kept, "utf8");
  rmSync(folder, { recursive: true });
  if (!same) {
    console.error("src/api/schema.d.ts is not made of openapi/openapi.json; run `just web-types`");
    process.exit(1);
  }
} else {
  execFileSync(program, [document, "-o", kept], { stdio: "inherit" });
}
