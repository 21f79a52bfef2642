//! Who may connect, by which key, to which model.

use bytes::Bytes;
use http::Method;
use serde_json::json;
use trunkline_store::PolicyFields;

use super::harness::PATH;
use crate::response::GatewayResponse;
use crate::test_gateway::TestGateway;

const MONEY: i64 = 10_000_000_000;

// covers: G-4-06
#[tokio::test]
async fn a_client_that_may_not_connect_gets_the_status_before_the_upgrade() {
    let harness = TestGateway::realtime(MONEY).await;
    let bearer = format!("Bearer {}", harness.key);
    let poor = format!("Bearer {}", harness.make_account_key().await);
    let other = harness
        .make_key(PolicyFields {
            endpoints: Some(vec!["speech".to_owned()]),
            ..PolicyFields::default()
        })
        .await;
    let other = format!("Bearer {other}");
    let strange = format!("Bearer sk-tl-{}", "x".repeat(40));
    for (path, key, status, code) in [
        (PATH, strange.as_str(), 401, "invalid_api_key"),
        (PATH, other.as_str(), 403, "endpoint_not_allowed"),
        (PATH, poor.as_str(), 402, "insufficient_balance"),
        (
            "/v1/realtime?model=sim-fast",
            &bearer,
            400,
            "endpoint_not_supported",
        ),
        (
            "/v1/realtime?model=unknown",
            &bearer,
            404,
            "model_not_found",
        ),
        ("/v1/realtime", &bearer, 400, "invalid_request"),
        (PATH, "Bearer ek_forged", 401, "invalid_api_key"),
    ] {
        let refused = harness.connect_as(path, &[("authorization", key)]).await;
        let refused = refused.err().unwrap();
        assert_eq!(refused.status, status, "{path} {key}: {}", refused.body);
        assert_eq!(refused.body["error"]["code"], code, "{path} {key}");
    }
    let plain = harness.get(PATH).await;
    assert_eq!(plain.status.as_u16(), 400);
    assert_eq!(plain.json()["error"]["code"], "upgrade_required");
    assert!(harness.simulator.realtime_connections().is_empty());
    harness.at_rest().await;
}

// covers: D-1-25, D-3-06
#[tokio::test]
async fn a_key_is_taken_from_the_sub_protocol_and_a_browser_gets_errors_as_events() {
    let harness = TestGateway::realtime(MONEY).await;
    let offered = format!("realtime, openai-insecure-api-key.{}", harness.key);
    let headers = [("sec-websocket-protocol", offered.as_str())];
    let mut client = harness.connect_as(PATH, &headers).await.unwrap();
    assert_eq!(client.protocol.as_deref(), Some("realtime"));
    client.until("session.created").await;
    client.close().await;
    let strange = "realtime, openai-insecure-api-key.sk-tl-unknown";
    let headers = [("sec-websocket-protocol", strange)];
    let mut refused = harness.connect_as(PATH, &headers).await.unwrap();
    let (events, code) = refused.rest().await;
    assert_eq!((events.len(), code), (1, Some(1008)));
    assert_eq!(events[0]["type"], "error");
    assert_eq!(events[0]["error"]["code"], "invalid_api_key");
    let in_query = format!("{PATH}&key={}", harness.key);
    let mut client = harness.connect_as(&in_query, &[]).await.unwrap();
    assert_eq!(client.protocol, None, "none was offered");
    client.until("session.created").await;
    client.close().await;
    harness.at_rest().await;
}

#[tokio::test]
async fn a_client_secret_of_ours_opens_a_connection_with_its_session() {
    let harness = TestGateway::realtime(MONEY).await;
    let body = json!({
        "expires_after": { "anchor": "created_at", "seconds": 60 },
        "session": {
            "type": "realtime", "model": "live-voice", "output_modalities": ["text"],
            "audio": { "input": { "turn_detection": null } },
        },
    });
    let path = "/v1/realtime/client_secrets";
    let sent = harness
        .send(Method::POST, path, Bytes::from(body.to_string()))
        .await;
    let made = GatewayResponse::read(sent).await;
    assert_eq!(made.status.as_u16(), 200, "{}", made.text());
    let secret = made.json()["value"].as_str().unwrap().to_owned();
    assert!(secret.starts_with("ek_") && !secret.contains(&harness.key));
    let bearer = format!("Bearer {secret}");
    let connected = harness
        .connect_as("/v1/realtime", &[("authorization", &bearer)])
        .await;
    let mut client = connected.unwrap();
    client.until("session.created").await;
    let done = client.ask("In writing").await;
    assert_eq!(done["response"]["output_modalities"], json!(["text"]));
    client.close().await;
    let late = json!({ "expires_after": { "seconds": 5 } });
    let sent = harness
        .send(Method::POST, path, Bytes::from(late.to_string()))
        .await;
    assert_eq!(GatewayResponse::read(sent).await.status.as_u16(), 400);
    let elsewhere = harness
        .connect_as(PATH, &[("authorization", &bearer)])
        .await;
    elsewhere.unwrap().close().await;
    harness.at_rest().await;
}
