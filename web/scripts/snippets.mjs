// Writes every snippet of the connect page as JSON, so that a test can run each of them.
//   node scripts/snippets.mjs --base http://127.0.0.1:8080/v1 --key sk-tl-… --model sim-fast --gemini-model gemini-sim
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { runnerImport } from "vite";

const { values } = parseArgs({
  options: {
    base: { type: "string" },
    key: { type: "string" },
    model: { type: "string" },
    "gemini-model": { type: "string" },
  },
});
const { base, key, model } = values;
if (base === undefined || key === undefined || model === undefined) {
  process.stderr.write("usage: node scripts/snippets.mjs --base URL --key KEY --model MODEL [--gemini-model MODEL]\n");
  process.exit(2);
}
const file = fileURLToPath(new URL("../src/pages/connect/snippets.ts", import.meta.url));
const { module } = await runnerImport(file, { configFile: false, logLevel: "silent" });
const geminiModel = values["gemini-model"] ?? model;
const snippets = module.allSnippets({ base, key, model }, (client) => (client === "gemini-cli" ? geminiModel : model));
process.stdout.write(`${JSON.stringify(snippets, null, 2)}\n`);
