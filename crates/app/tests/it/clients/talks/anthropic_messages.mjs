// The `@anthropic-ai/sdk` for Node in conversations over messages.
import assert from 'node:assert/strict';
import * as t from './talk.mjs';

const { Anthropic } = t.require('@anthropic-ai/sdk');
const client = new Anthropic({ baseURL: t.ROOT, apiKey: t.API_KEY, maxRetries: 0 });
const tools = Object.entries(t.SCHEMAS).map(([name, [description, input_schema]]) => ({
  name,
  description,
  input_schema,
}));
const ask = { model: t.MODEL, max_tokens: t.LONGEST, system: t.SYSTEM, tools };
const user = (content = t.PROMPT) => ({ role: 'user', content });
const assistant = ({ content }) => ({ role: 'assistant', content });

/** The blocks but for thoughts, which some models have unasked. */
const spoken = ({ content }) => content.filter((part) => !part.type.endsWith('thinking'));

function called(message) {
  const found = message.content.filter((block) => block.type === 'tool_use');
  assert.deepEqual(found.map((block) => [block.name, block.input]), t.CALLS);
  assert.equal(new Set(found.map((block) => block.id)).size, t.CALLS.length);
  assert.equal(message.stop_reason, 'tool_use');
  return user(found.map(({ id, name }) => ({ type: 'tool_result', tool_use_id: id, content: t.RESULTS[name] })));
}

function used({ usage }) {
  assert(usage.input_tokens > 0 && usage.output_tokens > 0, JSON.stringify(usage));
}

/** The kinds of events in their order. */
async function streamed(messages, more = {}) {
  const kinds = [];
  for await (const event of await client.messages.create({ ...ask, messages, stream: true, ...more })) {
    if (event.type === 'content_block_start') kinds.push(`start ${event.index} ${event.content_block.type}`);
    else if (event.type === 'content_block_delta') kinds.push(`${event.delta.type} ${event.index}`);
    else if (event.type === 'content_block_stop') kinds.push(`stop ${event.index}`);
    else if (event.type === 'message_delta') {
      used(event);
      kinds.push(`message_delta ${event.delta.stop_reason}`);
    } else kinds.push(event.type);
  }
  return withoutThoughts(t.runs(kinds.filter((kind) => kind !== 'ping')));
}

/** The same, as if the blocks of thoughts were not there. */
function withoutThoughts(kinds) {
  const thoughts = new Set(kinds.filter((kind) => kind.endsWith('thinking')).map((kind) => kind.split(' ')[1]));
  const numbers = new Map();
  return kinds.flatMap((kind) => {
    const [name, number, ...rest] = kind.split(' ');
    if (!/^\d+$/.test(number)) return [kind];
    if (thoughts.has(number)) return [];
    if (!numbers.has(number)) numbers.set(number, numbers.size);
    return [[name, numbers.get(number), ...rest].join(' ')];
  });
}

const block = (index, kind, delta) => [`start ${index} ${kind}`, `${delta} ${index}`, `stop ${index}`];

await t.talk({
  async 'a conversation in whole answers'() {
    const messages = [user()];
    let message = await client.messages.create({ ...ask, messages });
    used(message);
    messages.push(assistant(message), called(message));
    message = await client.messages.create({ ...ask, messages });
    assert.deepEqual(spoken(message).map((part) => part.type), ['text']);
    assert.match(spoken(message)[0].text, /^Hello! This/);
    assert.equal(message.stop_reason, 'end_turn');
    messages.push(assistant(message), user('Shorter. [[tokens:7]]'));
    message = await client.messages.create({ ...ask, messages });
    assert.equal(t.words(spoken(message)[0].text), 7);
    used(message);
    await t.settled(3);
  },
  async 'a conversation in streams'() {
    const messages = [user()];
    const tool = ['tool_use', 'input_json_delta'];
    let kinds = await streamed(messages);
    const ending = ['message_delta tool_use', 'message_stop'];
    assert.deepEqual(kinds, ['message_start', ...block(0, ...tool), ...block(1, ...tool), ...ending]);
    let message = await client.messages.stream({ ...ask, messages }).finalMessage();
    messages.push(assistant(message), called(message));
    kinds = await streamed(messages);
    const text = block(0, 'text', 'text_delta');
    assert.deepEqual(kinds, ['message_start', ...text, 'message_delta end_turn', 'message_stop']);
    message = await client.messages.stream({ ...ask, messages }).finalMessage();
    messages.push(assistant(message), user('Shorter. [[tokens:7]]'));
    message = await client.messages.stream({ ...ask, messages }).finalMessage();
    assert.equal(t.words(spoken(message)[0].text), 7);
    await t.settled(5);
  },
  async 'a picture'() {
    const text = { type: 'text', text: 'What is it?' };
    const picture = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: t.PNG } };
    const without = await client.messages.create({ ...ask, messages: [user([text])] });
    const message = await client.messages.create({ ...ask, messages: [user([picture, text])] });
    assert(message.usage.input_tokens > without.usage.input_tokens + 50);
    await t.settled(2);
  },
  async 'structured output'() {
    const { tools: unused, ...rest } = ask;
    const output_config = { format: { type: 'json_schema', schema: t.RECIPE } };
    const messages = [user('A recipe as JSON.')];
    const message = await client.messages.create({ ...rest, messages, output_config });
    t.isRecipe(spoken(message)[0].text);
    await t.settled();
  },
  async thinking() {
    const more = { model: t.THINKING_MODEL, thinking: { type: 'enabled', budget_tokens: 1024 } };
    const messages = [user(`${t.PROMPT} [[reasoning:6]]`)];
    let message = await client.messages.create({ ...ask, messages, ...more });
    // Some upstreams show no words of a thought, only its seal, and that on the call it belongs to.
    const thoughts = message.content.filter((part) => !spoken(message).includes(part));
    assert(thoughts.length > 0 && thoughts.every((thought) => thought.data || thought.thinking));
    assert.deepEqual(spoken(message).map((part) => part.type), ['tool_use', 'tool_use']);
    messages.push(assistant(message), called(message));
    message = await client.messages.create({ ...ask, messages, ...more });
    assert.equal(spoken(message).at(-1).type, 'text');
    await t.settled(2);
  },
});
