//! One rule for the whole answers of every operation: a client that has gone before the first byte of the body
//! is refunded, one that has gone after it pays.

use std::time::Duration;

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use trunkline_ledger::recovery;
use trunkline_types::{Money, NodeId};

use crate::keys::calls::below;
use crate::test_gateway::{GatewayResponse, TestGateway, ask};

/// How a client goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Close {
    /// By a reset.
    Abrupt,
    /// By its end of the connection, as a process does that exits.
    Quiet,
}

/// Sends a request and leaves while its upstream thinks.
pub(crate) async fn ask_and_leave(harness: &TestGateway, path: &str, body: &Value, how: Close) {
    let stream = sent(harness, path, body).await;
    tokio::time::sleep(Duration::from_millis(250)).await;
    if how == Close::Abrupt {
        stream.set_zero_linger().unwrap();
    }
    drop(stream);
}

async fn sent(harness: &TestGateway, path: &str, body: &Value) -> TcpStream {
    let mut stream = TcpStream::connect(harness.address).await.unwrap();
    let body = body.to_string();
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        harness.key,
        body.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

async fn until_served(harness: &TestGateway, count: usize) {
    for _ in 0..500 {
        let served = harness.simulator.requests();
        if served.len() >= count && served.iter().all(|one| one.finished || one.client_left) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the upstream was not called");
}

fn calls() -> [(&'static str, Value); 3] {
    let slow = "[[fault:slow_first_byte:700]]";
    let messages = ask(&format!("Hello [[tokens:5]] {slow}"));
    let speech = json!({ "model": "voice", "input": format!("Hello {slow}"), "voice": "alloy" });
    let image = json!({ "model": "brush", "prompt": format!("x {slow}") });
    [
        ("/v1/chat/completions", messages),
        ("/v1/audio/speech", speech),
        ("/v1/images/generations", image),
    ]
}

// covers: D-2-78
#[tokio::test]
async fn a_client_gone_before_the_first_byte_of_any_whole_answer_pays_nothing() {
    let harness = TestGateway::generation().await;
    let mut count = 0;
    for (path, body) in calls() {
        for how in [Close::Quiet, Close::Abrupt] {
            ask_and_leave(&harness, path, &body, how).await;
            count += 1;
            until_served(&harness, count).await;
            assert_eq!(harness.spent().await, 0, "{path} {how:?}");
        }
    }
    harness.audit().await;
}

#[tokio::test]
async fn a_client_that_reads_a_whole_answer_pays_also_when_it_closed_its_half() {
    let harness = TestGateway::generation().await;
    let mut before = 0;
    for (path, body) in calls() {
        let mut stream = sent(&harness, path, &body).await;
        stream.shutdown().await.unwrap();
        let mut received = Vec::new();
        stream.read_to_end(&mut received).await.unwrap();
        let head = String::from_utf8_lossy(&received[..15]).into_owned();
        assert!(head.starts_with("HTTP/1.1 200"), "{path}: {head}");
        let spent = harness.spent().await;
        assert!(spent > before, "{path}");
        before = spent;
    }
    harness.audit().await;
}

#[tokio::test]
async fn a_client_gone_after_the_first_byte_of_a_whole_answer_pays() {
    let harness = TestGateway::generation().await;
    let body = ask("Hello [[tokens:20000]]").to_string();
    let path = "/v1/chat/completions";
    let mut answer = harness.send(Method::POST, path, Bytes::from(body)).await;
    answer.piece().await.unwrap().unwrap();
    drop(answer);
    assert!(harness.spent().await > 20_000 * 8_000 / 1_000);
    harness.audit().await;
}

/// The node dies between the charge and the answer; what is left of it is a charge.
#[tokio::test]
async fn a_customer_whose_answer_died_with_its_node_gets_the_charge_back_once() {
    let harness = TestGateway::new().await;
    let got = harness.chat(&ask("Hello [[tokens:5]]")).await;
    let (_, charged, ..) = harness.usage(&got.id()).await;
    let path = format!("/v1/usage/{}", got.id());
    let refund = format!("{path}/refund");
    let posted = async || {
        let answer = harness.send(Method::POST, &refund, Bytes::new()).await;
        GatewayResponse::read(answer).await
    };
    assert_eq!(posted().await.status, 404, "its node lives");
    assert_eq!(harness.get(&path).await.json()["delivery"], Value::Null);
    // A node of another name stands for the one that answers: it notes what the dead one left.
    let taken = "UPDATE ledger.usage SET node = 'dead', epoch = 1;
        INSERT INTO ledger.node (name, epoch) VALUES ('dead', 1);
        INSERT INTO ledger.node_epoch (node, epoch, started_at) VALUES ('dead', 1, app.now() - interval '1 hour');
        UPDATE ledger.hold_batch SET epoch_id = (SELECT id FROM ledger.node_epoch WHERE node = 'dead');
        UPDATE ledger.usage SET hold_epoch = (SELECT id FROM ledger.node_epoch WHERE node = 'dead')";
    let statement = format!("SET session_replication_role = replica; {taken}");
    harness.db.ask(&statement).await;
    let dead = NodeId::new("dead").unwrap();
    recovery::register(&harness.data, &dead).await.unwrap();
    assert_eq!(harness.get(&path).await.json()["delivery"], "unconfirmed");
    let back = posted().await;
    assert_eq!(back.status, 200, "{}", back.text());
    let expected = Money::from_nanos(charged).to_string();
    assert_eq!(back.json()["refunded_usd"], json!(expected));
    assert_eq!(posted().await.json()["refunded_usd"], json!("0"));
    assert_eq!(harness.posted_at_rest().await, 10_000_000_000);
    let (below, _) = below(&harness, &harness.key, json!({})).await;
    let to = (harness.address, below.as_str());
    let refused = harness.send_as(to, Method::POST, &refund, Bytes::new(), &[]);
    assert_eq!(refused.await.status, 403);
    harness.audit().await;
}
