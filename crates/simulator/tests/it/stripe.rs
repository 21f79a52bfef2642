//! Stripe: every answer is one that the vendor's own description allows, and what is asked twice is done once.

use serde_json::Value;
use trunkline_simulator::Simulator;

use crate::client::{Response, ask, started};

/// Schemas of Stripe's OpenAPI description, without their texts.
const SCHEMAS: &str = include_str!("../fixtures/stripe/schemas.json");
const PAGE: &str = "mode=payment&success_url=https%3A%2F%2Fx.example%2Fdone&line_items[0][quantity]=1\
    &line_items[0][price_data][currency]=usd&line_items[0][price_data][unit_amount]=2500\
    &line_items[0][price_data][product_data][name]=Credit&metadata[a]=b\
    &payment_intent_data[metadata][a]=b&payment_intent_data[setup_future_usage]=off_session\
    &customer_creation=always";
const CHARGE: &str = "amount=1000&currency=usd&customer=cus_1&payment_method=pm_card_visa&off_session=true\
    &confirm=true&metadata[a]=c&expand[]=latest_charge";

async fn post(simulator: &Simulator, path: &str, body: &str, key: &str) -> Response {
    let head = format!(
        "authorization: Bearer sk_test_1\r\ncontent-type: application/x-www-form-urlencoded\r\n\
         idempotency-key: {key}\r\n"
    );
    ask(simulator, "POST", path, &head, body.as_bytes()).await
}

async fn get(simulator: &Simulator, path: &str) -> Response {
    ask(
        simulator,
        "GET",
        path,
        "authorization: Bearer sk_test_1\r\n",
        b"",
    )
    .await
}

/// What a value breaks of a schema, with the place of it.
fn broken(schemas: &Value, schema: &Value, value: &Value, place: &str) -> Vec<String> {
    if let Some(name) = schema["$ref"].as_str() {
        let name = name.rsplit('/').next().unwrap();
        let target = &schemas[name];
        assert!(target.is_object(), "the fixture lacks {name}, for {place}");
        return broken(schemas, target, value, place);
    }
    if value.is_null() && schema["nullable"] == true {
        return Vec::new();
    }
    if let Some(choices) = schema["anyOf"].as_array() {
        let tried: Vec<Vec<String>> = choices
            .iter()
            .filter(|choice| fits(choice, value))
            .map(|choice| broken(schemas, choice, value, place))
            .collect();
        let good = tried.iter().any(Vec::is_empty);
        return if good {
            Vec::new()
        } else {
            vec![format!("{place}: none of anyOf fits {value}: {tried:?}")]
        };
    }
    let mut wrong = Vec::new();
    let is_typed = match schema["type"].as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("integer") => value.is_i64(),
        Some("boolean") => value.is_boolean(),
        Some("number") => value.is_number(),
        Some(other) => panic!("{place}: type {other}"),
        None => true,
    };
    if !is_typed {
        return vec![format!("{place}: {value} is no {}", schema["type"])];
    }
    if let Some(words) = schema["enum"].as_array()
        && !words.contains(value)
    {
        wrong.push(format!("{place}: {value} is none of {words:?}"));
    }
    if let (Some(most), Some(text)) = (schema["maxLength"].as_u64(), value.as_str())
        && u64::try_from(text.chars().count()).unwrap() > most
    {
        wrong.push(format!("{place}: longer than {most}"));
    }
    wrong.extend(broken_parts(schemas, schema, value, place));
    wrong
}

/// The same of the fields of an object and the items of a list.
fn broken_parts(schemas: &Value, schema: &Value, value: &Value, place: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    for name in schema["required"].as_array().into_iter().flatten() {
        if value.get(name.as_str().unwrap()).is_none() {
            wrong.push(format!("{place}: lacks {name}"));
        }
    }
    for (name, part) in value.as_object().into_iter().flatten() {
        let inner = match schema["properties"].get(name) {
            Some(inner) => inner,
            None if schema["additionalProperties"].is_object() => &schema["additionalProperties"],
            // An event's object is any.
            None if schema["properties"].is_null() => continue,
            None => {
                wrong.push(format!("{place}: {name} is not described"));
                continue;
            }
        };
        wrong.extend(broken(schemas, inner, part, &format!("{place}.{name}")));
    }
    for part in value.as_array().into_iter().flatten() {
        wrong.extend(broken(
            schemas,
            &schema["items"],
            part,
            &format!("{place}[]"),
        ));
    }
    wrong
}

/// Whether a choice is worth following: the description of objects that are not in an answer is not in the fixture.
fn fits(choice: &Value, value: &Value) -> bool {
    match choice["$ref"].as_str() {
        Some(_) => value.is_object(),
        None => true,
    }
}

fn described(name: &str, value: &Value) {
    let document: Value = serde_json::from_str(SCHEMAS).unwrap();
    let schemas = &document["schemas"];
    let wrong = broken(schemas, &schemas[name], value, name);
    assert!(wrong.is_empty(), "{wrong:#?}\n{value:#}");
}

#[tokio::test]
async fn every_answer_of_stripe_is_one_that_its_description_allows() {
    let simulator = started().await;
    let stripe = simulator.stripe();
    let session = post(&simulator, "/v1/checkout/sessions", PAGE, "page").await;
    assert_eq!(session.status, 200, "{}", session.text());
    described("checkout.session", &session.json());
    let id = session.json()["id"].as_str().unwrap().to_owned();
    let intent = stripe.pay(&id).unwrap();
    let path = format!("/v1/checkout/sessions/{id}");
    let paid = get(&simulator, &path).await.json();
    described("checkout.session", &paid);
    assert_eq!(
        (&paid["payment_status"], &paid["payment_intent"]),
        (&"paid".into(), &intent.as_str().into())
    );
    described(
        "payment_intent",
        &get(&simulator, &format!("/v1/payment_intents/{intent}"))
            .await
            .json(),
    );
    let charged = post(&simulator, "/v1/payment_intents", CHARGE, "charge")
        .await
        .json();
    described("payment_intent", &charged);
    described("charge", &charged["latest_charge"]);
    let body = format!("payment_intent={intent}&amount=500&expand[]=charge");
    let refund = post(&simulator, "/v1/refunds", &body, "refund")
        .await
        .json();
    described("refund", &refund);
    assert_eq!(refund["charge"]["amount_refunded"], 500);
    let dispute = stripe.dispute(&intent, 1_000).unwrap();
    assert!(stripe.close_dispute(&dispute, true));
    let list = get(&simulator, "/v1/events?limit=100").await.json();
    let events = list["data"].as_array().unwrap();
    assert_eq!((list["has_more"].as_bool(), events.len()), (Some(false), 8));
    for event in events {
        described("event", event);
        let object = &event["data"]["object"];
        described(object["object"].as_str().unwrap(), object);
    }
}

#[tokio::test]
async fn errors_of_stripe_are_ones_that_its_description_allows() {
    let simulator = started().await;
    let declined = CHARGE.replace("pm_card_visa", "pm_card_chargeDeclined");
    for (path, body, status, code) in [
        (
            "/v1/payment_intents",
            declined.as_str(),
            402,
            "card_declined",
        ),
        (
            "/v1/payment_intents",
            "amount=1000",
            400,
            "parameter_missing",
        ),
        (
            "/v1/payment_intents",
            "temprature=1",
            400,
            "parameter_unknown",
        ),
        (
            "/v1/checkout/sessions",
            "mode=payment",
            400,
            "parameter_missing",
        ),
        (
            "/v1/refunds",
            "payment_intent=pi_none",
            400,
            "charge_already_refunded",
        ),
    ] {
        let got = post(&simulator, path, body, "").await;
        assert_eq!(got.status, status, "{path} {body}: {}", got.text());
        assert_eq!(got.json()["error"]["code"], code);
        described("error", &got.json());
    }
    let unknown = get(&simulator, "/v1/payment_intents/pi_none").await;
    assert_eq!(unknown.status, 404);
    described("error", &unknown.json());
    let stranger = ask(&simulator, "GET", "/v1/events", "", b"").await;
    assert_eq!(stranger.status, 401);
    described("error", &stranger.json());
}

#[tokio::test]
async fn stripe_does_what_is_asked_twice_under_one_key_once() {
    let simulator = started().await;
    let first = post(&simulator, "/v1/payment_intents", CHARGE, "same")
        .await
        .json();
    let replayed = post(&simulator, "/v1/payment_intents", CHARGE, "same")
        .await
        .json();
    assert_eq!(first, replayed);
    assert_eq!(simulator.stripe().intents().len(), 1);
    let other = CHARGE.replace("1000", "2000");
    let refused = post(&simulator, "/v1/payment_intents", &other, "same").await;
    assert_eq!(refused.status, 400);
    assert_eq!(refused.json()["error"]["type"], "idempotency_error");
    described("error", &refused.json());
    assert_eq!(simulator.stripe().intents().len(), 1);
}

#[tokio::test]
async fn stripe_lists_events_newest_first_and_page_by_page() {
    let simulator = started().await;
    for number in 0..4 {
        post(
            &simulator,
            "/v1/payment_intents",
            CHARGE,
            &format!("key-{number}"),
        )
        .await;
    }
    let all: Vec<Value> = simulator.stripe().events();
    let kind = "types[]=payment_intent.succeeded";
    let mut seen = Vec::new();
    let mut after = String::new();
    loop {
        let page = get(&simulator, &format!("/v1/events?limit=3&{kind}{after}"))
            .await
            .json();
        let data = page["data"].as_array().unwrap();
        seen.extend(data.iter().cloned());
        if page["has_more"] == false {
            break;
        }
        after = format!(
            "&starting_after={}",
            data.last().unwrap()["id"].as_str().unwrap()
        );
    }
    let expected: Vec<Value> = all
        .into_iter()
        .rev()
        .filter(|event| event["type"] == "payment_intent.succeeded")
        .collect();
    assert_eq!(seen, expected);
    assert_eq!(seen.len(), 4);
}
