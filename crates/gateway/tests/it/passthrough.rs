//! Endpoints that are relayed without translation: vectors, order, harm, completions of a prompt.

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};

use crate::test_gateway::{GatewayResponse, TestGateway};

const CATALOG: &str = r#"
[models.vectors]
groups = ["default"]
tasks = ["embeddings"]
[models.vectors.prices]
billing_unit = "tokens"
standard = { input = 2000000, output = 0 }

[models.orders]
groups = ["default"]
tasks = ["rerank"]
[models.orders.prices]
billing_unit = "tokens"
standard = { input = 2000000, output = 0 }

[models.watches]
groups = ["default"]
tasks = ["moderation"]
[models.watches.prices]
billing_unit = "tokens"
standard = { input = 2000000, output = 0 }
"#;

async fn harness() -> TestGateway {
    let harness = TestGateway::new().await;
    harness.sell(CATALOG).await;
    let base = harness.simulator.base_url();
    let models = [
        ("vectors", "sim-fast"),
        ("orders", "sim-fast"),
        ("watches", "sim-fast"),
    ];
    harness.channel("small", &base, 10, &models).await;
    harness
}

async fn post(harness: &TestGateway, path: &str, body: &Value) -> GatewayResponse {
    let bytes = Bytes::from(body.to_string());
    GatewayResponse::read(harness.send(Method::POST, path, bytes).await).await
}

#[tokio::test]
async fn vectors_order_and_harm_are_relayed_and_charged_by_what_was_read() {
    let harness = harness().await;
    for (path, body, list) in [
        (
            "/v1/embeddings",
            json!({ "model": "vectors", "input": ["one", "two words"] }),
            "data",
        ),
        (
            "/v1/rerank",
            json!({ "model": "orders", "query": "which", "documents": ["this one", "that"] }),
            "results",
        ),
        (
            "/v1/moderations",
            json!({ "model": "watches", "input": "a kind word" }),
            "results",
        ),
    ] {
        let got = post(&harness, path, &body).await;
        assert_eq!(got.status, 200, "{path}: {}", got.text());
        assert!(got.json()[list].is_array(), "{path}: {}", got.text());
        let (outcome, charged, _, estimated) = harness.usage(&got.id()).await;
        assert_eq!(outcome, "complete", "{path}");
        let reported = harness.simulator.requests().last().unwrap().told_usage;
        match reported {
            Some((input, _)) => {
                let due = i64::try_from(input * 2_000).unwrap();
                assert_eq!((charged, estimated), (due, false), "{path}");
            }
            None => assert!(
                estimated && charged > 0,
                "{path}: no usage was reported, so it is counted"
            ),
        }
        let header = got.header("trunkline-cost-usd").unwrap();
        let row = harness.get(&format!("/v1/usage/{}", got.id())).await;
        assert!(
            row.text().contains(&header),
            "{path}: {header} {}",
            row.text()
        );
    }
    harness.audit().await;
}

#[tokio::test]
async fn a_prompt_is_completed_whole_and_in_pieces_and_both_cost_what_was_used() {
    let harness = harness().await;
    for stream in [false, true] {
        let body = json!({
            "model": "sim-fast",
            "prompt": "Once upon [[tokens:5]]",
            "max_tokens": 20,
            "stream": stream,
        });
        let got = post(&harness, "/v1/completions", &body).await;
        assert_eq!(got.status, 200, "{}", got.text());
        if stream {
            assert!(got.text().contains("data: [DONE]"), "{}", got.text());
            assert!(
                got.text().contains(": trunkline-cost-usd="),
                "{}",
                got.text()
            );
        } else {
            assert!(got.json()["choices"][0]["text"].is_string());
        }
        let (_, charged, _, estimated) = harness.usage(&got.id()).await;
        let served = harness.simulator.requests();
        let (input, output) = served.last().unwrap().told_usage.unwrap();
        let due = i64::try_from(input * 2_000 + output * 8_000).unwrap();
        assert_eq!((charged, estimated), (due, false), "stream: {stream}");
    }
    harness.audit().await;
}

// covers: D-7-MON-13
#[tokio::test]
async fn a_model_for_embeddings_rerank_or_moderation_takes_no_conversation() {
    let harness = harness().await;
    let before = harness.wallets().await;
    let messages = json!([{ "role": "user", "content": "Hi" }]);
    for model in ["vectors", "orders", "watches"] {
        for path in ["/v1/chat/completions", "/v1/messages", "/v1/responses"] {
            let body =
                json!({ "model": model, "max_tokens": 9, "messages": messages, "input": "Hi" });
            let got = post(&harness, path, &body).await;
            let code = match path {
                "/v1/messages" => got.json()["error"]["code"].clone(),
                _ => json!(got.code()),
            };
            assert_eq!(
                (got.status.as_u16(), code),
                (400, json!("endpoint_not_supported")),
                "{model} {path}"
            );
        }
    }
    assert!(harness.simulator.requests().is_empty(), "nothing was sent");
    assert_eq!(harness.wallets().await, before);
}

#[tokio::test]
async fn a_model_for_talk_makes_no_vectors_and_a_missing_field_is_named() {
    let harness = harness().await;
    let wrong = json!({ "model": "sim-fast", "input": "x" });
    let got = post(&harness, "/v1/embeddings", &wrong).await;
    assert_eq!(
        (got.status.as_u16(), got.code().as_str()),
        (400, "endpoint_not_supported")
    );
    for (path, model, field) in [
        ("/v1/embeddings", "vectors", "input"),
        ("/v1/rerank", "orders", "query"),
        ("/v1/moderations", "watches", "input"),
        ("/v1/completions", "sim-fast", "prompt"),
    ] {
        let got = post(&harness, path, &json!({ "model": model })).await;
        assert_eq!(got.status, 400, "{path}");
        assert_eq!(got.json()["error"]["param"], field, "{path}");
    }
    let many = json!({ "model": "sim-fast", "prompt": "x", "best_of": 3 });
    let got = post(&harness, "/v1/completions", &many).await;
    assert_eq!(got.json()["error"]["param"], "best_of");
    assert!(harness.simulator.requests().is_empty(), "nothing was sent");
}
