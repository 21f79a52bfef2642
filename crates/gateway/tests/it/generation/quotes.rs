//! The price before the call, and what becomes of the fields.

use serde_json::{Value, json};

use crate::generation::form::{Form, wav};
use crate::generation::harness::{CHARACTER, PICTURE};
use crate::test_gateway::TestGateway;

async fn quoted(harness: &TestGateway, endpoint: &str, body: Value) -> Value {
    let ask = json!({ "endpoint": endpoint, "body": body });
    let got = harness.post("/v1/quotes", &ask).await;
    assert_eq!(got.status.as_u16(), 200, "{}", got.text());
    let quote = got.json();
    let lines = quote["lines"].as_array().unwrap().iter();
    let parts: i64 = lines.clone().map(|line| nanos(&line["amount_usd"])).sum();
    assert_eq!(parts, nanos(&quote["price_usd"]), "{quote:#}");
    let units: u64 = lines.map(|line| line["units"].as_u64().unwrap()).sum();
    assert!(units > 0 && quote["units_billed"] == units, "{quote:#}");
    quote
}

fn nanos(usd: &Value) -> i64 {
    let money: trunkline_types::Money = usd.as_str().unwrap().parse().unwrap();
    money.nanos()
}

#[tokio::test]
async fn a_quote_is_exact_and_locked_for_every_endpoint() {
    let harness = TestGateway::generation().await;
    let body = json!({ "model": "brush", "prompt": "a cat", "n": 3 });
    let quote = quoted(&harness, "images/generations", body.clone()).await;
    assert_eq!(
        (&quote["exact"], nanos(&quote["price_usd"])),
        (&json!(true), PICTURE * 3)
    );
    assert_eq!(quote["units_billed"], 3);
    let kept = [("trunkline-quote", quote["id"].as_str().unwrap())];
    let got = harness
        .post_with("/v1/images/generations", &body, &kept)
        .await;
    assert_eq!(got.status.as_u16(), 200, "{}", got.text());
    let other = json!({ "model": "brush", "prompt": "a dog", "n": 3 });
    let got = harness
        .post_with("/v1/images/generations", &other, &kept)
        .await;
    assert_eq!(
        (got.status.as_u16(), got.code()),
        (409, "quote_mismatch".to_owned())
    );
    let body = json!({ "model": "voice", "input": "Hello.", "voice": "alloy" });
    let quote = quoted(&harness, "/v1/audio/speech", body.clone()).await;
    assert_eq!(nanos(&quote["price_usd"]), CHARACTER * 6);
    assert_eq!(quote["defaults"]["response_format"], "mp3");
    let kept = [("trunkline-quote", quote["id"].as_str().unwrap())];
    let got = harness.post_with("/v1/audio/speech", &body, &kept).await;
    assert_eq!(got.status.as_u16(), 200);
    let body = json!({ "model": "ears", "language": "en", "file": { "seconds": 3 } });
    let quote = quoted(&harness, "audio/transcriptions", body).await;
    assert_eq!(nanos(&quote["price_usd"]), 300_000);
    let line = &quote["lines"][0];
    assert_eq!((&line["units"], &line["tokens"]), (&json!(3), &json!(50)));
    let kept = [("trunkline-quote", quote["id"].as_str().unwrap())];
    let form = |samples| {
        Form::default()
            .text("model", "ears")
            .text("language", "en")
            .file("file", "a.wav", "audio/wav", &wav(samples))
    };
    let path = "/v1/audio/transcriptions";
    let got = form(16_800).send_with(&harness, path, &kept).await;
    assert_eq!(got.status.as_u16(), 200, "{}", got.text());
    let got = form(26_800).send_with(&harness, path, &kept).await;
    assert_eq!(
        got.code(),
        "quote_mismatch",
        "another length has another price"
    );
    assert_eq!(harness.spent().await, PICTURE * 3 + CHARACTER * 6 + 300_000);
    harness.audit().await;
}

#[tokio::test]
async fn fields_that_do_nothing_are_told_and_refused_in_strict_mode() {
    let harness = TestGateway::generation().await;
    // MiniMax is told no quality.
    let body = json!({ "model": "mini-brush", "prompt": "a cat", "quality": "high" });
    let quote = quoted(&harness, "images", body.clone()).await;
    let fields = quote["fields"].as_array().unwrap();
    let quality = fields
        .iter()
        .find(|field| field["field"] == "quality")
        .unwrap();
    assert_eq!(quality["fate"], "ignored", "{quality}");
    let got = harness.post("/v1/images/generations", &body).await;
    assert_eq!(got.status.as_u16(), 200, "{}", got.text());
    assert!(got.header("trunkline-warnings").is_some());
    let spent = harness.spent().await;
    let strict = [("trunkline-strict", "true")];
    let got = harness
        .post_with("/v1/images/generations", &body, &strict)
        .await;
    assert_eq!(got.status.as_u16(), 400, "{}", got.text());
    assert_eq!(got.json()["error"]["param"], "quality");
    assert_eq!(harness.spent().await, spent);
}

#[tokio::test]
async fn a_callers_own_limit_holds_on_every_endpoint() {
    let harness = TestGateway::generation().await;
    let limit = [("trunkline-max-cost-usd", "0.0000001")];
    let body = json!({ "model": "brush", "prompt": "a cat" });
    let got = harness
        .post_with("/v1/images/generations", &body, &limit)
        .await;
    assert_eq!(
        (got.status.as_u16(), got.code()),
        (402, "max_cost_exceeded".to_owned())
    );
    let body = json!({ "model": "voice", "input": "Hello.", "voice": "alloy" });
    let got = harness.post_with("/v1/audio/speech", &body, &limit).await;
    assert_eq!(got.code(), "max_cost_exceeded");
    let form = Form::default()
        .text("model", "ears")
        .file("file", "a.wav", "audio/wav", &wav(9));
    let got = form
        .send_with(&harness, "/v1/audio/transcriptions", &limit)
        .await;
    assert_eq!(got.code(), "max_cost_exceeded");
    assert_eq!(harness.spent().await, 0);
}
