// The vendor's own Node SDK, unmodified but for base URL and key, through the gateway.
//
// Usage: node openai_chat.mjs SDK_FOLDER BASE_URL KEY. Every check asserts on content, on usage, and
// on the charge that the gateway's ledger holds for the call.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';

const [folder, baseURL, apiKey] = process.argv.slice(2);
const require = createRequire(`${folder}/package.json`);
const OpenAI = require('openai');
const client = new OpenAI({ baseURL, apiKey, maxRetries: 0, timeout: 30_000 });
const { default: unused, ...errors } = OpenAI;

// Pico-USD for one token of sim-fast, as the price book of `trunkline dev` says.
const INPUT = 250_000n;
const OUTPUT = 2_000_000n;
const user = (content) => [{ role: 'user', content }];

async function get(path) {
  const answer = await fetch(baseURL + path, { headers: { authorization: `Bearer ${apiKey}` } });
  return answer.json();
}

/** A decimal number of USD as pico-USD. */
function pico(text) {
  const [whole, rest = ''] = text.split('.');
  return BigInt(whole) * 10n ** 12n + BigInt(rest.padEnd(12, '0'));
}

async function charged(id, usage) {
  const row = await get(`/usage/${id}`);
  assert.equal(row.outcome, 'complete');
  const price = BigInt(usage.prompt_tokens) * INPUT + BigInt(usage.completion_tokens) * OUTPUT;
  assert.equal(pico(row.cost_usd), price);
  return row;
}

const tool = {
  type: 'function',
  function: {
    name: 'get_weather',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
};

const checks = {
  async 'a whole answer'() {
    const call = client.chat.completions.create({ model: 'sim-fast', messages: user('[[tokens:8]]') });
    const { data, response } = await call.withResponse();
    assert.equal(data.choices[0].message.content.trim().split(/\s+/).length, 8);
    const row = await charged(response.headers.get('x-request-id'), data.usage);
    assert.equal(row.cost_usd, response.headers.get('trunkline-cost-usd'));
    assert.equal(data._request_id, response.headers.get('x-request-id'));
  },
  async 'a stream with usage'() {
    const call = client.chat.completions.create({
      model: 'sim-fast',
      messages: user('[[tokens:25]]'),
      stream: true,
      stream_options: { include_usage: true },
    });
    const { data: stream, response } = await call.withResponse();
    let text = '';
    let usage = null;
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta?.content ?? '';
      usage = chunk.usage ?? usage;
    }
    assert.equal(text.trim().split(/\s+/).length, 25);
    assert.equal(usage.completion_tokens, 25);
    await charged(response.headers.get('x-request-id'), usage);
  },
  async 'tools and structured output'() {
    const called = await client.chat.completions.create({
      model: 'sim-fast',
      messages: user('[[tool:get_weather]]'),
      tools: [tool],
    });
    assert.equal(called.choices[0].message.tool_calls[0].function.name, 'get_weather');
    const shaped = await client.chat.completions.create({
      model: 'sim-fast',
      messages: user('a person'),
      response_format: {
        type: 'json_schema',
        json_schema: {
          name: 'person',
          strict: true,
          schema: {
            type: 'object',
            properties: { age: { type: 'integer' } },
            required: ['age'],
            additionalProperties: false,
          },
        },
      },
    });
    assert.equal(typeof JSON.parse(shaped.choices[0].message.content).age, 'number');
  },
  async 'an image'() {
    const content = [
      { type: 'text', text: 'what is it' },
      { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
    ];
    const answer = await client.chat.completions.create({ model: 'sim-fast', messages: user(content) });
    assert.equal(answer.usage.prompt_tokens, 3 + 3 + 85);
  },
  async 'errors cost nothing'() {
    const before = (await get('/balance')).paid_usd;
    const create = (more) => client.chat.completions.create({ model: 'sim-fast', messages: user('a'), ...more });
    await assert.rejects(create({ temperature: 3 }), errors.BadRequestError);
    await assert.rejects(create({ model: 'gpt-nobody' }), errors.NotFoundError);
    await assert.rejects(create({ messages: user('[[fault:status:500]]') }), errors.InternalServerError);
    const stranger = new OpenAI({ baseURL, apiKey: 'sk-stranger', maxRetries: 0 });
    await assert.rejects(stranger.models.list(), errors.AuthenticationError);
    assert.equal((await get('/balance')).paid_usd, before);
  },
  async 'the models'() {
    const names = [];
    for await (const model of client.models.list()) names.push(model.id);
    for (const name of ['sim-fast', 'sim-large', 'sim-reason', 'gpt-5-mini']) assert(names.includes(name), name);
  },
};

for (const [name, check] of Object.entries(checks)) {
  await check();
  console.log(name, 'ok');
}
console.log(`${Object.keys(checks).length} checks passed`);
