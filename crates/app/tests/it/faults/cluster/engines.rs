//! Redis and NATS go and come back one by one; calls go on, money is exact, events arrive in order.

use std::time::Duration;

use trunkline_testkit::privileged;

use super::event_readers::{EventReaders, check, tell};
use super::load::{Callers, codes, judge};
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
    let the_cluster = Cluster::new(ClusterOptions::default()).await;
    let customer = the_cluster.customer(MONEY).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let (load, calls) = Callers::start(the_cluster.addresses(), vec![customer], CALLERS);
    load.serves(100, SOON).await;
    the_cluster.redis.flush();
    load.serves(100, SOON).await;
    the_cluster.lines.redis.delay(Duration::from_secs(2));
    load.serves(100, SOON).await;
    the_cluster.lines.redis.pass();
    load.serves(50, SOON).await;
    the_cluster.redis.kill_9();
    load.serves(100, SOON).await;
    the_cluster.redis.restart();
    load.serves(100, SOON).await;
    load.end();
    let history = calls.await.unwrap();
    let (complete, failed, unknown) = judge(&the_cluster.postgres, &history).await;
    println!("{complete} calls whole while Redis was flushed, slow and gone");
    assert_eq!((failed, unknown), (0, 0), "{:?}", codes(&history));
    the_cluster.settled().await;
    audit_of(&the_cluster.postgres).await;
    // Flushed, slow and gone.
    println!("figures: requests={complete} faults=3");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nats_away_for_a_while_and_for_ten_minutes_loses_no_event() {
    if !privileged().await {
        return;
    }
    let the_cluster = Cluster::new(ClusterOptions::default()).await;
    let customer = the_cluster.customer(MONEY).await;
    let mut listeners = Vec::new();
    for _ in 0..LISTENERS {
        listeners.push(the_cluster.customer(1).await);
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    let (load, calls) = Callers::start(the_cluster.addresses(), vec![customer], CALLERS);
    let (readers, ears) = EventReaders::start(the_cluster.addresses(), &listeners);
    let pause = Duration::from_millis(50);
    tell(&the_cluster.data, &listeners, 50, pause).await;
    the_cluster
        .nats
        .iter()
        .for_each(trunkline_testkit::Nats::kill_9);
    tell(&the_cluster.data, &listeners, 50, pause).await;
    tokio::time::sleep(AWAY).await;
    tell(&the_cluster.data, &listeners, 50, pause).await;
    load.serves(50, SOON).await;
    // Ten minutes pass by the clock of the database before it returns.
    the_cluster.postgres.shift_clock(600).await;
    tell(&the_cluster.data, &listeners, 50, pause).await;
    the_cluster
        .nats
        .iter()
        .for_each(trunkline_testkit::Nats::restart);
    tell(&the_cluster.data, &listeners, 50, pause).await;
    readers
        .until(250 * u64::try_from(LISTENERS).unwrap(), SOON)
        .await;
    check(&ears.join_all().await, 250);
    load.end();
    let history = calls.await.unwrap();
    let (complete, failed, unknown) = judge(&the_cluster.postgres, &history).await;
    println!("{complete} calls whole and 250 events for each of {LISTENERS} while NATS was away");
    assert_eq!((failed, unknown), (0, 0), "{:?}", codes(&history));
    the_cluster.settled().await;
    the_cluster.postgres.shift_clock(-600).await;
    audit_of(&the_cluster.postgres).await;
    println!(
        "figures: requests={complete} faults={}",
        the_cluster.nats.len()
    );
}
