//! What money tells of: each once, by any node, and again only when it is true again.

use serde_json::Value;
use trunkline_db::events;
use trunkline_ledger::accounts::{self, Adjust, AdjustAnswer, Period, TopUpAnswer, Wallet};
use trunkline_ledger::{Op, RefundKind, ReserveAnswer, Shortage, run_in};
use trunkline_types::{AccountId, Money};

use crate::test_ledger::{
    TestLedger, extend, nanos, refund, request, reserve, reserve_row, settle, top_up, void,
};

/// The topics and bodies of an account's events, in order.
async fn answered(harness: &TestLedger, account: AccountId) -> Vec<(String, Value)> {
    let mut session = harness.data.session().await.unwrap();
    let events = events::after(&mut session, account, 0, 1_000)
        .await
        .unwrap();
    let numbers: Vec<i64> = events.iter().map(|event| event.seq).collect();
    let expected: Vec<i64> = (1..).take(numbers.len()).collect();
    assert_eq!(numbers, expected, "without holes");
    let pair = |event: events::Event| (event.topic, event.body);
    events.into_iter().map(pair).collect()
}

async fn topics(harness: &TestLedger, account: AccountId) -> Vec<String> {
    let answered = answered(harness, account).await;
    answered.into_iter().map(|(topic, _)| topic).collect()
}

async fn mark(harness: &TestLedger, account: AccountId, mark: Option<i64>) -> bool {
    let mut tx = harness.console.begin().await.unwrap();
    let set = accounts::set_low_balance(&mut tx, account, mark.map(Money::from_nanos)).await;
    tx.commit().await.unwrap();
    set.unwrap()
}

async fn budget(harness: &TestLedger, account: AccountId, period: Period, limit: i64) {
    let mut tx = harness.console.begin().await.unwrap();
    let limit = Some(nanos(limit));
    let set = accounts::set_budget(&mut tx, account, None, period, "UTC", limit).await;
    assert!(set.unwrap());
    tx.commit().await.unwrap();
}

async fn pay(harness: &TestLedger, account: AccountId, amount: i64, event: &str) {
    let mut tx = harness.console.begin().await.unwrap();
    let payment = top_up(account, Wallet::Paid, amount, event);
    let done = accounts::top_up(&mut tx, &payment).await.unwrap();
    assert_eq!(done, TopUpAnswer::Done);
    tx.commit().await.unwrap();
}

#[tokio::test]
async fn each_way_back_of_money_is_told_once_by_two_nodes_at_once() {
    let harness = TestLedger::new().await;
    let account = harness.account(1_000, 30).await;
    let (first, _first_tasks) = harness.ledger("n1").await;
    let (second, _second_tasks) = harness.ledger("n2").await;
    let mut expected = Vec::new();
    for (kind, amount, gone) in [
        (RefundKind::Refund, None, 50),
        (RefundKind::SettlementAdjustment, Some(20), 20),
        (RefundKind::Undelivered, None, 50),
    ] {
        let call = request();
        first.reserve(reserve(call, account, 60)).await.unwrap();
        first.settle(settle(call, account, 50)).await.unwrap();
        let mut back = refund(call, account);
        back.kind = kind;
        back.amount = amount.map(Money::from_nanos);
        let (one, other, repeated) = tokio::join!(
            first.refund(back.clone()),
            second.refund(back.clone()),
            first.refund(back)
        );
        for answer in [one, other, repeated] {
            answer.unwrap();
        }
        expected.push((
            "call.refunded".to_owned(),
            serde_json::json!({
                "request_id": call.to_string(),
                "kind": kind.as_str(),
                "amount_usd": nanos(gone).to_string(),
                "model": "model",
            }),
        ));
    }
    let uncharged = request();
    first
        .reserve(reserve(uncharged, account, 10))
        .await
        .unwrap();
    first.void(void(uncharged, account)).await.unwrap();
    first.refund(refund(uncharged, account)).await.unwrap();
    assert_eq!(answered(&harness, account).await, expected);
    harness.audit().await;
}

#[tokio::test]
async fn a_balance_below_its_mark_is_told_once_and_again_after_it_was_above() {
    let harness = TestLedger::new().await;
    let account = harness.account(100, 20).await;
    let (first, _first_tasks) = harness.ledger("n1").await;
    let (second, _second_tasks) = harness.ledger("n2").await;
    assert!(mark(&harness, account, Some(100)).await);
    assert!(topics(&harness, account).await.is_empty(), "120 is above");
    let mut running = tokio::task::JoinSet::new();
    for number in 0..40 {
        let ledger = if number % 2 == 0 { &first } else { &second };
        let ledger = ledger.clone();
        running.spawn(async move {
            let call = request();
            ledger.reserve(reserve(call, account, 1)).await.unwrap();
            ledger.settle(settle(call, account, 1)).await.unwrap();
        });
    }
    while let Some(done) = running.join_next().await {
        done.unwrap();
    }
    let low = answered(&harness, account).await;
    assert_eq!(low.len(), 1, "{low:?}");
    assert_eq!(low[0].0, "balance.low");
    assert_eq!(low[0].1["threshold_usd"], nanos(100).to_string());
    harness.audit().await;

    pay(&harness, account, 19, "not enough").await;
    assert_eq!(
        topics(&harness, account).await.len(),
        1,
        "99 is still below"
    );
    pay(&harness, account, 1, "enough").await;
    let call = request();
    first.reserve(reserve(call, account, 100)).await.unwrap();
    assert_eq!(
        topics(&harness, account).await.len(),
        1,
        "what is held is not spent"
    );
    first.settle(settle(call, account, 1)).await.unwrap();
    assert_eq!(topics(&harness, account).await.len(), 2, "it crossed again");
    first.refund(refund(call, account)).await.unwrap();
    let repeated = request();
    first.reserve(reserve(repeated, account, 5)).await.unwrap();
    first.settle(settle(repeated, account, 5)).await.unwrap();
    let order = topics(&harness, account).await;
    let expected = ["balance.low", "balance.low", "call.refunded", "balance.low"];
    assert_eq!(order, expected, "a refund lifted it above");
    harness.audit().await;
}

#[tokio::test]
async fn a_mark_above_the_balance_is_told_at_once_and_a_correction_may_cross_it() {
    let harness = TestLedger::new().await;
    let account = harness.account(100, 0).await;
    assert!(!mark(&harness, AccountId::new(77), Some(1)).await);
    mark(&harness, account, Some(100)).await;
    assert!(topics(&harness, account).await.is_empty(), "not below it");
    let mut tx = harness.console.begin().await.unwrap();
    let correction = Adjust {
        request: request(),
        account,
        wallet: Wallet::Paid,
        amount: nanos(-1),
        reason: "a mistake".to_owned(),
        actor: "someone".to_owned(),
    };
    let done = accounts::adjust(&mut tx, &correction).await.unwrap();
    assert_eq!(done, AdjustAnswer::Done);
    tx.commit().await.unwrap();
    assert_eq!(topics(&harness, account).await.len(), 1);
    mark(&harness, account, Some(100)).await;
    assert_eq!(topics(&harness, account).await.len(), 1, "the same mark");
    mark(&harness, account, Some(150)).await;
    assert_eq!(topics(&harness, account).await.len(), 2, "another mark");
    mark(&harness, account, None).await;
    harness.audit().await;
    mark(&harness, account, Some(50)).await;
    assert_eq!(topics(&harness, account).await.len(), 2, "99 is above 50");
    let balance = harness.balance(account).await;
    assert_eq!(
        (balance.low_balance_threshold, balance.is_low),
        (Some(nanos(50)), false)
    );
    mark(&harness, account, Some(100)).await;
    assert!(harness.balance(account).await.is_low);
    harness.audit().await;
}

#[tokio::test]
async fn an_exhausted_budget_emits_one_event_per_period_from_two_nodes() {
    let harness = TestLedger::new().await;
    let account = harness.account(10_000, 0).await;
    budget(&harness, account, Period::Daily, 100).await;
    let (first, _first_tasks) = harness.ledger("n1").await;
    let (second, _second_tasks) = harness.ledger("n2").await;
    for round in 1..=2 {
        let mut running = tokio::task::JoinSet::new();
        for number in 0..20 {
            let ledger = if number % 2 == 0 { &first } else { &second };
            let ledger = ledger.clone();
            running.spawn(async move { ledger.reserve(reserve(request(), account, 101)).await });
        }
        while let Some(answer) = running.join_next().await {
            let answer = answer.unwrap().unwrap();
            let refused = matches!(
                answer,
                ReserveAnswer::TooLittle {
                    by: Shortage::Budget(_),
                    ..
                }
            );
            assert!(refused, "{answer:?}");
        }
        let events = answered(&harness, account).await;
        assert_eq!(events.len(), round, "{events:?}");
        let (topic, body) = &events[round - 1];
        assert_eq!(topic, "budget.reached");
        assert_eq!(body["period"], "daily");
        assert_eq!(body["limit_usd"], nanos(100).to_string());
        assert_eq!(body["used_usd"], "0");
        assert!(body["key"].is_null() && body["ends_at"].is_i64(), "{body}");
        harness.audit().await;
        // A period later it is told of again.
        harness.db.shift_clock(86_400).await;
    }
}

#[tokio::test]
async fn a_budget_that_a_settlement_uses_up_is_told_of_once() {
    let harness = TestLedger::new().await;
    let account = harness.account(10_000, 0).await;
    budget(&harness, account, Period::Total, 100).await;
    let (ledger, _tasks) = harness.ledger("n1").await;
    let (whole, part) = (request(), request());
    ledger.reserve(reserve(part, account, 40)).await.unwrap();
    ledger.reserve(reserve(whole, account, 60)).await.unwrap();
    assert!(
        topics(&harness, account).await.is_empty(),
        "what is held may come back"
    );
    ledger.settle(settle(part, account, 30)).await.unwrap();
    assert!(topics(&harness, account).await.is_empty(), "10 came back");
    ledger.settle(settle(whole, account, 60)).await.unwrap();
    assert!(topics(&harness, account).await.is_empty(), "10 are left");
    let rest = request();
    ledger.reserve(reserve(rest, account, 10)).await.unwrap();
    ledger.settle(settle(rest, account, 10)).await.unwrap();
    let events = answered(&harness, account).await;
    assert_eq!(events.len(), 1, "{events:?}");
    assert_eq!(events[0].1["used_usd"], nanos(100).to_string());
    assert!(events[0].1["ends_at"].is_null(), "a total has no end");
    ledger
        .reserve(reserve(request(), account, 1))
        .await
        .unwrap();
    let free = request();
    ledger.reserve(reserve(free, account, 0)).await.unwrap();
    ledger.settle(settle(free, account, 0)).await.unwrap();
    assert_eq!(topics(&harness, account).await.len(), 1, "once is enough");
    harness.audit().await;
}

#[tokio::test]
async fn a_budget_that_refuses_an_extension_is_told_of() {
    let harness = TestLedger::new().await;
    let account = harness.account(10_000, 0).await;
    budget(&harness, account, Period::Monthly, 100).await;
    let (ledger, _tasks) = harness.ledger("n1").await;
    let call = request();
    ledger.reserve(reserve(call, account, 60)).await.unwrap();
    for _ in 0..2 {
        ledger.extend(extend(call, account, 200)).await.unwrap();
    }
    assert_eq!(topics(&harness, account).await, ["budget.reached"]);
    ledger.void(void(call, account)).await.unwrap();
    harness.audit().await;
}

#[tokio::test]
async fn what_was_rolled_back_was_not_told() {
    let harness = TestLedger::new().await;
    let account = harness.account(100, 0).await;
    budget(&harness, account, Period::Total, 90).await;
    mark(&harness, account, Some(50)).await;
    let (ledger, _tasks) = harness.ledger("n1").await;
    let call = request();
    ledger
        .reserve(reserve_row(call, account, 90))
        .await
        .unwrap();
    let words = [
        Op::Reserve(Box::new(reserve(request(), account, 10))),
        Op::Settle(Box::new(settle(call, account, 90))),
        Op::Refund(refund(call, account)),
    ];
    // Without the refund all three have something to say; with it the balance ends where it was.
    for (count, expected) in [(2, 2), (3, 2)] {
        let words: Vec<&Op> = words.iter().take(count).collect();
        let mut tx = harness.data.begin().await.unwrap();
        run_in(&mut tx, ledger.node_epoch(), &words).await.unwrap();
        let inside: i64 =
            sqlx::query_scalar("SELECT count(*) FROM app.event WHERE account_id = $1")
                .bind(account.number())
                .fetch_one(&mut *tx)
                .await
                .unwrap();
        assert_eq!(inside, expected, "{count} words");
        tx.rollback().await.unwrap();
        assert!(topics(&harness, account).await.is_empty());
        harness.audit().await;
    }
}
