//! Packed holds as callers of the ledger see them.

use std::time::Duration;

use trunkline_ledger::accounts::{self as ledger_accounts, Period};
use trunkline_ledger::{
    ExtendAnswer, LedgerError, ReserveAnswer, SettleAnswer, Shortage, recovery,
};
use trunkline_types::{KeyId, NodeId};

use crate::test_ledger::{TestLedger, done, extend, held, nanos, request, reserve, settle, void};

#[tokio::test]
async fn a_customers_new_budget_counts_from_the_next_call() {
    let harness = TestLedger::new().await;
    let account = harness.account(1_000, 0).await;
    let key = harness.key(account, 1, None).await;
    let (ledger, _tasks) = harness.ledger("n1").await;
    let by_key = |nanos| {
        let mut reserve_op = reserve(request(), account, nanos);
        reserve_op.key = Some(key);
        reserve_op
    };
    assert_eq!(ledger.reserve(by_key(100)).await, Ok(held(100, 0)));
    let mut tx = harness.console.begin().await.unwrap();
    let limit = Some(nanos(50));
    let set =
        ledger_accounts::set_budget(&mut tx, account, Some(key), Period::Daily, "UTC", limit).await;
    assert_eq!(set, Ok(true));
    tx.commit().await.unwrap();
    let refused = ledger.reserve(by_key(100)).await.unwrap();
    assert!(
        matches!(&refused, ReserveAnswer::TooLittle { by: Shortage::Budget(_), fits, .. } if *fits == nanos(50)),
        "{refused:?}"
    );
    assert_eq!(ledger.reserve(by_key(50)).await, Ok(held(50, 0)));
    let mut unknown = by_key(1);
    unknown.key = Some(KeyId::new(99));
    assert_eq!(
        ledger.reserve(unknown).await,
        Ok(ReserveAnswer::UnknownPayer)
    );
    harness.audit().await;
}

#[tokio::test]
async fn a_call_that_runs_for_long_is_moved_to_a_row_and_settled_from_it() {
    let harness = TestLedger::new().await;
    let account = harness.account(1_000, 0).await;
    let (ledger, _tasks) = harness.ledger("n1").await;
    let (long, short) = (request(), request());
    assert_eq!(
        ledger.reserve(reserve(long, account, 100)).await,
        Ok(held(100, 0))
    );
    assert_eq!(
        ledger.extend(extend(long, account, 150)).await,
        Ok(ExtendAnswer::Held { total: nanos(150) })
    );
    assert_eq!(
        ledger.reserve(reserve(short, account, 10)).await,
        Ok(held(10, 0))
    );
    assert_eq!(
        ledger.settle(settle(short, account, 10)).await,
        Ok(done(10, 0))
    );
    let rows = "SELECT count(*)::text FROM ledger.hold";
    assert_eq!(harness.db.ask(rows).await, ["0"]);
    harness.db.shift_clock(660).await;
    let hour = Duration::from_secs(3_600);
    assert_eq!(
        recovery::sweep(&harness.data, ledger.node_epoch(), hour).await,
        Ok(0)
    );
    assert_eq!(harness.db.ask(rows).await, ["1"], "the one that is open");
    harness.audit().await;
    assert_eq!(
        ledger.extend(extend(long, account, 200)).await,
        Ok(ExtendAnswer::Held { total: nanos(200) })
    );
    assert_eq!(
        ledger.settle(settle(long, account, 180)).await,
        Ok(done(180, 0))
    );
    assert_eq!(harness.wallets(account).await, [810, 0, 0, 0]);
    harness.audit().await;
}

#[tokio::test]
async fn the_next_epoch_voids_packed_holds_once_and_the_old_process_changes_nothing() {
    let harness = TestLedger::new().await;
    let account = harness.account(1_000, 50).await;
    let (old, _old_tasks) = harness.ledger("n1").await;
    let (open, ended) = (request(), request());
    assert_eq!(
        old.reserve(reserve(open, account, 100)).await,
        Ok(held(50, 50))
    );
    assert_eq!(
        old.reserve(reserve(ended, account, 100)).await,
        Ok(held(100, 0))
    );
    assert_eq!(
        old.settle(settle(ended, account, 60)).await,
        Ok(done(60, 0))
    );
    let node = NodeId::new("n1").unwrap();
    let (_, voided) = recovery::register(&harness.data, &node).await.unwrap();
    assert_eq!(voided, 1);
    assert_eq!(recovery::register(&harness.data, &node).await.unwrap().1, 0);
    assert_eq!(harness.wallets(account).await, [940, 0, 50, 0]);
    for answer in [
        old.settle(settle(open, account, 100)).await,
        old.void(void(open, account)).await,
    ] {
        assert_eq!(answer, Err(LedgerError::StaleEpoch));
    }
    let (new, _new_tasks) = harness.ledger("n1").await;
    let late = new.settle(settle(open, account, 100)).await;
    assert!(
        matches!(late, Ok(SettleAnswer::Before { charged: false, .. })),
        "{late:?}"
    );
    let losses = "SELECT reason FROM ledger.write_off";
    assert_eq!(harness.db.ask(losses).await, ["crash"]);
    harness.audit().await;
}

#[tokio::test]
async fn an_account_may_owe_up_to_its_credit_limit() {
    let harness = TestLedger::new().await;
    let account = harness.account(100, 0).await;
    let mut tx = harness.console.begin().await.unwrap();
    sqlx::query("UPDATE ledger.account SET credit_limit = 40 WHERE id = $1")
        .bind(account.number())
        .execute(&mut *tx)
        .await
        .unwrap();
    tx.commit().await.unwrap();
    let (ledger, _tasks) = harness.ledger("n1").await;
    let call = request();
    let refused = ledger.reserve(reserve(call, account, 141)).await.unwrap();
    assert!(
        matches!(&refused, ReserveAnswer::TooLittle { fits, .. } if *fits == nanos(140)),
        "{refused:?}"
    );
    assert_eq!(
        ledger.reserve(reserve(call, account, 140)).await,
        Ok(held(140, 0))
    );
    assert_eq!(
        ledger.settle(settle(call, account, 130)).await,
        Ok(done(130, 0))
    );
    assert_eq!(harness.wallets(account).await, [-30, 0, 0, 0]);
    harness.audit().await;
}
