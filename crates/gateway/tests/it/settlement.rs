//! What is charged where more was used than was held: what fits, to the nano-dollar, and never more than the
//! caller allowed. The rest is the operator's loss, with its reason.

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use trunkline_gateway::Settings;

use crate::keys::calls::below;
use crate::large_model::with_large;
use crate::nodes::nanos;
use crate::test_gateway::{GatewayResponse, TestGateway, ask, ask_streaming};

const PATH: &str = "/v1/chat/completions";

fn large(mut body: Value) -> Value {
    body["model"] = "sim-large".into();
    body
}

/// Reasons and sales of all losses, in nano-USD.
async fn losses(harness: &TestGateway) -> Vec<String> {
    let query = "SELECT reason || ' ' || sale FROM ledger.write_off ORDER BY request_id";
    harness.db.ask(query).await
}

/// What the units of a call cost, whatever was charged.
async fn used(harness: &TestGateway, got: &GatewayResponse, prices: (i64, i64)) -> i64 {
    let usage = harness.get(&format!("/v1/usage/{}", got.id())).await.json();
    let of = |face: &str| usage["units"][face].as_i64().unwrap_or(0);
    of("input") * prices.0 + of("output") * prices.1
}

#[tokio::test]
async fn sub_keys_with_a_cap_between_hold_and_price_pay_their_whole_cap() {
    let harness = with_large(Settings::default()).await;
    let body = large(ask_streaming("Think [[reasoning:15000]] [[tokens:60]]"));
    let mut due = Vec::new();
    for _ in 0..5 {
        let (key, _) = below(&harness, &harness.key, json!({ "cap_usd": "0.0415" })).await;
        let to = (harness.address, key.as_str());
        let bytes = Bytes::from(body.to_string());
        let answer = harness.send_as(to, Method::POST, PATH, bytes, &[]).await;
        let got = GatewayResponse::read(answer).await;
        assert!(got.text().ends_with("data: [DONE]\n\n"), "{}", got.text());
        let (outcome, charged, ..) = harness.usage(&got.id()).await;
        assert_eq!((outcome.as_str(), charged), ("complete", 41_500_000));
        due.push(used(&harness, &got, (2_500, 10_000)).await);
    }
    assert!(due.iter().all(|due| *due > 150_000_000), "{due:?}");
    let expected = due.iter().map(|due| format!("budget {}", due - 41_500_000));
    assert_eq!(losses(&harness).await, expected.collect::<Vec<_>>());
    assert_eq!(harness.posted_at_rest().await, 10_000_000_000 - 207_500_000);
    harness.audit().await;
}

#[tokio::test]
async fn a_sub_key_whose_words_pass_its_cap_pays_no_more_than_the_cap() {
    let harness = with_large(Settings::default()).await;
    let (key, _) = below(&harness, &harness.key, json!({ "cap_usd": "0.0415" })).await;
    let to = (harness.address, key.as_str());
    let body = large(ask_streaming("Go on [[tokens:15000]]"));
    let bytes = Bytes::from(body.to_string());
    let answer = harness.send_as(to, Method::POST, PATH, bytes, &[]).await;
    let got = GatewayResponse::read(answer).await;
    let (outcome, charged, ..) = harness.usage(&got.id()).await;
    assert_eq!(outcome, "balance_exhausted");
    let due = used(&harness, &got, (2_500, 10_000)).await.min(41_500_000);
    assert!(charged > 0 && charged <= 41_500_000, "{charged} of {due}");
    harness.audit().await;
}

#[tokio::test]
async fn a_lying_upstream_takes_the_whole_wallet_and_not_a_nano_dollar_more() {
    for stream in [false, true] {
        let harness = TestGateway::with(Settings::default(), 5_000_000_000, 0).await;
        let mut body = ask("Short [[tokens:5]] [[fault:lying_usage:4000000000]]");
        body["stream"] = stream.into();
        body["max_tokens"] = 10.into();
        let got = harness.chat(&body).await;
        assert_eq!(got.status, 200, "{}", got.text());
        let (_, charged, ..) = harness.usage(&got.id()).await;
        assert_eq!(charged, 5_000_000_000, "stream: {stream}");
        assert_eq!(harness.posted_at_rest().await, 0);
        let due = used(&harness, &got, (2_000, 8_000)).await;
        let expected = format!("overrun {}", due - charged);
        assert_eq!(losses(&harness).await, [expected]);
        harness.audit().await;
    }
}

#[tokio::test]
async fn a_callers_limit_is_never_passed_by_a_charge() {
    for stream in [false, true] {
        let harness = TestGateway::new().await;
        let mut body = ask("Short [[tokens:5]] [[fault:lying_usage:200]]");
        body["stream"] = stream.into();
        body["max_tokens"] = 10.into();
        let limit = [("trunkline-max-cost-usd", "0.002")];
        let got = harness.chat_with(&body, &limit).await;
        assert_eq!(got.status, 200, "{}", got.text());
        let (_, charged, ..) = harness.usage(&got.id()).await;
        assert_eq!(charged, 2_000_000, "stream: {stream}");
        let due = used(&harness, &got, (2_000, 8_000)).await;
        let expected = format!("max_cost {}", due - charged);
        assert_eq!(losses(&harness).await, [expected]);
        assert_eq!(harness.posted_at_rest().await, 10_000_000_000 - charged);
        harness.audit().await;
    }
}

#[tokio::test]
async fn a_quotes_maximum_is_never_passed_by_a_charge() {
    let harness = TestGateway::new().await;
    let mut body = ask("Short [[tokens:5]] [[fault:lying_usage:200]]");
    body["max_tokens"] = 10.into();
    let quote = harness.quote(&body).await.json();
    let id = quote["id"].as_str().unwrap();
    let got = harness.chat_with(&body, &[("trunkline-quote", id)]).await;
    assert_eq!(got.status, 200, "{}", got.text());
    let (_, charged, ..) = harness.usage(&got.id()).await;
    assert_eq!(charged, nanos(&quote["maximum_usd"]));
    let due = used(&harness, &got, (2_000, 8_000)).await;
    let expected = format!("quote_maximum {}", due - charged);
    assert_eq!(losses(&harness).await, [expected]);
    harness.audit().await;
}

#[tokio::test]
async fn an_operator_sees_losses_by_account_model_channel_and_reason() {
    let harness = TestGateway::with(Settings::default(), 1_000_000, 0).await;
    let mut body = ask("Short [[tokens:5]] [[fault:lying_usage:1000]]");
    body["max_tokens"] = 10.into();
    let got = harness.chat(&body).await;
    let due = used(&harness, &got, (2_000, 8_000)).await;
    let query = "SELECT l.account_id || ' ' || l.model || ' ' || c.name || ' ' || l.reason || ' ' || l.calls || ' ' || l.sale \
                 FROM ledger.loss_day AS l JOIN app.channel AS c ON c.id = l.channel_id";
    let account = harness.account.number();
    let expected = format!("{account} sim-fast first overrun 1 {}", due - 1_000_000);
    assert_eq!(harness.db.ask(query).await, [expected]);
    harness.audit().await;
}
