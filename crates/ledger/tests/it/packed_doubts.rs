//! Batches of packed holds whose outcome their process does not learn.

use std::time::Duration;

use tokio::runtime;
use trunkline_db::{PoolSettings, Role, connect};
use trunkline_ledger::{Ledger, LedgerError, LedgerSettings, recovery};
use trunkline_types::NodeId;

use crate::lock_helpers::{LONGEST, in_the_way, transfers, until_blocked, until_wallets};
use crate::test_ledger::{TestLedger, done, held, patient, request, reserve, settle};

/// Its caller was told that nothing happened, so nothing must.
#[tokio::test]
async fn a_batch_that_never_arrived_is_not_applied_once_its_caller_has_gone() {
    let harness = TestLedger::new().await;
    let account = harness.account(100, 0).await;
    let wire = harness.db.wire();
    let url = harness.db.url_through(&wire, Role::Data);
    let hasty = PoolSettings {
        answer_timeout: Duration::from_secs(1),
        ..PoolSettings::named("lane")
    };
    let data = connect(&url, Role::Data, hasty).await.unwrap();
    let node = NodeId::new("n1").unwrap();
    let settings = LedgerSettings {
        settlement_wait: Duration::from_millis(300),
        ..patient()
    };
    let (ledger, _tasks) = Ledger::open(data, &node, settings).await.unwrap();
    let call = request();
    ledger.reserve(reserve(call, account, 30)).await.unwrap();
    wire.only_of("INSERT INTO ledger.usage_unsummed");
    wire.stall_before_commit();
    assert_eq!(
        ledger.settle(settle(call, account, 30)).await,
        Err(LedgerError::Unavailable)
    );
    assert_eq!(wire.strikes(), 1);
    until_wallets(&harness, account, [100, 0, 0, 0]).await;
    assert_eq!(transfers(&harness, call).await, [""; 0], "never charged");
    let outcome = "SELECT outcome FROM ledger.usage";
    assert_eq!(harness.db.ask(outcome).await, ["database_away"]);
    let abandoned = "SELECT count(*)::text FROM ledger.hold_batch WHERE answers ? 'abandoned'";
    assert_eq!(harness.db.ask(abandoned).await, ["1"]);
    harness.audit().await;
}

/// The backend does not notice until it answers, and what was not committed by then never is.
#[tokio::test]
async fn a_settlement_on_its_way_when_its_process_dies_is_not_charged() {
    let harness = TestLedger::new().await;
    let account = harness.account(100, 0).await;
    let process = runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let url = harness.db.url(Role::Data);
    let node = NodeId::new("n1").unwrap();
    let (call, named) = (request(), node.clone());
    let opened = process.spawn(async move {
        let data = connect(&url, Role::Data, PoolSettings::named("doomed"));
        let (ledger, tasks) = Ledger::open(data.await.unwrap(), &named, patient())
            .await
            .unwrap();
        let answer = ledger.reserve(reserve(call, account, 30)).await;
        (ledger, tasks, answer)
    });
    let (ledger, _tasks, answer) = opened.await.unwrap();
    assert_eq!(answer, Ok(held(30, 0)));
    let barrier = in_the_way(&harness, account).await;
    let settling = process.spawn(async move { ledger.settle(settle(call, account, 30)).await });
    until_blocked(&harness).await;
    process.shutdown_background();
    assert!(settling.await.is_err(), "no caller hears the answer");
    barrier.rollback().await.unwrap();
    let there = "SELECT count(*)::text FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = 'doomed' AND state <> 'idle'";
    until_none(&harness, there).await;
    assert_eq!(harness.wallets(account).await, [100, 30, 0, 0]);
    let (_, voided) = recovery::register(&harness.data, &node).await.unwrap();
    assert_eq!(voided, 1);
    assert_eq!(harness.wallets(account).await, [100, 0, 0, 0]);
    assert_eq!(transfers(&harness, call).await, [""; 0], "never charged");
    harness.audit().await;
}

/// A batch that arrives when its sequence is taken is refused, and the next ones are not.
#[tokio::test]
async fn calls_go_on_after_a_batch_that_never_arrived() {
    let harness = TestLedger::new().await;
    let account = harness.account(100, 0).await;
    let (ledger, _tasks) = harness.ledger("n1").await;
    let (first, second) = (request(), request());
    assert_eq!(
        ledger.reserve(reserve(first, account, 30)).await,
        Ok(held(30, 0))
    );
    let taken = "SELECT ledger.abandon_batch(b.day, n.name, n.epoch, b.lane, b.seq + 1, b.account_ids)::text
        FROM ledger.hold_batch AS b CROSS JOIN ledger.node AS n";
    assert_eq!(harness.db.ask(taken).await, ["true"]);
    let refused = ledger.settle(settle(first, account, 30)).await;
    assert!(
        matches!(refused, Err(LedgerError::Rejected(_))),
        "{refused:?}"
    );
    assert_eq!(harness.wallets(account).await, [100, 30, 0, 0]);
    assert_eq!(
        ledger.reserve(reserve(second, account, 10)).await,
        Ok(held(10, 0))
    );
    assert_eq!(
        ledger.settle(settle(first, account, 30)).await,
        Ok(done(30, 0))
    );
    assert_eq!(harness.wallets(account).await, [70, 10, 0, 0]);
    harness.audit().await;
}

async fn until_none(harness: &TestLedger, count: &str) {
    let look = async {
        while harness.db.ask(count).await != ["0"] {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let found = tokio::time::timeout(LONGEST, look).await;
    assert!(found.is_ok(), "{count}");
}
