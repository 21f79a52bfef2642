//! Vendor-run tools that a record has a price for: sent, quoted, held for, and charged by the call.

use serde_json::{Value, json};

use crate::client_encode::{CallParams, ClientFormat};
use crate::format_pairs::{self, FormatPair, charged, last_served, quote, row_of, unit};
use crate::nodes::nanos;
use crate::test_gateway::{GatewayResponse, TestGateway, TestOptions};

/// What one search costs.
const SEARCH: i64 = 10_000_000;

fn record(model: &str) -> String {
    format!(
        "[models.{model}]\ngroups = [\"default\"]\nspecs = {{ max_output_tokens = 2000, context_window = 100000 }}\n\
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
