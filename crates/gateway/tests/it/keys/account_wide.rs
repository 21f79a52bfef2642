//! Changes that concern every key of an account need a key without a parent.

use http::Method;
use serde_json::{Value, json};
use trunkline_store::webhooks;

use crate::keys::calls::{below, call, is, no};
use crate::test_gateway::TestGateway;

const ROTATE: (Method, &str) = (Method::POST, "/v1/webhooks/tasks/rotate");

/// Paths and methods of the account API but for the stream of events, and whether a sub-key may use it.
fn routes() -> Vec<(Method, String, bool)> {
    let resources: [(&str, &[Method], bool); 15] = [
        ("keys", &[Method::GET, Method::HEAD, Method::POST], true),
        (
            "keys/{key}",
            &[Method::GET, Method::HEAD, Method::PATCH],
            true,
        ),
        ("keys/{key}/disable", &[Method::POST], true),
        ("keys/{key}/enable", &[Method::POST], true),
        ("usage", &[Method::GET, Method::HEAD], true),
        ("aliases", &[Method::GET, Method::HEAD], true),
        ("aliases/x", &[Method::GET, Method::HEAD], true),
        ("aliases/x", &[Method::PUT, Method::DELETE], false),
        ("webhooks", &[Method::GET, Method::HEAD], true),
        ("webhooks", &[Method::POST], false),
        ("webhooks/tasks", &[Method::GET, Method::HEAD], true),
        ("webhooks/tasks", &[Method::PATCH, Method::DELETE], false),
        ("webhooks/tasks/deliveries", &[Method::GET], true),
        ("webhooks/tasks/rotate", &[Method::POST], false),
        ("webhooks/tasks/resume", &[Method::POST], false),
    ];
    let mut all: Vec<(Method, String, bool)> = Vec::new();
    for (path, methods, may) in resources {
        let path = format!("/v1/{path}");
        all.extend(
            methods
                .iter()
                .map(|method| (method.clone(), path.clone(), may)),
        );
    }
    let post = |path: &str| (Method::POST, path.to_owned(), false);
    all.push(post("/v1/webhooks/tasks/test"));
    all.push(post("/v1/webhooks/tasks/deliveries/x/replay"));
    all
}

#[tokio::test]
async fn a_sub_key_changes_nothing_that_concerns_the_whole_account() {
    let harness = TestGateway::new().await;
    let (sub_key, _) = below(&harness, &harness.key, json!({ "cap_usd": "0.01" })).await;
    let (_, key_below) = below(&harness, &sub_key, json!({})).await;
    for (method, path, may) in routes() {
        let path = path.replace("{key}", &key_below.to_string());
        let body = match path.as_str() {
            "/v1/keys" => json!({ "name": "n" }),
            "/v1/aliases/x" => json!({ "model": "sim-fast" }),
            _ => json!({}),
        };
        let has_body = [Method::POST, Method::PATCH, Method::PUT].contains(&method);
        let body: Option<Value> = has_body.then_some(body);
        let got = call(&harness, &sub_key, (method.clone(), &path), body).await;
        let refused = got.status == 403;
        assert_eq!(refused, !may, "{method} {path}: {}", got.text());
        if refused && method != Method::HEAD {
            assert_eq!(got.code(), "endpoint_not_allowed", "{method} {path}");
        }
    }
}

/// The attack of the finding.
#[tokio::test]
async fn a_capped_sub_key_cannot_rotate_the_accounts_webhook_secret() {
    let harness = TestGateway::new().await;
    let (sub_key, _) = below(&harness, &harness.key, json!({ "cap_usd": "0.01" })).await;
    let first = call(&harness, &harness.key, ROTATE, Some(json!({}))).await;
    assert_eq!(first.status, 200, "{}", first.text());
    let secret = async || {
        let mut session = harness.data.session().await.unwrap();
        let webhook = webhooks::for_tasks(&mut session, harness.account).await;
        webhook.unwrap().unwrap().secret
    };
    let before = secret().await;
    let attack = call(&harness, &sub_key, ROTATE, Some(json!({}))).await;
    assert_eq!(is(&attack), no(403, "endpoint_not_allowed"));
    assert_eq!(secret().await, before);
}
