//! The standby is promoted under load.

use std::time::Duration;

use super::load::{CallRecord, Callers, judge, rows};
use super::{Cluster, ClusterOptions};
use crate::faults::client_view::ClientView;
use crate::faults::process_harness::{MONEY, audit_of};
use crate::verifying::served::chains_hold;
use trunkline_db::{PoolSettings, Role, connect};
use trunkline_receipts::SigningKey;
use trunkline_testkit::{Postgres, privileged};

const CALLERS: usize = 60;
const LONG: Duration = Duration::from_secs(90);

/// Serves under load, kills the database in the middle and lets the standby lead.
async fn fail_over(in_step: bool) -> (Cluster, Postgres, Vec<CallRecord>) {
    let the_cluster = Cluster::new(ClusterOptions::default()).await;
    let standby = if in_step {
        the_cluster.postgres.standby().await
    } else {
        the_cluster.postgres.standby_behind().await
    };
    let customer = the_cluster.customer(MONEY).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let (load, calls) = Callers::start(the_cluster.addresses(), vec![customer], CALLERS);
    load.serves(100, LONG).await;
    the_cluster.postgres.kill_9_postmaster();
    standby.promote().await;
    the_cluster.lines.postgres.lead_to(standby.address());
    the_cluster.lines.postgres.cut();
    load.serves(100, LONG).await;
    load.end();
    let history = calls.await.unwrap();
    (the_cluster, standby, history)
}

/// The chains of the new server have a line for everything that it has.
async fn bills_hold(standby: &Postgres) {
    let url = standby.direct_url(Role::Data);
    let data = connect(&url, Role::Data, PoolSettings::named("harness")).await;
    let key = SigningKey::from_seed(&[7; 32]).unwrap();
    chains_hold(standby, &data.unwrap(), &key).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_standby_in_step_is_promoted_under_load_and_has_every_charge() {
    if !privileged().await {
        return;
    }
    let (the_cluster, standby, history) = fail_over(true).await;
    let (complete, failed, unknown) = judge(&standby, &history).await;
    println!(
        "in step: {complete} whole answers, all in the books; {failed} refused, {unknown} broken off"
    );
    drop(the_cluster);
    audit_of(&standby).await;
    bills_hold(&standby).await;
    println!("figures: requests={} faults=1", complete + failed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lagging_standby_loses_unreplicated_commits_and_they_are_counted() {
    if !privileged().await {
        return;
    }
    let (the_cluster, standby, history) = fail_over(false).await;
    let rows = rows(&standby).await;
    let whole: Vec<&CallRecord> = history
        .iter()
        .filter(|called| called.reported == ClientView::Complete)
        .collect();
    let kept = |called: &&&CallRecord| called.id.as_ref().is_some_and(|id| rows.contains_key(id));
    let kept = whole.iter().filter(kept).count();
    println!(
        "behind: {} of {} whole answers are in the books of the new server",
        kept,
        whole.len()
    );
    // What is lost is the operator's loss, never the customer's; nothing is charged that was not served.
    assert!(kept * 10 >= whole.len() * 9, "{kept} of {}", whole.len());
    drop(the_cluster);
    audit_of(&standby).await;
    bills_hold(&standby).await;
    println!("figures: requests={} faults=1", whole.len());
}
