//! Two hundred callers while gateways, workers, Redis and NATS servers are killed, cut off and
//! restarted. Short in the gate; `just cluster-chaos` runs the long form.

use std::time::Duration;

use trunkline_store::PolicyFields;
use trunkline_testkit::privileged;

use super::event_readers::{EventReaders, check, tell};
use super::fixtures::{budget, key_of, wide};
use super::load::{Callers, codes, judge};
use super::{Cluster, ClusterOptions};
use crate::faults::number;
use crate::faults::process_harness::{MONEY, audit_of};

const CALLERS: &str = "TRUNKLINE_CLUSTER_CALLERS";
const EVENTS: &str = "TRUNKLINE_CLUSTER_EVENTS";
const ROUNDS: &str = "TRUNKLINE_CLUSTER_ROUNDS";
/// Accounts that listen to their events.
const LISTENERS: u64 = 20;
/// What a key with a budget may spend, nano-USD: far less than its callers would.
const BUDGET: i64 = 20_000_000;
/// Requests in a minute of the key with a rate.
const RATE: i64 = 120;
const LONG: Duration = Duration::from_secs(180);

// covers: D-2-91
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn budgets_hold_and_events_arrive_once_while_nodes_and_engines_die() {
    if !privileged().await {
        return;
    }
    let mut the_cluster = Cluster::new(ClusterOptions::default()).await;
    let (callers, events, rounds) = (
        number(CALLERS, 200),
        number(EVENTS, 10_000),
        number(ROUNDS, 1),
    );
    let rich = the_cluster.customer(MONEY).await;
    let frugal = key_of(&the_cluster.console, rich.account, wide()).await;
    budget(&the_cluster.console, &frugal, BUDGET).await;
    let slow = PolicyFields {
        requests_per_minute: Some(RATE),
        ..wide()
    };
    let slow = key_of(&the_cluster.console, rich.account, slow).await;
    let mut listeners = Vec::new();
    for _ in 0..LISTENERS {
        listeners.push(the_cluster.customer(1).await);
    }
    // Keys are everywhere within the refresh.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let customers = vec![rich, frugal.clone(), slow.clone()];
    let callers = usize::try_from(callers).unwrap();
    let (load, calls) = Callers::start(the_cluster.addresses(), customers, callers);
    let (readers, ears) = EventReaders::start(the_cluster.addresses(), &listeners);
    let each = events / LISTENERS;
    let (data, reported) = (the_cluster.data.clone(), listeners.clone());
    #[expect(clippy::disallowed_methods, reason = "it is joined below")]
    let writer = tokio::spawn(async move {
        tell(&data, &reported, each, Duration::from_millis(40)).await;
    });
    let mut faults = 0;
    for _ in 0..rounds {
        faults += break_everything(&mut the_cluster, &load).await;
    }
    writer.await.unwrap();
    readers.until(each * LISTENERS, LONG).await;
    let received = ears.join_all().await;
    load.end();
    let history = calls.await.unwrap();
    let returns: u64 = received.iter().map(|(_, received)| received.returns).sum();
    check(&received, each);
    the_cluster.settled().await;
    let (complete, failed, unknown) = judge(&the_cluster.postgres, &history).await;
    println!(
        "{} calls: {complete} whole, {failed} refused, {unknown} broken off; {} events heard by {LISTENERS} \
         listeners who came back {returns} times; {:?}",
        history.len(),
        each * LISTENERS,
        codes(&history)
    );
    let spent = |key: i64| {
        format!(
            "SELECT COALESCE(sum(paid + trial), 0)::text FROM ledger.usage WHERE key_id = {key}"
        )
    };
    let frugal_spent = the_cluster
        .postgres
        .ask(&spent(frugal.key_id.number()))
        .await;
    let frugal_spent: i64 = frugal_spent[0].parse().unwrap();
    assert!(frugal_spent <= BUDGET, "{frugal_spent} of {BUDGET}");
    assert!(
        frugal_spent > BUDGET / 2,
        "{frugal_spent} of {BUDGET}: the budget was never felt"
    );
    check_rate(&the_cluster, slow.key_id.number()).await;
    audit_of(&the_cluster.postgres).await;
    println!("figures: requests={} faults={faults}", complete + failed);
}

/// Every kind of fault once; in between, calls are served. Returns how many there were.
async fn break_everything(the_cluster: &mut Cluster, load: &Callers) -> u64 {
    let soon = Duration::from_secs(60);
    load.serves(20, soon).await;
    the_cluster.gateways[0].kill().await;
    load.serves(10, soon).await;
    the_cluster.gateways[0].start().await;
    the_cluster.nats[0].kill_9();
    load.serves(10, soon).await;
    the_cluster.gateways[1]
        .cut_off_for(Duration::from_secs(3))
        .await;
    the_cluster.nats[0].restart();
    load.serves(10, soon).await;
    the_cluster.redis.kill_9();
    load.serves(20, soon).await;
    the_cluster.redis.restart();
    the_cluster.workers[0].kill().await;
    load.serves(10, soon).await;
    the_cluster.workers[0].start().await;
    the_cluster.redis.pause();
    load.serves(20, soon).await;
    the_cluster.redis.resume();
    the_cluster.nats[1].pause();
    the_cluster.gateways[2].kill().await;
    load.serves(10, soon).await;
    the_cluster.nats[1].resume();
    the_cluster.gateways[2].start().await;
    the_cluster.redis.flush();
    the_cluster.workers[1]
        .cut_off_for(Duration::from_secs(2))
        .await;
    load.serves(20, soon).await;
    // Two gateways, a worker, a NATS server and Redis killed; a gateway and a worker cut off; Redis and a
    // NATS server paused; Redis flushed.
    10
}

/// No minute held more calls than the limit allows: one flush and each stretch without Redis may let
/// another limit's worth through, as docs/guide/rate-limits.md says.
async fn check_rate(the_cluster: &Cluster, key: i64) {
    let minutes = format!(
        "SELECT (count(*))::text FROM ledger.usage WHERE key_id = {key} AND outcome = 'complete'
         GROUP BY date_trunc('minute', opened_at)"
    );
    let counts: Vec<i64> = the_cluster
        .postgres
        .ask(&minutes)
        .await
        .iter()
        .map(|count| count.parse().unwrap())
        .collect();
    println!("the key with {RATE} requests a minute was served {counts:?}");
    assert!(!counts.is_empty());
    // A restart of Redis, a flush and a pause may fall into one minute.
    assert!(counts.iter().all(|count| *count <= 4 * RATE), "{counts:?}");
}
