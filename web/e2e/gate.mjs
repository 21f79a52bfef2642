// The journeys through the top tasks, tenant isolation, every page of the documentation, and an operator's ten tasks,
// with one browser; the documentation is that of the journeys' server. The others need servers of their own: each takes
// the operator's link.
//
//   node e2e/gate.mjs [--full]
//
// For the gate the walk is light and wide, then dark and narrow, without pictures, and each page of the documentation is
// looked at in both widths in turns of the themes; the operator's tasks are light, wide and in English. With `--full`
// everything is in both themes and widths, and the operator's tasks are in both languages.
import { startDev } from "./dev.mjs";
import { docs } from "./docs.mjs";
import { launch } from "./harness.mjs";
import { COMBINATIONS, walks } from "./journeys.mjs";
import { operatorWalk } from "./operator.mjs";
import { security } from "./security.mjs";

const full = process.argv.includes("--full");
const [server, browser] = await Promise.all([startDev(), launch()]);

async function walkAndDocs() {
  const walked = await walks(server, browser, full ? COMBINATIONS : ["light-1440", "dark-390"], full);
  return walked + (await docs(server.dash_url, browser, !full));
}

async function operator() {
  let code = 0;
  const inBoth = COMBINATIONS.flatMap((name) => [name, `${name}-zh`]);
  for (const name of full ? inBoth : ["light-1440"]) code += await operatorWalk(browser, name);
  return code;
}

// Much of each is waiting, so all run at once; an error of one does not hide what the others find.
const results = await Promise.allSettled([walkAndDocs(), security(browser), operator()]);
await browser.close();
await server.stop();
for (const { reason } of results) if (reason !== undefined) console.error(reason);
process.exit(results.every(({ value }) => value === 0) ? 0 : 1);
