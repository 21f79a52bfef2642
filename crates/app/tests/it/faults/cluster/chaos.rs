//! Two hundred callers while gateways, workers, Redis and NATS servers are killed, cut off and
//! restarted. Short in the gate; `just cluster-chaos` runs the long form.

use std::time::Duration;

use trunkline_store::PolicyFields;
use trunkline_testkit::privileged;

use super::load::{Callers, codes, judge};
use super::event_readers::{EventReaders, check, tell};
use super::fixtures::{budget, key_of, wide};
use super::{Cluster, ClusterOptions, number};
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
    let mut town = Cluster::new(ClusterOptions::default()).await;
    let (callers, events, rounds) = (
        number(CALLERS, 200),
        number(EVENTS, 10_000),
        number(ROUNDS, 1),
    );
    let rich = town.customer(MONEY).await;
    let frugal = key_of(&town.console, rich.account, wide()).await;
    budget(&town.console, &frugal, BUDGET).await;
    let slow = PolicyFields {
        requests_per_minute: Some(RATE),
        ..wide()
    };
    let slow = key_of(&town.console, rich.account, slow).await;
    let mut listeners = Vec::new();
    for _ in 0..LISTENERS {
        listeners.push(town.customer(1).await);
    }
    // Keys are everywhere within the refresh.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let customers = vec![rich, frugal.clone(), slow.clone()];
    let callers = usize::try_from(callers).unwrap();
    let (crowd, calls) = Callers::start(town.addresses(), customers, callers);
    let (audience, ears) = EventReaders::start(town.addresses(), &listeners);
    let each = events / LISTENERS;
    let (data, told) = (town.data.clone(), listeners.clone());
    #[expect(clippy::disallowed_methods, reason = "it is joined below")]
    let writer = tokio::spawn(async move {
        tell(&data, &told, each, Duration::from_millis(40)).await;
    });
    let mut faults = 0;
    for _ in 0..rounds {
        faults += break_everything(&mut town, &crowd).await;
    }
    writer.await.unwrap();
    audience.until(each * LISTENERS, LONG).await;
    let heard = ears.join_all().await;
    crowd.end();
    let history = calls.await.unwrap();
    let returns: u64 = heard.iter().map(|(_, heard)| heard.returns).sum();
    check(&heard, each);
    town.settled().await;
    let (complete, failed, unknown) = judge(&town.postgres, &history).await;
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
    let frugal_spent = town.postgres.ask(&spent(frugal.key_id.number())).await;
    let frugal_spent: i64 = frugal_spent[0].parse().unwrap();
    assert!(frugal_spent <= BUDGET, "{frugal_spent} of {BUDGET}");
    assert!(
        frugal_spent > BUDGET / 2,
        "{frugal_spent} of {BUDGET}: the budget was never felt"
    );
    check_rate(&town, slow.key_id.number()).await;
    audit_of(&town.postgres).await;
    println!("figures: requests={} faults={faults}", complete + failed);
}

/// Every kind of fault once; in between, calls are served. Returns how many there were.
async fn break_everything(town: &mut Cluster, crowd: &Callers) -> u64 {
    let soon = Duration::from_secs(60);
    crowd.serves(20, soon).await;
    town.gateways[0].kill().await;
    crowd.serves(10, soon).await;
    town.gateways[0].start().await;
    town.nats[0].kill_9();
    crowd.serves(10, soon).await;
    town.gateways[1].cut_off_for(Duration::from_secs(3)).await;
    town.nats[0].restart();
    crowd.serves(10, soon).await;
    town.redis.kill_9();
    crowd.serves(20, soon).await;
    town.redis.restart();
    town.workers[0].kill().await;
    crowd.serves(10, soon).await;
    town.workers[0].start().await;
    town.redis.pause();
    crowd.serves(20, soon).await;
    town.redis.resume();
    town.nats[1].pause();
    town.gateways[2].kill().await;
    crowd.serves(10, soon).await;
    town.nats[1].resume();
    town.gateways[2].start().await;
    town.redis.flush();
    town.workers[1].cut_off_for(Duration::from_secs(2)).await;
    crowd.serves(20, soon).await;
    // Two gateways, a worker, a NATS server and Redis killed; a gateway and a worker cut off; Redis and a
    // NATS server paused; Redis flushed.
    10
}

/// No minute held more calls than the limit allows: one flush and each stretch without Redis may let
/// another limit's worth through, as docs/limits.md says.
async fn check_rate(town: &Cluster, key: i64) {
    let minutes = format!(
        "SELECT (count(*))::text FROM ledger.usage WHERE key_id = {key} AND outcome = 'complete'
         GROUP BY date_trunc('minute', opened_at)"
    );
    let counts: Vec<i64> = town
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
