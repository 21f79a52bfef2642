// The `openai` SDK for Node in conversations over chat completions.
import assert from 'node:assert/strict';
import * as t from './talk.mjs';

const OpenAI = t.require('openai');
const client = new OpenAI({ baseURL: t.BASE_URL, apiKey: t.API_KEY, maxRetries: 0 });
const tools = Object.entries(t.SCHEMAS).map(([name, [description, parameters]]) => ({
  type: 'function',
  function: { name, description, parameters },
}));
const opening = (content = t.PROMPT) => [
  { role: 'system', content: t.SYSTEM },
  { role: 'user', content },
];
const create = (messages, more = {}) =>
  client.chat.completions.create({ model: t.MODEL, messages, tools, ...more });

function called(message) {
  const calls = message.tool_calls.map(({ function: { name, arguments: text } }) => [name, JSON.parse(text)]);
  assert.deepEqual(calls, t.CALLS);
  assert.equal(new Set(message.tool_calls.map((call) => call.id)).size, t.CALLS.length);
  return message.tool_calls.map((call) => ({
    role: 'tool',
    tool_call_id: call.id,
    content: t.RESULTS[call.function.name],
  }));
}

function used(usage) {
  assert(usage.prompt_tokens > 0 && usage.completion_tokens > 0, JSON.stringify(usage));
  assert.equal(usage.total_tokens, usage.prompt_tokens + usage.completion_tokens);
}

/** The finished message, and the kinds of chunks in their order. */
async function streamed(messages, more = {}) {
  const kinds = [];
  const options = { stream_options: { include_usage: true }, ...more };
  const stream = client.chat.completions.stream({ model: t.MODEL, messages, tools, ...options });
  for await (const { choices, usage } of stream) {
    for (const { delta, finish_reason } of choices) {
      for (const call of delta.tool_calls ?? []) kinds.push(`call ${call.index}`);
      if (delta.content) kinds.push('content');
      if (finish_reason) kinds.push(finish_reason);
    }
    if (usage) {
      used(usage);
      kinds.push('usage');
    }
  }
  const { role, content, tool_calls } = (await stream.finalChatCompletion()).choices[0].message;
  const calls = tool_calls?.map(({ id, type, function: { name, arguments: text } }) => ({
    id,
    type,
    function: { name, arguments: text },
  }));
  return [{ role, content, ...(calls && { tool_calls: calls }) }, t.runs(kinds)];
}

await t.talk({
  async 'a conversation in whole answers'() {
    const messages = opening();
    let answer = await create(messages);
    assert.equal(answer.choices[0].finish_reason, 'tool_calls');
    used(answer.usage);
    messages.push(answer.choices[0].message, ...called(answer.choices[0].message));
    answer = await create(messages);
    assert.equal(answer.choices[0].finish_reason, 'stop');
    assert.match(answer.choices[0].message.content, /^Hello! This/);
    messages.push(answer.choices[0].message, { role: 'user', content: 'Shorter. [[tokens:7]]' });
    answer = await create(messages);
    assert.equal(t.words(answer.choices[0].message.content), 7);
    used(answer.usage);
    await t.settled(3);
  },
  async 'a conversation in streams'() {
    const messages = opening();
    let [message, kinds] = await streamed(messages);
    assert.deepEqual(kinds, ['call 0', 'call 1', 'tool_calls', 'usage']);
    messages.push(message, ...called(message));
    [message, kinds] = await streamed(messages);
    assert.deepEqual(kinds, ['content', 'stop', 'usage']);
    messages.push(message, { role: 'user', content: 'Shorter. [[tokens:7]]' });
    [message, kinds] = await streamed(messages);
    assert.deepEqual(kinds, ['content', 'stop', 'usage']);
    assert.equal(t.words(message.content), 7);
    await t.settled(3);
  },
  async 'a picture'() {
    const text = { type: 'text', text: 'What is it?' };
    const picture = { type: 'image_url', image_url: { url: `data:image/png;base64,${t.PNG}` } };
    const without = await create([{ role: 'user', content: [text] }]);
    const answer = await create([{ role: 'user', content: [text, picture] }]);
    assert(answer.usage.prompt_tokens > without.usage.prompt_tokens + 50);
    await t.settled(2);
  },
  async 'structured output'() {
    const json_schema = { name: 'recipe', strict: true, schema: t.RECIPE };
    const answer = await client.chat.completions.parse({
      model: t.MODEL,
      messages: opening('A recipe as JSON.'),
      response_format: { type: 'json_schema', json_schema },
    });
    t.isRecipe(answer.choices[0].message.content);
    await t.settled();
  },
  async thinking() {
    const messages = opening(`${t.PROMPT} [[reasoning:6]]`);
    const more = { model: t.THINKING_MODEL, reasoning_effort: 'high', max_completion_tokens: t.LONGEST };
    let answer = await create(messages, more);
    const { message } = answer.choices[0];
    const { reasoning_tokens } = answer.usage.completion_tokens_details ?? {};
    assert(message.reasoning_content || reasoning_tokens > 0, JSON.stringify(answer));
    messages.push(message, ...called(message));
    answer = await create(messages, more);
    assert.equal(answer.choices[0].finish_reason, 'stop');
    await t.settled(2);
  },
});
