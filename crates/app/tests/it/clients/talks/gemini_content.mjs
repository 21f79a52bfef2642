// The `@google/genai` SDK for Node in conversations over generateContent.
import assert from 'node:assert/strict';
import * as t from './talk.mjs';

const { GoogleGenAI } = t.require('@google/genai');
const client = new GoogleGenAI({ apiKey: t.API_KEY, httpOptions: { baseUrl: t.ROOT } });
const functionDeclarations = Object.entries(t.SCHEMAS).map(([name, [description, parametersJsonSchema]]) => ({
  name,
  description,
  parametersJsonSchema,
}));
const ask = { systemInstruction: t.SYSTEM, tools: [{ functionDeclarations }], maxOutputTokens: t.LONGEST };
const user = (text = t.PROMPT) => ({ role: 'user', parts: [{ text }] });

function called(content) {
  const found = content.parts.filter((part) => part.functionCall).map((part) => part.functionCall);
  assert.deepEqual(found.map((call) => [call.name, call.args]), t.CALLS);
  const parts = found.map(({ id, name }) => ({
    functionResponse: { ...(id && { id }), name, response: { output: t.RESULTS[name] } },
  }));
  return { role: 'user', parts };
}

function used({ usageMetadata: usage }) {
  assert(usage.promptTokenCount > 0 && usage.candidatesTokenCount > 0, JSON.stringify(usage));
}

async function whole(contents, more = {}, model = t.MODEL) {
  const answer = await client.models.generateContent({ model, contents, config: { ...ask, ...more } });
  used(answer);
  assert.equal(answer.candidates[0].finishReason, 'STOP');
  return answer.candidates[0].content;
}

/** All parts in one content, and the kinds of parts in their order. */
async function streamed(contents, more = {}, model = t.MODEL) {
  const parts = [];
  let last;
  let reason;
  const stream = await client.models.generateContentStream({ model, contents, config: { ...ask, ...more } });
  for await (const chunk of stream) {
    last = chunk;
    reason = chunk.candidates?.[0]?.finishReason ?? reason;
    parts.push(...(chunk.candidates?.[0]?.content?.parts ?? []));
  }
  used(last);
  assert.equal(reason, 'STOP');
  const kind = (part) => (part.functionCall ? 'call' : part.thought ? 'thought' : 'text');
  return [{ role: 'model', parts }, parts.map(kind)];
}

await t.talk({
  async 'a conversation in whole answers'() {
    const contents = [user()];
    let said = await whole(contents);
    contents.push(said, called(said));
    said = await whole(contents);
    assert.match(said.parts[0].text, /^Hello! This/);
    contents.push(said, user('Shorter. [[tokens:7]]'));
    said = await whole(contents);
    assert.equal(t.words(said.parts[0].text), 7);
    await t.settled(3);
  },
  async 'a conversation in streams'() {
    const contents = [user()];
    let [said, kinds] = await streamed(contents);
    assert.deepEqual(kinds.filter((kind) => kind !== 'text'), ['call', 'call']);
    contents.push(said, called(said));
    [said, kinds] = await streamed(contents);
    assert.deepEqual(t.runs(kinds), ['text']);
    contents.push(said, user('Shorter. [[tokens:7]]'));
    [said] = await streamed(contents);
    assert.equal(t.words(said.parts.map((part) => part.text ?? '').join('')), 7);
    await t.settled(3);
  },
  async 'a picture'() {
    const counts = [];
    const text = { text: 'What is it?' };
    for (const parts of [[text], [{ inlineData: { mimeType: 'image/png', data: t.PNG } }, text]]) {
      const contents = [{ role: 'user', parts }];
      const answer = await client.models.generateContent({ model: t.MODEL, contents, config: ask });
      counts.push(answer.usageMetadata.promptTokenCount);
    }
    assert(counts[1] > counts[0] + 50, counts.join());
    await t.settled(2);
  },
  async 'structured output'() {
    const config = { responseMimeType: 'application/json', responseJsonSchema: t.RECIPE };
    const contents = 'A recipe as JSON.';
    const answer = await client.models.generateContent({ model: t.MODEL, contents, config });
    t.isRecipe(answer.text);
    await t.settled();
  },
  async thinking() {
    const more = { thinkingConfig: { includeThoughts: true, thinkingBudget: 1024 } };
    const contents = [user(`${t.PROMPT} [[reasoning:6]]`)];
    const said = await whole(contents, more, t.THINKING_MODEL);
    assert(said.parts[0].thought && said.parts[0].text, JSON.stringify(said));
    contents.push(said, called(said));
    const [, kinds] = await streamed(contents, more, t.THINKING_MODEL);
    assert.equal(kinds.at(-1), 'text');
    await t.settled(2);
  },
});
