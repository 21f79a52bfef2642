//! An account's own names for models.

use http::Method;
use serde_json::{Value, json};
use trunkline_ledger::usage;
use trunkline_store::PolicyFields;

use crate::test_gateway::{GatewayResponse, TestGateway};
use crate::keys::calls::{below, call, fine, is, no};

async fn name(house: &TestGateway, alias: &str, model: &str) -> GatewayResponse {
    let path = format!("/v1/aliases/{alias}");
    let wish = Some(json!({ "model": model }));
    call(house, &house.key, (Method::PUT, &path), wish).await
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

fn doors() -> Vec<(&'static str, Value, &'static str)> {
    let said = json!([{ "role": "user", "content": "Hello [[tokens:3]]" }]);
    vec![
        (
            "/v1/chat/completions",
            json!({ "model": "mine", "messages": said }),
            "/model",
        ),
        (
            "/v1/messages",
            json!({ "model": "mine", "messages": said, "max_tokens": 50 }),
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
    let house = TestGateway::new().await;
    house.sell(EVERY_FORMAT).await;
    let base = house.simulator.base_url();
    house
        .channel("every", &base, 10, &[("gemini-every", "sim-fast")])
        .await;
    assert_eq!(is(&name(&house, "mine", "gemini-every").await), fine());
    for (path, body, field) in doors() {
        let got = call(&house, &house.key, (Method::POST, path), Some(body)).await;
        assert_eq!(got.status, 200, "{path}: {}", got.text());
        assert_eq!(
            got.json().pointer(field),
            Some(&json!("mine")),
            "{path}: {}",
            got.text()
        );
        let row = usage::find(&house.data, house.account, got.id().parse().unwrap()).await;
        assert_eq!(row.unwrap().unwrap().model, "gemini-every", "{path}");
    }
    let quote = json!({ "endpoint": "chat", "body": doors()[0].1 });
    let got = call(
        &house,
        &house.key,
        (Method::POST, "/v1/quotes"),
        Some(quote),
    )
    .await;
    assert_eq!(got.json()["model"], "mine", "{}", got.text());
    let count = (Method::POST, "/v1/messages/count_tokens");
    let got = call(&house, &house.key, count, Some(doors()[1].1.clone())).await;
    assert_eq!(is(&got), fine());
    let listed = house.get("/v1/models").await.json();
    let data = listed["data"].as_array().unwrap();
    let mine = data.iter().find(|model| model["id"] == "mine").unwrap();
    assert_eq!(mine["alias_of"], "gemini-every");
    assert_eq!(
        house.get("/v1/models/mine").await.json()["alias_of"],
        "gemini-every"
    );
    let got = call(
        &house,
        &house.key,
        (Method::DELETE, "/v1/aliases/mine"),
        None,
    )
    .await;
    assert_eq!(is(&got), fine());
    let (path, body, _) = doors().swap_remove(0);
    let got = call(&house, &house.key, (Method::POST, path), Some(body)).await;
    assert_eq!(is(&got), no(404, "model_not_found"));
    house.audit().await;
}

#[tokio::test]
async fn the_list_of_a_key_is_asked_of_the_model_and_not_of_its_alias() {
    let house = TestGateway::new().await;
    assert_eq!(is(&name(&house, "mine", "sim-reason").await), fine());
    let narrow = PolicyFields {
        models: Some(vec!["sim-fast".to_owned(), "mine".to_owned()]),
        ..PolicyFields::default()
    };
    let key = house.make_key(narrow).await;
    let (path, body, _) = doors().swap_remove(0);
    let got = call(&house, &key, (Method::POST, path), Some(body)).await;
    assert_eq!(is(&got), no(403, "model_not_allowed"));
    let listed = call(&house, &key, (Method::GET, "/v1/models"), None).await;
    assert!(!listed.text().contains("mine"), "{}", listed.text());
}

#[tokio::test]
async fn an_alias_shadows_no_model_and_is_changed_by_root_keys_only() {
    let house = TestGateway::new().await;
    for (alias, model, status, said) in [
        (
            "sim-fast",
            "sim-reason",
            400,
            "name of a model that is sold",
        ),
        ("mine", "nothing-like-it", 404, "there is no model"),
        ("a%3Ab", "sim-fast", 400, "mean something in addresses"),
    ] {
        let got = name(&house, alias, model).await;
        assert_eq!(got.status.as_u16(), status, "{alias}: {}", got.text());
        assert!(got.text().contains(said), "{alias}: {}", got.text());
    }
    let (child, _) = below(&house, &house.key, json!({})).await;
    let wish = Some(json!({ "model": "sim-fast" }));
    let got = call(&house, &child, (Method::PUT, "/v1/aliases/mine"), wish).await;
    assert_eq!(is(&got), no(403, "endpoint_not_allowed"));
    for number in 0..200 {
        let got = name(&house, &format!("a{number}"), "sim-fast").await;
        assert_eq!(is(&got), fine(), "{number}");
    }
    let got = name(&house, "one-more", "sim-fast").await;
    assert_eq!(is(&got), no(400, "invalid_request"));
    assert!(got.text().contains("at most 200"), "{}", got.text());
    let listed = call(&house, &child, (Method::GET, "/v1/aliases"), None).await;
    assert_eq!(listed.json()["data"].as_array().unwrap().len(), 200);
}
