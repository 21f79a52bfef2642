// The vendor's own Node SDK makes videos, unmodified but for base URL and key, through the gateway.
//
// Usage: node openai_videos.mjs SDK_FOLDER BASE_URL KEY. Every video's file is an MP4 of the length that
// was paid for, and every price is compared with the ledger's row.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { deflateSync, crc32 } from 'node:zlib';

const [folder, baseURL, apiKey] = process.argv.slice(2);
const require = createRequire(`${folder}/package.json`);
const OpenAI = require('openai');
const { toFile } = OpenAI;
const client = new OpenAI({ baseURL, apiKey, maxRetries: 0, timeout: 60_000 });
const SEEDANCE = 'doubao-seedance-2-5-260628';

async function get(path) {
  const answer = await fetch(baseURL + path, { headers: { authorization: `Bearer ${apiKey}` } });
  return answer.json();
}

/** A decimal number of USD as nano-USD. */
function nanos(text) {
  const [whole, rest = ''] = text.split('.');
  return BigInt(whole) * 10n ** 9n + BigInt(rest.padEnd(9, '0'));
}

const paid = async () => nanos((await get('/balance')).paid_usd);

/** A grey PNG, large enough for every family. */
function picture(side = 320) {
  const chunk = (kind, data) => {
    const body = Buffer.concat([Buffer.from(kind), data]);
    const [size, check] = [Buffer.alloc(4), Buffer.alloc(4)];
    size.writeUInt32BE(data.length);
    check.writeUInt32BE(crc32(body));
    return Buffer.concat([size, body, check]);
  };
  const head = Buffer.alloc(13);
  head.writeUInt32BE(side, 0);
  head.writeUInt32BE(side, 4);
  head.writeUInt8(8, 8);
  const rows = Buffer.alloc((side + 1) * side, 0x80);
  for (let row = 0; row < side; row += 1) rows[row * (side + 1)] = 0;
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  const parts = [signature, chunk('IHDR', head), chunk('IDAT', deflateSync(rows)), chunk('IEND', Buffer.alloc(0))];
  return Buffer.concat(parts);
}

/** Seconds of an MP4, by the head of its movie. */
function length(file) {
  assert.equal(file.toString('latin1', 4, 8), 'ftyp');
  const at = file.indexOf('mvhd') + 16;
  return file.readUInt32BE(at + 4) / file.readUInt32BE(at);
}

async function polled(id) {
  for (let turn = 0; turn < 300; turn += 1) {
    const video = await client.videos.retrieve(id);
    if (video.status === 'completed' || video.status === 'failed') return video;
    await new Promise((next) => setTimeout(next, 200));
  }
  assert.fail(`${id} never ended`);
}

async function downloaded(id) {
  const content = await client.videos.downloadContent(id);
  assert.equal(content.headers.get('content-type'), 'video/mp4');
  return Buffer.from(await content.arrayBuffer());
}

async function made(cost, seconds, asked) {
  const before = await paid();
  const { data: video, response } = await client.videos.create(asked).withResponse();
  assert.equal(response.headers.get('trunkline-cost-usd'), cost);
  assert.deepEqual([video.object, video.status, video.model], ['video', 'queued', asked.model]);
  const done = await polled(video.id);
  assert.equal(done.status, 'completed', JSON.stringify(done));
  assert.equal(done.seconds, String(seconds));
  assert.equal(length(await downloaded(done.id)), seconds);
  const row = await get(`/usage/${response.headers.get('x-request-id')}`);
  assert.equal(nanos(row.cost_usd), nanos(cost));
  assert.equal(before - (await paid()), nanos(cost));
}

const prompt = 'a cat';
const checks = {
  async 'each family without a file'() {
    await made('0.04', 4, { model: 'sim-video', prompt });
    await made('0.24', 8, { model: 'sim-video', prompt, seconds: '8', size: '1792x1024' });
    await made('0.5', 5, { model: 'wan2.7-t2v', prompt });
    await made('0.42', 5, { model: 'kling-v3', prompt, size: '1280x720' });
    await made('0.3843', 4, { model: SEEDANCE, prompt, seconds: '4', metadata: { resolution: '480p' } });
    const metadata = { ratio: '16:9', watermark: false };
    await made('0.32', 4, { model: 'MiniMax-H3', prompt, duration: 4, metadata });
  },
  async 'each family with a file'() {
    const file = () => toFile(picture(), 'cat.png', { type: 'image/png' });
    await made('0.04', 4, { model: 'sim-video', prompt, input_reference: await file() });
    await made('0.5', 5, { model: 'wan2.7-i2v', prompt, input_reference: await file() });
    await made('0.4', 5, { model: 'MiniMax-H3', prompt, input_reference: await file() });
  },
  async 'a failure is told and refunded'() {
    const before = await paid();
    const video = await client.videos.create({ model: 'sim-video', prompt: '[[job:fail:moderation_blocked]]' });
    const done = await polled(video.id);
    assert.deepEqual([done.status, done.error.code], ['failed', 'moderation_blocked']);
    assert.equal(await paid(), before);
  },
  async 'pages'() {
    const names = async (query) => {
      const found = [];
      for await (const video of client.videos.list(query)) found.push(video.id);
      return found;
    };
    const whole = await names({ limit: 100 });
    assert(whole.length > 8 && new Set(whole).size === whole.length);
    assert.deepEqual(await names({ limit: 3 }), whole);
    assert.deepEqual(await names({ limit: 4, order: 'asc' }), whole.toReversed());
  },
  async 'deleted'() {
    const before = await paid();
    const waiting = await client.videos.create({ model: 'wan2.7-t2v', prompt: '[[job:wait_ms:60000]]' });
    assert.equal((await client.videos.delete(waiting.id)).id, waiting.id);
    assert.equal((await client.videos.retrieve(waiting.id)).error.code, 'cancelled');
    assert.equal(await paid(), before);
  },
  async 'refusals cost nothing'() {
    const before = await paid();
    const create = (more) => client.videos.create({ model: 'wan2.7-t2v', prompt, ...more });
    await assert.rejects(create({ size: '1280x720' }), { status: 400, code: 'size_separator' });
    await assert.rejects(create({ model: 'MiniMax-H3' }), { status: 400, code: 'ratio_required' });
    // An object is no address, and is not passed over in silence.
    const linked = { image_url: 'https://media.example/a.png' };
    const refused = { status: 400, param: 'input_reference' };
    await assert.rejects(create({ model: 'sim-video', input_reference: linked }), refused);
    await assert.rejects(create({ model: 'sora-nobody' }), { status: 404 });
    assert.equal(await paid(), before);
  },
};

for (const [name, check] of Object.entries(checks)) {
  await check();
  console.log(name, 'ok');
}
console.log(`${Object.keys(checks).length} checks passed`);
