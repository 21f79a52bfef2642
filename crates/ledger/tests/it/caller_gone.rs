//! Callers who stop waiting: what was done for them is undone, unless it must stand.

use std::time::Duration;

use trunkline_ledger::{
    CapacityClaim, Idempotency, Ledger, LedgerError, LedgerSettings, LedgerTasks, OnCallerGone,
    Owner, Reserve,
};
use trunkline_types::{AccountId, NodeId, RequestId};

use crate::lock_helpers::{begins, in_the_way, transfers, until_wallets};
use crate::test_ledger::{TestLedger, done, held, patient, request, reserve, settle};

const SHORT: Duration = Duration::from_millis(60);

/// A ledger whose callers lose their patience at once.
async fn impatient(harness: &TestLedger) -> (Ledger, LedgerTasks) {
    let settings = LedgerSettings {
        settlement_wait: SHORT,
        ..patient()
    };
    Ledger::open(harness.data.clone(), &NodeId::new("n1").unwrap(), settings)
        .await
        .unwrap()
}

fn named(request: RequestId, account: AccountId) -> Reserve {
    let mut named = reserve(request, account, 10);
    named.idempotency = Some(Idempotency {
        key: "k".to_owned(),
        body_hash: [1; 32],
    });
    named.capacity = Some(CapacityClaim {
        name: "tiktok".to_owned(),
        cap: 1,
    });
    named
}

#[tokio::test]
async fn an_unacknowledged_charge_is_refunded_with_its_capacity_and_key() {
    let harness = TestLedger::new().await;
    let account = harness.account(100, 0).await;
    let (ledger, _tasks) = impatient(&harness).await;
    let call = request();
    assert_eq!(ledger.reserve(named(call, account)).await, Ok(held(10, 0)));
    let barrier = in_the_way(&harness, account).await;
    let answered = ledger.settle(settle(call, account, 10)).await;
    assert_eq!(answered, Err(LedgerError::Unavailable));
    barrier.rollback().await.unwrap();
    until_wallets(&harness, account, [100, 0, 0, 0]).await;
    assert_eq!(transfers(&harness, call).await, ["charge", "undelivered"]);
    assert_eq!(
        ledger.reserve(named(request(), account)).await,
        Ok(held(10, 0)),
        "the same key and the only place of the day are free again"
    );
    harness.audit().await;
}

#[tokio::test]
async fn a_final_charge_is_submitted_until_its_outcome_is_known() {
    let harness = TestLedger::new().await;
    let account = harness.account(100, 0).await;
    let (ledger, _tasks) = impatient(&harness).await;
    let job = request();
    let mut task = reserve(job, account, 10);
    task.owner = Owner::Task(job.uuid());
    ledger.reserve(task).await.unwrap();
    let barrier = in_the_way(&harness, account).await;
    let mut charge = settle(job, account, 10);
    charge.on_caller_gone = OnCallerGone::Keep;
    assert_eq!(ledger.settle(charge).await, Err(LedgerError::Unavailable));
    barrier.rollback().await.unwrap();
    until_wallets(&harness, account, [90, 0, 0, 0]).await;
    assert_eq!(
        ledger.reserve(reserve(request(), account, 1)).await,
        Ok(held(1, 0))
    );
    assert_eq!(transfers(&harness, job).await, ["charge"]);
    harness.audit().await;
}

#[tokio::test]
async fn a_caller_dropped_between_its_answer_and_its_next_step_is_not_charged() {
    let harness = TestLedger::new().await;
    let account = harness.account(100, 0).await;
    let (ledger, _tasks) = harness.ledger("n1").await;
    let call = request();
    ledger.reserve(reserve(call, account, 10)).await.unwrap();
    let batches = ledger.counts().batches;
    let mut caller = Box::pin(ledger.settle(settle(call, account, 10)));
    assert!(begins(&mut caller).await, "it waits");
    while ledger.counts().batches == batches {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert_eq!(
        harness.wallets(account).await,
        [90, 0, 0, 0],
        "it was charged"
    );
    drop(caller);
    until_wallets(&harness, account, [100, 0, 0, 0]).await;
    assert_eq!(transfers(&harness, call).await, ["charge", "undelivered"]);
    let held_and_dropped = request();
    let mut caller = Box::pin(ledger.reserve(reserve(held_and_dropped, account, 30)));
    assert!(begins(&mut caller).await, "it waits");
    until_wallets(&harness, account, [100, 30, 0, 0]).await;
    drop(caller);
    until_wallets(&harness, account, [100, 0, 0, 0]).await;
    harness.audit().await;
}

#[tokio::test]
async fn a_replaced_process_still_refunds_unacknowledged_charges() {
    let harness = TestLedger::new().await;
    let account = harness.account(100, 0).await;
    let (ledger, _tasks) = impatient(&harness).await;
    let (call, other) = (request(), request());
    ledger.reserve(reserve(call, account, 10)).await.unwrap();
    let barrier = in_the_way(&harness, account).await;
    let answered = ledger.settle(settle(call, account, 10)).await;
    assert_eq!(answered, Err(LedgerError::Unavailable));
    // Its next life waits behind the batch that is under way.
    let next = harness.ledger("n1");
    let lift = async {
        tokio::time::sleep(SHORT).await;
        barrier.rollback().await.unwrap();
    };
    let ((next, _next_tasks), ()) = tokio::join!(next, lift);
    until_wallets(&harness, account, [100, 0, 0, 0]).await;
    assert_eq!(
        ledger.reserve(reserve(other, account, 1)).await,
        Err(LedgerError::StaleEpoch)
    );
    let after = request();
    next.reserve(reserve(after, account, 5)).await.unwrap();
    assert_eq!(next.settle(settle(after, account, 5)).await, Ok(done(5, 0)));
    harness.audit().await;
}
