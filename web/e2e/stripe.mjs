/**
 * As much of Stripe as a walk needs: payment pages, refunds and a bank that disputes, with signed webhooks. The product's
 * own tests use the simulator, whose answers are checked against Stripe's description; this one only has to lead a person
 * through a page.
 */
import { createHmac, randomBytes } from "node:crypto";
import { createServer } from "node:http";

const SECRET = "whsec_walk";
const KEY = "sk_test_walk";

/** Starts one. `files` are the texts of its secrets, as the configuration names them. */
export async function startStripe() {
  const store = { sessions: new Map(), intents: new Map(), events: [], webhook: undefined };
  const server = createServer((request, response) => void answer(store, request, response));
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const url = `http://127.0.0.1:${server.address().port}`;
  store.url = url;
  return {
    url,
    files: { key: `${KEY}\n`, webhook: `${SECRET}\n` },
    /** Where webhooks are sent. */
    sendTo: (address) => {
      store.webhook = address;
    },
    /** The bank disputes all of the newest payment. */
    dispute: async () => {
      const intent = [...store.intents.values()].at(-1);
      const dispute = {
        id: id("dp"),
        object: "dispute",
        payment_intent: intent.id,
        charge: intent.charge.id,
        amount: intent.amount,
        currency: "usd",
        status: "needs_response",
      };
      await tell(store, "charge.dispute.created", dispute);
      return { close: (status) => tell(store, "charge.dispute.closed", { ...dispute, status }) };
    },
    stop: () => new Promise((done) => server.close(done)),
  };
}

const id = (prefix) => `${prefix}_${randomBytes(12).toString("hex")}`;
const seconds = () => Math.floor(Date.now() / 1000);

async function answer(store, request, response) {
  const body = new URLSearchParams(await text(request));
  const { pathname } = new URL(request.url, store.url);
  const send = (value, status = 200) => {
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify(value));
  };
  if (pathname === "/v1/checkout/sessions" && request.method === "POST") return send(open(store, body));
  if (pathname.startsWith("/v1/checkout/sessions/")) return send(store.sessions.get(pathname.split("/").at(-1)) ?? {});
  if (pathname === "/v1/refunds") return send(await refund(store, body));
  if (pathname === "/v1/events") return send({ object: "list", data: [], has_more: false });
  if (pathname.startsWith("/pay/")) {
    const session = store.sessions.get(pathname.split("/").at(-1));
    if (request.method === "POST") {
      await pay(store, session);
      response.writeHead(303, { location: session.success_url.replace("{CHECKOUT_SESSION_ID}", session.id) });
      return response.end();
    }
    response.writeHead(200, { "content-type": "text/html" });
    return response.end(
      "<!doctype html><title>Pay</title><form method=post><button>Pay with a test card</button></form>",
    );
  }
  return send({ error: { message: `no ${pathname} here`, code: "walk" } }, 404);
}

function open(store, body) {
  const session = {
    id: id("cs_test"),
    object: "checkout.session",
    status: "open",
    payment_status: "unpaid",
    currency: "usd",
    amount_total: Number(body.get("line_items[0][price_data][unit_amount]")),
    metadata: { trunkline_payment: body.get("metadata[trunkline_payment]") },
    payment_intent: null,
    success_url: body.get("success_url"),
  };
  session.url = `${store.url}/pay/${session.id}`;
  store.sessions.set(session.id, session);
  return session;
}

async function pay(store, session) {
  const charge = { id: id("ch"), object: "charge", currency: "usd", amount_refunded: 0, receipt_url: null };
  const intent = { id: id("pi"), amount: session.amount_total, charge };
  charge.payment_intent = intent.id;
  store.intents.set(intent.id, intent);
  Object.assign(session, { status: "complete", payment_status: "paid", payment_intent: intent.id });
  await tell(store, "checkout.session.completed", session);
}

async function refund(store, body) {
  const intent = store.intents.get(body.get("payment_intent"));
  intent.charge.amount_refunded += Number(body.get("amount"));
  await tell(store, "charge.refunded", intent.charge);
  return { id: id("re"), object: "refund", status: "succeeded", charge: intent.charge };
}

/** Sends an event as Stripe does, signed. */
async function tell(store, type, object) {
  const event = { id: id("evt"), object: "event", type, created: seconds(), data: { object } };
  const body = JSON.stringify(event);
  const time = seconds();
  const signature = createHmac("sha256", SECRET).update(`${time}.${body}`).digest("hex");
  await fetch(store.webhook, {
    method: "POST",
    headers: { "content-type": "application/json", "stripe-signature": `t=${time},v1=${signature}` },
    body,
  });
}

async function text(request) {
  const pieces = [];
  for await (const piece of request) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}
