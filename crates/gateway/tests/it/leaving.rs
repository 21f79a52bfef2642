//! Clients that leave a stream: what was thought unseen is not free, and leaving costs no more than staying.

use std::time::Duration;

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use trunkline_gateway::Settings;
use trunkline_ledger::usage::{self, UsageRow};
use trunkline_types::{Money, RequestId};
use trunkline_upstream::UpstreamResponse;

use crate::client_encode::{CallParams, ClientFormat};
use crate::format_pairs::{self, FormatPair, charged, price, unit};
use crate::large_model::with_large;
use crate::test_gateway::{GatewayResponse, TestGateway, TestOptions, account};

const PATH: &str = "/v1/chat/completions";

fn streamed(model: &str, prompt: &str) -> Value {
    let messages = json!([{ "role": "user", "content": prompt }]);
    json!({ "model": model, "stream": true, "messages": messages })
}

/// The row of a call that is over.
async fn row(harness: &TestGateway, id: &str) -> UsageRow {
    harness.posted_at_rest().await;
    let request: RequestId = id.parse().unwrap();
    let found = usage::find(&harness.data, harness.account, request).await;
    found.unwrap().expect("the call is over")
}

async fn begin(harness: &TestGateway, body: &Value) -> (UpstreamResponse, String) {
    let bytes = Bytes::from(body.to_string());
    let answer = harness.send(Method::POST, PATH, bytes).await;
    assert_eq!(answer.status, 200);
    let id = answer.headers["x-request-id"].to_str().unwrap().to_owned();
    (answer, id)
}

/// Reads until some words have come, then leaves.
async fn leave_at(harness: &TestGateway, body: &Value, words: &str) -> UsageRow {
    leave_as(harness, &harness.key, body, words).await
}

async fn leave_as(harness: &TestGateway, key: &str, body: &Value, words: &str) -> UsageRow {
    let bytes = Bytes::from(body.to_string());
    let to = (harness.address, key);
    let mut answer = harness.send_as(to, Method::POST, PATH, bytes, &[]).await;
    assert_eq!(answer.status, 200);
    let id = answer.headers["x-request-id"].to_str().unwrap().to_owned();
    let mut text = String::new();
    while !text.contains(words) {
        let piece = answer.piece().await.unwrap().unwrap();
        text.push_str(std::str::from_utf8(&piece).unwrap());
    }
    drop(answer);
    row(harness, &id).await
}

// covers: D-2-45, D-2-46, D-2-47
#[tokio::test]
async fn a_client_that_leaves_at_the_first_words_pays_for_what_was_thought_unseen() {
    let harness = with_large(Settings::default()).await;
    let body = streamed(
        "sim-large",
        "Think [[reasoning:15000]] [[tokens:60]] [[pace:20]]",
    );
    let left = leave_at(&harness, &body, "sim1 ").await;
    assert_eq!(
        (left.outcome.as_str(), left.estimated),
        ("client_gone", false)
    );
    let truth = harness.simulator.requests().pop().unwrap();
    assert_eq!(truth.completion_tokens, 15_060);
    assert_eq!(unit(&left, "output"), 15_060);
    let (answer, id) = begin(&harness, &body).await;
    GatewayResponse::read(answer).await;
    let stayed = row(&harness, &id).await;
    assert_eq!(charged(&left), charged(&stayed));
    assert!(charged(&left) > 150_000_000);
    harness.audit().await;
}

// covers: D-2-45, D-2-48
#[tokio::test]
async fn a_client_that_leaves_a_long_thought_pays_an_estimate_within_the_hold() {
    let settings = Settings {
        read_on: Duration::from_millis(300),
        ..Settings::default()
    };
    let harness = with_large(settings).await;
    let body = streamed(
        "sim-large",
        "Think [[reasoning:9]] [[tokens:400]] [[pace:20]]",
    );
    let left = leave_at(&harness, &body, "sim1 ").await;
    assert_eq!(
        (left.outcome.as_str(), left.estimated),
        ("client_gone", true)
    );
    let output = unit(&left, "output");
    let truth = harness.simulator.requests().pop().unwrap();
    assert!(truth.client_left && truth.completion_tokens < 409);
    assert!((1..=truth.completion_tokens).contains(&output), "{output}");
    harness.audit().await;
}

/// The channel's median speed would make tens of thousands of tokens of the time.
// covers: D-2-46
#[tokio::test]
async fn a_client_that_leaves_an_upstream_slower_than_it_was_pays_no_more_than_staying() {
    let settings = Settings {
        read_on: Duration::from_millis(300),
        ..Settings::default()
    };
    let harness = with_large(settings).await;
    let fast = streamed("sim-large", "Think [[reasoning:15000]] [[tokens:9]]");
    for _ in 0..3 {
        let (answer, _) = begin(&harness, &fast).await;
        GatewayResponse::read(answer).await;
    }
    let slow = streamed(
        "sim-large",
        "Think [[reasoning:9]] [[tokens:40]] [[pace:40]]",
    );
    let left = leave_at(&harness, &slow, "sim1 ").await;
    assert_eq!(
        (left.outcome.as_str(), left.estimated),
        ("client_gone", true)
    );
    let truth = harness.simulator.requests().pop().unwrap();
    assert!(truth.client_left);
    assert!(unit(&left, "output") <= truth.completion_tokens);
    let (answer, id) = begin(&harness, &slow).await;
    GatewayResponse::read(answer).await;
    let stayed = row(&harness, &id).await;
    assert!(charged(&left) < charged(&stayed), "{left:?} {stayed:?}");
    harness.audit().await;
}

/// Claude tells its input at once, so that its thoughts alone are untold.
#[tokio::test]
async fn a_client_that_leaves_untold_thoughts_above_the_operators_limit_pays_as_if_it_had_stayed() {
    let settings = Settings {
        read_on: Duration::from_millis(100),
        cancelled_input_usd: Money::ZERO,
        ..Settings::default()
    };
    let harness = format_pairs::harness(TestOptions {
        settings,
        ..TestOptions::default()
    })
    .await;
    let pair = FormatPair {
        caller: ClientFormat::Chat,
        upstream: ClientFormat::Messages,
        stream: true,
    };
    let params = CallParams {
        prompt: "Think [[reasoning:900]] [[tokens:60]] [[pace:20]]",
        ..CallParams::default()
    };
    let (got, _) = pair.ask(&harness, params).await.unwrap();
    let stayed = format_pairs::row_of(&harness, &got).await;
    let left = leave_at(&harness, &pair.body(params), "sim3").await;
    assert_eq!(
        (left.outcome.as_str(), left.estimated),
        ("client_gone", false)
    );
    assert_eq!(charged(&left), charged(&stayed));
    harness.audit().await;
}

// covers: D-2-45
#[tokio::test]
async fn a_model_that_shows_its_work_is_cancelled_at_once() {
    let harness = with_large(Settings::default()).await;
    let body = streamed("sim-plain", "Go on [[tokens:5000]] [[pace:5]]");
    let began = std::time::Instant::now();
    let left = leave_at(&harness, &body, "sim20 ").await;
    assert!(began.elapsed() < Duration::from_secs(5));
    assert_eq!(left.outcome, "client_gone");
    let truth = harness.simulator.requests().pop().unwrap();
    assert!(truth.client_left && truth.completion_tokens < 5_000);
    let output = unit(&left, "output");
    assert!((20..=truth.completion_tokens).contains(&output), "{output}");
    harness.audit().await;
}

#[tokio::test]
async fn a_model_that_reported_thoughts_once_is_read_on_though_its_record_is_silent() {
    let harness = with_large(Settings::default()).await;
    let body = streamed(
        "sim-plain",
        "Think [[reasoning:900]] [[tokens:30]] [[pace:20]]",
    );
    let (answer, _) = begin(&harness, &body).await;
    GatewayResponse::read(answer).await;
    let left = leave_at(&harness, &body, "sim1 ").await;
    assert_eq!((unit(&left, "output"), left.estimated), (930, false));
    harness.audit().await;
}

/// A key below another, made by it.
async fn key_below(harness: &TestGateway, key: &str, params: &Value) -> String {
    let bytes = Bytes::from(params.to_string());
    let to = (harness.address, key);
    let sent = harness.send_as(to, Method::POST, "/v1/keys", bytes, &[]);
    let got = GatewayResponse::read(sent.await).await;
    assert_eq!(got.status, 201, "{}", got.text());
    got.json()["key"].as_str().unwrap().to_owned()
}

// covers: D-2-45
#[tokio::test]
async fn a_key_that_wants_its_streams_finished_pays_for_one_that_is_left_as_if_it_had_stayed() {
    let harness = with_large(Settings::default()).await;
    let finish = json!({ "name": "finishes", "on_disconnect": "finish" });
    let finishing = key_below(&harness, &harness.key, &finish).await;
    let below = key_below(&harness, &finishing, &json!({ "name": "says nothing" })).await;
    let cancel = json!({ "name": "cancels", "on_disconnect": "cancel" });
    let cancelling = key_below(&harness, &finishing, &cancel).await;
    let body = streamed("sim-plain", "Go on [[tokens:120]] [[pace:5]]");
    let (answer, id) = begin(&harness, &body).await;
    GatewayResponse::read(answer).await;
    let stayed = row(&harness, &id).await;
    for key in [&finishing, &below] {
        let left = leave_as(&harness, key, &body, "sim3 ").await;
        let ended = (left.outcome.as_str(), left.estimated);
        assert_eq!(ended, ("complete", false));
        assert_eq!(unit(&left, "output"), 120);
        assert_eq!(charged(&left), charged(&stayed));
        let truth = harness.simulator.requests().pop().unwrap();
        assert!(!truth.client_left);
    }
    let left = leave_as(&harness, &cancelling, &body, "sim3 ").await;
    assert_eq!(left.outcome, "client_gone");
    assert!(charged(&left) < charged(&stayed));
    let wrong = json!({ "name": "x", "on_disconnect": "stay" }).to_string();
    let to = (harness.address, harness.key.as_str());
    let sent = harness.send_as(to, Method::POST, "/v1/keys", Bytes::from(wrong), &[]);
    let got = GatewayResponse::read(sent.await).await;
    assert_eq!(
        (got.status.as_u16(), &got.json()["error"]["param"]),
        (400, &json!("on_disconnect"))
    );
    harness.audit().await;
}

/// OpenAI-style streams tell their input at the end only.
#[tokio::test]
async fn a_client_that_leaves_untold_input_above_the_operators_limit_pays_as_if_it_had_stayed() {
    let settings = Settings {
        cancelled_input_usd: Money::from_nanos(3_000_000),
        ..Settings::default()
    };
    let harness = with_large(settings).await;
    let prompt = format!("{} [[tokens:120]] [[pace:5]]", "x".repeat(4_000));
    let body = streamed("sim-plain", &prompt);
    let (answer, id) = begin(&harness, &body).await;
    GatewayResponse::read(answer).await;
    let stayed = row(&harness, &id).await;
    let first = leave_at(&harness, &body, "sim3 ").await;
    assert_eq!(
        (first.outcome.as_str(), first.estimated),
        ("client_gone", true)
    );
    assert!(
        unit(&first, "cache_read") > 0,
        "as if it had been in a cache"
    );
    assert!(harness.simulator.requests().pop().unwrap().client_left);
    for _ in 0..2 {
        let left = leave_at(&harness, &body, "sim3 ").await;
        assert_eq!(
            (left.outcome.as_str(), left.estimated),
            ("client_gone", false)
        );
        assert_eq!(charged(&left), charged(&stayed));
    }
    harness.audit().await;
}

/// Claude tells its input, with what a cache had, before its first word.
#[tokio::test]
async fn a_client_that_leaves_a_cached_stream_pays_cache_prices() {
    let harness = format_pairs::harness(TestOptions::default()).await;
    let prompt = format!(
        "{} [[cached:900]] [[written_5m:40]] [[tokens:60]] [[pace:20]]",
        "word ".repeat(1_000)
    );
    for caller in ClientFormat::ALL {
        let pair = FormatPair {
            caller,
            upstream: ClientFormat::Messages,
            stream: true,
        };
        let params = CallParams {
            prompt: &prompt,
            ..CallParams::default()
        };
        let body = pair.body(params);
        let bytes = Bytes::from(body.to_string());
        let path = caller.path(&pair.model(), true);
        let mut answer = harness.send(Method::POST, &path, bytes).await;
        let id = answer.headers["x-request-id"].to_str().unwrap().to_owned();
        let mut text = String::new();
        while !text.contains("sim3") {
            let piece = answer.piece().await.unwrap().unwrap();
            text.push_str(std::str::from_utf8(&piece).unwrap());
        }
        drop(answer);
        let left = row(&harness, &id).await;
        assert_eq!(left.outcome, "client_gone", "{pair}");
        let faces = ["cache_read", "cache_write"].map(|face| unit(&left, face));
        assert_eq!(faces, [900, 40], "{pair}");
        assert_eq!(charged(&left), price(&left), "{pair}");
        let (got, _) = pair.ask(&harness, params).await.unwrap();
        let stayed = format_pairs::row_of(&harness, &got).await;
        assert_eq!(unit(&stayed, "input"), unit(&left, "input"), "{pair}");
        assert!(charged(&left) < charged(&stayed), "{pair}");
    }
    harness.audit().await;
}

// covers: D-2-49
#[tokio::test]
async fn a_stream_that_runs_out_of_money_pays_cache_prices_for_cached_input() {
    let settings = Settings {
        tranche_tokens: 40,
        ..Settings::default()
    };
    let harness = format_pairs::harness(TestOptions {
        settings,
        ..TestOptions::default()
    })
    .await;
    let poor = account(&harness.console, 16_000_000, 0).await;
    let key = harness.key_of(poor, Default::default()).await;
    let pair = FormatPair {
        caller: ClientFormat::Messages,
        upstream: ClientFormat::Messages,
        stream: true,
    };
    let prompt = format!(
        "{} [[cached:900]] [[tokens:5000]] [[pace:1]]",
        "word ".repeat(1_000)
    );
    let body = pair.body(CallParams {
        prompt: &prompt,
        most: Some(5_000),
        ..CallParams::default()
    });
    let to = (harness.address, key.as_str());
    let path = pair.caller.path(&pair.model(), true);
    let bytes = Bytes::from(body.to_string());
    let got = harness.send_as(to, Method::POST, &path, bytes, &[]).await;
    let got = GatewayResponse::read(got).await;
    let request: RequestId = got.id().parse().unwrap();
    let row = usage::find(&harness.data, poor, request).await.unwrap();
    let row = row.expect("the call is over");
    assert_eq!(row.outcome, "balance_exhausted", "{}", got.text());
    assert_eq!(unit(&row, "cache_read"), 900);
    assert_eq!(charged(&row), price(&row).min(16_000_000));
    harness.audit().await;
}

/// A stream whose wallet runs out, of an upstream that tells its input at the end only.
async fn exhausted(cancelled_input_usd: Money) -> (UsageRow, i64) {
    let settings = Settings {
        tranche_tokens: 40,
        cancelled_input_usd,
        ..Settings::default()
    };
    let harness = with_large(settings).await;
    let poor = account(&harness.console, 16_000_000, 0).await;
    let key = harness.key_of(poor, Default::default()).await;
    let prompt = format!("{} [[tokens:5000]] [[pace:1]]", "x".repeat(4_000));
    let bytes = Bytes::from(streamed("sim-plain", &prompt).to_string());
    let to = (harness.address, key.as_str());
    let got = harness.send_as(to, Method::POST, PATH, bytes, &[]).await;
    let got = GatewayResponse::read(got).await;
    let request: RequestId = got.id().parse().unwrap();
    let row = usage::find(&harness.data, poor, request).await.unwrap();
    let row = row.expect("the call is over");
    assert_eq!(
        (row.outcome.as_str(), row.estimated),
        ("balance_exhausted", true)
    );
    harness.audit().await;
    let charged = charged(&row);
    (row, charged)
}

/// Keys with small caps would buy long prompts at the price of cache reads.
#[tokio::test]
async fn a_stream_that_runs_out_of_money_above_the_operators_limit_pays_a_fair_guess() {
    let (borne, little) = exhausted(Settings::default().cancelled_input_usd).await;
    assert!(unit(&borne, "cache_read") > 0, "in the caller's favour");
    let (fair, more) = exhausted(Money::ZERO).await;
    assert_eq!(unit(&fair, "cache_read"), 0);
    assert!(unit(&fair, "input") >= 1_000, "{fair:?}");
    assert!(little < more && more <= 16_000_000, "{little} {more}");
}
