// Stripe's own SDK for Node against the simulator, from a payment page to a webhook.
//
// Usage: node stripe_payments.mjs ROOT KEY WEBHOOK_SECRET, with SDK_FOLDER in the environment. What people and banks do
// is asked for on stdout, one line each, and answered on stdin, as stripe_payments.py says.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';

const [root, key, secret] = process.argv.slice(2);
const require = createRequire(`${process.env.SDK_FOLDER}/package.json`);
const Stripe = require('stripe');
const { hostname: host, port } = new URL(root);
const options = { host, port, protocol: 'http', maxNetworkRetries: 0, telemetry: false };
const stripe = new Stripe(key, options);
const answers = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

async function ask(...words) {
  console.log(words.join(' '));
  return (await answers.next()).value;
}

/** The error of a call that must fail. */
async function fails(name, call) {
  const error = await call().then(
    () => assert.fail(`${name} did not come`),
    (error) => error,
  );
  assert.equal(error.constructor.name, name, String(error));
  return error;
}

const page = (idempotencyKey) =>
  stripe.checkout.sessions.create(
    {
      mode: 'payment',
      client_reference_id: '7',
      success_url: 'https://x.example/done',
      cancel_url: 'https://x.example/cancelled',
      line_items: [
        { quantity: 1, price_data: { currency: 'usd', unit_amount: 2500, product_data: { name: 'Credit' } } },
      ],
      metadata: { order: 'a & b' },
      payment_intent_data: { metadata: { order: 'a & b' }, setup_future_usage: 'off_session' },
      customer_creation: 'always',
    },
    { idempotencyKey },
  );

async function pages() {
  const session = await page('page-1');
  assert.deepEqual([session.object, session.status, session.payment_status], ['checkout.session', 'open', 'unpaid']);
  assert.deepEqual([session.amount_total, session.metadata.order], [2500, 'a & b']);
  assert.equal((await page('page-1')).id, session.id);
  assert.notEqual((await page('page-2')).id, session.id);
  const intent = await ask('pay', session.id);
  const after = await stripe.checkout.sessions.retrieve(session.id);
  assert.deepEqual([after.status, after.payment_status, after.payment_intent], ['complete', 'paid', intent]);
  const paid = await stripe.paymentIntents.retrieve(intent);
  assert.deepEqual([paid.status, paid.amount_received, paid.metadata.order], ['succeeded', 2500, 'a & b']);
  const over = await page('page-3');
  await ask('expire', over.id);
  assert.equal((await stripe.checkout.sessions.retrieve(over.id)).status, 'expired');
  return paid;
}

async function savedMethods(paid) {
  const charge = {
    amount: 1000,
    currency: 'usd',
    customer: paid.customer,
    payment_method: paid.payment_method,
    off_session: true,
    confirm: true,
    metadata: { kind: 'automatic' },
    expand: ['latest_charge'],
  };
  const once = { idempotencyKey: 'charge-1' };
  const made = await stripe.paymentIntents.create(charge, once);
  assert.equal(made.status, 'succeeded');
  assert.match(made.latest_charge.receipt_url, /^https:/);
  assert.equal((await stripe.paymentIntents.create(charge, once)).id, made.id);
  await fails('StripeIdempotencyError', () => stripe.paymentIntents.create({ ...charge, amount: 2000 }, once));
  const declined = { ...charge, payment_method: 'pm_card_chargeDeclined' };
  const error = await fails('StripeCardError', () => stripe.paymentIntents.create(declined));
  assert.deepEqual([error.statusCode, error.code, error.decline_code], [402, 'card_declined', 'generic_decline']);
  assert.equal(error.payment_intent.status, 'requires_payment_method');
}

async function refunds(paid) {
  const refund = await stripe.refunds.create({ payment_intent: paid.id, amount: 500, expand: ['charge'] });
  assert.deepEqual([refund.status, refund.charge.amount_refunded], ['succeeded', 500]);
  assert.equal((await stripe.refunds.retrieve(refund.id)).amount, 500);
  const more = () => stripe.refunds.create({ payment_intent: paid.id, amount: 2001 });
  const error = await fails('StripeInvalidRequestError', more);
  assert.deepEqual([error.statusCode, error.code], [400, 'charge_already_refunded']);
}

async function refusals() {
  let error = await fails('StripeInvalidRequestError', () => stripe.paymentIntents.create({ amount: 1000 }));
  assert.deepEqual([error.code, error.param], ['parameter_missing', 'currency']);
  error = await fails('StripeInvalidRequestError', () => stripe.paymentIntents.retrieve('pi_none'));
  assert.deepEqual([error.statusCode, error.code], [404, 'resource_missing']);
  const stranger = new Stripe('sk_wrong', options);
  await fails('StripeAuthenticationError', () => stranger.events.list());
}

async function events(paid) {
  await ask('dispute', paid.id, 2500);
  const listed = [];
  for await (const event of stripe.events.list({ limit: 3, created: { gte: paid.created } })) listed.push(event);
  assert.deepEqual(listed.map((event) => event.type).reverse(), [
    'charge.succeeded',
    'payment_intent.succeeded',
    'checkout.session.completed',
    'checkout.session.expired',
    'charge.succeeded',
    'payment_intent.succeeded',
    'payment_intent.payment_failed',
    'charge.refunded',
    'charge.dispute.created',
  ]);
  const named = await stripe.events.list({ types: ['charge.refunded'] });
  assert.deepEqual(named.data.map((event) => event.type), ['charge.refunded']);
  return listed.map((event) => event.id);
}

/** A receiver that believes what the SDK believes. */
async function webhooks(ids) {
  const believed = [];
  let forged = 0;
  const server = createServer((request, response) => {
    const pieces = [];
    request.on('data', (piece) => pieces.push(piece));
    request.on('end', () => {
      try {
        const body = Buffer.concat(pieces);
        believed.push(stripe.webhooks.constructEvent(body, request.headers['stripe-signature'], secret).id);
        response.writeHead(200).end();
      } catch (error) {
        assert.equal(error.constructor.name, 'StripeSignatureVerificationError');
        forged += 1;
        response.writeHead(400).end();
      }
    });
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  await ask('deliver', server.address().port);
  server.close();
  assert.deepEqual(believed.sort(), ids.sort());
  assert.equal(forged, ids.length);
}

const paid = await pages();
await savedMethods(paid);
await refunds(paid);
await refusals();
await webhooks(await events(paid));
process.stdin.destroy();
