//! Rows of the fault matrix (docs/dev/faults.md) that no other file here has: upstreams that cannot be
//! reached at all, and clients with unusual behaviour.

use std::time::Duration;

use bytes::Bytes;
use http::Method;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use trunkline_edge::settings::AcceptSettings;
use trunkline_gateway::Settings;
use trunkline_store::keys;
use trunkline_types::KeyId;

use crate::test_gateway::{GatewayResponse, TestGateway, ask, ask_streaming};

const ALL: i64 = 10_000_000_000;
const PATH: &str = "/v1/chat/completions";

fn raw(harness: &TestGateway, body: &str) -> String {
    format!(
        "POST {PATH} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        harness.key,
        body.len()
    )
}

// row: U1
#[tokio::test]
async fn an_upstream_that_cannot_be_reached_is_502_and_costs_nothing() {
    let cases = [
        ("refused", "http://127.0.0.1:1/v1"),
        ("no such name", "http://upstream.invalid/v1"),
        ("no TLS there", "https://{}/v1"),
    ];
    for (what, base) in cases {
        let harness = TestGateway::new().await;
        let base = base.replace("{}", &harness.simulator.address().to_string());
        harness
            .channel("gone", &base, 0, &[("unserved", "sim-fast")])
            .await;
        let mut body = ask("Hello");
        body["model"] = "unserved".into();
        let got = harness.chat(&body).await;
        let reported = (got.status.as_u16(), got.code());
        assert_eq!(reported, (502, "upstream_error".to_owned()), "{what}");
        assert_eq!(got.json()["error"]["charged"], false);
        let (outcome, charged, _, _) = harness.usage(&got.id()).await;
        assert_eq!(
            (outcome.as_str(), charged),
            ("upstream_failed", 0),
            "{what}"
        );
        assert!(harness.simulator.requests().is_empty(), "{what}");
        assert_eq!(harness.posted_at_rest().await, ALL);
        harness.audit().await;
    }
}

// row: C3
#[tokio::test]
async fn a_reader_that_stops_reading_times_out_and_pays_for_received_output() {
    let harness = TestGateway::with(
        Settings {
            accept: AcceptSettings {
                reader_wait: Duration::from_millis(400),
                ..AcceptSettings::default()
            },
            ..Settings::default()
        },
        ALL,
        0,
    )
    .await;
    let body = ask_streaming("Go on [[tokens:19000]]").to_string();
    let mut stalled = TcpStream::connect(harness.address).await.unwrap();
    let request = raw(&harness, &body);
    stalled.write_all(request.as_bytes()).await.unwrap();
    let mut first = [0_u8; 200];
    stalled.read_exact(&mut first).await.unwrap();
    let head = String::from_utf8_lossy(&first).into_owned();
    let id = head
        .lines()
        .find_map(|line| line.strip_prefix("x-request-id: "))
        .unwrap()
        .to_owned();
    let left = harness.posted_at_rest().await;
    let (outcome, charged, _, _) = harness.usage(&id).await;
    assert_eq!(left, ALL - charged);
    assert_eq!(outcome, "client_gone");
    assert!(charged > 0, "{charged}");
    harness.audit().await;
}

// row: C4
#[tokio::test]
async fn a_client_that_closes_its_half_after_the_request_is_still_served() {
    let harness = TestGateway::new().await;
    for body in [
        ask("Hello [[tokens:5]]").to_string(),
        ask_streaming("Hello [[tokens:5]] [[pace:20]]").to_string(),
    ] {
        let before = harness.posted_at_rest().await;
        let mut client = TcpStream::connect(harness.address).await.unwrap();
        let request = raw(&harness, &body);
        client.write_all(request.as_bytes()).await.unwrap();
        client.shutdown().await.unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert!(answer.contains("trunkline-cost-usd"), "{answer}");
        assert!(harness.posted_at_rest().await < before);
    }
    harness.audit().await;
}

// row: C5
#[tokio::test]
async fn pipelined_requests_are_answered_in_order_and_charged_once_each() {
    let harness = TestGateway::new().await;
    let bodies: Vec<String> = (1..=3)
        .map(|number| ask(&format!("[[id:p{number}]] [[tokens:{number}]]")).to_string())
        .collect();
    let mut client = TcpStream::connect(harness.address).await.unwrap();
    let all: String = bodies.iter().map(|body| raw(&harness, body)).collect();
    client.write_all(all.as_bytes()).await.unwrap();
    client.shutdown().await.unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).await.unwrap();
    assert_eq!(answer.matches("HTTP/1.1 200").count(), 3, "{answer}");
    let markers: Vec<_> = harness
        .simulator
        .requests()
        .into_iter()
        .filter_map(|served| served.marker)
        .collect();
    assert_eq!(markers, ["p1", "p2", "p3"]);
    let ids: Vec<&str> = answer
        .lines()
        .filter_map(|line| line.strip_prefix("x-request-id: "))
        .collect();
    let mut charged = 0;
    for id in ids {
        charged += harness.usage(id).await.1;
    }
    assert_eq!(harness.posted_at_rest().await, ALL - charged);
    harness.audit().await;
}

// row: C8
#[tokio::test]
async fn a_key_that_is_revoked_during_a_stream_ends_nothing_and_opens_nothing() {
    let harness = TestGateway::new().await;
    let id = harness.get("/v1/key").await.json()["id"].as_i64().unwrap();
    let body = ask_streaming("Go on [[tokens:60]] [[pace:20]]").to_string();
    let mut answer = harness.send(Method::POST, PATH, Bytes::from(body)).await;
    answer.piece().await.unwrap().unwrap();
    let mut tx = harness.console.begin().await.unwrap();
    keys::revoke(&mut tx, KeyId::new(id)).await.unwrap();
    tx.commit().await.unwrap();
    harness.gateway.refresh().await.unwrap();
    let refused = harness.chat(&ask("Hello")).await;
    assert_eq!(refused.code(), "revoked_api_key");
    let rest = GatewayResponse::read(answer).await;
    assert!(rest.text().ends_with("data: [DONE]\n\n"), "{}", rest.text());
    let (outcome, charged, _, _) = harness.usage(&rest.id()).await;
    assert_eq!(outcome, "complete");
    assert_eq!(harness.posted_at_rest().await, ALL - charged);
    harness.audit().await;
}
