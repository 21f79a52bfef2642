//! Channels and credentials, edited while they are in use; secrets go in and never come out.

use serde_json::{Value, json};
use trunkline_simulator::{Settings, Simulator};
use trunkline_store::people::OperatorRole;

use crate::customer::harness::CustomerConsole;

#[tokio::test]
async fn a_leaked_credential_is_replaced_and_no_secret_is_ever_answered() {
    let console = CustomerConsole::new().await;
    let operator = console.operator(OperatorRole::Owner).await;
    let id = console
        .channel(&operator, "main", "http://127.0.0.1:9")
        .await;
    let at = |rest: &str| format!("/api/operator/channels/{id}{rest}");
    let pause = json!({ "reason": "leaked in a screenshot" });
    let paused = console
        .done(&operator, &at("/credentials/main/pause"), pause)
        .await;
    let credential = &paused["credentials"][0];
    assert_eq!(credential["state"], "paused");
    assert_eq!(credential["paused_reason"], "leaked in a screenshot");
    let overview = console.read(&operator, "/api/operator/overview").await;
    assert_eq!(overview["needs_attention"]["paused_credentials"], 1);
    let secret = json!({ "secret": "sk-canary-9876543210-liat" });
    let replaced = console
        .done(&operator, &at("/credentials/main/replace"), secret)
        .await;
    let credential = &replaced["credentials"][0];
    assert_eq!(
        (&credential["state"], &credential["hint"]),
        (&json!("usable"), &json!("…liat"))
    );
    let got = console
        .post(&operator, &at("/credentials/main/remove"), json!({}))
        .await;
    got.error(409, "conflict");
    let all = console.read(&operator, "/api/operator/channels").await;
    let actions = console.read(&operator, "/api/operator/actions").await;
    for text in [all.to_string(), actions.to_string()] {
        assert!(!text.contains("canary"), "{text}");
    }
    let sealed = console
        .db
        .ask("SELECT encode(sealed, 'escape') FROM app.channel_credential")
        .await;
    assert!(!sealed.concat().contains("canary"));
}

#[tokio::test]
async fn every_field_of_a_channel_is_edited_and_wrong_ones_are_named() {
    let console = CustomerConsole::new().await;
    let operator = console.operator(OperatorRole::Owner).await;
    let id = console
        .channel(&operator, "main", "http://127.0.0.1:9")
        .await;
    let path = format!("/api/operator/channels/{id}");
    let fields = json!({
        "priority": 5, "weight": 7, "region": "eu", "residency": "de", "zero_retention": true,
        "models": { "open-chat": "sim-large", "ghost": "sim-ghost" }, "groups": ["vip"],
        "extra_headers": { "X-Team": "blue" }, "proxy": "http://user:canary@127.0.0.1:9",
        "requests_per_minute": 60, "concurrent_calls": 4,
    });
    let got = console.patch(&operator, &path, fields).await;
    assert_eq!(got.status.as_u16(), 200, "{got:?}");
    let view = got.json();
    for (name, value) in [
        ("priority", json!(5)),
        ("weight", json!(7)),
        ("region", json!("eu")),
        ("residency", json!("de")),
        ("zero_retention", json!(true)),
        ("groups", json!(["vip"])),
        ("extra_headers", json!(["x-team"])),
        ("has_proxy", json!(true)),
        ("requests_per_minute", json!(60)),
        ("concurrent_calls", json!(4)),
        ("models_not_sold", json!(["ghost"])),
    ] {
        assert_eq!(view[name], value, "{name}");
    }
    assert!(!view.to_string().contains("canary"));
    let cleared = json!({ "region": null, "proxy": null, "requests_per_minute": null });
    let view = console.patch(&operator, &path, cleared).await.json();
    assert_eq!(
        (&view["region"], &view["has_proxy"]),
        (&Value::Null, &json!(false))
    );
    assert_eq!(view["priority"], 5, "what is left out stays");
    for (body, param) in [
        (json!({ "weight": 0 }), "weight"),
        (json!({ "models": {} }), "models"),
        (json!({ "base_url": null }), "base_url"),
        (json!({ "proxy": "ftp://x" }), "proxy"),
    ] {
        let got = console.patch(&operator, &path, body.clone()).await;
        assert_eq!(got.error(400, "invalid_request")["param"], param, "{body}");
    }
    let copy = json!({ "name": "copy", "fields": { "priority": 9 } });
    let copied = console
        .done(&operator, &format!("{path}/clone"), copy.clone())
        .await;
    assert_eq!(
        (&copied["priority"], &copied["weight"]),
        (&json!(9), &json!(7))
    );
    let got = console
        .post(&operator, &format!("{path}/clone"), copy)
        .await;
    got.error(409, "conflict");
}

#[tokio::test]
async fn the_test_of_a_channel_asks_the_upstream_with_each_credential() {
    let simulator = Simulator::start(Settings::default()).await.unwrap();
    let console = CustomerConsole::new().await;
    let operator = console.operator(OperatorRole::Owner).await;
    let base = format!("http://{}/v1", simulator.address());
    let id = console.channel(&operator, "main", &base).await;
    let tested = console
        .done(
            &operator,
            &format!("/api/operator/channels/{id}/test"),
            json!({}),
        )
        .await;
    let one = &tested["credentials"][0];
    assert_eq!(
        (&one["label"], &one["hint"]),
        (&json!("main"), &json!("…tail"))
    );
    assert!(one["status"].is_number(), "it was asked: {tested}");
    let away = console
        .channel(&operator, "away", "http://127.0.0.1:9")
        .await;
    let tested = console
        .done(
            &operator,
            &format!("/api/operator/channels/{away}/test"),
            json!({}),
        )
        .await;
    assert_eq!(
        (&tested["is_ok"], &tested["credentials"][0]["status"]),
        (&json!(false), &Value::Null)
    );
    let providers = console.read(&operator, "/api/operator/providers").await;
    let names = providers["data"].as_array().unwrap();
    assert!(
        names
            .iter()
            .any(|one| one["name"] == "openai" && one["can_test"] == true)
    );
}
