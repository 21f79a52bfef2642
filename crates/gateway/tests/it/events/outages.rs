//! Two nodes, and what is between them lost and found: no event is missed, doubled or out of order.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use trunkline_account_api::EventSettings;
use trunkline_db::SystemClock;
use trunkline_gateway::Settings;
use trunkline_testkit::Nats;
use trunkline_types::Topic;

use crate::events::fixtures::{happen, news, pair};
use crate::events::sse_client::Follower;
use crate::test_gateway::{OtherEngines, TestGateway, TestOptions};

/// Only hints from others, for longer than a test takes.
fn by_copies_alone() -> Settings {
    Settings {
        events: EventSettings {
            look_beside_copies: Duration::from_secs(3_600),
            ..EventSettings::default()
        },
        ..Settings::default()
    }
}

fn up_to(last: i64) -> Vec<i64> {
    (1..=last).collect()
}

/// Reads so many events, going to the next node after every few.
async fn wander(nodes: &[SocketAddr], key: &str, many: usize) -> Vec<i64> {
    let mut numbers = Vec::new();
    let mut place = "a0-s0".to_owned();
    let path = "?topics=call.refunded";
    for address in nodes.iter().cycle() {
        let mut follower = Follower::after(*address, key, path, &place).await;
        assert_eq!(follower.status, 200);
        let some = (many - numbers.len()).min(7);
        numbers.extend(follower.numbers(some).await);
        place = follower.last_id.clone().unwrap();
        if numbers.len() == many {
            return numbers;
        }
    }
    numbers
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_that_changes_nodes_misses_nothing_without_nats() {
    let harness = TestGateway::build(TestOptions {
        engines: OtherEngines::None,
        ..TestOptions::default()
    })
    .await;
    let node = harness.second_node(Arc::new(SystemClock)).await;
    let nodes = [harness.address, node.address];
    let steady = Follower::open(node.address, &harness.key, "").await;
    let mut steady = steady.placed().await;
    let write = async {
        for _ in 0..20 {
            harness.happens(5).await;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let (wandered, received, ()) = tokio::join!(
        wander(&nodes, &harness.key, 100),
        steady.numbers(100),
        write
    );
    assert_eq!(wandered, up_to(100));
    assert_eq!(received, up_to(100));
    harness.audit().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn copies_alone_feed_the_readers_of_every_node() {
    let nats = Nats::start().await;
    let (harness, node) = pair(&nats, by_copies_alone()).await;
    let first = Follower::open(harness.address, &harness.key, "").await;
    let mut first = first.placed().await;
    let second = Follower::open(node.address, &harness.key, "").await;
    let mut second = second.placed().await;
    let write = async {
        for _ in 0..20 {
            harness.happens(10).await;
        }
    };
    let nodes = [harness.address, node.address];
    let (wandered, near, far, ()) = tokio::join!(
        wander(&nodes, &harness.key, 200),
        first.numbers(200),
        second.numbers(200),
        write
    );
    assert_eq!(wandered, up_to(200));
    assert_eq!(near, up_to(200));
    assert_eq!(far, up_to(200));
    let metrics = harness.metrics().await;
    assert!(metrics.contains("\ntrunkline_bus_up 1\n"), "{metrics}");
    assert!(
        !metrics.contains("\ntrunkline_event_copies_heard_total 0\n"),
        "{metrics}"
    );
    harness.audit().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nats_gone_for_twenty_seconds_and_ten_minutes_costs_no_event() {
    const AWAY: Duration = Duration::from_secs(20);
    let nats = Nats::start().await;
    let (harness, node) = pair(&nats, Settings::default()).await;
    let near = Follower::open(harness.address, &harness.key, "?topics=call.refunded").await;
    let mut near = near.placed().await;
    let far = Follower::open(node.address, &harness.key, "?topics=call.refunded").await;
    let mut far = far.placed().await;
    harness.happens(20).await;
    assert_eq!(near.numbers(20).await, up_to(20));
    assert_eq!(far.numbers(20).await, up_to(20));
    nats.kill_9();
    let began = tokio::time::Instant::now();
    harness.db.shift_clock(600).await;
    // While it is away readers are served from the table, on every node.
    let mut last = 20;
    while began.elapsed() < AWAY {
        harness.happens(10).await;
        let more: Vec<i64> = (last + 1..=last + 10).collect();
        assert_eq!(near.numbers(10).await, more);
        assert_eq!(far.numbers(10).await, more);
        last += 10;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    assert!(harness.metrics().await.contains("\ntrunkline_bus_up 0\n"));
    trunkline_account_api::measure_outbox(harness.gateway.account_api())
        .await
        .unwrap();
    let waiting = harness.metrics().await;
    assert!(
        !waiting.contains("\ntrunkline_outbox_rows 0\n"),
        "copies wait"
    );
    nats.restart();
    harness.happens(10).await;
    let more: Vec<i64> = (last + 1..=last + 10).collect();
    assert_eq!(near.numbers(10).await, more);
    assert_eq!(far.numbers(10).await, more);
    last += 10;
    // The copies arrive afterwards, each once.
    for _ in 0..1_200 {
        trunkline_account_api::measure_outbox(harness.gateway.account_api())
            .await
            .unwrap();
        if harness
            .metrics()
            .await
            .contains("\ntrunkline_outbox_rows 0\n")
        {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(
        harness
            .metrics()
            .await
            .contains("\ntrunkline_outbox_rows 0\n")
    );
    let nodes = [harness.address, node.address];
    let many = usize::try_from(last).unwrap();
    assert_eq!(wander(&nodes, &harness.key, many).await, up_to(last));
    harness.audit_but_for_the_clock().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_hears_of_a_revoked_key_and_compares_at_once() {
    let nats = Nats::start().await;
    let (harness, node) = pair(&nats, by_copies_alone()).await;
    let key = harness
        .make_key(trunkline_store::PolicyFields::default())
        .await;
    node.gateway.refresh().await.unwrap();
    let follower = Follower::open(node.address, &key, "?topics=task.failed").await;
    let mut follower = follower.placed().await;
    // Only the event refreshes the second node.
    harness.revokes_newest_key().await;
    let reported = news(harness.account, Topic::KeyRevoked, "gone");
    happen(&harness.data, &[reported]).await;
    while let Some(frame) = follower.frame().await {
        assert_eq!(frame.data, None);
    }
}
