//! One request id that two nodes hold, as two copies of one running machine might make it.

use std::time::Duration;

use trunkline_db::Role;
use trunkline_ledger::accounts::{self as ledger_accounts, Period};
use trunkline_ledger::{ExtendAnswer, Reserve, SettleAnswer, audit, recovery, statement};
use trunkline_types::{AccountId, KeyId, NodeId, RequestId};

use crate::test_ledger::{TestLedger, done, extend, held, nanos, request, reserve, settle, void};

const HELD_TWICE: &str = "ledger.audit_request_held_twice";

/// The views of the audit that find something.
async fn findings(harness: &TestLedger) -> Vec<String> {
    let auditor = harness.db.connect(Role::Audit).await;
    let report = audit::run(&auditor).await.unwrap();
    let views = report.violations.into_iter().map(|found| found.view);
    views
        .filter(|view| view != "app.audit_clock_shifted")
        .collect()
}

/// An account with a key that may spend 900 a day.
async fn payer(harness: &TestLedger, key: i64) -> AccountId {
    let account = harness.account(1_000, 0).await;
    let key = harness.key(account, key, None).await;
    let mut tx = harness.console.begin().await.unwrap();
    let limit = Some(nanos(900));
    let set =
        ledger_accounts::set_budget(&mut tx, account, Some(key), Period::Daily, "UTC", limit).await;
    assert_eq!(set, Ok(true));
    tx.commit().await.unwrap();
    account
}

fn by_key(call: RequestId, account: AccountId, key: i64) -> Reserve {
    let mut reserve_op = reserve(call, account, 100);
    reserve_op.key = Some(KeyId::new(key));
    reserve_op
}

async fn used(harness: &TestLedger, account: AccountId, key: i64) -> i64 {
    let budgets = statement::budgets(&harness.data, account, &[KeyId::new(key)]).await;
    budgets
        .unwrap()
        .iter()
        .map(|budget| budget.used.nanos())
        .sum()
}

#[tokio::test]
async fn a_request_that_two_nodes_hold_is_charged_once_and_nothing_stays_held() {
    let harness = TestLedger::new().await;
    let (one, two) = (payer(&harness, 1).await, payer(&harness, 2).await);
    let (first, _first_tasks) = harness.ledger("n1").await;
    let (second, _second_tasks) = harness.ledger("n2").await;
    let (shared, strange) = (request(), request());
    for (call, account, key) in [(shared, one, 1), (strange, two, 2)] {
        assert_eq!(
            first.reserve(by_key(call, one, 1)).await,
            Ok(held(100, 0)),
            "the first node"
        );
        assert_eq!(
            second.reserve(by_key(call, account, key)).await,
            Ok(held(100, 0)),
            "the second node"
        );
        assert_eq!(
            second.extend(extend(call, account, 130)).await,
            Ok(ExtendAnswer::Held { total: nanos(130) })
        );
        assert_eq!(first.settle(settle(call, one, 60)).await, Ok(done(60, 0)));
    }
    assert_eq!(harness.wallets(one).await, [880, 130, 0, 0]);
    assert_eq!(harness.wallets(two).await, [1_000, 130, 0, 0]);
    let before = SettleAnswer::Before {
        charged: true,
        paid: nanos(60),
        trial: nanos(0),
    };
    for _ in 0..2 {
        let late = second.settle(settle(shared, one, 70)).await;
        assert_eq!(late, Ok(before.clone()));
        assert_eq!(
            second.void(void(strange, two)).await,
            Ok(SettleAnswer::NoHold),
            "what became of another account's request is not told"
        );
        assert_eq!(harness.wallets(one).await, [880, 0, 0, 0]);
        assert_eq!(harness.wallets(two).await, [1_000, 0, 0, 0]);
        assert_eq!(used(&harness, one, 1).await, 120);
        assert_eq!(used(&harness, two, 2).await, 0);
    }
    assert_eq!(findings(&harness).await, [HELD_TWICE]);
}

#[tokio::test]
async fn the_next_epoch_frees_what_a_node_held_for_a_request_that_another_charged() {
    let harness = TestLedger::new().await;
    let (one, two) = (payer(&harness, 1).await, payer(&harness, 2).await);
    let (first, _first_tasks) = harness.ledger("n1").await;
    let (second, _second_tasks) = harness.ledger("n2").await;
    let (shared, own) = (request(), request());
    assert_eq!(
        first.reserve(by_key(shared, one, 1)).await,
        Ok(held(100, 0))
    );
    for call in [shared, own] {
        assert_eq!(second.reserve(by_key(call, two, 2)).await, Ok(held(100, 0)));
    }
    assert_eq!(first.settle(settle(shared, one, 60)).await, Ok(done(60, 0)));
    let node = NodeId::new("n2").unwrap();
    let (_, voided) = recovery::register(&harness.data, &node).await.unwrap();
    assert_eq!(voided, 1, "the one that no node charged");
    assert_eq!(harness.wallets(two).await, [1_000, 0, 0, 0]);
    assert_eq!(used(&harness, two, 2).await, 0);
    assert_eq!(recovery::register(&harness.data, &node).await.unwrap().1, 0);
    assert_eq!(harness.wallets(one).await, [940, 0, 0, 0]);
    assert_eq!(findings(&harness).await, [HELD_TWICE]);
}

#[tokio::test]
async fn a_long_call_whose_id_another_node_has_is_moved_once_that_one_has_ended() {
    let harness = TestLedger::new().await;
    let account = harness.account(1_000, 0).await;
    let (first, _first_tasks) = harness.ledger("n1").await;
    let (second, _second_tasks) = harness.ledger("n2").await;
    let (call, later) = (request(), request());
    for ledger in [&first, &second] {
        let answer = ledger.reserve(reserve(call, account, 100)).await;
        assert_eq!(answer, Ok(held(100, 0)));
    }
    let answer = second.reserve(reserve(later, account, 10)).await;
    assert_eq!(answer, Ok(held(10, 0)));
    harness.db.shift_clock(660).await;
    let hour = Duration::from_secs(3_600);
    let rows = "SELECT node FROM ledger.hold ORDER BY node, request_id";
    for ledger in [&first, &second] {
        let swept = recovery::sweep(&harness.data, ledger.node_epoch(), hour).await;
        assert_eq!(swept, Ok(0));
        assert_eq!(harness.db.ask(rows).await, ["n1"]);
    }
    assert_eq!(harness.wallets(account).await, [1_000, 210, 0, 0]);
    assert_eq!(
        second.settle(settle(call, account, 70)).await,
        Ok(done(70, 0))
    );
    // The row of the first node is released; a node's sweep goes past the batch that ended.
    let before = SettleAnswer::Before {
        charged: true,
        paid: nanos(70),
        trial: nanos(0),
    };
    assert_eq!(
        first.settle(settle(call, account, 100)).await,
        Ok(before),
        "charged by the other node"
    );
    assert_eq!(harness.wallets(account).await, [930, 10, 0, 0]);
    let swept = recovery::sweep(&harness.data, second.node_epoch(), hour).await;
    assert_eq!(swept, Ok(0));
    assert_eq!(harness.db.ask(rows).await, ["n1", "n2"]);
    assert_eq!(
        second.settle(settle(later, account, 10)).await,
        Ok(done(10, 0))
    );
    assert_eq!(harness.wallets(account).await, [920, 0, 0, 0]);
    let found = findings(&harness).await;
    assert!(found.iter().any(|view| view == HELD_TWICE), "{found:?}");
    let money = [
        "ledger.audit_held_is_not_its_holds",
        "ledger.audit_balance_is_not_its_transfers",
        "ledger.audit_books_do_not_balance",
        "ledger.audit_packed_hold_below_watermark",
    ];
    assert!(
        money.iter().all(|view| !found.iter().any(|it| it == view)),
        "{found:?}"
    );
}
