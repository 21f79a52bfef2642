// The vendor's own Node SDK draws, speaks and listens, unmodified but for base URL and key, through the gateway.
//
// Usage: node openai_media.mjs SDK_FOLDER BASE_URL KEY, with SIMULATOR_URL in the environment. Pictures are as
// large and audio as long as was asked for, files reach the vendor byte by byte, and the balance falls by what
// the answers said.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import { crc32, deflateSync } from 'node:zlib';

const [folder, baseURL, apiKey] = process.argv.slice(2);
const require = createRequire(`${folder}/package.json`);
const OpenAI = require('openai');
const { toFile } = OpenAI;
const client = new OpenAI({ baseURL, apiKey, maxRetries: 0, timeout: 60_000 });
const text = 'The quick brown fox jumps over the lazy dog, twice.';
// What the simulator speaks.
const MILLIS = 60 * text.length;
const painter = { model: 'gpt-image-1.5', prompt: 'a cat on a roof', quality: 'low', size: '1024x1024' };
const WORDS = (
  'river stone light bread garden window silver morning winter paper market bridge forest candle harbour summer'
).split(' ');
const costs = [];

async function get(path) {
  const answer = await fetch(baseURL + path, { headers: { authorization: `Bearer ${apiKey}` } });
  return answer.json();
}

/** A decimal number of USD as nano-USD. */
function nanos(number) {
  const [whole, rest = ''] = number.split('.');
  return BigInt(whole) * 10n ** 9n + BigInt(rest.padEnd(9, '0'));
}

const paid = async () => nanos((await get('/balance')).paid_usd);
const hash = (file) => createHash('sha256').update(file).digest('hex');

/** What the vendor took, the newest last. */
async function calls(what) {
  const answer = await fetch(`${process.env.SIMULATOR_URL.replace(/\/v1$/, '')}/_simulator/${what}`);
  return (await answer.json()).calls;
}

/** The price of an answer is the one that was expected, and the ledger's. */
async function charged(cost, headers) {
  assert.equal(headers.get('trunkline-cost-usd'), cost);
  const row = await get(`/usage/${headers.get('x-request-id')}`);
  assert.deepEqual([row.charged, nanos(row.cost_usd)], [true, nanos(cost)]);
  costs.push(nanos(cost));
}

async function priced(cost, call) {
  const { data, response } = await call.withResponse();
  await charged(cost, response.headers);
  return data;
}

/** A grey PNG. */
function picture(width, height) {
  const chunk = (kind, data) => {
    const body = Buffer.concat([Buffer.from(kind), data]);
    const [size, check] = [Buffer.alloc(4), Buffer.alloc(4)];
    size.writeUInt32BE(data.length);
    check.writeUInt32BE(crc32(body));
    return Buffer.concat([size, body, check]);
  };
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.writeUInt8(8, 8);
  const rows = Buffer.alloc((width + 1) * height, 0x80);
  for (let row = 0; row < height; row += 1) rows[row * (width + 1)] = 0;
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  const parts = [signature, chunk('IHDR', head), chunk('IDAT', deflateSync(rows)), chunk('IEND', Buffer.alloc(0))];
  return Buffer.concat(parts);
}

/** Kind, width and height of a picture as the file itself tells them. */
function seen(file) {
  if (file.toString('latin1', 1, 4) === 'PNG') return ['png', file.readUInt32BE(16), file.readUInt32BE(20)];
  assert.equal(file.readUInt16BE(0), 0xffd8);
  let at = 2;
  while (file[at + 1] !== 0xc0) at += 2 + file.readUInt16BE(at + 2);
  return ['jpeg', file.readUInt16BE(at + 7), file.readUInt16BE(at + 5)];
}

/** The pictures behind the links of an answer, which need no key. */
async function linked(made) {
  const files = [];
  for (const { url, b64_json } of made.data) {
    assert.equal(b64_json, '');
    const answer = await fetch(url);
    files.push(Buffer.from(await answer.arrayBuffer()));
    assert.equal(answer.headers.get('content-type'), `image/${seen(files.at(-1))[0]}`);
  }
  return files;
}

function held(made) {
  assert(made.data.every((entry) => entry.url === ''));
  return made.data.map((entry) => Buffer.from(entry.b64_json, 'base64'));
}

/** A wav file in which nothing is heard. */
function recorded(millis) {
  const file = Buffer.alloc(44 + 16 * millis);
  file.write('RIFF', 0);
  file.writeUInt32LE(file.length - 8, 4);
  file.write('WAVEfmt ', 8);
  file.writeUInt32LE(16, 16);
  file.writeUInt16LE(1, 20);
  file.writeUInt16LE(1, 22);
  file.writeUInt32LE(8000, 24);
  file.writeUInt32LE(16_000, 28);
  file.writeUInt16LE(2, 32);
  file.writeUInt16LE(16, 34);
  file.write('data', 36);
  file.writeUInt32LE(16 * millis, 40);
  return file;
}

/** The simulator hears words by the hash of the very bytes that were sent to us. */
function expected(file) {
  const chosen = [...hash(file).slice(0, 12)].map((digit) => WORDS[parseInt(digit, 16)]);
  return [0, 4, 8].map((at) => `${chosen.slice(at, at + 4).join(' ')}.`).join(' ');
}

async function spoken(cost, asked) {
  const response = await client.audio.speech.create({ model: 'tts-1', voice: 'alloy', input: text, ...asked });
  // Speech is charged before its last piece is sent, so all of it is read first.
  const file = Buffer.from(await response.arrayBuffer());
  await charged(cost, response.headers);
  return [response.headers.get('content-type'), file];
}

const heard = (cost, file, asked) =>
  priced(cost, client.audio.transcriptions.create({ model: 'whisper-1', file, ...asked }));

const checks = {
  async 'pictures from text'() {
    const generate = (cost, more) => priced(cost, client.images.generate({ ...painter, ...more }));
    const two = await generate('0.018', { n: 2 });
    assert.deepEqual(two.metadata, { success_count: '2', failed_count: '0' });
    const [first, second] = await linked(two);
    assert.notDeepEqual(first, second);
    assert.deepEqual([seen(first), seen(second)], [['png', 1024, 1024], ['png', 1024, 1024]]);
    const wide = { n: 2, size: '1536x1024', response_format: 'b64_json' };
    assert.deepEqual(held(await generate('0.026', wide)).map(seen), [['png', 1536, 1024], ['png', 1536, 1024]]);
    const high = { size: '1024x1536', output_format: 'jpeg', response_format: 'url' };
    assert.deepEqual((await linked(await generate('0.013', high))).map(seen), [['jpeg', 1024, 1536]]);
    const part = await generate('0.009', { n: 2, prompt: '[[image:fail_some:1]]' });
    assert.deepEqual([part.data.length, part.metadata.failed_count], [1, '1']);
  },
  async 'pictures from pictures'() {
    const [cat, dog, mask] = [picture(320, 240), picture(256, 256), picture(320, 240)];
    const file = (bytes) => toFile(bytes, 'a.png', { type: 'image/png' });
    for (const [cost, images, masks, n] of [
      ['0.009', [cat], [], 1],
      ['0.018', [cat, dog], [], 2],
      ['0.009', [cat], [mask], 1],
      ['0.018', [cat, dog], [mask], 2],
    ]) {
      const image = await Promise.all(images.map(file));
      const more = masks.length > 0 ? { mask: await file(mask) } : {};
      const asked = { ...painter, image: image.length > 1 ? image : image[0], n, ...more };
      const made = await linked(await priced(cost, client.images.edit(asked)));
      assert.deepEqual(made.map(seen), Array(n).fill(['png', 1024, 1024]));
      const took = (await calls('images')).at(-1);
      assert.deepEqual([took.is_edit, took.has_mask], [true, masks.length > 0]);
      assert.deepEqual(took.files, [...images, ...masks].map(hash));
    }
  },
  async 'speech in every format'() {
    // What has frames is rounded up to one.
    const within = (millis, most) => assert(MILLIS - 1 <= millis && millis <= MILLIS + most, `${millis}`);
    for (const [format, kind, ending, most] of [
      ['mp3', 'mpeg', 'mp3', 36],
      ['opus', 'ogg', 'ogg', 1],
      ['flac', 'flac', 'flac', 1],
      ['wav', 'wav', 'wav', 1],
    ]) {
      const [type, file] = await spoken('0.000765', { response_format: format });
      assert.equal(type, `audio/${kind}`);
      const back = await heard('0.0004', await toFile(file, `a.${ending}`), { response_format: 'verbose_json' });
      within(1000 * back.duration, most);
      assert.deepEqual([back.text, back.usage.seconds], [expected(file), 4]);
    }
    const [type, pcm] = await spoken('0.000765', { response_format: 'pcm' });
    assert.equal(type, 'audio/pcm');
    within(pcm.length / 48, 0);
    const [kind, aac] = await spoken('0.000765', { response_format: 'aac' });
    assert.equal(kind, 'audio/aac');
    // 3.06 s; up to 3,136 samples may be the delay and padding of an encoder and are not billed.
    const back = await heard('0.000105', await toFile(aac, 'a.aac'), { model: 'qwen3-asr-flash' });
    assert.deepEqual([back.text, back.usage.seconds], [expected(aac), 3]);
    const narrator = { model: 'speech-2.6-hd', voice: 'English_expressive_narrator', response_format: 'pcm' };
    within((await spoken('0.0051', narrator))[1].length / 48, 0);
    const cherry = { model: 'qwen3-tts-flash', voice: 'Cherry', response_format: 'wav' };
    within(((await spoken('0.00051', cherry))[1].length - 44) / 48, 0);
  },
  async 'speech as it is made'() {
    const input = `[[pace:40]]${text}`;
    const asked = { model: 'tts-1', voice: 'sage', input, response_format: 'pcm' };
    const { data, response } = await client.audio.speech.create(asked).withResponse();
    assert.equal(response.headers.get('content-length'), null);
    const [pieces, arrived] = [[], []];
    for await (const piece of data.body) {
      pieces.push(piece);
      arrived.push(performance.now());
    }
    assert.equal(Buffer.concat(pieces).length / 48, 60 * input.length);
    // Eighteen pauses lie between the pieces; the first did not wait for the last.
    assert(pieces.length > 3 && arrived.at(-1) - arrived[0] > 200, `${arrived}`);
    await charged('0.00093', response.headers);
  },
  async 'every way of writing down'() {
    const bytes = recorded(2460);
    const hear = async (more) => heard('0.0003', await toFile(bytes, 'a.wav'), more);
    const words = expected(bytes);
    for (const more of [{}, { response_format: 'json', temperature: 0.2, prompt: 'a remark', language: 'en' }]) {
      const plain = await hear(more);
      assert.deepEqual([plain.text, plain.usage], [words, { type: 'duration', seconds: 3 }]);
    }
    assert.equal((await calls('audio')).at(-1).sha256, hash(bytes));
    assert.equal(await hear({ response_format: 'text' }), `${words}\n`);
    const srt = await hear({ response_format: 'srt' });
    assert(srt.startsWith('1\n00:00:00,000 --> 00:00:00,820\n'), srt);
    const vtt = await hear({ response_format: 'vtt' });
    assert(vtt.startsWith('WEBVTT\n\n00:00:00.000 --> 00:00:00.820\n'), vtt);
    const verbose = await hear({ response_format: 'verbose_json', timestamp_granularities: ['word', 'segment'] });
    assert.deepEqual([verbose.duration, verbose.text, verbose.usage.seconds], [2.46, words, 3]);
    assert.deepEqual([verbose.segments.length, verbose.words.length], [3, 12]);
    for (const [model, cost] of [['qwen3-asr-flash', '0.000105'], ['glm-asr-2512', '0.000430059']]) {
      assert.equal((await heard(cost, await toFile(bytes, 'a.wav'), { model })).text, words);
    }
  },
  async 'translations'() {
    const bytes = recorded(1000);
    const words = `In English it says: ${expected(bytes)}`;
    const asked = async (more) => ({ model: 'whisper-1', file: await toFile(bytes, 'a.wav'), ...more });
    const translate = async (more) => priced('0.0001', client.audio.translations.create(await asked(more)));
    assert.equal((await translate({})).text, words);
    assert.equal(await translate({ response_format: 'text' }), `${words}\n`);
    assert.equal((await translate({ response_format: 'verbose_json' })).duration, 1);
  },
  async 'refusals cost nothing'() {
    const before = await paid();
    const speak = (more) => client.audio.speech.create({ model: 'tts-1', voice: 'alloy', input: text, ...more });
    const draw = (more) => client.images.generate({ ...painter, ...more });
    const file = await toFile(recorded(500), 'a.wav');
    const hear = (more) => client.audio.transcriptions.create({ model: 'whisper-1', file, ...more });
    await assert.rejects(speak({ voice: 'no-such-voice' }), { status: 400, param: 'voice' });
    await assert.rejects(speak({ input: 'x'.repeat(4097) }), { status: 400, param: 'input' });
    // Vendors' own refusals name the field too.
    await assert.rejects(speak({ speed: 4.1 }), { status: 400, param: 'speed' });
    await assert.rejects(draw({ size: '100x100' }), { status: 400, param: 'size' });
    await assert.rejects(draw({ n: 129 }), { status: 400, param: 'n' });
    await assert.rejects(draw({ prompt: '[[image:refused]]' }), { status: 400 });
    const noise = await toFile(Buffer.from('no audio at all'), 'a.wav');
    await assert.rejects(hear({ file: noise }), { status: 400, param: 'file', code: 'audio_unreadable' });
    await assert.rejects(hear({ response_format: 'doc' }), { status: 400, param: 'response_format' });
    for (const call of [speak, draw, hear]) {
      await assert.rejects(call({ model: 'no-such-model-9' }), (error) => error instanceof OpenAI.NotFoundError);
    }
    assert.equal(await paid(), before);
  },
};

const start = await paid();
for (const [name, check] of Object.entries(checks)) {
  await check();
  console.log(name, 'ok');
}
assert.equal(start - (await paid()), costs.reduce((sum, cost) => sum + cost, 0n));
console.log(`${Object.keys(checks).length} checks passed, ${costs.length} answers`);
