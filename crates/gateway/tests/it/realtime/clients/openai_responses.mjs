// Two turns of Responses over one WebSocket by openai for Node, the second a continuation of the first with nothing
// stored. Prints the ends of both, one a line.

import { createRequire } from 'node:module';

const { BASE_URL, API_KEY, CLIENT_MODEL, CLIENTS } = process.env;
const require = createRequire(`${CLIENTS}/package.json`);
const { OpenAI } = require('openai');
const { ResponsesWS } = require('openai/resources/responses/ws');

const connection = new ResponsesWS(new OpenAI({ baseURL: BASE_URL, apiKey: API_KEY }));
const texts = ['Hello there', 'And again'];
function ask(previous) {
  const input = texts.shift();
  if (input === undefined) return connection.close();
  connection.send({ type: 'response.create', model: CLIENT_MODEL, input, store: false, ...previous });
}

connection.on('error', (error) => {
  console.error(error);
  process.exit(1);
});
connection.on('response.completed', (event) => {
  console.log(JSON.stringify(event));
  ask({ previous_response_id: event.response.id });
});
ask({});
