// Two responses over one connection by openai for Node, over `ws` or the WebSocket that browsers have. Prints the ends
// of both, one a line.

import { createRequire } from 'node:module';

const { BASE_URL, API_KEY, CLIENT_MODEL, CLIENT_TRANSPORT, CLIENTS } = process.env;
const require = createRequire(`${CLIENTS}/package.json`);
const { OpenAI } = require('openai');
const { OpenAIRealtimeWS } = require('openai/realtime/ws');
const { OpenAIRealtimeWebSocket } = require('openai/realtime/websocket');

const browser = CLIENT_TRANSPORT === 'browser';
const client = new OpenAI({ baseURL: BASE_URL, apiKey: API_KEY, dangerouslyAllowBrowser: browser });
const connection = browser
  ? new OpenAIRealtimeWebSocket({ model: CLIENT_MODEL, dangerouslyAllowBrowser: true }, client)
  : new OpenAIRealtimeWS({ model: CLIENT_MODEL }, client);

const texts = ['Hello there', 'And again'];
function ask() {
  const text = texts.shift();
  if (text === undefined) return connection.close();
  const content = [{ type: 'input_text', text }];
  connection.send({ type: 'conversation.item.create', item: { type: 'message', role: 'user', content } });
  connection.send({ type: 'response.create' });
}

connection.on('error', (error) => {
  console.error(error);
  process.exit(1);
});
connection.on('session.created', () => {
  connection.send({ type: 'session.update', session: { type: 'realtime', output_modalities: ['text'] } });
});
connection.on('session.updated', ask);
connection.on('response.done', (event) => {
  if (event.response.status !== 'completed') throw new Error(JSON.stringify(event));
  console.log(JSON.stringify(event));
  ask();
});
