// Two responses over one connection by OpenAI's agents for voice, with what they ask for by default: tracing, a
// transcriber, turns that the server detects. Prints the ends of both, one a line.

import { createRequire } from 'node:module';

const { BASE_URL, API_KEY, CLIENT_MODEL, CLIENTS } = process.env;
const require = createRequire(`${CLIENTS}/package.json`);
const { OpenAIRealtimeWebSocket, RealtimeAgent, RealtimeSession } = require('@openai/agents-realtime');

const url = `${BASE_URL.replace('https:', 'wss:')}/realtime?model=${CLIENT_MODEL}`;
const agent = new RealtimeAgent({ name: 'Ada', instructions: 'Be brief. [[tokens:4]]' });
const session = new RealtimeSession(agent, {
  model: CLIENT_MODEL,
  transport: new OpenAIRealtimeWebSocket({ url }),
});

const texts = ['Hello there', 'And again'];
function ask() {
  const text = texts.shift();
  if (text === undefined) return session.close();
  session.sendMessage(text);
}

session.on('error', (error) => {
  console.error(JSON.stringify(error));
  process.exit(1);
});
session.transport.on('*', (event) => {
  if (event.type !== 'response.done') return;
  if (event.response.status !== 'completed') throw new Error(JSON.stringify(event));
  console.log(JSON.stringify(event));
  ask();
});
await session.connect({ apiKey: API_KEY });
ask();
