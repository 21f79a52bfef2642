//! Keys that are made by keys.

use http::Method;
use serde_json::{Value, json};
use trunkline_store::PolicyFields;

use crate::keys::calls::{below, call, chat, fine, is, no, own_id};
use crate::test_gateway::TestGateway;

const KEYS: (Method, &str) = (Method::POST, "/v1/keys");

#[tokio::test]
async fn a_key_makes_a_narrower_one_with_a_cap_and_an_end_by_one_call() {
    let harness = TestGateway::new().await;
    let case = json!({
        "name": "agent",
        "models": ["sim-fast"],
        "endpoints": ["chat"],
        "requests_per_minute": 60,
        "strict": true,
        "cap_usd": "0.000001",
        "expires_in_seconds": 3_600,
    });
    let got = call(&harness, &harness.key, KEYS, Some(case)).await;
    assert_eq!(got.status, 201, "{}", got.text());
    let made = got.json();
    let secret = made["key"].as_str().unwrap();
    assert!(secret.starts_with("sk-tl-"));
    assert_eq!(made["parent"], own_id(&harness, &harness.key).await);
    assert_eq!(made["cap_usd"], "0.000001");
    assert_eq!(made["models"], json!(["sim-fast"]));
    assert!(made["hint"].as_str().unwrap().ends_with(&secret[53..]));
    assert_eq!(
        chat(&harness, secret).await,
        no(402, "budget_exceeded"),
        "at once, and capped"
    );
    let one = format!("/v1/keys/{}", made["id"]);
    let view = call(&harness, &harness.key, (Method::GET, &one), None).await;
    assert_eq!(
        view.json()["budgets"][0]["limit_usd"],
        "0.000001",
        "{}",
        view.text()
    );
    assert!(
        !view.text().contains(&secret[8..51]),
        "the secret is shown once"
    );
    let listed = call(
        &harness,
        &harness.key,
        (Method::GET, "/v1/keys?limit=1"),
        None,
    )
    .await;
    assert_eq!(
        listed.json()["data"][0]["id"],
        made["id"],
        "{}",
        listed.text()
    );
    let (free, _) = below(&harness, &harness.key, json!({ "cap_usd": 5 })).await;
    assert_eq!(chat(&harness, &free).await, fine());
    harness.audit().await;
}

#[tokio::test]
async fn what_is_unknown_wider_or_not_a_word_is_refused_and_named() {
    let harness = TestGateway::new().await;
    let narrow = PolicyFields {
        models: Some(vec!["sim-fast".to_owned()]),
        requests_per_minute: Some(10),
        ..PolicyFields::default()
    };
    let parent = harness.make_key(narrow).await;
    for (field, value, reply) in [
        ("modles", json!(["sim-fast"]), "unknown field `modles`"),
        (
            "models",
            json!(["sim-reason"]),
            "must not allow more than the parent",
        ),
        (
            "requests_per_minute",
            json!(11),
            "must not allow more than the parent",
        ),
        (
            "endpoints",
            json!(["chats"]),
            "the words are chat, messages",
        ),
        ("cap_usd", json!("lots"), "`cap_usd` must be an amount"),
        ("cap_usd", json!(0), "above 0"),
        ("expires_in_seconds", json!(0), "must be from 1"),
        ("expires_at", json!(1), "must be in the future"),
        ("addresses", json!(["everywhere"]), "not a network"),
    ] {
        let mut case = json!({ "name": "n" });
        case[field] = value;
        let got = call(&harness, &parent, KEYS, Some(case)).await;
        assert_eq!(is(&got), no(400, "invalid_request"), "{field}");
        assert!(got.text().contains(reply), "{field}: {}", got.text());
    }
    let list = call(&harness, &parent, (Method::GET, "/v1/keys"), None).await;
    assert_eq!(list.json()["data"], json!([]), "nothing was made");
}

#[tokio::test]
async fn a_key_sees_itself_and_what_is_below_it_and_every_other_is_unknown() {
    let harness = TestGateway::new().await;
    let other = harness.make_key(PolicyFields::default()).await;
    let foreign = harness.make_account_key().await;
    let (child, child_id) = below(&harness, &harness.key, json!({})).await;
    let (_, sibling) = below(&harness, &other, json!({})).await;
    let unknown = call(
        &harness,
        &harness.key,
        (Method::GET, "/v1/keys/999999"),
        None,
    )
    .await;
    assert_eq!(is(&unknown), no(404, "not_found"));
    let text = |got: &crate::test_gateway::GatewayResponse| got.json()["error"]["message"].clone();
    let ids = [
        sibling,
        own_id(&harness, &other).await,
        own_id(&harness, &foreign).await,
    ];
    for id in ids {
        for (method, rest) in [
            (Method::GET, ""),
            (Method::PATCH, ""),
            (Method::DELETE, ""),
            (Method::POST, "/rotate"),
            (Method::POST, "/disable"),
            (Method::POST, "/enable"),
        ] {
            let path = format!("/v1/keys/{id}{rest}");
            let got = call(&harness, &harness.key, (method.clone(), &path), None).await;
            assert_eq!(is(&got), no(404, "not_found"), "{method} {path}");
            assert_eq!(text(&got), text(&unknown));
        }
    }
    // Its parent is above it, and as unknown; itself it may show, not change.
    let parent = own_id(&harness, &harness.key).await;
    let path = format!("/v1/keys/{parent}");
    assert_eq!(
        is(&call(&harness, &child, (Method::DELETE, &path), None).await).0,
        404
    );
    let path = format!("/v1/keys/{child_id}");
    assert_eq!(
        is(&call(&harness, &child, (Method::GET, &path), None).await),
        fine()
    );
    let rename = Some(json!({ "name": "mine" }));
    let got = call(&harness, &child, (Method::PATCH, &path), rename).await;
    assert_eq!(is(&got), no(403, "endpoint_not_allowed"));
}

#[tokio::test]
async fn keys_stand_eight_deep_and_a_key_without_the_word_makes_none() {
    let harness = TestGateway::new().await;
    let mut key = harness.make_key(PolicyFields::default()).await;
    for _ in 0..7 {
        key = below(&harness, &key, json!({})).await.0;
    }
    assert_eq!(chat(&harness, &key).await, fine());
    let got = call(&harness, &key, KEYS, Some(json!({ "name": "ninth" }))).await;
    assert_eq!(is(&got), no(400, "invalid_request"));
    assert!(got.text().contains("8 deep"), "{}", got.text());
    let (only_chat, _) = below(&harness, &harness.key, json!({ "endpoints": ["chat"] })).await;
    let got = call(&harness, &only_chat, KEYS, Some(json!({ "name": "x" }))).await;
    assert_eq!(is(&got), no(403, "endpoint_not_allowed"));
    let view: Value = call(&harness, &only_chat, (Method::GET, "/v1/key"), None)
        .await
        .json();
    assert_eq!(view["endpoints"], json!(["chat"]));
    harness.audit().await;
}
