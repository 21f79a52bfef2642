//! An account's own names for models.

use http::Method;
use serde_json::{Value, json};
use trunkline_ledger::usage;
use trunkline_store::PolicyFields;

use crate::keys::calls::{below, call, fine, is, no};
use crate::test_gateway::{GatewayResponse, TestGateway};

async fn name(harness: &TestGateway, alias: &str, model: &str) -> GatewayResponse {
    let path = format!("/v1/aliases/{alias}");
    let case = Some(json!({ "model": model }));
    call(harness, &harness.key, (Method::PUT, &path), case).await
}

/// A model that takes every format.
const EVERY_FORMAT: &str = r#"
[models.gemini-every]
groups = ["default"]
endpoints = ["openai", "anthropic", "openai-response", "gemini"]
specs = { max_output_tokens = 20000 }
[models.gemini-every.prices]
billing_unit = "tokens"
standard = { input = 2000000, output = 8000000 }
"#;

fn endpoints() -> Vec<(&'static str, Value, &'static str)> {
    let reply = json!([{ "role": "user", "content": "Hello [[tokens:3]]" }]);
    vec![
        (
            "/v1/chat/completions",
            json!({ "model": "mine", "messages": reply }),
            "/model",
        ),
        (
            "/v1/messages",
            json!({ "model": "mine", "messages": reply, "max_tokens": 50 }),
            "/model",
        ),
        (
            "/v1/responses",
            json!({ "model": "mine", "input": "Hello [[tokens:3]]" }),
            "/model",
        ),
        (
            "/v1beta/models/mine:generateContent",
            json!({ "contents": [{ "role": "user", "parts": [{ "text": "Hello [[tokens:3]]" }] }] }),
            "/modelVersion",
        ),
    ]
}

#[tokio::test]
async fn an_alias_works_in_every_format_and_is_booked_as_its_model() {
    let harness = TestGateway::new().await;
    harness.sell(EVERY_FORMAT).await;
    let base = harness.simulator.base_url();
    harness
        .channel("every", &base, 10, &[("gemini-every", "sim-fast")])
        .await;
    assert_eq!(is(&name(&harness, "mine", "gemini-every").await), fine());
    for (path, body, field) in endpoints() {
        let got = call(&harness, &harness.key, (Method::POST, path), Some(body)).await;
        assert_eq!(got.status, 200, "{path}: {}", got.text());
        assert_eq!(
            got.json().pointer(field),
            Some(&json!("mine")),
            "{path}: {}",
            got.text()
        );
        let row = usage::find(&harness.data, harness.account, got.id().parse().unwrap()).await;
        assert_eq!(row.unwrap().unwrap().model, "gemini-every", "{path}");
    }
    let quote = json!({ "endpoint": "chat", "body": endpoints()[0].1 });
    let got = call(
        &harness,
        &harness.key,
        (Method::POST, "/v1/quotes"),
        Some(quote),
    )
    .await;
    assert_eq!(got.json()["model"], "mine", "{}", got.text());
    let count = (Method::POST, "/v1/messages/count_tokens");
    let got = call(
        &harness,
        &harness.key,
        count,
        Some(endpoints()[1].1.clone()),
    )
    .await;
    assert_eq!(is(&got), fine());
    let listed = harness.get("/v1/models").await.json();
    let data = listed["data"].as_array().unwrap();
    let mine = data.iter().find(|model| model["id"] == "mine").unwrap();
    assert_eq!(mine["alias_of"], "gemini-every");
    assert_eq!(
        harness.get("/v1/models/mine").await.json()["alias_of"],
        "gemini-every"
    );
    let got = call(
        &harness,
        &harness.key,
        (Method::DELETE, "/v1/aliases/mine"),
        None,
    )
    .await;
    assert_eq!(is(&got), fine());
    let (path, body, _) = endpoints().swap_remove(0);
    let got = call(&harness, &harness.key, (Method::POST, path), Some(body)).await;
    assert_eq!(is(&got), no(404, "model_not_found"));
    harness.audit().await;
}

#[tokio::test]
async fn the_list_of_a_key_is_asked_of_the_model_and_not_of_its_alias() {
    let harness = TestGateway::new().await;
    assert_eq!(is(&name(&harness, "mine", "sim-reason").await), fine());
    let narrow = PolicyFields {
        models: Some(vec!["sim-fast".to_owned(), "mine".to_owned()]),
        ..PolicyFields::default()
    };
    let key = harness.make_key(narrow).await;
    let (path, body, _) = endpoints().swap_remove(0);
    let got = call(&harness, &key, (Method::POST, path), Some(body)).await;
    assert_eq!(is(&got), no(403, "model_not_allowed"));
    let listed = call(&harness, &key, (Method::GET, "/v1/models"), None).await;
    assert!(!listed.text().contains("mine"), "{}", listed.text());
}

#[tokio::test]
async fn an_alias_shadows_no_model_and_is_changed_by_root_keys_only() {
    let harness = TestGateway::new().await;
    for (alias, model, status, reply) in [
        ("sim-fast", "sim-reason", 400, "is the name of a model"),
        ("mine", "nothing-like-it", 404, "unknown model"),
        ("a%3Ab", "sim-fast", 400, "mean something in addresses"),
    ] {
        let got = name(&harness, alias, model).await;
        assert_eq!(got.status.as_u16(), status, "{alias}: {}", got.text());
        assert!(got.text().contains(reply), "{alias}: {}", got.text());
    }
    let (child, _) = below(&harness, &harness.key, json!({})).await;
    let case = Some(json!({ "model": "sim-fast" }));
    let got = call(&harness, &child, (Method::PUT, "/v1/aliases/mine"), case).await;
    assert_eq!(is(&got), no(403, "endpoint_not_allowed"));
    for number in 0..200 {
        let got = name(&harness, &format!("a{number}"), "sim-fast").await;
        assert_eq!(is(&got), fine(), "{number}");
    }
    let got = name(&harness, "one-more", "sim-fast").await;
    assert_eq!(is(&got), no(400, "invalid_request"));
    assert!(got.text().contains("at most 200"), "{}", got.text());
    let listed = call(&harness, &child, (Method::GET, "/v1/aliases"), None).await;
    assert_eq!(listed.json()["data"].as_array().unwrap().len(), 200);
}
