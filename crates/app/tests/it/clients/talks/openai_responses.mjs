// The `openai` SDK for Node in conversations over responses.
import assert from 'node:assert/strict';
import * as t from './talk.mjs';

const OpenAI = t.require('openai');
const client = new OpenAI({ baseURL: t.BASE_URL, apiKey: t.API_KEY, maxRetries: 0 });
const tools = Object.entries(t.SCHEMAS).map(([name, [description, parameters]]) => ({
  type: 'function',
  name,
  description,
  parameters,
  strict: true,
}));
const ask = { model: t.MODEL, instructions: t.SYSTEM, tools, store: false };
const user = (content = t.PROMPT) => ({ role: 'user', content });

/** The items but for thoughts, which some models have unasked. */
const spoken = ({ output }) => output.filter((item) => item.type !== 'reasoning');

function called(response) {
  const found = response.output.filter((item) => item.type === 'function_call');
  assert.deepEqual(found.map((call) => [call.name, JSON.parse(call.arguments)]), t.CALLS);
  assert.equal(new Set(found.map((call) => call.call_id)).size, t.CALLS.length);
  assert.equal(response.status, 'completed');
  return found.map(({ call_id, name }) => ({ type: 'function_call_output', call_id, output: t.RESULTS[name] }));
}

function used({ usage }) {
  assert(usage.input_tokens > 0 && usage.output_tokens > 0, JSON.stringify(usage));
  assert.equal(usage.total_tokens, usage.input_tokens + usage.output_tokens);
}

/** The finished response, and the kinds of events in their order. */
async function streamed(input, more = {}) {
  const kinds = [];
  let number = -1;
  let response;
  for await (const event of await client.responses.create({ ...ask, input, stream: true, ...more })) {
    assert(event.sequence_number > number, JSON.stringify(event));
    number = event.sequence_number;
    const isThought = event.type.includes('reasoning') || event.item?.type === 'reasoning';
    if (!isThought) kinds.push(event.type.replace(/^response\./, ''));
    if (event.type === 'response.completed') ({ response } = event);
  }
  used(response);
  return [response, t.runs(kinds.filter((kind) => kind !== 'in_progress'))];
}

const CALL = [
  'output_item.added',
  'function_call_arguments.delta',
  'function_call_arguments.done',
  'output_item.done',
];
const MESSAGE = [
  'output_item.added',
  'content_part.added',
  'output_text.delta',
  'output_text.done',
  'content_part.done',
  'output_item.done',
];

await t.talk({
  async 'a conversation in whole answers'() {
    const input = [user()];
    let response = await client.responses.create({ ...ask, input });
    used(response);
    input.push(...response.output, ...called(response));
    response = await client.responses.create({ ...ask, input });
    assert.deepEqual(spoken(response).map((item) => item.type), ['message']);
    assert.match(response.output_text, /^Hello! This/);
    input.push(...response.output, user('Shorter. [[tokens:7]]'));
    response = await client.responses.create({ ...ask, input });
    assert.equal(t.words(response.output_text), 7);
    used(response);
    await t.settled(3);
  },
  async 'a conversation in streams'() {
    const input = [user()];
    let [response, kinds] = await streamed(input);
    assert.deepEqual(kinds, ['created', ...CALL, ...CALL, 'completed']);
    input.push(...response.output, ...called(response));
    [response, kinds] = await streamed(input);
    assert.deepEqual(kinds, ['created', ...MESSAGE, 'completed']);
    input.push(...response.output, user('Shorter. [[tokens:7]]'));
    [response, kinds] = await streamed(input);
    assert.deepEqual(kinds, ['created', ...MESSAGE, 'completed']);
    assert.equal(t.words(spoken(response)[0].content[0].text), 7);
    await t.settled(3);
  },
  async 'a picture'() {
    const text = { type: 'input_text', text: 'What is it?' };
    const picture = { type: 'input_image', image_url: `data:image/png;base64,${t.PNG}`, detail: 'auto' };
    const without = await client.responses.create({ ...ask, input: [user([text])] });
    const response = await client.responses.create({ ...ask, input: [user([text, picture])] });
    assert(response.usage.input_tokens > without.usage.input_tokens + 50);
    await t.settled(2);
  },
  async 'structured output'() {
    const { tools: unused, ...rest } = ask;
    const format = { type: 'json_schema', name: 'recipe', strict: true, schema: t.RECIPE };
    const response = await client.responses.create({ ...rest, input: [user('A recipe as JSON.')], text: { format } });
    t.isRecipe(response.output_text);
    await t.settled();
  },
  async thinking() {
    const more = {
      model: t.THINKING_MODEL,
      reasoning: { effort: 'high', summary: 'auto' },
      include: ['reasoning.encrypted_content'],
      max_output_tokens: t.LONGEST,
    };
    const input = [user(`${t.PROMPT} [[reasoning:6]]`)];
    const first = await client.responses.create({ ...ask, input, ...more });
    assert.equal(first.output[0].type, 'reasoning');
    assert.deepEqual(spoken(first).map((item) => item.type), ['function_call', 'function_call']);
    input.push(...first.output, ...called(first));
    const [last] = await streamed(input, more);
    assert.equal(spoken(last).at(-1).type, 'message');
    await t.settled(2);
  },
});
