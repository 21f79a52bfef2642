//! Reserve, extend, settle, void, refund, write off: each once, twice, too late, and too much.

use trunkline_ledger::recovery::register;
use trunkline_ledger::{
    Answer, ExtendAnswer, Op, RefundAnswer, RefundKind, ReserveAnswer, SettleAnswer, Shortage,
    Wallets, run_in,
};
use trunkline_types::{AccountId, NodeId};

use crate::test_ledger::{
    TestLedger, done, extend, held, nanos, refund, request, reserve, settle, void,
};

// covers: D-2-19, D-2-58
#[tokio::test]
async fn a_call_is_held_charged_once_and_the_rest_given_back() {
    let harness = TestLedger::new().await;
    let account = harness.account(1_000, 0).await;
    let (ledger, _tasks) = harness.ledger("n1").await;
    let call = request();
    assert_eq!(
        ledger.reserve(reserve(call, account, 700)).await,
        Ok(held(700, 0))
    );
    assert_eq!(harness.wallets(account).await, [1_000, 700, 0, 0]);
    assert_eq!(
        ledger.reserve(reserve(call, account, 700)).await,
        Ok(held(700, 0)),
        "said twice, held once"
    );
    assert_eq!(harness.wallets(account).await, [1_000, 700, 0, 0]);
    assert_eq!(
        ledger.settle(settle(call, account, 400)).await,
        Ok(done(400, 0))
    );
    assert_eq!(harness.wallets(account).await, [600, 0, 0, 0]);
    let before = SettleAnswer::Before {
        charged: true,
        paid: nanos(400),
        trial: nanos(0),
    };
    assert_eq!(
        ledger.settle(settle(call, account, 500)).await,
        Ok(before.clone()),
        "the first word stands"
    );
    assert_eq!(ledger.void(void(call, account)).await, Ok(before));
    assert_eq!(
        ledger.reserve(reserve(call, account, 1)).await,
        Ok(ReserveAnswer::AlreadyResolved)
    );
    assert_eq!(harness.wallets(account).await, [600, 0, 0, 0]);
    harness.audit().await;
}

// covers: D-2-20, D-7-MON-03
#[tokio::test]
async fn trial_money_is_taken_first_and_a_larger_charge_is_split_at_reservation() {
    let harness = TestLedger::new().await;
    let account = harness.account(2_000, 10).await;
    let (ledger, _tasks) = harness.ledger("n1").await;
    let call = request();
    assert_eq!(
        ledger.reserve(reserve(call, account, 30)).await,
        Ok(held(20, 10))
    );
    assert_eq!(harness.wallets(account).await, [2_000, 20, 10, 10]);
    assert_eq!(
        ledger.settle(settle(call, account, 15)).await,
        Ok(done(5, 10))
    );
    assert_eq!(harness.wallets(account).await, [1_995, 0, 0, 0]);
    harness.audit().await;
}

// covers: D-2-24, D-7-MON-04
#[tokio::test]
async fn a_refund_goes_back_to_the_wallets_that_paid() {
    let harness = TestLedger::new().await;
    let account = harness.account(2_000, 10).await;
    let (ledger, _tasks) = harness.ledger("n1").await;
    let call = request();
    assert_eq!(
        ledger.refund(refund(call, account)).await,
        Ok(RefundAnswer::NothingCharged)
    );
    ledger.reserve(reserve(call, account, 30)).await.unwrap();
    assert_eq!(
        ledger.refund(refund(call, account)).await,
        Ok(RefundAnswer::NothingCharged)
    );
    ledger.settle(settle(call, account, 30)).await.unwrap();
    let back = RefundAnswer::Done {
        paid: nanos(20),
        trial: nanos(10),
    };
    assert_eq!(ledger.refund(refund(call, account)).await, Ok(back));
    assert_eq!(harness.wallets(account).await, [2_000, 0, 10, 0]);
    assert_eq!(
        ledger.refund(refund(call, account)).await,
        Ok(RefundAnswer::Before),
        "once"
    );
    assert_eq!(harness.wallets(account).await, [2_000, 0, 10, 0]);
    harness.audit().await;
}

#[tokio::test]
async fn a_settlement_adjustment_gives_back_a_part_and_a_refund_the_rest() {
    let harness = TestLedger::new().await;
    let account = harness.account(100, 50).await;
    let (ledger, _tasks) = harness.ledger("n1").await;
    let call = request();
    ledger.reserve(reserve(call, account, 120)).await.unwrap();
    ledger.settle(settle(call, account, 120)).await.unwrap();
    let mut part = refund(call, account);
    part.kind = RefundKind::SettlementAdjustment;
    part.amount = Some(nanos(80));
    let back = RefundAnswer::Done {
        paid: nanos(70),
        trial: nanos(10),
    };
    assert_eq!(
        ledger.refund(part.clone()).await,
        Ok(back),
        "paid money first"
    );
    assert_eq!(ledger.refund(part).await, Ok(RefundAnswer::Before));
    let rest = RefundAnswer::Done {
        paid: nanos(0),
        trial: nanos(40),
    };
    assert_eq!(ledger.refund(refund(call, account)).await, Ok(rest));
    assert_eq!(harness.wallets(account).await, [100, 0, 50, 0]);
    harness.audit().await;
}

#[tokio::test]
async fn what_does_not_fit_is_answered_with_what_would_and_nothing_moves() {
    let harness = TestLedger::new().await;
    let account = harness.account(100, 20).await;
    let (ledger, _tasks) = harness.ledger("n1").await;
    ledger
        .reserve(reserve(request(), account, 50))
        .await
        .unwrap();
    let too_little = ReserveAnswer::TooLittle {
        by: Shortage::Wallet,
        fits: nanos(70),
        reserved: nanos(50),
    };
    assert_eq!(
        ledger.reserve(reserve(request(), account, 71)).await,
        Ok(too_little)
    );
    assert_eq!(
        ledger.reserve(reserve(request(), account, 70)).await,
        Ok(held(70, 0))
    );
    assert_eq!(harness.wallets(account).await, [100, 100, 20, 20]);
    let unknown = ledger
        .reserve(reserve(request(), AccountId::new(1), 1))
        .await;
    assert_eq!(unknown, Ok(ReserveAnswer::UnknownPayer));
    harness.audit().await;
}

// covers: D-2-21, D-2-22, D-2-23
#[tokio::test]
async fn paid_only_calls_need_a_top_up_and_leave_trial_money_alone() {
    let harness = TestLedger::new().await;
    let (ledger, _tasks) = harness.ledger("n1").await;
    let paid_only = |account, amount| {
        let mut reserve = reserve(request(), account, amount);
        reserve.wallets = Wallets::PaidOnly;
        reserve
    };
    let never = harness.account(0, 100).await;
    assert_eq!(
        ledger.reserve(paid_only(never, 1)).await,
        Ok(ReserveAnswer::NeverToppedUp)
    );
    let both = harness.account(40, 100).await;
    assert_eq!(ledger.reserve(paid_only(both, 30)).await, Ok(held(30, 0)));
    let short = ReserveAnswer::TooLittle {
        by: Shortage::Wallet,
        fits: nanos(10),
        reserved: nanos(30),
    };
    assert_eq!(ledger.reserve(paid_only(both, 11)).await, Ok(short));
    harness.audit().await;
}

// covers: D-2-81
#[tokio::test]
async fn a_hold_is_raised_to_a_total_and_no_further_than_there_is_money() {
    let harness = TestLedger::new().await;
    let account = harness.account(100, 10).await;
    let (ledger, _tasks) = harness.ledger("n1").await;
    let call = request();
    assert_eq!(
        ledger.extend(extend(call, account, 5)).await,
        Ok(ExtendAnswer::NoHold)
    );
    ledger.reserve(reserve(call, account, 15)).await.unwrap();
    assert_eq!(
        ledger.extend(extend(call, account, 40)).await,
        Ok(ExtendAnswer::Held { total: nanos(40) })
    );
    assert_eq!(
        ledger.extend(extend(call, account, 40)).await,
        Ok(ExtendAnswer::Held { total: nanos(40) })
    );
    assert_eq!(
        ledger.extend(extend(call, account, 20)).await,
        Ok(ExtendAnswer::Held { total: nanos(40) })
    );
    assert_eq!(harness.wallets(account).await, [100, 30, 10, 10]);
    let short = ExtendAnswer::Short {
        by: Shortage::Wallet,
        total: nanos(110),
    };
    assert_eq!(ledger.extend(extend(call, account, 111)).await, Ok(short));
    assert_eq!(
        harness.wallets(account).await,
        [100, 100, 10, 10],
        "what fits is held"
    );
    assert_eq!(
        ledger.extend(extend(call, account, 110)).await,
        Ok(ExtendAnswer::Held { total: nanos(110) })
    );
    assert_eq!(
        ledger.settle(settle(call, account, 110)).await,
        Ok(done(100, 10))
    );
    assert_eq!(
        ledger.extend(extend(call, account, 120)).await,
        Ok(ExtendAnswer::NoHold)
    );
    harness.audit().await;
}

#[tokio::test]
async fn a_void_gives_all_back_and_writes_a_usage_row_of_zero() {
    let harness = TestLedger::new().await;
    let account = harness.account(100, 10).await;
    let (ledger, _tasks) = harness.ledger("n1").await;
    let call = request();
    assert_eq!(
        ledger.void(void(call, account)).await,
        Ok(SettleAnswer::NoHold)
    );
    ledger.reserve(reserve(call, account, 50)).await.unwrap();
    assert_eq!(ledger.void(void(call, account)).await, Ok(done(0, 0)));
    assert_eq!(harness.wallets(account).await, [100, 0, 10, 0]);
    let before = SettleAnswer::Before {
        charged: false,
        paid: nanos(0),
        trial: nanos(0),
    };
    assert_eq!(
        ledger.settle(settle(call, account, 50)).await,
        Ok(before),
        "a voided call is never charged"
    );
    assert_eq!(harness.wallets(account).await, [100, 0, 10, 0]);
    harness.audit().await;
}

#[tokio::test]
async fn more_used_than_held_is_charged_as_held_and_the_rest_written_off() {
    let harness = TestLedger::new().await;
    let account = harness.account(100, 0).await;
    let (ledger, _tasks) = harness.ledger("n1").await;
    let call = request();
    ledger.reserve(reserve(call, account, 50)).await.unwrap();
    assert_eq!(
        ledger.settle(settle(call, account, 80)).await,
        Ok(done(50, 0))
    );
    let mut session = harness.data.session().await.unwrap();
    let lost: i64 = sqlx::query_scalar(
        "SELECT sale FROM ledger.write_off WHERE request_id = $1 AND reason = 'overrun'",
    )
    .bind(call.uuid())
    .fetch_one(&mut *session)
    .await
    .unwrap();
    assert_eq!(lost, 30);
    let exact = request();
    ledger.reserve(reserve(exact, account, 50)).await.unwrap();
    assert_eq!(
        ledger.settle(settle(exact, account, 50)).await,
        Ok(done(50, 0))
    );
    let losses: i64 = sqlx::query_scalar("SELECT count(*) FROM ledger.write_off")
        .fetch_one(&mut *session)
        .await
        .unwrap();
    assert_eq!(losses, 1, "all that was held is no loss");
    harness.audit().await;
}

#[tokio::test]
async fn another_accounts_word_changes_nothing() {
    let harness = TestLedger::new().await;
    let owner = harness.account(100, 0).await;
    let stranger = harness.account(100, 0).await;
    let (ledger, _tasks) = harness.ledger("n1").await;
    let call = request();
    ledger.reserve(reserve(call, owner, 50)).await.unwrap();
    assert_eq!(
        ledger.reserve(reserve(call, stranger, 50)).await,
        Ok(ReserveAnswer::UnknownPayer)
    );
    assert_eq!(
        ledger.settle(settle(call, stranger, 50)).await,
        Ok(SettleAnswer::NoHold)
    );
    assert_eq!(
        ledger.extend(extend(call, stranger, 60)).await,
        Ok(ExtendAnswer::NoHold)
    );
    ledger.settle(settle(call, owner, 50)).await.unwrap();
    assert_eq!(
        ledger.settle(settle(call, stranger, 50)).await,
        Ok(SettleAnswer::NoHold),
        "what another account paid is not told"
    );
    assert_eq!(
        ledger.refund(refund(call, stranger)).await,
        Ok(RefundAnswer::NothingCharged)
    );
    assert_eq!(harness.wallets(stranger).await, [100, 0, 0, 0]);
    assert_eq!(harness.wallets(owner).await, [50, 0, 0, 0]);
    harness.audit().await;
}

#[tokio::test]
async fn a_duplicate_id_in_a_batch_is_held_once_for_its_own_account() {
    let harness = TestLedger::new().await;
    let owner = harness.account(100, 0).await;
    let stranger = harness.account(100, 0).await;
    let node = NodeId::new("n1").unwrap();
    let (author, _) = register(&harness.data, &node).await.unwrap();
    let call = request();
    let words =
        [owner, owner, stranger].map(|payer| Op::Reserve(Box::new(reserve(call, payer, 50))));
    let mut tx = harness.data.begin().await.unwrap();
    let answers = run_in(&mut tx, &author, &words.each_ref()).await.unwrap();
    tx.commit().await.unwrap();
    let answered = [held(50, 0), held(50, 0), ReserveAnswer::UnknownPayer].map(Answer::Reserve);
    assert_eq!(answers, answered);
    assert_eq!(harness.wallets(owner).await, [100, 50, 0, 0]);
    assert_eq!(harness.wallets(stranger).await, [100, 0, 0, 0]);
    harness.audit().await;
}

// covers: D-2-38, D-2-39
#[tokio::test]
async fn hold_and_usage_keep_the_price_version_and_the_usage_row_says_it_all() {
    let harness = TestLedger::new().await;
    let account = harness.account(100, 0).await;
    let key = harness.key(account, 5, None).await;
    let (ledger, _tasks) = harness.ledger("n1").await;
    let call = request();
    let mut reserve_op = reserve(call, account, 50);
    reserve_op.key = Some(key);
    ledger.reserve(reserve_op).await.unwrap();
    ledger.settle(settle(call, account, 40)).await.unwrap();
    let mut session = harness.data.session().await.unwrap();
    let row: serde_json::Value = sqlx::query_scalar(
        "SELECT to_jsonb(u) || jsonb_build_object('held_version', encode(h.price_version, 'hex'),
             'version', encode(u.price_version, 'hex'))
         FROM ledger.usage AS u JOIN ledger.any_hold AS h USING (request_id) WHERE u.request_id = $1",
    )
    .bind(call.uuid())
    .fetch_one(&mut *session)
    .await
    .unwrap();
    assert_eq!(
        (row["version"].as_str(), row["held_version"].as_str()),
        (Some("07".repeat(32).as_str()), row["version"].as_str())
    );
    assert_eq!(
        (
            row["paid"].as_i64(),
            row["cost"].as_i64(),
            row["key_id"].as_i64()
        ),
        (Some(40), Some(3), Some(5))
    );
    assert_eq!(row["units"], serde_json::json!({ "input": 12 }));
    assert_eq!(
        (
            row["tier"].as_str(),
            row["outcome"].as_str(),
            row["model"].as_str()
        ),
        (Some("standard"), Some("complete"), Some("model"))
    );
    harness.audit().await;
}
