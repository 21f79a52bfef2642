//! Packed holds as callers of the ledger see them.

use std::time::Duration;

use trunkline_db::{PoolSettings, Role, connect};
use trunkline_ledger::accounts::{self as ledger_accounts, Period};
use trunkline_ledger::call_money::{self, HoldState};
use trunkline_ledger::{
    ExtendAnswer, Ledger, LedgerError, ReserveAnswer, SettleAnswer, Shortage, recovery,
};
use trunkline_types::{KeyId, NodeId};

use crate::test_ledger::{
    TestLedger, done, extend, held, nanos, patient, request, reserve, reserve_row, settle, void,
};

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

/// Accounts of two lanes ask at once; the id is one account's, the first one's.
#[tokio::test]
async fn one_request_id_is_held_under_one_account_whatever_lanes_they_use() {
    let harness = TestLedger::new().await;
    let (one, two) = (
        harness.account(1_000, 0).await,
        harness.account(1_000, 0).await,
    );
    assert_ne!(one.number() % 2, two.number() % 2, "in two lanes");
    let (ledger, _tasks) = harness.ledger("n1").await;
    let mut held_by_one = 0;
    for _ in 0..20 {
        let call = request();
        let (first, second) = tokio::join!(
            ledger.reserve(reserve(call, one, 10)),
            ledger.reserve(reserve(call, two, 10)),
        );
        let (owner, stranger) = match (first.unwrap(), second.unwrap()) {
            (ReserveAnswer::Held { .. }, ReserveAnswer::UnknownPayer) => {
                held_by_one += 1;
                (one, two)
            }
            (ReserveAnswer::UnknownPayer, ReserveAnswer::Held { .. }) => (two, one),
            both => panic!("held under one account: {both:?}"),
        };
        // A row of another account is as little a second hold as a packed one.
        for retry in [reserve(call, stranger, 10), reserve_row(call, stranger, 10)] {
            assert_eq!(ledger.reserve(retry).await, Ok(ReserveAnswer::UnknownPayer));
        }
        harness.audit().await;
        assert_eq!(
            ledger.settle(settle(call, owner, 10)).await,
            Ok(done(10, 0))
        );
        assert_eq!(
            ledger.reserve(reserve(call, stranger, 10)).await,
            Ok(ReserveAnswer::UnknownPayer),
            "what became of it is not told"
        );
        assert_eq!(
            ledger.reserve(reserve(call, owner, 10)).await,
            Ok(ReserveAnswer::AlreadyResolved)
        );
    }
    let spent = [10 * held_by_one, 10 * (20 - held_by_one)];
    assert_eq!(harness.wallets(one).await, [1_000 - spent[0], 0, 0, 0]);
    assert_eq!(harness.wallets(two).await, [1_000 - spent[1], 0, 0, 0]);
    harness.audit().await;
}

#[tokio::test]
async fn a_request_whose_hold_is_a_row_is_not_packed_as_well() {
    let harness = TestLedger::new().await;
    let (owner, stranger) = (harness.account(100, 0).await, harness.account(100, 0).await);
    let (ledger, _tasks) = harness.ledger("n1").await;
    let call = request();
    for retry in [reserve_row(call, owner, 30), reserve(call, owner, 30)] {
        assert_eq!(ledger.reserve(retry).await, Ok(held(30, 0)));
    }
    assert_eq!(
        ledger.reserve(reserve(call, stranger, 30)).await,
        Ok(ReserveAnswer::UnknownPayer)
    );
    assert_eq!(harness.wallets(owner).await, [100, 30, 0, 0]);
    harness.audit().await;
    assert_eq!(
        ledger.settle(settle(call, owner, 20)).await,
        Ok(done(20, 0))
    );
    assert_eq!(harness.wallets(owner).await, [80, 0, 0, 0]);
    assert_eq!(harness.wallets(stranger).await, [100, 0, 0, 0]);
    harness.audit().await;
}

#[tokio::test]
async fn a_key_that_was_unknown_is_known_from_the_moment_it_is_registered() {
    let harness = TestLedger::new().await;
    let account = harness.account(1_000, 0).await;
    let (ledger, _tasks) = harness.ledger("n1").await;
    let by = |key: i64| {
        let mut reserve_op = reserve(request(), account, 10);
        reserve_op.key = Some(KeyId::new(key));
        reserve_op
    };
    harness.key(account, 1, None).await;
    assert_eq!(ledger.reserve(by(1)).await, Ok(held(10, 0)));
    assert_eq!(ledger.reserve(by(2)).await, Ok(ReserveAnswer::UnknownPayer));
    harness.key(account, 2, None).await;
    // In one batch with a key that was read before the account changed.
    let (known, new) = tokio::join!(ledger.reserve(by(1)), ledger.reserve(by(2)));
    assert_eq!((known, new), (Ok(held(10, 0)), Ok(held(10, 0))));
    harness.audit().await;
}

/// An import makes keys of many accounts in one transaction, in an order that is not the accounts'.
#[tokio::test]
async fn customers_call_while_an_import_that_makes_keys_for_them_goes_on() {
    let harness = TestLedger::new().await;
    let (one, two) = (
        harness.account(1_000, 0).await,
        harness.account(1_000, 0).await,
    );
    for (account, key) in [(one, 1), (two, 2)] {
        harness.key(account, key, None).await;
    }
    let (ledger, _tasks) = harness.ledger("n1").await;
    let by = |account, key, nanos| {
        let mut reserve_op = reserve(request(), account, nanos);
        reserve_op.key = Some(KeyId::new(key));
        reserve_op
    };
    assert_eq!(ledger.reserve(by(one, 1, 100)).await, Ok(held(100, 0)));
    let mut import = harness.console.begin().await.unwrap();
    for (account, key) in [(two, 4), (one, 3)] {
        let key = KeyId::new(key);
        let known = ledger_accounts::register_key(&mut import, account, key, None).await;
        assert_eq!(known, Ok(true));
        let capped = ledger_accounts::cap_new_key(&mut import, account, key, nanos(40)).await;
        assert_eq!(capped, Ok(()));
    }
    for (account, key) in [(one, 1), (two, 2)] {
        let call = ledger.reserve(by(account, key, 100));
        let answer = tokio::time::timeout(Duration::from_secs(10), call).await;
        assert_eq!(answer.ok(), Some(Ok(held(100, 0))), "no lock is waited for");
    }
    import.commit().await.unwrap();
    // The new keys are known, with what they may spend.
    for (account, key) in [(one, 3), (two, 4)] {
        assert_eq!(ledger.reserve(by(account, key, 40)).await, Ok(held(40, 0)));
        let refused = ledger.reserve(by(account, key, 1)).await;
        assert!(
            matches!(refused, Ok(ReserveAnswer::TooLittle { .. })),
            "{refused:?}"
        );
    }
    harness.audit().await;
}

/// As a run of a workflow asks for it.
#[tokio::test]
async fn a_callers_money_is_shown_while_it_is_held_and_when_it_was_charged() {
    let harness = TestLedger::new().await;
    let account = harness.account(1_000, 0).await;
    let stranger = harness.account(1_000, 0).await;
    let (ledger, _tasks) = harness.ledger("n1").await;
    let (call, failed) = (request(), request());
    let hour = Duration::from_secs(3_600);
    let seen = async |of, call| {
        let money = call_money::read(&harness.data, of, call, hour).await;
        let money = money.unwrap();
        let hold = money
            .hold
            .map(|hold| (hold.amount.nanos(), hold.state, hold.has_live_node));
        let moves: Vec<(String, i64)> = (money.moves.into_iter())
            .map(|one| (one.kind, one.amount.nanos()))
            .collect();
        (hold, moves)
    };
    assert_eq!(seen(account, call).await, (None, vec![]));
    for one in [call, failed] {
        assert_eq!(
            ledger.reserve(reserve(one, account, 100)).await,
            Ok(held(100, 0))
        );
    }
    let open = |amount| (Some((amount, HoldState::Open, true)), vec![]);
    assert_eq!(seen(account, call).await, open(100));
    assert_eq!(seen(stranger, call).await, (None, vec![]));
    ledger.extend(extend(call, account, 150)).await.unwrap();
    assert_eq!(seen(account, call).await, open(150));
    assert_eq!(ledger.void(void(failed, account)).await, Ok(done(0, 0)));
    let voided = Some((100, HoldState::Voided, true));
    assert_eq!(seen(account, failed).await, (voided, vec![]));
    harness.db.shift_clock(660).await;
    recovery::heartbeat(&harness.data, ledger.node_epoch())
        .await
        .unwrap();
    recovery::sweep(&harness.data, ledger.node_epoch(), hour)
        .await
        .unwrap();
    assert_eq!(seen(account, call).await, open(150), "as a row");
    assert_eq!(
        ledger.settle(settle(call, account, 130)).await,
        Ok(done(130, 0))
    );
    let charged = vec![("charge".to_owned(), 130)];
    let settled = Some((150, HoldState::Settled, true));
    assert_eq!(seen(account, call).await, (settled, charged));
}

/// The connection is cut when the batch is applied and its answer is on the way.
#[tokio::test]
async fn a_batch_whose_answer_is_lost_is_neither_lost_nor_applied_twice() {
    let harness = TestLedger::new().await;
    let account = harness.account(1_000, 40).await;
    let wire = harness.db.wire();
    let url = harness.db.url_through(&wire, Role::Data);
    let data = connect(&url, Role::Data, PoolSettings::named("lane"))
        .await
        .unwrap();
    let node = NodeId::new("n1").unwrap();
    let (ledger, _tasks) = Ledger::open(data, &node, patient()).await.unwrap();
    let warm = request();
    ledger.reserve(reserve(warm, account, 1)).await.unwrap();
    ledger.void(void(warm, account)).await.unwrap();
    let (call, batches) = (request(), ledger.counts().batches);
    let cut = |number: usize| {
        let wire = &wire;
        move || assert_eq!(wire.strikes(), number, "the answer was lost")
    };
    wire.cut_after_commit();
    assert_eq!(
        ledger.reserve(reserve(call, account, 100)).await,
        Ok(held(60, 40))
    );
    cut(1)();
    assert_eq!(harness.wallets(account).await, [1_000, 60, 40, 40]);
    wire.cut_after_commit();
    assert_eq!(
        ledger.extend(extend(call, account, 150)).await,
        Ok(ExtendAnswer::Held { total: nanos(150) })
    );
    cut(2)();
    assert_eq!(harness.wallets(account).await, [1_000, 110, 40, 40]);
    // The same, but the batch itself is lost.
    wire.cut_before_commit();
    assert_eq!(
        ledger.extend(extend(call, account, 160)).await,
        Ok(ExtendAnswer::Held { total: nanos(160) })
    );
    cut(3)();
    wire.cut_after_commit();
    assert_eq!(
        ledger.settle(settle(call, account, 130)).await,
        Ok(done(90, 40))
    );
    cut(4)();
    assert_eq!(harness.wallets(account).await, [910, 0, 0, 0]);
    let other = request();
    assert_eq!(
        ledger.reserve(reserve(other, account, 10)).await,
        Ok(held(10, 0))
    );
    wire.cut_after_commit();
    assert_eq!(ledger.void(void(other, account)).await, Ok(done(0, 0)));
    cut(5)();
    let written = "SELECT count(*)::text FROM ledger.hold_batch WHERE lane >= 0";
    let expected = batches + 6;
    assert_eq!(harness.db.ask(written).await, [expected.to_string()]);
    assert_eq!(ledger.counts().retried, 5);
    assert_eq!(harness.wallets(account).await, [910, 0, 0, 0]);
    harness.audit().await;
}
