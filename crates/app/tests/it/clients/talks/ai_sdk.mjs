// Vercel's AI SDK in conversations: over chat completions, Responses and messages, whole and streamed, with tools that
// it runs by itself.
import assert from 'node:assert/strict';
import * as t from './talk.mjs';

const { generateText, streamText, Output, stepCountIs, jsonSchema, tool } = t.require('ai');
const { createOpenAI } = t.require('@ai-sdk/openai');
const { createOpenAICompatible } = t.require('@ai-sdk/openai-compatible');
const { createAnthropic } = t.require('@ai-sdk/anthropic');

const openai = createOpenAI({ baseURL: t.BASE_URL, apiKey: t.API_KEY });
const compatible = createOpenAICompatible({
  name: 'trunkline',
  baseURL: t.BASE_URL,
  apiKey: t.API_KEY,
  includeUsage: true,
});
const anthropic = createAnthropic({ baseURL: t.BASE_URL, apiKey: t.API_KEY });

/** Tools that remember what they were asked. */
function tools(asked) {
  const entries = Object.entries(t.SCHEMAS).map(([name, [description, schema]]) => [
    name,
    tool({
      description,
      inputSchema: jsonSchema(schema),
      execute: async (input) => {
        asked.push([name, input]);
        return t.RESULTS[name];
      },
    }),
  ]);
  return Object.fromEntries(entries);
}

const usual = { system: t.SYSTEM, maxRetries: 0, maxOutputTokens: t.LONGEST, stopWhen: stepCountIs(4) };
// Tools of one turn run at once, in any order.
const inOrder = (calls) => calls.toSorted(([one], [other]) => other.localeCompare(one));

/** Two tools at once, which it runs by itself: two calls whole, and two streamed. */
async function conversation(model, providerOptions = {}) {
  let asked = [];
  const common = { ...usual, providerOptions };
  const whole = await generateText({ ...common, model, prompt: t.PROMPT, tools: tools(asked) });
  assert.deepEqual(inOrder(asked), t.CALLS);
  assert.equal(whole.steps.length, 2);
  assert.match(whole.text, /^Hello! This/);
  assert(whole.totalUsage.inputTokens > 0 && whole.totalUsage.outputTokens > 0);
  await t.settled(2);
  asked = [];
  const stream = streamText({ ...common, model, prompt: t.PROMPT, tools: tools(asked) });
  let text = '';
  for await (const piece of stream.textStream) text += piece;
  assert.deepEqual(inOrder(asked), t.CALLS);
  assert.match(text, /Hello! This/);
  assert.equal(await stream.finishReason, 'stop');
  assert((await stream.totalUsage).outputTokens > 0);
  await t.settled(2);
}

await t.talk({
  async 'chat completions'() {
    await conversation(openai.chat(t.MODEL));
  },
  async 'the compatible provider'() {
    await conversation(compatible(t.MODEL));
  },
  async responses() {
    // Otherwise it refers to items that an upstream stored, and a gateway with many upstreams has none of those.
    await conversation(openai.responses(t.MODEL), { openai: { store: false } });
  },
  async messages() {
    await conversation(anthropic(t.MODEL));
  },
  async 'structured output'() {
    const { output } = await generateText({
      ...usual,
      model: openai.chat(t.MODEL),
      prompt: 'A recipe as JSON.',
      output: Output.object({ schema: jsonSchema(t.RECIPE) }),
    });
    t.isRecipe(JSON.stringify(output));
    await t.settled();
  },
});
