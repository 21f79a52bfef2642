"""Stripe's own SDK against the simulator, from a payment page to a webhook.

Usage: stripe_payments.py ROOT KEY WEBHOOK_SECRET. What people and banks do is asked for on stdout, one line each, and
answered on stdin: `pay SESSION`, `expire SESSION`, `dispute INTENT CENTS`, `deliver PORT`. Stops at the first surprise
with a traceback.
"""

import http.server
import sys
import threading

import stripe
from stripe import StripeClient

ROOT, KEY, SECRET = sys.argv[1:4]
stripe.enable_telemetry = False
client = StripeClient(KEY, base_addresses={"api": ROOT}, max_network_retries=0).v1


def ask(*words):
    print(*words, flush=True)
    return sys.stdin.readline().strip()


def fails(expected, call):
    try:
        call()
    except expected as error:
        assert type(error) is expected, type(error)
        return error
    raise AssertionError(f"{expected.__name__} did not come")


def page(key):
    return client.checkout.sessions.create(
        {
            "mode": "payment",
            "client_reference_id": "7",
            "success_url": "https://x.example/done",
            "cancel_url": "https://x.example/cancelled",
            "line_items": [
                {
                    "quantity": 1,
                    "price_data": {"currency": "usd", "unit_amount": 2500, "product_data": {"name": "Credit"}},
                }
            ],
            "metadata": {"order": "a & b"},
            "payment_intent_data": {"metadata": {"order": "a & b"}, "setup_future_usage": "off_session"},
            "customer_creation": "always",
        },
        {"idempotency_key": key},
    )


def pages():
    session = page("page-1")
    assert type(session) is stripe.checkout.Session, type(session)
    assert (session.object, session.status, session.payment_status) == ("checkout.session", "open", "unpaid")
    assert (session.amount_total, session.metadata["order"]) == (2500, "a & b")
    # The same key is the same page.
    assert page("page-1").id == session.id and page("page-2").id != session.id
    intent = ask("pay", session.id)
    session = client.checkout.sessions.retrieve(session.id)
    assert (session.status, session.payment_status, session.payment_intent) == ("complete", "paid", intent)
    paid = client.payment_intents.retrieve(intent)
    assert type(paid) is stripe.PaymentIntent and paid.status == "succeeded"
    assert (paid.amount_received, paid.metadata["order"]) == (2500, "a & b")
    over = page("page-3")
    ask("expire", over.id)
    assert client.checkout.sessions.retrieve(over.id).status == "expired"
    return paid


def saved_methods(paid):
    charge = {
        "amount": 1000,
        "currency": "usd",
        "customer": paid.customer,
        "payment_method": paid.payment_method,
        "off_session": True,
        "confirm": True,
        "metadata": {"kind": "automatic"},
        "expand": ["latest_charge"],
    }
    made = client.payment_intents.create(charge, {"idempotency_key": "charge-1"})
    assert made.status == "succeeded" and type(made.latest_charge) is stripe.Charge
    assert made.latest_charge.receipt_url.startswith("https://")
    assert client.payment_intents.create(charge, {"idempotency_key": "charge-1"}).id == made.id
    other = charge | {"amount": 2000}
    fails(
        stripe.IdempotencyError,
        lambda: client.payment_intents.create(other, {"idempotency_key": "charge-1"}),
    )
    declined = charge | {"payment_method": "pm_card_chargeDeclined"}
    error = fails(stripe.CardError, lambda: client.payment_intents.create(declined))
    assert (error.http_status, error.code) == (402, "card_declined")
    assert error.error.decline_code == "generic_decline"
    assert error.error.payment_intent.status == "requires_payment_method"


def refunds(paid):
    refund = client.refunds.create({"payment_intent": paid.id, "amount": 500, "expand": ["charge"]})
    assert type(refund) is stripe.Refund and refund.status == "succeeded"
    assert (refund.charge.amount_refunded, refund.charge.refunded) == (500, False)
    assert client.refunds.retrieve(refund.id).amount == 500
    error = fails(
        stripe.InvalidRequestError,
        lambda: client.refunds.create({"payment_intent": paid.id, "amount": 2001}),
    )
    assert (error.http_status, error.code) == (400, "charge_already_refunded")


def refusals():
    error = fails(stripe.InvalidRequestError, lambda: client.payment_intents.create({"amount": 1000}))
    assert (error.code, error.param) == ("parameter_missing", "currency")
    error = fails(stripe.InvalidRequestError, lambda: client.payment_intents.retrieve("pi_none"))
    assert (error.http_status, error.code) == (404, "resource_missing")
    stranger = StripeClient("sk_wrong", base_addresses={"api": ROOT}, max_network_retries=0).v1
    fails(stripe.AuthenticationError, lambda: stranger.events.list())


def events(paid):
    ask("dispute", paid.id, 2500)
    pages = client.events.list({"limit": 3, "created": {"gte": paid.created}})
    assert len(pages.data) == 3 and pages.has_more
    listed = list(pages.auto_paging_iter())
    assert all(type(event) is stripe.Event for event in listed)
    kinds = [event.type for event in reversed(listed)]
    assert kinds == [
        "charge.succeeded",
        "payment_intent.succeeded",
        "checkout.session.completed",
        "checkout.session.expired",
        "charge.succeeded",
        "payment_intent.succeeded",
        "payment_intent.payment_failed",
        "charge.refunded",
        "charge.dispute.created",
    ], kinds
    assert type(listed[0].data.object) is stripe.Dispute
    named = client.events.list({"types": ["charge.refunded"]})
    assert [event.type for event in named.data] == ["charge.refunded"]
    return [event.id for event in listed]


class Webhook(http.server.BaseHTTPRequestHandler):
    """A receiver that believes what the SDK believes."""

    believed, forged = [], 0

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        try:
            event = stripe.Webhook.construct_event(body, self.headers["stripe-signature"], SECRET)
            Webhook.believed.append(event.id)
            status = 200
        except stripe.SignatureVerificationError:
            Webhook.forged += 1
            status = 400
        self.send_response(status)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *words):
        pass


def webhooks(ids):
    server = http.server.HTTPServer(("127.0.0.1", 0), Webhook)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    ask("deliver", server.server_port)
    server.shutdown()
    assert sorted(Webhook.believed) == sorted(ids), Webhook.believed
    assert Webhook.forged == len(ids), Webhook.forged


paid = pages()
saved_methods(paid)
refunds(paid)
refusals()
webhooks(events(paid))
