//! Clients that leave: before the source has answered, and before the first byte of the body.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::test_gateway::TestGateway;
use crate::social::harness::{escaped, path};

async fn open(house: &TestGateway, wish: &str) -> TcpStream {
    let mut stream = TcpStream::connect(house.address).await.unwrap();
    let query = format!("keyword={}", escaped(&format!("[[social:{wish}]]")));
    let head = format!(
        "GET {} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {}\r\n\r\n",
        path("kuaishou/search", &query),
        house.key
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream
}

async fn until_asked(house: &TestGateway, count: usize) {
    for _ in 0..500 {
        if house.asked().len() >= count {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the source was not asked");
}

// covers: D-2-78
#[tokio::test]
async fn a_client_that_is_gone_before_the_first_byte_pays_nothing() {
    let house = TestGateway::of_social().await;
    let before = house.posted_at_rest().await;
    for (count, abrupt) in [(1, false), (2, true)] {
        let stream = open(&house, "slow:600").await;
        tokio::time::sleep(Duration::from_millis(200)).await;
        if abrupt {
            stream.set_zero_linger().unwrap();
        }
        drop(stream);
        until_asked(&house, count).await;
        assert_eq!(house.posted_at_rest().await, before, "abrupt: {abrupt}");
    }
    assert_eq!(house.asked().len(), 2);
    house.audit().await;
}

#[tokio::test]
async fn a_client_that_closes_its_half_is_served_and_pays() {
    let house = TestGateway::of_social().await;
    let before = house.posted_at_rest().await;
    let mut stream = open(&house, "slow:300").await;
    stream.shutdown().await.unwrap();
    let mut heard = String::new();
    stream.read_to_string(&mut heard).await.unwrap();
    assert!(heard.starts_with("HTTP/1.1 200"), "{heard}");
    assert!(heard.contains("social.result"), "{heard}");
    assert_eq!(house.posted_at_rest().await, before - 20_000_000);
    house.audit().await;
}

// covers: D-2-77
#[tokio::test]
async fn no_byte_of_a_body_leaves_before_the_charge_is_durable() {
    let house = TestGateway::social_built(crate::test_gateway::TestOptions {
        paid: crate::social::harness::PAID,
        breakable: true,
        ..crate::test_gateway::TestOptions::default()
    })
    .await;
    let mut stream = open(&house, "slow:800").await;
    until_asked(&house, 1).await;
    let wire = house.wire.as_ref().unwrap();
    wire.black_hole();
    // The source has answered, and the books cannot be written.
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    let mut heard = [0; 1];
    let early = tokio::time::timeout(Duration::from_millis(50), stream.read(&mut heard)).await;
    assert!(early.is_err(), "something was written before the charge");
    wire.pass();
    let mut all = vec![0; 100_000];
    let read = stream.read(&mut all).await.unwrap();
    let text = String::from_utf8_lossy(&all[..read]).into_owned();
    let paid = house.posted_at_rest().await;
    if text.starts_with("HTTP/1.1 200") {
        assert_eq!(paid, crate::social::harness::PAID - 20_000_000);
    } else {
        assert!(text.starts_with("HTTP/1.1 503"), "{text}");
        assert_eq!(paid, crate::social::harness::PAID);
    }
    house.audit().await;
}
