//! Clients that leave: before the source has answered, and before the first byte of the body.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::social::harness::{escaped, path};
use crate::test_gateway::TestGateway;

async fn open(harness: &TestGateway, case: &str) -> TcpStream {
    let mut stream = TcpStream::connect(harness.address).await.unwrap();
    let query = format!("keyword={}", escaped(&format!("[[social:{case}]]")));
    let head = format!(
        "GET {} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {}\r\n\r\n",
        path("kuaishou/search", &query),
        harness.key
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream
}

async fn until_asked(harness: &TestGateway, count: usize) {
    for _ in 0..500 {
        if harness.vendor_calls().len() >= count {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the source was not asked");
}

// covers: D-2-78
#[tokio::test]
async fn a_client_that_is_gone_before_the_first_byte_pays_nothing() {
    let harness = TestGateway::of_social().await;
    let before = harness.posted_at_rest().await;
    for (count, abrupt) in [(1, false), (2, true)] {
        let stream = open(&harness, "slow:600").await;
        tokio::time::sleep(Duration::from_millis(200)).await;
        if abrupt {
            stream.set_zero_linger().unwrap();
        }
        drop(stream);
        until_asked(&harness, count).await;
        assert_eq!(harness.posted_at_rest().await, before, "abrupt: {abrupt}");
    }
    assert_eq!(harness.vendor_calls().len(), 2);
    harness.audit().await;
}

#[tokio::test]
async fn a_client_that_closes_its_half_is_served_and_pays() {
    let harness = TestGateway::of_social().await;
    let before = harness.posted_at_rest().await;
    let mut stream = open(&harness, "slow:300").await;
    stream.shutdown().await.unwrap();
    let mut received = String::new();
    stream.read_to_string(&mut received).await.unwrap();
    assert!(received.starts_with("HTTP/1.1 200"), "{received}");
    assert!(received.contains("social.result"), "{received}");
    assert_eq!(harness.posted_at_rest().await, before - 20_000_000);
    harness.audit().await;
}

// covers: D-2-77
#[tokio::test]
async fn no_byte_of_a_body_leaves_before_the_charge_is_durable() {
    let harness = TestGateway::social_built(crate::test_gateway::TestOptions {
        paid: crate::social::harness::PAID,
        breakable: true,
        ..crate::test_gateway::TestOptions::default()
    })
    .await;
    let mut stream = open(&harness, "slow:800").await;
    until_asked(&harness, 1).await;
    let wire = harness.wire.as_ref().unwrap();
    wire.black_hole();
    // The source has answered, and the ledger cannot be written.
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    let mut received = [0; 1];
    let early = tokio::time::timeout(Duration::from_millis(50), stream.read(&mut received)).await;
    assert!(early.is_err(), "something was written before the charge");
    wire.pass();
    let mut all = vec![0; 100_000];
    let read = stream.read(&mut all).await.unwrap();
    let text = String::from_utf8_lossy(&all[..read]).into_owned();
    let paid = harness.posted_at_rest().await;
    if text.starts_with("HTTP/1.1 200") {
        assert_eq!(paid, crate::social::harness::PAID - 20_000_000);
    } else {
        assert!(text.starts_with("HTTP/1.1 503"), "{text}");
        assert_eq!(paid, crate::social::harness::PAID);
    }
    harness.audit().await;
}
