//! Budgets of keys, parents and accounts, their stretches and their borders.

use trunkline_ledger::accounts::{self, Period};
use trunkline_ledger::{ExtendAnswer, Ledger, ReserveAnswer, Shortage};
use trunkline_types::{AccountId, KeyId, Money, RequestId};

use crate::test_ledger::{TestLedger, extend, refund, request, reserve, settle, void};

async fn set(
    harness: &TestLedger,
    account: AccountId,
    key: Option<KeyId>,
    period: Period,
    zone: &str,
    limit: Option<i64>,
) {
    let mut tx = harness.console.begin().await.unwrap();
    let limit = limit.map(Money::from_nanos);
    assert!(
        accounts::set_budget(&mut tx, account, key, period, zone, limit)
            .await
            .unwrap()
    );
    tx.commit().await.unwrap();
}

async fn spend(
    ledger: &Ledger,
    account: AccountId,
    key: Option<KeyId>,
    nanos: i64,
) -> Result<RequestId, i64> {
    let call = request();
    let mut reserve_op = reserve(call, account, nanos);
    reserve_op.key = key;
    match ledger.reserve(reserve_op).await.unwrap() {
        ReserveAnswer::Held { .. } => Ok(call),
        ReserveAnswer::TooLittle {
            by: Shortage::Budget(_),
            fits,
            ..
        } => Err(fits.nanos()),
        other @ (ReserveAnswer::TooLittle { .. }
        | ReserveAnswer::NeverToppedUp
        | ReserveAnswer::CapacityReached
        | ReserveAnswer::SameKey { .. }
        | ReserveAnswer::AlreadyResolved
        | ReserveAnswer::UnknownPayer) => panic!("{other:?}"),
    }
}

// covers: D-2-89
#[tokio::test]
async fn a_budget_of_the_key_of_its_parent_and_of_the_account_refuses_alone() {
    let harness = TestLedger::new().await;
    let account = harness.account(1_000, 0).await;
    let (ledger, _tasks) = harness.ledger("n1").await;
    let parent = harness.key(account, 1, None).await;
    let child = harness.key(account, 2, Some(1)).await;
    let other = harness.key(account, 3, None).await;
    set(
        &harness,
        account,
        Some(child),
        Period::Total,
        "UTC",
        Some(30),
    )
    .await;
    assert_eq!(spend(&ledger, account, Some(child), 31).await, Err(30));
    set(
        &harness,
        account,
        Some(parent),
        Period::Total,
        "UTC",
        Some(20),
    )
    .await;
    assert_eq!(
        spend(&ledger, account, Some(child), 21).await,
        Err(20),
        "the parent's budget binds the child"
    );
    assert!(spend(&ledger, account, Some(child), 15).await.is_ok());
    assert_eq!(
        spend(&ledger, account, Some(parent), 6).await,
        Err(5),
        "the child's spending counts for the parent"
    );
    assert!(
        spend(&ledger, account, Some(other), 100).await.is_ok(),
        "another key is free"
    );
    set(&harness, account, None, Period::Total, "UTC", Some(50)).await;
    assert_eq!(spend(&ledger, account, Some(other), 51).await, Err(50));
    assert_eq!(
        spend(&ledger, account, None, 51).await,
        Err(50),
        "a call without a key counts too"
    );
    assert!(spend(&ledger, account, None, 50).await.is_ok());
    assert_eq!(spend(&ledger, account, Some(other), 1).await, Err(0));
    harness.audit().await;
}

// covers: D-2-90
#[tokio::test]
async fn each_period_refuses_and_reopens_at_its_border_in_its_time_zone() {
    let harness = TestLedger::new().await;
    let (ledger, _tasks) = harness.ledger("n1").await;
    for (period, days) in [
        (Period::Daily, 1),
        (Period::Weekly, 7),
        (Period::Monthly, 31),
    ] {
        let account = harness.account(1_000, 0).await;
        set(&harness, account, None, period, "Asia/Shanghai", Some(10)).await;
        assert!(spend(&ledger, account, None, 10).await.is_ok());
        assert_eq!(spend(&ledger, account, None, 1).await, Err(0));
        let mut session = harness.data.session().await.unwrap();
        let left: i64 = sqlx::query_scalar(
            "SELECT ceil(extract(epoch FROM ledger.period_end($1, 'Asia/Shanghai', app.now()) - app.now()))::bigint",
        )
        .bind(period.as_str())
        .fetch_one(&mut *session)
        .await
        .unwrap();
        assert!(left <= days * 86_400, "{period:?} {left}");
        harness.db.shift_clock(left - 30).await;
        assert_eq!(spend(&ledger, account, None, 1).await, Err(0), "{period:?}");
        harness.db.shift_clock(31).await;
        assert!(
            spend(&ledger, account, None, 10).await.is_ok(),
            "{period:?}"
        );
        assert_eq!(spend(&ledger, account, None, 1).await, Err(0), "{period:?}");
    }
    let account = harness.account(1_000, 0).await;
    set(&harness, account, None, Period::Total, "UTC", Some(10)).await;
    assert!(spend(&ledger, account, None, 10).await.is_ok());
    harness.db.shift_clock(400 * 86_400).await;
    assert_eq!(
        spend(&ledger, account, None, 1).await,
        Err(0),
        "a total never reopens"
    );
}

// covers: D-2-92, D-2-93
#[tokio::test]
async fn a_charge_counts_in_its_window_and_a_refund_while_that_is_open() {
    let harness = TestLedger::new().await;
    let account = harness.account(1_000, 0).await;
    let (ledger, _tasks) = harness.ledger("n1").await;
    set(&harness, account, None, Period::Daily, "UTC", Some(100)).await;
    let used = || async {
        let mut session = harness.data.session().await.unwrap();
        let used: Vec<i64> =
            sqlx::query_scalar("SELECT used FROM ledger.budget_period ORDER BY starts_at")
                .fetch_all(&mut *session)
                .await
                .unwrap();
        used
    };
    let refunded = spend(&ledger, account, None, 40).await.unwrap();
    ledger.settle(settle(refunded, account, 30)).await.unwrap();
    assert_eq!(used().await, [30], "what was not used goes back");
    ledger.refund(refund(refunded, account)).await.unwrap();
    assert_eq!(used().await, [0], "a refund returns while the day is open");
    let late = spend(&ledger, account, None, 60).await.unwrap();
    let voided = spend(&ledger, account, None, 20).await.unwrap();
    let charged = spend(&ledger, account, None, 20).await.unwrap();
    ledger.settle(settle(charged, account, 20)).await.unwrap();
    harness.db.shift_clock(86_400).await;
    let today = spend(&ledger, account, None, 100).await.unwrap();
    ledger.settle(settle(late, account, 50)).await.unwrap();
    ledger.void(void(voided, account)).await.unwrap();
    ledger.refund(refund(charged, account)).await.unwrap();
    assert_eq!(
        used().await,
        [70, 100],
        "yesterday's call counts yesterday; yesterday's refund comes too late"
    );
    ledger.void(void(today, account)).await.unwrap();
    harness.audit().await;
}

#[tokio::test]
async fn an_extension_counts_in_the_stretch_of_its_hold() {
    let harness = TestLedger::new().await;
    let account = harness.account(1_000, 0).await;
    let (ledger, _tasks) = harness.ledger("n1").await;
    set(&harness, account, None, Period::Daily, "UTC", Some(100)).await;
    let call = spend(&ledger, account, None, 60).await.unwrap();
    harness.db.shift_clock(86_400).await;
    let raised = ledger.extend(extend(call, account, 90)).await.unwrap();
    assert_eq!(
        raised,
        ExtendAnswer::Held {
            total: Money::from_nanos(90)
        }
    );
    let short = ledger.extend(extend(call, account, 101)).await.unwrap();
    assert!(
        matches!(short, ExtendAnswer::Short { by: Shortage::Budget(_), total } if total.nanos() == 100)
    );
    assert!(
        spend(&ledger, account, None, 100).await.is_ok(),
        "today is untouched"
    );
    ledger.settle(settle(call, account, 90)).await.unwrap();
    harness.audit().await;
}

#[tokio::test]
async fn a_limit_may_be_raised_lowered_and_taken_away() {
    let harness = TestLedger::new().await;
    let account = harness.account(1_000, 0).await;
    let (ledger, _tasks) = harness.ledger("n1").await;
    set(&harness, account, None, Period::Daily, "UTC", Some(50)).await;
    let call = spend(&ledger, account, None, 50).await.unwrap();
    set(&harness, account, None, Period::Daily, "UTC", Some(20)).await;
    assert_eq!(spend(&ledger, account, None, 1).await, Err(0));
    ledger.void(void(call, account)).await.unwrap();
    assert_eq!(
        spend(&ledger, account, None, 21).await,
        Err(20),
        "the lower limit holds"
    );
    set(&harness, account, None, Period::Daily, "UTC", Some(300)).await;
    assert!(spend(&ledger, account, None, 300).await.is_ok());
    set(&harness, account, None, Period::Daily, "UTC", None).await;
    assert!(spend(&ledger, account, None, 500).await.is_ok());
    harness.audit().await;
    let mut tx = harness.console.begin().await.unwrap();
    let nowhere = accounts::set_budget(
        &mut tx,
        account,
        None,
        Period::Daily,
        "Mars/Olympus",
        Some(Money::NANO),
    )
    .await;
    assert!(nowhere.is_err(), "an unknown time zone is refused");
}

#[tokio::test]
async fn a_budget_is_only_set_for_an_account_and_a_key_that_exist_together() {
    let harness = TestLedger::new().await;
    let (account, other) = (harness.account(0, 0).await, harness.account(0, 0).await);
    let key = harness.key(account, 7, None).await;
    let unknown = AccountId::new(1);
    let cases = [
        (account, None, true),
        (account, Some(key), true),
        (other, Some(key), false),
        (account, Some(KeyId::new(8)), false),
        (unknown, None, false),
        (unknown, Some(key), false),
    ];
    for (account, key, expected) in cases {
        let mut tx = harness.console.begin().await.unwrap();
        let limit = Some(Money::NANO);
        let set = accounts::set_budget(&mut tx, account, key, Period::Daily, "UTC", limit).await;
        assert_eq!(set.unwrap(), expected, "{account:?} {key:?}");
        tx.commit().await.unwrap();
    }
}

#[tokio::test]
async fn a_foreign_key_cannot_spend_and_a_parent_is_of_the_same_account() {
    let harness = TestLedger::new().await;
    let account = harness.account(1_000, 0).await;
    let other = harness.account(1_000, 0).await;
    let (ledger, _tasks) = harness.ledger("n1").await;
    let key = harness.key(account, 1, None).await;
    let mut reserve_op = reserve(request(), other, 1);
    reserve_op.key = Some(key);
    assert_eq!(
        ledger.reserve(reserve_op).await,
        Ok(ReserveAnswer::UnknownPayer)
    );
    let mut tx = harness.console.begin().await.unwrap();
    assert_eq!(
        accounts::register_key(&mut tx, other, KeyId::new(2), Some(key)).await,
        Ok(false)
    );
}
