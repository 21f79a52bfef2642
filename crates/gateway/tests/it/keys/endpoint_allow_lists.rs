//! Every endpoint and every allow-list: which applies where.

use http::Method;
use serde_json::{Value, json};
use trunkline_db::revision;
use trunkline_store::{PolicyFields, channels};

use crate::keys::calls::{call, chat, fine, is, no};
use crate::test_gateway::TestGateway;

struct At {
    word: &'static str,
    method: Method,
    path: &'static str,
    body: Value,
}

fn at(word: &'static str, method: Method, path: &'static str, body: Value) -> At {
    At {
        word,
        method,
        path,
        body,
    }
}

/// Every endpoint of the paths that a name allows, with a body that gets as far as the list.
fn endpoints() -> Vec<At> {
    let (post, get) = (Method::POST, Method::GET);
    let model = json!({ "model": "sim-fast" });
    let video = json!({ "model": "sim-fast", "prompt": "a cat" });
    let speech = json!({ "model": "sim-fast", "input": "Hello", "voice": "v" });
    let quote = |endpoint: &str, body: &Value| json!({ "endpoint": endpoint, "body": body });
    vec![
        at("chat", post.clone(), "/v1/chat/completions", model.clone()),
        at("messages", post.clone(), "/v1/messages", model.clone()),
        at(
            "messages",
            post.clone(),
            "/v1/messages/count_tokens",
            model.clone(),
        ),
        at("responses", post.clone(), "/v1/responses", model.clone()),
        at(
            "responses",
            get.clone(),
            "/v1/responses/resp_x",
            Value::Null,
        ),
        at(
            "responses",
            Method::DELETE,
            "/v1/responses/resp_x",
            Value::Null,
        ),
        at(
            "responses",
            get.clone(),
            "/v1/responses/resp_x/input_items",
            Value::Null,
        ),
        at(
            "responses",
            post.clone(),
            "/v1/responses/resp_x/cancel",
            Value::Null,
        ),
        at(
            "gemini",
            post.clone(),
            "/v1beta/models/sim-fast:generateContent",
            json!({}),
        ),
        at(
            "gemini",
            post.clone(),
            "/v1beta/models/sim-fast:streamGenerateContent",
            json!({}),
        ),
        at(
            "gemini",
            post.clone(),
            "/v1beta/models/sim-fast:countTokens",
            json!({}),
        ),
        at(
            "gemini",
            post.clone(),
            "/v1/models/sim-fast:generateContent",
            json!({}),
        ),
        at("embeddings", post.clone(), "/v1/embeddings", model.clone()),
        at("rerank", post.clone(), "/v1/rerank", model.clone()),
        at(
            "moderations",
            post.clone(),
            "/v1/moderations",
            model.clone(),
        ),
        at(
            "completions",
            post.clone(),
            "/v1/completions",
            model.clone(),
        ),
        at("chat", post.clone(), "/v1/quotes", quote("chat", &model)),
        at(
            "videos",
            post.clone(),
            "/v1/quotes",
            quote("videos", &video),
        ),
        at(
            "images",
            post.clone(),
            "/v1/quotes",
            quote("images", &video),
        ),
        at(
            "speech",
            post.clone(),
            "/v1/quotes",
            quote("speech", &speech),
        ),
        at("videos", post.clone(), "/v1/videos", video.clone()),
        at(
            "videos",
            post.clone(),
            "/v1/video/generations",
            video.clone(),
        ),
        at("videos", get.clone(), "/v1/videos", Value::Null),
        at("videos", get.clone(), "/v1/videos/task_x", Value::Null),
        at("videos", Method::DELETE, "/v1/videos/task_x", Value::Null),
        at(
            "videos",
            get.clone(),
            "/v1/videos/task_x/content",
            Value::Null,
        ),
        at("images", post.clone(), "/v1/images/generations", video),
        at("speech", post.clone(), "/v1/audio/speech", speech),
        at(
            "social",
            get.clone(),
            "/v1/social/tiktok/search",
            Value::Null,
        ),
        at(
            "social",
            get.clone(),
            "/v1/social/tiktok/search/pages",
            Value::Null,
        ),
        at("keys", post, "/v1/keys", json!({ "name": "n" })),
        at("keys", get.clone(), "/v1/keys", Value::Null),
        at("keys", get.clone(), "/v1/keys/1", Value::Null),
        at("aliases", get.clone(), "/v1/aliases", Value::Null),
        at(
            "aliases",
            Method::PUT,
            "/v1/aliases/x",
            json!({ "model": "sim-fast" }),
        ),
        at("events", get.clone(), "/v1/events", Value::Null),
        at("webhooks", get.clone(), "/v1/webhooks", Value::Null),
        at("usage", get, "/v1/usage", Value::Null),
    ]
}

fn list(words: &[&str]) -> Option<Vec<String>> {
    Some(words.iter().map(|word| (*word).to_owned()).collect())
}

#[tokio::test]
async fn endpoint_and_address_allow_lists_hold_on_every_endpoint() {
    let harness = TestGateway::new().await;
    let only = |words| PolicyFields {
        endpoints: list(words),
        ..PolicyFields::default()
    };
    let (chats, keys) = (
        harness.make_key(only(&["chat"])).await,
        harness.make_key(only(&["keys"])).await,
    );
    let elsewhere = harness
        .make_key(PolicyFields {
            addresses: list(&["192.0.2.0/24"]),
            ..PolicyFields::default()
        })
        .await;
    for endpoint in endpoints() {
        let body = (!endpoint.body.is_null()).then_some(endpoint.body);
        let other = if endpoint.word == "keys" {
            &chats
        } else {
            &keys
        };
        let to = (endpoint.method.clone(), endpoint.path);
        let got = call(&harness, other, to.clone(), body.clone()).await;
        assert_eq!(
            got.status,
            403,
            "{} {}: {}",
            endpoint.method,
            endpoint.path,
            got.text()
        );
        assert!(got.text().contains("endpoint_not_allowed") || got.text().contains("may use"));
        let got = call(&harness, &elsewhere, to, body).await;
        assert_eq!(
            got.status,
            403,
            "{} {}: {}",
            endpoint.method,
            endpoint.path,
            got.text()
        );
        assert!(
            got.text().contains("may not be used from"),
            "{}",
            got.text()
        );
    }
    // What a key is, what it may call, what a call of its account cost and what is left is told to any.
    for path in ["/v1/key", "/v1/models", "/v1/balance"] {
        assert_eq!(
            is(&call(&harness, &keys, (Method::GET, path), None).await),
            fine(),
            "{path}"
        );
        let got = call(&harness, &elsewhere, (Method::GET, path), None).await;
        assert_eq!(is(&got), no(403, "ip_not_allowed"), "{path}");
    }
}

async fn set_region(harness: &TestGateway, channel: &str, region: &str) {
    let mut tx = harness.console.begin().await.unwrap();
    let number = revision::bump(&mut tx, channels::TOPIC).await.unwrap();
    tx.commit().await.unwrap();
    let text = format!(
        "UPDATE app.channel SET region = '{region}', revision = {number} WHERE name = '{channel}'"
    );
    harness.db.ask(&text).await;
    harness.gateway.refresh().await.unwrap();
}

#[tokio::test]
async fn a_key_with_regions_is_served_there_or_not_at_all() {
    let harness = TestGateway::new().await;
    let european = harness
        .make_key(PolicyFields {
            regions: list(&["eu"]),
            ..PolicyFields::default()
        })
        .await;
    assert_eq!(
        chat(&harness, &european).await,
        no(403, "route_not_allowed"),
        "no region is none"
    );
    set_region(&harness, "first", "us").await;
    let got = chat(&harness, &european).await;
    assert_eq!(got, no(403, "route_not_allowed"));
    assert_eq!(
        harness.simulator.requests().len(),
        0,
        "no other upstream was called"
    );
    assert_eq!(chat(&harness, &harness.key).await, fine());
    let models = call(&harness, &european, (Method::GET, "/v1/models"), None).await;
    assert!(!models.text().contains("sim-fast"), "{}", models.text());
    set_region(&harness, "first", "eu").await;
    assert_eq!(chat(&harness, &european).await, fine());
    let models = call(&harness, &european, (Method::GET, "/v1/models"), None).await;
    assert!(models.text().contains("sim-fast"), "{}", models.text());
    harness.audit().await;
}

#[tokio::test]
async fn a_quote_of_another_key_does_not_open_a_model_that_a_key_may_not_use() {
    let harness = TestGateway::new().await;
    let body = json!({ "model": "sim-reason", "messages": [{ "role": "user", "content": "Hi" }] });
    let quote = json!({ "endpoint": "chat", "body": body });
    let got = call(
        &harness,
        &harness.key,
        (Method::POST, "/v1/quotes"),
        Some(quote),
    )
    .await;
    let id = got.json()["id"].as_str().unwrap().to_owned();
    let narrow = harness
        .make_key(PolicyFields {
            models: list(&["sim-fast"]),
            ..PolicyFields::default()
        })
        .await;
    let bytes = bytes::Bytes::from(body.to_string());
    let (to, with) = (
        (harness.address, narrow.as_str()),
        [("trunkline-quote", id.as_str())],
    );
    let sent = harness
        .send_as(to, Method::POST, "/v1/chat/completions", bytes, &with)
        .await;
    let got = crate::test_gateway::GatewayResponse::read(sent).await;
    assert_eq!(is(&got), no(403, "model_not_allowed"));
}
