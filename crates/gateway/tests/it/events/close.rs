//! How a stream ends: the node stops, the key is over, the account is closed, the reader is slow or gone.

use std::time::Duration;

use trunkline_db::events::NewEvent;
use trunkline_store::PolicyFields;
use trunkline_types::Topic;

use crate::events::fixtures::{happen, news};
use crate::events::sse_client::Follower;
use crate::test_gateway::TestGateway;

/// Reads on until the stream ends, and returns its last frame.
async fn last_words(follower: &mut Follower) -> String {
    let mut words = String::new();
    while let Some(frame) = follower.frame().await {
        assert_eq!(frame.data, None);
        words = frame.comment.unwrap_or(words);
    }
    words
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_stops_ends_its_streams_politely_and_does_not_wait_for_them() {
    let harness = TestGateway::new().await;
    let mut open = Vec::new();
    for _ in 0..5 {
        let one = Follower::open(harness.address, &harness.key, "").await;
        open.push(one.placed().await);
    }
    let began = tokio::time::Instant::now();
    harness.gateway.finish(Duration::from_secs(60)).await;
    assert!(
        began.elapsed() < Duration::from_secs(30),
        "{:?}",
        began.elapsed()
    );
    for follower in &mut open {
        let words = last_words(follower).await;
        assert_eq!(words, "this node is shutting down; reconnect");
    }
    assert_eq!(
        trunkline_account_api::event_readers(harness.gateway.account_api()),
        0
    );
    let late = Follower::open(harness.address, &harness.key, "").await;
    assert_eq!((late.status, late.header("retry-after")), (503, Some("1")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_revoked_key_ends_its_streams_and_no_others() {
    let harness = TestGateway::new().await;
    let key = harness.make_key(PolicyFields::default()).await;
    let revoked = Follower::open(harness.address, &key, "").await;
    let mut revoked = revoked.placed().await;
    let other = Follower::open(harness.address, &harness.key, "").await;
    let mut other = other.placed().await;
    harness.revokes_newest_key().await;
    // What `keep_fresh` does every second.
    harness.gateway.refresh().await.unwrap();
    assert_eq!(
        last_words(&mut revoked).await,
        "this API key is no longer valid"
    );
    assert_eq!(other.event().await.topic(), "key.revoked");
    harness.happens(1).await;
    assert_eq!(other.event().await.topic(), "call.refunded");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_reader_loses_nothing_and_slows_no_other_reader() {
    const EVENTS: usize = 5_000;
    let harness = TestGateway::new().await;
    let slow = Follower::open(harness.address, &harness.key, "").await;
    let mut slow = slow.placed().await;
    let quick = Follower::open(harness.address, &harness.key, "").await;
    let mut quick = quick.placed().await;
    let long = "x".repeat(4_000);
    let write = async {
        for _ in 0..EVENTS / 100 {
            let some: Vec<NewEvent> = (0..100)
                .map(|_| news(harness.account, Topic::CallRefunded, &long))
                .collect();
            happen(&harness.data, &some).await;
        }
    };
    let everything: Vec<i64> = (1..=i64::try_from(EVENTS).unwrap()).collect();
    let (received, ()) = tokio::join!(quick.numbers(EVENTS), write);
    assert_eq!(received, everything);
    assert_eq!(slow.numbers(EVENTS).await, everything);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disconnected_reader_is_forgotten() {
    let settings = trunkline_gateway::Settings {
        events: trunkline_account_api::EventSettings {
            heartbeat: Duration::from_millis(100),
            ..trunkline_account_api::EventSettings::default()
        },
        ..trunkline_gateway::Settings::default()
    };
    let harness = TestGateway::with(settings, 0, 0).await;
    let gone = Follower::open(harness.address, &harness.key, "").await;
    let gone = gone.placed().await;
    assert_eq!(
        trunkline_account_api::event_readers(harness.gateway.account_api()),
        1
    );
    drop(gone);
    for _ in 0..600 {
        if trunkline_account_api::event_readers(harness.gateway.account_api()) == 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("its seat is still taken");
}
