//! Authentication, and what anonymous callers are answered.

use bytes::Bytes;
use http::Method;
use trunkline_store::PolicyFields;

use crate::test_gateway::{GatewayResponse, TestGateway, ask};

const PATH: &str = "/v1/chat/completions";

async fn with_key(harness: &TestGateway, key: &str) -> GatewayResponse {
    let bearer = format!("Bearer {key}");
    harness
        .chat_with(&ask("Hello"), &[("authorization", &bearer)])
        .await
}

// covers: D-3-09, D-3-10
#[tokio::test]
async fn only_a_known_key_is_authenticated() {
    let harness = TestGateway::new().await;
    for key in [
        "",
        "nonsense",
        "sk-tl-00aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    ] {
        let got = with_key(&harness, key).await;
        assert_eq!(
            (got.status.as_u16(), got.code().as_str()),
            (401, "invalid_api_key")
        );
    }
    let own = harness.key.clone();
    let wrong = "Bearer sk-tl-nonsense";
    let got = harness
        .chat_with(&ask("Hi"), &[("authorization", wrong), ("x-api-key", &own)])
        .await;
    assert_eq!(got.status, 401, "`Authorization` wins");
    let got = harness
        .chat_with(
            &ask("Hi"),
            &[("authorization", "Basic x"), ("x-api-key", &own)],
        )
        .await;
    assert_eq!(got.status, 200, "the key of Claude's clients");
    assert!(harness.simulator.requests().len() == 1);
}

// covers: D-3-13, D-3-14, D-3-15, D-1-45
#[tokio::test]
async fn a_key_opens_what_its_lists_allow() {
    let mut harness = TestGateway::new().await;
    harness.key = harness
        .make_key(PolicyFields {
            models: Some(vec!["public-name".to_owned()]),
            ..PolicyFields::default()
        })
        .await;
    let got = harness.chat(&ask("Hello")).await;
    assert_eq!(
        (got.status.as_u16(), got.code().as_str()),
        (403, "model_not_allowed")
    );
    let listed = harness.get("/v1/models").await.json();
    let ids: Vec<&str> = listed["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|m| m["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ["public-name"]);
    harness.key = harness
        .make_key(PolicyFields {
            endpoints: Some(vec!["embeddings".to_owned()]),
            ..PolicyFields::default()
        })
        .await;
    let got = harness.chat(&ask("Hello")).await;
    assert_eq!(
        (got.status.as_u16(), got.code().as_str()),
        (403, "endpoint_not_allowed")
    );
    harness.key = harness
        .make_key(PolicyFields {
            addresses: Some(vec!["10.0.0.0/8".to_owned()]),
            ..PolicyFields::default()
        })
        .await;
    let forged = [("x-forwarded-for", "10.1.2.3")];
    let got = harness.chat_with(&ask("Hello"), &forged).await;
    assert_eq!(
        (got.status.as_u16(), got.code().as_str()),
        (403, "ip_not_allowed")
    );
    assert!(harness.simulator.requests().is_empty());
}

// covers: D-2-42, D-3-20, D-3-33, D-3-34, D-3-35, D-3-44, D-3-45, G-5-02, G-2.1-02
#[tokio::test]
async fn requests_that_are_none_are_refused_before_any_money_moves() {
    let harness = TestGateway::new().await;
    let send = async |body: &str, extra: &[(&'static str, &str)]| {
        let body = Bytes::copy_from_slice(body.as_bytes());
        GatewayResponse::read(harness.send_with(Method::POST, PATH, body, extra).await).await
    };
    let got = send("{", &[]).await;
    assert_eq!(
        (got.status.as_u16(), got.code().as_str()),
        (400, "invalid_request")
    );
    let got = send(r#"{"model":"sim-fast","model":"x","messages":[]}"#, &[]).await;
    assert_eq!(got.status, 400);
    assert!(got.text().contains("duplicate key"));
    assert_eq!(got.json()["error"]["param"], "model");
    let got = send("{}", &[("content-type", "text/plain")]).await;
    assert_eq!(
        (got.status.as_u16(), got.code().as_str()),
        (415, "unsupported_media_type")
    );
    let mut unknown = ask("Hello");
    unknown["model"] = "nobody".into();
    let got = harness.chat(&unknown).await;
    assert_eq!(
        (got.status.as_u16(), got.code().as_str()),
        (404, "model_not_found")
    );
    let large = format!("{{\"a\":\"{}\"}}", "x".repeat(33_000_000));
    let got = send(&large, &[]).await;
    assert_eq!(
        (got.status.as_u16(), got.code().as_str()),
        (413, "request_too_large")
    );
    let mut long = ask("Hello");
    long["max_tokens"] = 1_000_000.into();
    assert_eq!(harness.chat(&long).await.status, 400);
    assert!(harness.simulator.requests().is_empty());
    assert_eq!(harness.wallets().await, [10_000_000_000, 0, 0, 0]);
}

// covers: D-3-21, D-7-ERR-08
#[tokio::test]
async fn paths_and_methods_that_do_not_exist_say_what_does() {
    let harness = TestGateway::new().await;
    let got = harness.get("/v1/nothing").await;
    assert_eq!(
        (got.status.as_u16(), got.code().as_str()),
        (404, "not_found")
    );
    let got = harness.get("/v1/v1/models").await;
    assert_eq!(got.status, 404);
    assert!(got.text().contains("/v1/models"));
    let got = harness.get(PATH).await;
    assert_eq!(
        (got.status.as_u16(), got.code().as_str()),
        (405, "method_not_allowed")
    );
    assert_eq!(got.header("allow").as_deref(), Some("POST"));
    assert_eq!(harness.get("/").await.status, 200);
    assert_eq!(harness.get("/healthz").await.status, 200);
    assert_eq!(harness.get("/readyz").await.status, 200);
    harness.gateway.drain();
    assert_eq!(harness.get("/readyz").await.status, 503);
    let got = harness.chat(&ask("Hello")).await;
    assert_eq!(
        (got.status.as_u16(), got.code().as_str()),
        (503, "temporarily_unavailable")
    );
}
