//! Death and return of nodes.

use std::time::Duration;

use trunkline_db::{DbError, PoolSettings, Role};
use trunkline_ledger::recovery::{agree_on_nats, heartbeat, register, sweep};
use trunkline_ledger::{
    Idempotency, Ledger, LedgerError, NodeEpoch, Owner, SettleAnswer, partitions, unconfirmed,
};
use trunkline_types::{Money, NodeId};

use crate::test_ledger::{TestLedger, patient, request, reserve, reserve_row, settle, void};

const DEAD_AFTER: Duration = Duration::from_secs(120);

// covers: D-2-55, D-2-57
#[tokio::test]
async fn a_nodes_next_epoch_voids_request_holds_and_leaves_tasks_alone() {
    let harness = TestLedger::new().await;
    let account = harness.account(100, 0).await;
    let (first, _tasks) = harness.ledger("n1").await;
    let (call, job) = (request(), request());
    first.reserve(reserve(call, account, 10)).await.unwrap();
    let mut task = reserve(job, account, 20);
    task.owner = Owner::Task(job.uuid());
    first.reserve(task).await.unwrap();
    let (second, _second_tasks) = harness.ledger("n1").await;
    assert_eq!(second.node_epoch().epoch, first.node_epoch().epoch + 1);
    assert_eq!(
        harness.wallets(account).await,
        [100, 20, 0, 0],
        "the call is let go, the task is not"
    );
    let mut session = harness.data.session().await.unwrap();
    let loss: (String, String) = sqlx::query_as(
        "SELECT u.outcome, w.reason FROM ledger.usage AS u JOIN ledger.write_off AS w USING (request_id)
         WHERE u.request_id = $1",
    )
    .bind(call.uuid())
    .fetch_one(&mut *session)
    .await
    .unwrap();
    assert_eq!(loss, ("interrupted".to_owned(), "crash".to_owned()));
    assert_eq!(
        first.settle(settle(call, account, 10)).await,
        Err(LedgerError::StaleEpoch)
    );
    assert_eq!(
        first.reserve(reserve(request(), account, 1)).await,
        Err(LedgerError::StaleEpoch)
    );
    assert_eq!(
        harness.wallets(account).await,
        [100, 20, 0, 0],
        "the old life moves nothing"
    );
    let charged = second.settle(settle(job, account, 20)).await.unwrap();
    assert_eq!(
        charged,
        SettleAnswer::Done {
            paid: Money::from_nanos(20),
            trial: Money::ZERO
        }
    );
    harness.audit().await;
}

#[tokio::test]
async fn a_node_that_never_returns_is_swept_after_its_heart_has_stopped() {
    let harness = TestLedger::new().await;
    let account = harness.account(100, 0).await;
    let (lost, _tasks) = harness.ledger("lost").await;
    let (call, job) = (request(), request());
    lost.reserve(reserve(call, account, 10)).await.unwrap();
    let mut task = reserve(job, account, 20);
    task.owner = Owner::Task(job.uuid());
    lost.reserve(task).await.unwrap();
    let (sweeper, _) = register(&harness.data, &NodeId::new("sweeper").unwrap())
        .await
        .unwrap();
    assert_eq!(
        sweep(&harness.data, &sweeper, DEAD_AFTER).await,
        Ok(0),
        "it lives"
    );
    harness.db.shift_clock(100).await;
    assert_eq!(heartbeat(&harness.data, lost.node_epoch()).await, Ok(true));
    harness.db.shift_clock(100).await;
    assert_eq!(
        sweep(&harness.data, &sweeper, DEAD_AFTER).await,
        Ok(0),
        "its heart has beaten since"
    );
    harness.db.shift_clock(21).await;
    assert_eq!(sweep(&harness.data, &sweeper, DEAD_AFTER).await, Ok(1));
    assert_eq!(harness.wallets(account).await, [100, 20, 0, 0]);
    assert_eq!(
        heartbeat(&harness.data, lost.node_epoch()).await,
        Ok(false),
        "it must stop when it wakes"
    );
    assert_eq!(
        lost.settle(settle(call, account, 10)).await,
        Err(LedgerError::StaleEpoch)
    );
    harness.audit().await;
}

#[tokio::test]
async fn a_hold_past_its_deadline_is_nobodys() {
    let harness = TestLedger::new().await;
    let account = harness.account(100, 0).await;
    let (ledger, _tasks) = harness.ledger("n1").await;
    let call = request();
    ledger
        .reserve(reserve_row(call, account, 10))
        .await
        .unwrap();
    harness.db.shift_clock(599).await;
    assert_eq!(
        sweep(
            &harness.data,
            ledger.node_epoch(),
            Duration::from_secs(86_400)
        )
        .await,
        Ok(0)
    );
    harness.db.shift_clock(2).await;
    assert_eq!(
        sweep(
            &harness.data,
            ledger.node_epoch(),
            Duration::from_secs(86_400)
        )
        .await,
        Ok(1)
    );
    assert_eq!(harness.wallets(account).await, [100, 0, 0, 0]);
    let late = ledger.settle(settle(call, account, 10)).await.unwrap();
    assert!(
        matches!(late, SettleAnswer::Before { charged: false, .. }),
        "{late:?}"
    );
    harness.audit().await;
}

#[tokio::test]
async fn partitions_are_made_a_week_ahead_and_a_missing_one_is_an_alarm() {
    let harness = TestLedger::new().await;
    // The migration made them, when the run began; since then it may have become another day.
    let missing = partitions::ensure(&harness.data).await.unwrap();
    assert!(missing == 0 || missing == 5, "{missing} of five tables");
    assert_eq!(partitions::ensure(&harness.data).await, Ok(0));
    harness.db.shift_clock(3 * 86_400).await;
    assert_eq!(
        partitions::ensure(&harness.data).await,
        Ok(15),
        "three days of five tables"
    );
    harness.audit().await;
    harness.db.shift_clock(7 * 86_400).await;
    let auditor = harness.db.connect(Role::Audit).await;
    let report = trunkline_ledger::audit::run(&auditor).await.unwrap();
    let alarm = report
        .violations
        .iter()
        .find(|violation| violation.view == "ledger.audit_partitions_running_out");
    assert!(alarm.is_some_and(|alarm| alarm.count == 9), "{report:?}");
}

#[tokio::test]
async fn a_thousand_holds_of_a_dead_node_are_let_go_at_its_return() {
    let harness = TestLedger::new().await;
    let mut accounts = Vec::new();
    for _ in 0..10 {
        accounts.push(harness.account(1_000, 0).await);
    }
    let (ledger, _tasks) = harness.ledger("n1").await;
    let mut waiting = tokio::task::JoinSet::new();
    for number in 0..2_500 {
        let (ledger, account) = (ledger.clone(), accounts[number % 10]);
        waiting.spawn(async move { ledger.reserve(reserve(request(), account, 2)).await });
    }
    while let Some(answer) = waiting.join_next().await {
        answer.unwrap().unwrap();
    }
    let (_, voided) = register(&harness.data, &NodeId::new("n1").unwrap())
        .await
        .unwrap();
    assert_eq!(voided, 2_500);
    for account in accounts {
        assert_eq!(harness.wallets(account).await, [1_000, 0, 0, 0]);
    }
    harness.audit().await;
}

#[tokio::test]
async fn an_operation_whose_caller_left_is_compensated() {
    let harness = TestLedger::new().await;
    let account = harness.account(100, 0).await;
    let (ledger, tasks) = harness.ledger("n1").await;
    let calls: Vec<_> = (0..20).map(|_| request()).collect();
    for call in &calls {
        // Polled once, so that the word is handed over, and dropped at once.
        let mut reserve_op = Box::pin(ledger.reserve(reserve(*call, account, 1)));
        let gone = futures_poll_once(reserve_op.as_mut()).await;
        assert!(gone.is_none());
    }
    drop(ledger);
    tasks.finish().await;
    assert_eq!(harness.wallets(account).await, [100, 0, 0, 0]);
    harness.audit().await;
}

async fn futures_poll_once<F: Future + Unpin>(mut future: F) -> Option<F::Output> {
    std::future::poll_fn(
        |context| match std::pin::Pin::new(&mut future).poll(context) {
            std::task::Poll::Ready(value) => std::task::Poll::Ready(Some(value)),
            std::task::Poll::Pending => std::task::Poll::Ready(None),
        },
    )
    .await
}

#[tokio::test]
async fn an_unregistered_author_is_refused() {
    let harness = TestLedger::new().await;
    let account = harness.account(100, 0).await;
    let author = NodeEpoch {
        node: NodeId::new("ghost").unwrap(),
        epoch: 1,
    };
    let (ledger, _tasks) = Ledger::with_epoch(harness.data.clone(), author, patient());
    assert_eq!(
        ledger.reserve(reserve(request(), account, 1)).await,
        Err(LedgerError::StaleEpoch)
    );
}

#[tokio::test]
async fn no_transaction_of_the_ledger_sees_the_clock_jump() {
    let harness = TestLedger::new().await;
    let account = harness.account(100, 0).await;
    let mut tx = harness.console.begin().await.unwrap();
    sqlx::query("SELECT FROM ledger.account WHERE id = $1 FOR NO KEY UPDATE")
        .bind(account.number())
        .execute(&mut *tx)
        .await
        .unwrap();
    let ask = "SELECT app.now()::text";
    let before: String = sqlx::query_scalar(ask).fetch_one(&mut *tx).await.unwrap();
    let mut shift = Box::pin(harness.db.shift_clock(86_400));
    let moved = tokio::time::timeout(Duration::from_millis(300), &mut shift).await;
    assert!(moved.is_err(), "it waits for the open transaction");
    let after: String = sqlx::query_scalar(ask).fetch_one(&mut *tx).await.unwrap();
    assert_eq!(before, after);
    tx.commit().await.unwrap();
    shift.await;
    let mut session = harness.data.session().await.unwrap();
    let later: String = sqlx::query_scalar(ask)
        .fetch_one(&mut *session)
        .await
        .unwrap();
    assert_ne!(before.get(..10), later.get(..10), "another day");
}

#[tokio::test]
async fn beginning_an_epoch_is_retried_on_conflict_and_not_for_ever() {
    const LOCK_WAIT: Duration = Duration::from_millis(300);
    let harness = TestLedger::new().await;
    let node = NodeId::new("n1").unwrap();
    let impatient = PoolSettings {
        lock_timeout: LOCK_WAIT,
        ..PoolSettings::named("impatient")
    };
    let data = harness.db.connect_with(Role::Data, impatient).await;
    let (first, _) = register(&data, &node).await.unwrap();
    let mut in_the_way = harness.data.begin().await.unwrap();
    sqlx::query("SELECT ledger.fence_node($1)")
        .bind(node.as_str())
        .execute(&mut *in_the_way)
        .await
        .unwrap();
    // Longer than one try waits, shorter than two.
    let goes = async {
        tokio::time::sleep(LOCK_WAIT + LOCK_WAIT / 3).await;
        in_the_way.rollback().await.unwrap();
    };
    let ((), second) = tokio::join!(goes, register(&data, &node));
    assert_eq!(second.unwrap().0.epoch, first.epoch + 1);
    let mut stays = harness.data.begin().await.unwrap();
    sqlx::query("SELECT ledger.fence_node($1)")
        .bind(node.as_str())
        .execute(&mut *stays)
        .await
        .unwrap();
    let refused = register(&data, &node).await;
    assert!(matches!(refused, Err(DbError::Conflict(_))), "{refused:?}");
    stays.rollback().await.unwrap();
}

#[tokio::test]
async fn a_customer_sees_charges_whose_process_died_with_them_and_no_others() {
    let harness = TestLedger::new().await;
    let account = harness.account(1_000, 0).await;
    let doubtful = async |call| {
        let found = unconfirmed::is_unconfirmed(&harness.data, account, call).await;
        found.unwrap()
    };
    let node = NodeId::new("n1").unwrap();
    let (first, _tasks) = harness.ledger("n1").await;
    let [charged, voided, keyed] = [request(), request(), request()];
    let mut with_key = reserve(keyed, account, 10);
    with_key.idempotency = Some(Idempotency {
        key: "k".to_owned(),
        body_hash: [0; 32],
    });
    for ask in [
        reserve(charged, account, 10),
        reserve(voided, account, 10),
        with_key,
    ] {
        first.reserve(ask).await.unwrap();
    }
    first.settle(settle(charged, account, 10)).await.unwrap();
    first.settle(settle(keyed, account, 10)).await.unwrap();
    first.void(void(voided, account)).await.unwrap();
    assert!(!doubtful(charged).await, "its process lives");
    let (second, tasks) = harness.ledger("n1").await;
    assert!(doubtful(charged).await);
    assert!(!doubtful(voided).await && !doubtful(keyed).await);
    let later = request();
    second.reserve(reserve(later, account, 10)).await.unwrap();
    second.settle(settle(later, account, 10)).await.unwrap();
    drop(second);
    tasks.finish().await;
    register(&harness.data, &node).await.unwrap();
    assert!(!doubtful(later).await, "its process stopped in order");
    harness.audit().await;
}

#[tokio::test]
async fn a_node_without_nats_is_refused_beside_live_nodes_with_it_and_the_other_way_round() {
    let harness = TestLedger::new().await;
    let register = async |name: &str| {
        let node = NodeId::new(name).unwrap();
        register(&harness.data, &node).await.unwrap().0
    };
    let within = Duration::from_secs(15);
    let agree = async |node: &NodeEpoch, uses_nats: bool| {
        let others = agree_on_nats(&harness.data, node, uses_nats, within).await;
        others.unwrap()
    };
    let (first, second) = (register("n1").await, register("n2").await);
    assert!(agree(&first, true).await.is_empty());
    assert_eq!(agree(&second, false).await, ["n1"]);
    assert!(
        agree(&first, true).await.is_empty(),
        "a refused node counts for nothing"
    );
    assert!(agree(&second, true).await.is_empty());
    assert_eq!(agree(&first, false).await, ["n2"], "it cannot change alone");
    // The others have not been seen for a while.
    harness.db.shift_clock(16).await;
    let third = register("n3").await;
    assert!(agree(&third, false).await.is_empty());
}
