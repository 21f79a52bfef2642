// What every conversation needs: who is asked, what tools there are, and what each call cost.
//
// The environment says where and as whom: BASE_URL (with /v1), API_KEY, CLIENT_MODEL, CLIENT_THINKING_MODEL, and
// CLIENTS, the folder whose node_modules has the SDKs.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';

export const { BASE_URL, API_KEY, CLIENT_MODEL: MODEL, CLIENT_THINKING_MODEL: THINKING_MODEL } = process.env;
export const ROOT = BASE_URL.replace(/\/v1$/, '');
export const require = createRequire(`${process.env.CLIENTS}/package.json`);
// Longer answers than any of these conversations asks for, below every model's limit.
export const LONGEST = 4000;

export const SYSTEM = 'You are a helpful assistant.';
export const PROMPT =
  'How are weather and time? ' +
  '[[call:get_weather {"city":"Oslo","days":3}]] [[call:get_time {"zone":"Europe/Oslo"}]]';
export const CALLS = [
  ['get_weather', { city: 'Oslo', days: 3 }],
  ['get_time', { zone: 'Europe/Oslo' }],
];
export const RESULTS = { get_weather: 'sunny', get_time: 'noon' };
const object = (properties) => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
});
export const SCHEMAS = {
  get_weather: ['The weather of some days', object({ city: { type: 'string' }, days: { type: 'integer' } })],
  get_time: ['What time it is', object({ zone: { type: 'string' } })],
};
export const RECIPE = object({
  name: { type: 'string' },
  minutes: { type: 'integer' },
  steps: { type: 'array', items: { type: 'string' } },
});
// A picture of one dot.
export const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

// The SDK's own way to the network, observed: what comes back is recorded.
const seen = [];
const fetch = globalThis.fetch;
globalThis.fetch = async (...request) => {
  const response = await fetch(...request);
  const [read, kept] = response.body ? response.body.tee() : [null, null];
  seen.push({ status: response.status, headers: response.headers, body: new Response(kept).text() });
  return new Response(read, { status: response.status, headers: response.headers });
};

async function get(path) {
  const answer = await fetch(BASE_URL + path, { headers: { authorization: `Bearer ${API_KEY}` } });
  return answer.json();
}

/**
 * What an answer says that it cost: in a header, in a comment of its stream, or in the last frame of one for Google's
 * clients, which take no comments.
 */
function told(headers, text) {
  if (!headers.get('content-type').startsWith('text/event-stream')) {
    return [Number(headers.get('trunkline-cost-usd'))];
  }
  const comments = [...text.matchAll(/^: ?trunkline-cost-usd=([0-9.]+)$/gm)].map((match) => Number(match[1]));
  if (comments.length > 0) return comments;
  const last = text.split('\n').findLast((line) => line.startsWith('data: '));
  return [JSON.parse(last.slice('data: '.length)).usageMetadata?.cost];
}

/** The last answers were charged, and the client was told what the books say. */
export async function settled(count = 1) {
  assert.equal(seen.length, count);
  for (const { status, headers, body } of seen.splice(0)) {
    const text = await body;
    assert.equal(status, 200, text);
    const row = await get(`/usage/${headers.get('x-request-id')}`);
    assert.equal(row.outcome, 'complete');
    assert(Number(row.cost_usd) > 0 && row.units.output > 0, JSON.stringify(row));
    assert.deepEqual(told(headers, text), [Number(row.cost_usd)]);
  }
}

export const words = (text) => text.trim().split(/\s+/).length;

/** The same, with equal neighbours told once. */
export const runs = (names) => names.filter((name, at) => at === 0 || names[at - 1] !== name);

/** What a recipe looks like. */
export function isRecipe(text) {
  const { name, minutes, steps } = JSON.parse(text);
  assert(typeof name === 'string' && Number.isInteger(minutes) && Array.isArray(steps), text);
}

export async function talk(checks) {
  for (const [name, check] of Object.entries(checks)) {
    seen.splice(0);
    await check();
    console.log(MODEL, name, 'ok');
  }
}
