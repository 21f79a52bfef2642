//! What surrounds a call's money: places of the day, clients' keys, losses, bad words, other nodes.

use trunkline_db::{PoolSettings, Role, connect};
use trunkline_ledger::{
    CapacityClaim, Idempotency, Ledger, LedgerError, Outcome, Owner, ReserveAnswer, SettleAnswer,
    WriteOff, WriteOffReason,
};

use trunkline_types::NodeId;

use crate::test_ledger::{
    TestLedger, detail, done, held, nanos, patient, request, reserve, reserve_row, settle, void,
};

#[tokio::test]
async fn a_daily_capacity_is_taken_by_the_reservation_and_given_back_by_a_void() {
    let harness = TestLedger::new().await;
    let account = harness.account(100, 0).await;
    let (ledger, _tasks) = harness.ledger("n1").await;
    let placed = |request| {
        let mut reserve = reserve(request, account, 1);
        reserve.capacity = Some(CapacityClaim {
            name: "p1".to_owned(),
            cap: 2,
        });
        reserve
    };
    let (first, second) = (request(), request());
    assert_eq!(ledger.reserve(placed(first)).await, Ok(held(1, 0)));
    assert_eq!(ledger.reserve(placed(second)).await, Ok(held(1, 0)));
    assert_eq!(
        ledger.reserve(placed(request())).await,
        Ok(ReserveAnswer::CapacityReached)
    );
    ledger.settle(settle(first, account, 1)).await.unwrap();
    assert_eq!(
        ledger.reserve(placed(request())).await,
        Ok(ReserveAnswer::CapacityReached)
    );
    ledger.void(void(second, account)).await.unwrap();
    let third = request();
    assert_eq!(ledger.reserve(placed(third)).await, Ok(held(1, 0)));
    assert_eq!(harness.wallets(account).await, [99, 1, 0, 0]);
    ledger.settle(settle(third, account, 1)).await.unwrap();
    harness.db.shift_clock(86_400).await;
    assert_eq!(
        ledger.reserve(placed(request())).await,
        Ok(held(1, 0)),
        "a new day by the database's clock"
    );
    harness.audit().await;
}

#[tokio::test]
async fn an_idempotency_key_names_one_call_and_a_void_frees_it() {
    let harness = TestLedger::new().await;
    let account = harness.account(100, 0).await;
    let (ledger, _tasks) = harness.ledger("n1").await;
    let named = |request, hash| {
        let mut reserve = reserve(request, account, 10);
        reserve.idempotency = Some(Idempotency {
            key: "k".to_owned(),
            body_hash: [hash; 32],
        });
        reserve
    };
    let first = request();
    assert_eq!(ledger.reserve(named(first, 1)).await, Ok(held(10, 0)));
    let same = |same_body, finished| {
        Ok(ReserveAnswer::SameKey {
            request: first,
            same_body,
            finished,
        })
    };
    assert_eq!(ledger.reserve(named(request(), 1)).await, same(true, false));
    assert_eq!(
        ledger.reserve(named(request(), 2)).await,
        same(false, false)
    );
    ledger.settle(settle(first, account, 10)).await.unwrap();
    assert_eq!(ledger.reserve(named(request(), 1)).await, same(true, true));
    harness.db.shift_clock(86_401).await;
    let second = request();
    assert_eq!(
        ledger.reserve(named(second, 2)).await,
        Ok(held(10, 0)),
        "a key lives for a day"
    );
    ledger.void(void(second, account)).await.unwrap();
    assert_eq!(
        ledger.reserve(named(request(), 3)).await,
        Ok(held(10, 0)),
        "a void frees the key"
    );
    harness.audit().await;
}

#[tokio::test]
async fn a_write_off_is_noted_once() {
    let harness = TestLedger::new().await;
    let account = harness.account(100, 0).await;
    let (ledger, _tasks) = harness.ledger("n1").await;
    let loss = WriteOff {
        request: request(),
        account,
        reason: WriteOffReason::LateResult,
        sale: None,
        cost: Some(nanos(5)),
    };
    ledger.write_off(loss.clone()).await.unwrap();
    ledger.write_off(loss).await.unwrap();
    let mut session = harness.data.session().await.unwrap();
    let rows: i64 = sqlx::query_scalar("SELECT count(*) FROM ledger.write_off")
        .fetch_one(&mut *session)
        .await
        .unwrap();
    assert_eq!(rows, 1);
    harness.audit().await;
}

#[tokio::test]
async fn one_bad_word_is_answered_alone_and_the_rest_of_its_batch_goes_through() {
    let harness = TestLedger::new().await;
    let account = harness.account(1_000, 0).await;
    let (ledger, _tasks) = harness.ledger("n1").await;
    let mut waiting = tokio::task::JoinSet::new();
    for number in 0..64 {
        let ledger = ledger.clone();
        let mut reserve_op = reserve(request(), account, 1);
        if number == 17 {
            // Longer than the column allows.
            reserve_op.idempotency = Some(Idempotency {
                key: "x".repeat(300),
                body_hash: [0; 32],
            });
        }
        waiting.spawn(async move { (number, ledger.reserve(reserve_op).await) });
    }
    let mut rejected = Vec::new();
    while let Some(answer) = waiting.join_next().await {
        match answer.unwrap() {
            (_, Ok(ReserveAnswer::Held { .. })) => {}
            (number, Err(LedgerError::Rejected(text))) => rejected.push((number, text)),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(rejected.len(), 1, "{rejected:?}");
    assert!(
        rejected[0].0 == 17 && rejected[0].1.contains("idempotency_key_bounded"),
        "{rejected:?}"
    );
    assert_eq!(harness.wallets(account).await, [1_000, 63, 0, 0]);
    let counts = ledger.counts();
    assert!(counts.batches < 40, "words share commits: {counts:?}");
    harness.audit().await;
}

#[tokio::test]
async fn a_failed_call_cannot_be_charged_by_mistake() {
    let harness = TestLedger::new().await;
    let account = harness.account(100, 0).await;
    let (ledger, _tasks) = harness.ledger("n1").await;
    let call = request();
    ledger.reserve(reserve(call, account, 50)).await.unwrap();
    let mut wrong = settle(call, account, 50);
    wrong.detail = detail(Outcome::UpstreamFailed);
    let refused = ledger.settle(wrong).await;
    assert!(
        matches!(&refused, Err(LedgerError::Rejected(text)) if text.contains("usage_is_sound")),
        "{refused:?}"
    );
    assert_eq!(harness.wallets(account).await, [100, 50, 0, 0]);
    harness.audit().await;
}

#[tokio::test]
async fn a_tasks_hold_may_be_settled_by_another_node_and_a_requests_may_not() {
    let harness = TestLedger::new().await;
    let account = harness.account(100, 0).await;
    let (first, _first_tasks) = harness.ledger("n1").await;
    let (second, _second_tasks) = harness.ledger("n2").await;
    let call = request();
    first.reserve(reserve(call, account, 10)).await.unwrap();
    assert_eq!(
        second.settle(settle(call, account, 10)).await,
        Ok(SettleAnswer::NoHold)
    );
    let job = request();
    let mut reserve_op = reserve(job, account, 10);
    reserve_op.owner = Owner::Task(job.uuid());
    first.reserve(reserve_op).await.unwrap();
    assert_eq!(
        second.settle(settle(job, account, 10)).await,
        Ok(done(10, 0))
    );
    assert_eq!(
        first.settle(settle(call, account, 10)).await,
        Ok(done(10, 0))
    );
    harness.audit().await;
}

#[tokio::test]
async fn the_lanes_say_what_they_were_given_before_they_end() {
    let harness = TestLedger::new().await;
    let account = harness.account(100, 0).await;
    let (ledger, tasks) = harness.ledger("n1").await;
    let call = request();
    ledger.reserve(reserve(call, account, 10)).await.unwrap();
    let mut caller = Box::pin(ledger.void(void(call, account)));
    let spoken = std::future::poll_fn(|context| {
        std::task::Poll::Ready(caller.as_mut().poll(context).is_pending())
    });
    assert!(spoken.await, "it was handed over");
    drop(caller);
    drop(ledger);
    tasks.finish().await;
    assert_eq!(harness.wallets(account).await, [100, 0, 0, 0]);
    harness.audit().await;
}

#[tokio::test]
async fn a_commit_with_an_unknown_outcome_is_submitted_again_and_counted() {
    let harness = TestLedger::new().await;
    let account = harness.account(100, 0).await;
    let wire = harness.db.wire();
    let url = harness.db.url_through(&wire, Role::Data);
    let data = connect(&url, Role::Data, PoolSettings::named("wired"));
    let data = data.await.unwrap();
    let node = NodeId::new("n1").unwrap();
    let (ledger, _tasks) = Ledger::open(data, &node, patient()).await.unwrap();
    assert_eq!(ledger.counts().retried, 0);
    wire.cut_after_commit();
    let call = request();
    assert_eq!(
        ledger.reserve(reserve_row(call, account, 10)).await,
        Ok(held(10, 0))
    );
    assert_eq!(wire.strikes(), 1);
    assert_eq!(ledger.counts().retried, 1);
    assert_eq!(harness.wallets(account).await, [100, 10, 0, 0], "held once");
    assert_eq!(
        ledger.settle(settle(call, account, 4)).await,
        Ok(done(4, 0))
    );
    harness.audit().await;
}
