//! Stripe: checkout sessions, payment intents, refunds and events, as the vendor's API speaks them: form-encoded
//! requests, idempotency keys, errors of its own. People who pay and banks that dispute are played through
//! [`StripeControl`](control::StripeControl); what is sent to webhooks is in [`webhooks`].

mod control;
mod webhooks;

use http::Method;
use serde_json::{Value, json};

pub use control::StripeControl;
pub use webhooks::{StripeDeliveries, StripeWebhook};

use crate::recorded_request::RecordedRequest;
use crate::script::Script;
use crate::scripted_body::VendorResult;
use crate::stripe_state::{Form, Kept, Store, put};

/// A payment method whose charges are declined.
const DECLINED_METHOD: &str = "pm_card_chargeDeclined";
const MIN_CENTS: i64 = 50;
/// Most events of one page.
const MAX_PAGE: usize = 100;
const CHECKOUT_FIELDS: [&str; 9] = [
    "mode",
    "client_reference_id",
    "success_url",
    "cancel_url",
    "line_items",
    "metadata",
    "payment_intent_data",
    "customer",
    "customer_creation",
];
const INTENT_FIELDS: [&str; 9] = [
    "amount",
    "currency",
    "customer",
    "payment_method",
    "off_session",
    "confirm",
    "description",
    "metadata",
    "expand",
];
const REFUND_FIELDS: [&str; 5] = ["payment_intent", "charge", "amount", "metadata", "expand"];

/// An answer before it is bytes.
pub(super) struct Reply {
    status: u16,
    body: Value,
}

/// Whether a path is Stripe's.
pub(crate) fn owns(path: &str) -> bool {
    [
        "/v1/checkout/",
        "/v1/payment_intents",
        "/v1/refunds",
        "/v1/events",
    ]
    .iter()
    .any(|prefix| path.starts_with(prefix))
}

pub(crate) fn serve(recorded: RecordedRequest) -> VendorResult {
    let reply = answer(&recorded);
    let script = Script::json(reply.status, None, reply.body.to_string());
    Ok(recorded.respond(script, "application/json"))
}

fn answer(recorded: &RecordedRequest) -> Reply {
    if recorded.key.is_empty() || !recorded.state.accepts(&recorded.key) {
        return Reply::invalid(401, None, "Invalid API Key provided.");
    }
    let path = recorded.parts.uri.path();
    let mut store = recorded.state.stripe.lock();
    if recorded.parts.method == Method::GET {
        let query = Form::read(recorded.parts.uri.query().unwrap_or("").as_bytes());
        return read(&store, path, &query);
    }
    let key = recorded.parts.headers.get("idempotency-key");
    let key = key.and_then(|value| value.to_str().ok()).unwrap_or("");
    if !key.is_empty()
        && let Some(kept) = store.kept.get(key)
    {
        return replay(kept, path, &recorded.body);
    }
    let form = Form::read(&recorded.body);
    let reply = write(&mut store, path, &form);
    // What was not begun is not kept: a wrong request may be mended under its key.
    if !key.is_empty() && reply.status != 400 && reply.status != 404 {
        let kept = Kept {
            path: path.to_owned(),
            request: recorded.body.clone(),
            status: reply.status,
            body: reply.body.clone(),
        };
        store.kept.insert(key.to_owned(), kept);
    }
    reply
}

/// The answer that an idempotency key had before.
fn replay(kept: &Kept, path: &str, request: &[u8]) -> Reply {
    if kept.path == path && kept.request == request {
        return Reply {
            status: kept.status,
            body: kept.body.clone(),
        };
    }
    let text = "Keys for idempotent requests can only be used with the same parameters they were first used with.";
    Reply {
        status: 400,
        body: json!({ "error": { "type": "idempotency_error", "message": text } }),
    }
}

fn read(store: &Store, path: &str, query: &Form) -> Reply {
    if path == "/v1/events" {
        return events(store, query);
    }
    let found = [
        ("/v1/checkout/sessions/", &store.sessions),
        ("/v1/payment_intents/", &store.intents),
        ("/v1/refunds/", &store.refunds),
    ]
    .into_iter()
    .find_map(|(prefix, objects)| Some((path.strip_prefix(prefix)?, objects)));
    match found {
        Some((id, objects)) => match objects.get(id) {
            Some(object) => Reply::good(object.clone()),
            None => Reply::invalid(
                404,
                Some("resource_missing"),
                &format!("No such object: '{id}'"),
            ),
        },
        None => Reply::unknown_path(path),
    }
}

fn write(store: &mut Store, path: &str, form: &Form) -> Reply {
    let fields: &[&str] = match path {
        "/v1/checkout/sessions" => &CHECKOUT_FIELDS,
        "/v1/payment_intents" => &INTENT_FIELDS,
        "/v1/refunds" => &REFUND_FIELDS,
        _ => return Reply::unknown_path(path),
    };
    if let Some(strange) = form.unknown(fields) {
        let text = format!("Received unknown parameter: {strange}");
        return Reply::invalid(400, Some("parameter_unknown"), &text);
    }
    match path {
        "/v1/checkout/sessions" => create_session(store, form),
        "/v1/payment_intents" => create_intent(store, form),
        _ => create_refund(store, form),
    }
}

fn create_session(store: &mut Store, form: &Form) -> Reply {
    let price = "line_items[0][price_data]";
    let amount = form.number(&format!("{price}[unit_amount]"));
    let quantity = form.number("line_items[0][quantity]");
    let (Some(amount), Some(1)) = (amount, quantity) else {
        return Reply::missing("line_items[0][price_data][unit_amount]");
    };
    if form.text(&format!("{price}[currency]")) != Some("usd")
        || form.text(&format!("{price}[product_data][name]")).is_none()
        || form.text("mode") != Some("payment")
    {
        return Reply::missing("line_items[0][price_data][currency]");
    }
    if form.text("success_url").is_none() {
        return Reply::missing("success_url");
    }
    if amount < MIN_CENTS {
        let text = "The Checkout Session's total amount must convert to at least 50 cents.";
        return Reply::invalid(400, Some("amount_too_small"), text);
    }
    Reply::good(store.open_session(form, amount))
}

fn create_intent(store: &mut Store, form: &Form) -> Reply {
    let (Some(amount), Some("usd")) = (form.number("amount"), form.text("currency")) else {
        return Reply::missing("currency");
    };
    if amount < MIN_CENTS {
        return Reply::invalid(
            400,
            Some("amount_too_small"),
            "Amount must be at least $0.50 usd",
        );
    }
    let method = form.text("payment_method");
    let (Some(method), Some(_), Some("true")) =
        (method, form.text("customer"), form.text("confirm"))
    else {
        return Reply::missing("payment_method");
    };
    if method == DECLINED_METHOD || store.declines {
        let intent = store.fail_intent(form, amount);
        return Reply {
            status: 402,
            body: json!({ "error": {
                "type": "card_error",
                "code": "card_declined",
                "decline_code": "generic_decline",
                "message": "Your card was declined.",
                "payment_intent": intent,
            } }),
        };
    }
    let intent = store.pay_intent(form, amount);
    Reply::good(store.expanded(intent, form, "latest_charge"))
}

fn create_refund(store: &mut Store, form: &Form) -> Reply {
    let Some(intent) = form.text("payment_intent").map(str::to_owned) else {
        return Reply::missing("payment_intent");
    };
    match store.refund(&intent, form.number("amount")) {
        Ok(refund) => Reply::good(store.expanded(refund, form, "charge")),
        Err(text) => Reply::invalid(400, Some("charge_already_refunded"), text),
    }
}

/// Events, newest first.
fn events(store: &Store, query: &Form) -> Reply {
    let limit = query
        .number("limit")
        .and_then(|limit| usize::try_from(limit).ok());
    let limit = limit.unwrap_or(10).clamp(1, MAX_PAGE);
    let (from, before) = (query.number("created[gte]"), query.number("created[lt]"));
    let kinds = query.list("types");
    let after = query.text("starting_after");
    let mut is_after = after.is_none();
    let mut page = Vec::new();
    let mut has_more = false;
    for event in store.events.iter().rev() {
        if !is_after {
            is_after = event["id"].as_str() == after;
            continue;
        }
        let created = event["created"].as_i64().unwrap_or(0);
        let kind = event["type"].as_str().unwrap_or("");
        let is_in = from.is_none_or(|from| created >= from)
            && before.is_none_or(|before| created < before)
            && (kinds.is_empty() || kinds.contains(&kind));
        if !is_in {
            continue;
        }
        if page.len() == limit {
            has_more = true;
            break;
        }
        page.push(event.clone());
    }
    Reply::good(
        json!({ "object": "list", "data": page, "has_more": has_more, "url": "/v1/events" }),
    )
}

// === impl Reply ===

impl Reply {
    fn good(body: Value) -> Self {
        Self { status: 200, body }
    }

    fn invalid(status: u16, code: Option<&str>, message: &str) -> Self {
        let mut error = json!({ "type": "invalid_request_error", "message": message });
        if let Some(code) = code {
            put(&mut error, "code", json!(code));
        }
        Self {
            status,
            body: json!({ "error": error }),
        }
    }

    fn missing(param: &str) -> Self {
        let text = format!("Missing required param: {param}.");
        let mut reply = Self::invalid(400, Some("parameter_missing"), &text);
        if let Some(error) = reply.body.get_mut("error") {
            put(error, "param", json!(param));
        }
        reply
    }

    fn unknown_path(path: &str) -> Self {
        let text = format!("Unrecognized request URL ({path}).");
        Self::invalid(404, None, &text)
    }
}
