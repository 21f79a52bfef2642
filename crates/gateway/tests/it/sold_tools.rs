//! Vendor-run tools that a record has a price for: sent, quoted, held for, and charged by the call.

use std::time::Duration;

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::client_encode::{CallParams, ClientFormat};
use crate::format_pairs::{self, FormatPair, charged, last_served, quote, row_of, unit};
use crate::nodes::nanos;
use crate::recorded_upstream::RecordedUpstream;
use crate::test_gateway::{ChannelOptions, GatewayResponse, TestGateway, TestOptions};

const LONGEST: Duration = Duration::from_secs(10);
/// What one search costs.
const SEARCH: i64 = 10_000_000;

fn record(model: &str) -> String {
    format!(
        "[models.{model}]\ngroups = [\"default\"]\nspecs = {{ max_output_tokens = 20000, context_window = 100000 }}\n\
         endpoints = [\"openai\", \"anthropic\", \"openai-response\", \"gemini\"]\n\
         [models.{model}.prices]\nbilling_unit = \"tokens\"\n\
         standard = {{ input = 2000000, output = 8000000 }}\n\
         [models.{model}.extra_prices]\n\
         tool_call = {{ web_search = 10000000000, google_search = 10000000000 }}\n"
    )
}

fn own_pair(format: ClientFormat, stream: bool) -> FormatPair {
    FormatPair {
        caller: format,
        upstream: format,
        stream,
    }
}

fn with_tool(pair: FormatPair, prompt: &str, tool: Value) -> Value {
    let mut body = pair.body(CallParams {
        prompt,
        ..CallParams::default()
    });
    body["tools"] = json!([tool]);
    body
}

async fn usage_of(harness: &TestGateway, got: &GatewayResponse) -> Value {
    let path = format!("/v1/usage/{}", got.id());
    harness.get(&path).await.json()
}

#[tokio::test]
async fn a_caller_of_a_search_tool_with_a_price_pays_its_tokens_and_each_search() {
    let harness = format_pairs::harness(TestOptions::default()).await;
    harness.sell(&record("gemini-to-responses")).await;
    let twice = "Find it [[call:web_search {}]] [[call:web_search {}]] [[tokens:20]]";
    for stream in [false, true] {
        let pair = own_pair(ClientFormat::Responses, stream);
        let body = with_tool(pair, twice, json!({ "type": "web_search" }));
        let quoted = quote(&harness, pair, &pair.model(), &body).await.json();
        let lines = quoted["lines"].as_array().unwrap();
        let line = lines
            .iter()
            .find(|line| line["tool"] == "web_search")
            .unwrap();
        let seen = (
            &line["units"],
            nanos(&line["amount_usd"]),
            &line["usd_per_call"],
        );
        assert_eq!(seen, (&json!(10), 10 * SEARCH, &json!("0.01")));
        let sum: i64 = lines.iter().map(|line| nanos(&line["amount_usd"])).sum();
        assert_eq!(nanos(&quoted["maximum_usd"]), sum, "{quoted}");
        let got = pair.call(&harness, &body).await;
        assert_eq!(got.status, 200, "{}", got.text());
        let warnings = got.header("trunkline-warnings").unwrap_or_default();
        assert!(!warnings.contains("dropped"), "{warnings}");
        let sent = last_served(&harness.simulator).await.unwrap();
        let sent: Value = serde_json::from_slice(&sent.body).unwrap();
        assert_eq!(sent["tools"][0]["type"], "web_search", "{sent}");
        harness.posted_at_rest().await;
        let row = row_of(&harness, &got).await;
        let unit = |face: &str| i64::try_from(unit(&row, face)).unwrap();
        let tokens = unit("input") * 2_000 + unit("output") * 8_000;
        assert_eq!(charged(&row), tokens + 2 * SEARCH, "{stream}");
        let receipt = usage_of(&harness, &got).await;
        assert_eq!(receipt["tool_calls"], json!({ "web_search": 2 }));
        let cost = if stream {
            got.frames().last().unwrap()["response"]["usage"].clone()
        } else {
            got.json()["usage"].clone()
        };
        let tool = &cost["cost_details"]["tools"][0];
        assert_eq!(tool["calls"], 2, "{cost}");
        assert_eq!(nanos(&tool["cost_usd"]), 2 * SEARCH);
    }
    harness.audit().await;
}

#[tokio::test]
async fn a_caller_bounds_the_searches_that_are_held_for_and_its_limit_is_never_passed() {
    let harness = format_pairs::harness(TestOptions::default()).await;
    harness.sell(&record("gemini-to-responses")).await;
    let pair = own_pair(ClientFormat::Responses, false);
    let twice = "Find it [[call:web_search {}]] [[call:web_search {}]] [[tokens:20]]";
    let mut body = with_tool(pair, twice, json!({ "type": "web_search_preview" }));
    body["max_tool_calls"] = json!(1);
    let quoted = quote(&harness, pair, &pair.model(), &body).await.json();
    let lines = quoted["lines"].as_array().unwrap();
    let line = lines
        .iter()
        .find(|line| line["tool"] == "web_search")
        .unwrap();
    assert_eq!(line["units"], 1, "{line}");
    // The upstream searches twice all the same.
    let id = quoted["id"].as_str().unwrap();
    let got = pair
        .call_with(&harness, &body, &[("trunkline-quote", id)])
        .await;
    assert_eq!(got.status, 200, "{}", got.text());
    harness.posted_at_rest().await;
    let row = row_of(&harness, &got).await;
    assert!(charged(&row) <= nanos(&quoted["maximum_usd"]));
    harness.audit().await;
}

/// One whole answer of an upstream, to a call with a tool.
async fn answered(format: ClientFormat, tool: Value, answer: Value) -> (Value, i64, Value) {
    let harness = format_pairs::shop(TestOptions::default()).await;
    let pair = own_pair(format, false);
    harness.sell(&record(&pair.model())).await;
    let upstream = RecordedUpstream::new().await;
    let options = ChannelOptions {
        provider: Some(format_pairs::provider(format)),
        ..ChannelOptions::default()
    };
    let base = format!("http://{}", upstream.address());
    let model = pair.model();
    let models = [(model.as_str(), "theirs")];
    harness
        .channel_with("played", &base, &models, options)
        .await;
    let body = with_tool(pair, "Find it", tool);
    let path = format.path(&model, false);
    let bytes = Bytes::from(body.to_string());
    let text = answer.to_string();
    let sending =
        async { GatewayResponse::read(harness.send(Method::POST, &path, bytes).await).await };
    let answering = timeout(LONGEST, upstream.answer(&text));
    let (request, got) = tokio::join!(answering, sending);
    let Ok(request) = request else {
        panic!("the gateway sent no request: {}", got.text())
    };
    assert_eq!(got.status, 200, "{}", got.text());
    harness.posted_at_rest().await;
    let row = row_of(&harness, &got).await;
    let receipt = usage_of(&harness, &got).await;
    harness.audit().await;
    (request.body, charged(&row), receipt["tool_calls"].clone())
}

#[tokio::test]
async fn searches_of_claude_and_gemini_are_charged_as_their_usage_tells() {
    let search = json!({ "type": "web_search_20250305", "name": "web_search", "max_uses": 5 });
    let answer = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "theirs",
        "content": [{ "type": "text", "text": "found" }], "stop_reason": "end_turn", "stop_sequence": null,
        "usage": { "input_tokens": 100, "output_tokens": 10, "server_tool_use": { "web_search_requests": 3 } },
    });
    let (request, paid, calls) = answered(ClientFormat::Messages, search.clone(), answer).await;
    assert_eq!(request["tools"], json!([search]));
    assert_eq!(calls, json!({ "web_search": 3 }));
    assert_eq!(paid, 100 * 2_000 + 10 * 8_000 + 3 * SEARCH);
    let answer = json!({
        "candidates": [{
            "content": { "role": "model", "parts": [{ "text": "found" }] }, "finishReason": "STOP", "index": 0,
            "groundingMetadata": { "webSearchQueries": ["one", "two"] },
        }],
        "usageMetadata": { "promptTokenCount": 100, "candidatesTokenCount": 10, "totalTokenCount": 110 },
    });
    let (request, paid, calls) =
        answered(ClientFormat::Gemini, json!({ "googleSearch": {} }), answer).await;
    assert_eq!(request["tools"], json!([{ "googleSearch": {} }]));
    assert_eq!(calls, json!({ "google_search": 2 }));
    assert_eq!(paid, 100 * 2_000 + 10 * 8_000 + 2 * SEARCH);
}

#[tokio::test]
async fn a_tool_whose_calls_no_answer_tells_is_not_sold_and_is_reported() {
    let harness = format_pairs::harness(TestOptions::default()).await;
    harness.sell(&record("gemini-to-chat")).await;
    let pair = own_pair(ClientFormat::Chat, false);
    let body = with_tool(pair, "Find it", json!({ "type": "web_search" }));
    let got = pair.call(&harness, &body).await;
    assert_eq!(got.status, 200, "{}", got.text());
    let warnings = got.header("trunkline-warnings").unwrap();
    assert!(warnings.contains("server_tool_dropped"), "{warnings}");
    harness.audit().await;
}
