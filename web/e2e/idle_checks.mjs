// Whether a page comes to rest: it stops drawing and asking when nothing happens.

/** A page at rest draws when its clock ticks (every 15 s) or an answer comes, and asks when a list is watched. */
const MOST_COMMITS = 8;
const MOST_REQUESTS = 4;
const LOOKED_AT_MS = 1_000;

/** Counts what React draws, as its developer tools do; before the page begins. */
export async function countCommits(page) {
  await page.addInitScript(() => {
    globalThis.__commits = 0;
    globalThis.__REACT_DEVTOOLS_GLOBAL_HOOK__ = {
      supportsFiber: true,
      renderers: new Map(),
      inject: () => 1,
      checkDCE: () => {},
      onCommitFiberRoot: () => {
        globalThis.__commits += 1;
      },
      onPostCommitFiberRoot: () => {},
      onCommitFiberUnmount: () => {},
    };
  });
}

/** What a page did in a second without input, if that is too much. */
export async function restless(page, asked) {
  const drawn = () => page.evaluate(() => globalThis.__commits);
  const before = { drawn: await drawn(), asked: asked.count };
  // A page that was never drawn by what is counted would pass whatever it does.
  if (before.drawn === 0) return ["nothing was counted: React no longer tells what it draws"];
  await page.waitForTimeout(LOOKED_AT_MS);
  const commits = (await drawn()) - before.drawn;
  const requests = asked.count - before.asked;
  const problems = [];
  if (commits > MOST_COMMITS) problems.push(`draws without end: ${commits} times in a second of rest`);
  if (requests > MOST_REQUESTS) problems.push(`asks without end: ${requests} times in a second of rest`);
  return problems;
}

/** A promise that is waited for so long and no longer. */
export function within(milliseconds, promise, words) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(words)), milliseconds);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
