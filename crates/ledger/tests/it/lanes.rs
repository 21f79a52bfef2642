//! Lanes between callers who leave and a database that is slow, away or keeps its answers back.

use std::time::Duration;

use trunkline_db::{Database, PoolSettings, Role, connect, connect_lazily};
use trunkline_ledger::{Ledger, LedgerError, LedgerSettings, LedgerTasks, OnCallerGone, Owner};
use trunkline_types::{AccountId, NodeId, RequestId};

use crate::lock_helpers::{LONGEST, begins, in_the_way, transfers, until_blocked, until_wallets};
use crate::test_ledger::{TestLedger, done, held, patient, request, reserve, reserve_row, settle};

const SHORT: Duration = Duration::from_millis(100);

/// A pool that waits for locks as long as a test may take.
fn unhurried() -> PoolSettings {
    PoolSettings {
        lock_timeout: LONGEST,
        ..PoolSettings::named("lane")
    }
}

/// A ledger that says everything in one lane.
async fn one_lane(data: Database, settings: LedgerSettings) -> (Ledger, LedgerTasks) {
    let settings = LedgerSettings {
        lanes: 1,
        ..settings
    };
    let node = NodeId::new("n1").unwrap();
    Ledger::open(data, &node, settings).await.unwrap()
}

async fn outcome(harness: &TestLedger, request: RequestId) -> String {
    let mut session = harness.data.session().await.unwrap();
    sqlx::query_scalar("SELECT outcome FROM ledger.usage WHERE request_id = $1")
        .bind(request.uuid())
        .fetch_one(&mut *session)
        .await
        .unwrap()
}

async fn losses(harness: &TestLedger) -> i64 {
    let mut session = harness.data.session().await.unwrap();
    sqlx::query_scalar("SELECT count(*) FROM ledger.write_off")
        .fetch_one(&mut *session)
        .await
        .unwrap()
}

/// Two words one after the other: whatever the lane owed before the first is paid by the second.
async fn let_it_settle_down(ledger: &Ledger, account: AccountId) {
    for _ in 0..2 {
        let call = request();
        ledger.reserve(reserve(call, account, 1)).await.unwrap();
    }
}

#[tokio::test]
async fn a_charge_is_dropped_if_its_caller_left_unless_it_is_final() {
    let harness = TestLedger::new().await;
    let (account, other) = (harness.account(100, 0).await, harness.account(100, 0).await);
    let (ledger, _tasks) = one_lane(harness.data.clone(), patient()).await;
    let (call, job) = (request(), request());
    ledger.reserve(reserve(call, account, 10)).await.unwrap();
    let mut task = reserve(job, account, 20);
    task.owner = Owner::Task(job.uuid());
    ledger.reserve(task).await.unwrap();
    let barrier = in_the_way(&harness, other).await;
    let mut busy = Box::pin(ledger.reserve(reserve(request(), other, 1)));
    assert!(begins(&mut busy).await, "it waits");
    until_blocked(&harness).await;
    let mut leaves = Box::pin(ledger.settle(settle(call, account, 10)));
    let mut charge = settle(job, account, 20);
    charge.on_caller_gone = OnCallerGone::Keep;
    let mut leaves_a_task = Box::pin(ledger.settle(charge));
    assert!(begins(&mut leaves).await && begins(&mut leaves_a_task).await);
    drop((leaves, leaves_a_task));
    barrier.rollback().await.unwrap();
    assert_eq!(busy.await, Ok(held(1, 0)));
    until_wallets(&harness, account, [80, 0, 0, 0]).await;
    assert_eq!(transfers(&harness, call).await, [""; 0], "never charged");
    assert_eq!(outcome(&harness, call).await, "database_away");
    assert_eq!(transfers(&harness, job).await, ["charge"]);
    assert_eq!(outcome(&harness, job).await, "complete");
    harness.audit().await;
}

#[tokio::test]
async fn what_an_unknown_commit_did_goes_back_when_its_caller_has_gone() {
    let harness = TestLedger::new().await;
    let account = harness.account(100, 0).await;
    let wire = harness.db.wire();
    let url = harness.db.url_through(&wire, Role::Data);
    let data = connect(&url, Role::Data, unhurried()).await.unwrap();
    let (ledger, _tasks) = one_lane(data, patient()).await;
    let (dropped, call) = (request(), request());
    let barrier = in_the_way(&harness, account).await;
    let mut caller = Box::pin(ledger.reserve(reserve_row(dropped, account, 30)));
    assert!(begins(&mut caller).await, "it waits");
    until_blocked(&harness).await;
    drop(caller);
    wire.cut_after_commit();
    barrier.rollback().await.unwrap();
    // Its answer comes after that of the lost word, and what is taken back comes before the next.
    let_it_settle_down(&ledger, account).await;
    assert_eq!(wire.strikes(), 1);
    until_wallets(&harness, account, [100, 2, 0, 0]).await;
    assert_eq!(outcome(&harness, dropped).await, "cancelled");

    ledger
        .reserve(reserve_row(call, account, 10))
        .await
        .unwrap();
    let barrier = in_the_way(&harness, account).await;
    let mut caller = Box::pin(ledger.settle(settle(call, account, 10)));
    assert!(begins(&mut caller).await, "it waits");
    until_blocked(&harness).await;
    drop(caller);
    wire.cut_after_commit();
    barrier.rollback().await.unwrap();
    let_it_settle_down(&ledger, account).await;
    assert_eq!(wire.strikes(), 2);
    until_wallets(&harness, account, [100, 4, 0, 0]).await;
    assert_eq!(transfers(&harness, call).await, ["charge", "undelivered"]);
    harness.audit().await;
}

#[tokio::test]
async fn an_acknowledged_charge_stays_when_a_duplicate_has_no_waiter() {
    let harness = TestLedger::new().await;
    let account = harness.account(100, 0).await;
    let (ledger, _tasks) = one_lane(harness.data.clone(), patient()).await;
    let call = request();
    ledger.reserve(reserve(call, account, 10)).await.unwrap();
    let charge = settle(call, account, 10);
    assert_eq!(ledger.settle(charge.clone()).await, Ok(done(10, 0)));
    let barrier = in_the_way(&harness, account).await;
    let mut repeated = Box::pin(ledger.settle(charge));
    assert!(begins(&mut repeated).await, "it waits");
    until_blocked(&harness).await;
    drop(repeated);
    barrier.rollback().await.unwrap();
    let_it_settle_down(&ledger, account).await;
    assert_eq!(harness.wallets(account).await, [90, 2, 0, 0]);
    assert_eq!(transfers(&harness, call).await, ["charge"]);
    assert_eq!(losses(&harness).await, 0);
    harness.audit().await;
}

#[tokio::test]
async fn a_lane_without_callers_ends_though_the_database_is_down() {
    let harness = TestLedger::new().await;
    let account = harness.account(100, 0).await;
    let (elsewhere, _tasks) = one_lane(harness.data.clone(), patient()).await;
    let wire = harness.db.wire();
    wire.refuse();
    let brief = PoolSettings {
        acquire_timeout: SHORT,
        ..unhurried()
    };
    let url = harness.db.url_through(&wire, Role::Data);
    let away = connect_lazily(&url, Role::Data, brief).unwrap();
    let settings = LedgerSettings {
        admission_wait: SHORT,
        ..patient()
    };
    let (ledger, tasks) = Ledger::with_epoch(away, elsewhere.node_epoch().clone(), settings);
    assert_eq!(
        ledger.reserve(reserve(request(), account, 10)).await,
        Err(LedgerError::Unavailable)
    );
    drop(ledger);
    let ended = tokio::time::timeout(LONGEST, tasks.finish()).await;
    assert!(
        ended.is_ok(),
        "a process can stop while the database is away"
    );
    assert_eq!(harness.wallets(account).await, [100, 0, 0, 0]);
    harness.audit().await;
}

#[tokio::test]
async fn a_locked_account_keeps_its_lane_only_as_long_as_its_callers_wait() {
    let harness = TestLedger::new().await;
    let (locked, free) = (harness.account(100, 0).await, harness.account(100, 0).await);
    let call = request();
    let (calm, _calm_tasks) = one_lane(harness.data.clone(), patient()).await;
    calm.reserve(reserve_row(call, free, 10)).await.unwrap();
    let hasty = PoolSettings {
        lock_timeout: SHORT,
        ..unhurried()
    };
    let data = harness.db.connect_with(Role::Data, hasty).await;
    let settings = LedgerSettings {
        lanes: 1,
        admission_wait: 3 * SHORT,
        ..patient()
    };
    let (ledger, _tasks) = Ledger::with_epoch(data, calm.node_epoch().clone(), settings);
    let barrier = in_the_way(&harness, locked).await;
    let both = async {
        tokio::join!(
            ledger.reserve(reserve(request(), locked, 10)),
            ledger.settle(settle(call, free, 10)),
        )
    };
    let answered = tokio::time::timeout(LONGEST, both).await;
    assert_eq!(
        answered,
        Ok((Err(LedgerError::Unavailable), Ok(done(10, 0)))),
        "the other account's charge goes through while the lock is held"
    );
    barrier.rollback().await.unwrap();
    assert_eq!(harness.wallets(locked).await, [100, 0, 0, 0]);
    harness.audit().await;
}

#[tokio::test]
async fn an_idle_lane_leaves_its_connection_to_others() {
    let harness = TestLedger::new().await;
    let account = harness.account(100, 0).await;
    let only_one = PoolSettings {
        max_connections: 1,
        acquire_timeout: LONGEST,
        ..unhurried()
    };
    let data = harness.db.connect_with(Role::Data, only_one).await;
    let (ledger, _tasks) = one_lane(data.clone(), patient()).await;
    for _ in 0..2 {
        let answered = ledger.reserve(reserve(request(), account, 10)).await;
        assert_eq!(answered, Ok(held(10, 0)));
        let tx = data.begin().await;
        tx.expect("the only connection is free")
            .rollback()
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn a_transaction_has_no_more_words_than_it_may() {
    let harness = TestLedger::new().await;
    let account = harness.account(100, 0).await;
    let alone = LedgerSettings {
        max_batch: 1,
        ..patient()
    };
    let (ledger, _tasks) = one_lane(harness.data.clone(), alone).await;
    let one = || ledger.reserve(reserve(request(), account, 10));
    let answered = tokio::join!(one(), one(), one());
    assert_eq!(
        answered,
        (Ok(held(10, 0)), Ok(held(10, 0)), Ok(held(10, 0)))
    );
    let counts = ledger.counts();
    assert_eq!((counts.operations, counts.batches), (3, 3));
}
