//! Redis and NATS go and come back one by one; calls go on, money is exact, events arrive in order.

use std::time::Duration;

use trunkline_testkit::privileged;

use super::load::{Callers, codes, judge};
use super::event_readers::{EventReaders, check, tell};
use super::{Cluster, ClusterOptions};
use crate::faults::process_harness::{MONEY, audit_of};

const CALLERS: usize = 30;
const LISTENERS: usize = 6;
const SOON: Duration = Duration::from_secs(60);
/// How long NATS stays away.
const AWAY: Duration = Duration::from_secs(20);

// row: R1
// row: R2
// row: R3
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redis_flushed_slow_or_gone_fails_no_call() {
    if !privileged().await {
        return;
    }
    let town = Cluster::new(ClusterOptions::default()).await;
    let customer = town.customer(MONEY).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let (crowd, calls) = Callers::start(town.addresses(), vec![customer], CALLERS);
    crowd.serves(100, SOON).await;
    town.redis.flush();
    crowd.serves(100, SOON).await;
    town.lines.redis.delay(Duration::from_secs(2));
    crowd.serves(100, SOON).await;
    town.lines.redis.pass();
    crowd.serves(50, SOON).await;
    town.redis.kill_9();
    crowd.serves(100, SOON).await;
    town.redis.restart();
    crowd.serves(100, SOON).await;
    crowd.end();
    let history = calls.await.unwrap();
    let (complete, failed, unknown) = judge(&town.postgres, &history).await;
    println!("{complete} calls whole while Redis was flushed, slow and gone");
    assert_eq!((failed, unknown), (0, 0), "{:?}", codes(&history));
    town.settled().await;
    audit_of(&town.postgres).await;
    // Flushed, slow and gone.
    println!("figures: requests={complete} faults=3");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nats_away_for_a_while_and_for_ten_minutes_loses_no_event() {
    if !privileged().await {
        return;
    }
    let town = Cluster::new(ClusterOptions::default()).await;
    let customer = town.customer(MONEY).await;
    let mut listeners = Vec::new();
    for _ in 0..LISTENERS {
        listeners.push(town.customer(1).await);
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    let (crowd, calls) = Callers::start(town.addresses(), vec![customer], CALLERS);
    let (audience, ears) = EventReaders::start(town.addresses(), &listeners);
    let pause = Duration::from_millis(50);
    tell(&town.data, &listeners, 50, pause).await;
    town.nats.iter().for_each(trunkline_testkit::Nats::kill_9);
    tell(&town.data, &listeners, 50, pause).await;
    tokio::time::sleep(AWAY).await;
    tell(&town.data, &listeners, 50, pause).await;
    crowd.serves(50, SOON).await;
    // Ten minutes pass by the clock of the database before it returns.
    town.postgres.shift_clock(600).await;
    tell(&town.data, &listeners, 50, pause).await;
    town.nats.iter().for_each(trunkline_testkit::Nats::restart);
    tell(&town.data, &listeners, 50, pause).await;
    audience
        .until(250 * u64::try_from(LISTENERS).unwrap(), SOON)
        .await;
    check(&ears.join_all().await, 250);
    crowd.end();
    let history = calls.await.unwrap();
    let (complete, failed, unknown) = judge(&town.postgres, &history).await;
    println!("{complete} calls whole and 250 events for each of {LISTENERS} while NATS was away");
    assert_eq!((failed, unknown), (0, 0), "{:?}", codes(&history));
    town.settled().await;
    town.postgres.shift_clock(-600).await;
    audit_of(&town.postgres).await;
    println!("figures: requests={complete} faults={}", town.nats.len());
}
