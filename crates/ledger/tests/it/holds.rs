//! What is held for calls and tasks under way, as metrics and a restored database show it.

use std::time::Duration;

use trunkline_ledger::holds::{self, OpenHolds};
use trunkline_ledger::{Owner, recovery};
use trunkline_types::NodeId;

use crate::test_ledger::{TestLedger, extend, nanos, request, reserve, reserve_row, settle, void};

const fn open(count: i64, amount: i64, overdue: i64, overdue_amount: i64) -> OpenHolds {
    OpenHolds {
        count,
        amount: nanos(amount),
        overdue,
        overdue_amount: nanos(overdue_amount),
    }
}

#[tokio::test]
async fn an_operator_sees_open_holds_of_calls_and_tasks_and_those_past_their_deadline() {
    let harness = TestLedger::new().await;
    let account = harness.account(1_000, 50).await;
    let (ledger, _tasks) = harness.ledger("n1").await;
    assert_eq!(holds::open(&harness.data).await, Ok(open(0, 0, 0, 0)));
    let (long, charged, released, short, video) =
        (request(), request(), request(), request(), request());
    let mut task = reserve(video, account, 7);
    task.owner = Owner::Task(video.uuid());
    for call in [
        reserve(long, account, 100),
        reserve(charged, account, 10),
        reserve(released, account, 10),
        reserve_row(short, account, 40),
        task,
    ] {
        ledger.reserve(call).await.unwrap();
    }
    ledger.extend(extend(long, account, 130)).await.unwrap();
    ledger.settle(settle(charged, account, 5)).await.unwrap();
    ledger.void(void(released, account)).await.unwrap();
    let seen = holds::open(&harness.data).await;
    assert_eq!(seen, Ok(open(3, 177, 0, 0)), "with what it was raised by");
    let [_, paid_held, _, trial_held] = harness.wallets(account).await;
    assert_eq!(paid_held + trial_held, 177);
    harness.db.shift_clock(3_700).await;
    let seen = holds::open(&harness.data).await;
    assert_eq!(seen, Ok(open(3, 177, 3, 177)), "nothing resolved them");
    // Those of calls are over with the node's epoch, the task goes on.
    let node = NodeId::new("n1").unwrap();
    recovery::register(&harness.data, &node).await.unwrap();
    let seen = holds::open(&harness.data).await;
    assert_eq!(seen, Ok(open(1, 7, 1, 7)));
}

#[tokio::test]
async fn a_hold_that_is_moved_to_a_row_is_counted_once() {
    let harness = TestLedger::new().await;
    let account = harness.account(1_000, 0).await;
    let (ledger, _tasks) = harness.ledger("n1").await;
    let call = request();
    ledger.reserve(reserve(call, account, 100)).await.unwrap();
    ledger.extend(extend(call, account, 130)).await.unwrap();
    harness.db.shift_clock(660).await;
    let hour = Duration::from_secs(3_600);
    let swept = recovery::sweep(&harness.data, ledger.node_epoch(), hour).await;
    assert_eq!(swept, Ok(0));
    assert_eq!(holds::open(&harness.data).await, Ok(open(1, 130, 0, 0)));
}
