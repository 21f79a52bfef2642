//! Calls leave after the days that they are kept, and their money stays.

use sqlx::Row as _;
use trunkline_db::Role;
use trunkline_ledger::accounts::{self as ledger_accounts, Period};
use trunkline_ledger::{RefundAnswer, partitions, statement};
use trunkline_testkit::{OwnSettings, Postgres, SystemClock, random_bytes};
use trunkline_types::{AccountId, Clock as _, KeyId, RequestId, Timestamp};

use crate::test_ledger::{TestLedger, done, held, nanos, refund, request, reserve, settle, void};

const DAY: i64 = 86_400;

/// What postings sum up to, by account and wallet.
async fn posted(harness: &TestLedger) -> Vec<(i64, i16, i64)> {
    let mut session = harness.data.session().await.unwrap();
    let rows = sqlx::query(
        "SELECT account_id, leg, sum(CASE WHEN credit >= 0 THEN amount ELSE -amount END)::bigint AS amount
         FROM ledger.posting GROUP BY account_id, leg ORDER BY account_id, leg",
    )
    .fetch_all(&mut *session)
    .await
    .unwrap();
    let line = |row: &sqlx::postgres::PgRow| (row.get(0), row.get(1), row.get(2));
    rows.iter().map(line).collect()
}

async fn drop_all(harness: &TestLedger) -> i32 {
    partitions::drop_usage(&harness.data, partitions::USAGE_DAYS_KEPT)
        .await
        .unwrap()
}

/// An account with a budget, two calls charged to both wallets, and one refund.
async fn played(harness: &TestLedger) -> (AccountId, RequestId) {
    let account = harness.account(1_000, 50).await;
    let key = harness.key(account, 1, None).await;
    let mut tx = harness.console.begin().await.unwrap();
    let limit = Some(nanos(900));
    let set =
        ledger_accounts::set_budget(&mut tx, account, Some(key), Period::Total, "UTC", limit).await;
    assert_eq!(set, Ok(true));
    tx.commit().await.unwrap();
    let (ledger, tasks) = harness.ledger("n1").await;
    let (first, second) = (request(), request());
    for (call, paid, trial) in [(first, 50, 50), (second, 100, 0)] {
        let mut by_first_key = reserve(call, account, 100);
        by_first_key.key = Some(KeyId::new(1));
        assert_eq!(ledger.reserve(by_first_key).await, Ok(held(paid, trial)));
        assert_eq!(
            ledger.settle(settle(call, account, 100)).await,
            Ok(done(paid, trial))
        );
    }
    let back = ledger.refund(refund(second, account)).await.unwrap();
    assert!(matches!(back, RefundAnswer::Done { .. }), "{back:?}");
    harness.chained().await;
    drop(ledger);
    tasks.finish().await;
    (account, first)
}

// covers: D-5-14
#[tokio::test]
async fn a_dropped_day_leaves_its_totals_and_the_books_as_they_were() {
    let harness = TestLedger::new().await;
    let (account, call) = played(&harness).await;
    let before = (posted(&harness).await, harness.wallets(account).await);
    harness.audit().await;
    assert_eq!(drop_all(&harness).await, 0, "a day is kept for 400 days");
    harness.db.shift_clock(403 * DAY).await;
    partitions::ensure(&harness.data).await.unwrap();
    harness.audit().await;
    assert!(drop_all(&harness).await > 0);
    let calls = harness
        .db
        .ask("SELECT count(*)::text FROM ledger.usage UNION ALL SELECT count(*)::text FROM ledger.any_hold")
        .await;
    assert_eq!(calls, ["0", "0"]);
    assert_eq!(
        (posted(&harness).await, harness.wallets(account).await),
        before
    );
    harness.audit().await;
    // The charge is not there to be refunded a second time, and the statement shows the day in one line.
    let (ledger, _tasks) = harness.ledger("n1").await;
    assert_eq!(
        ledger.refund(refund(call, account)).await.ok(),
        None,
        "the tables of that day are gone"
    );
    let read = statement::read(&harness.data, account, 100).await.unwrap();
    let kinds: Vec<&str> = read
        .unwrap()
        .entries
        .iter()
        .map(|entry| entry.detail.as_str())
        .collect();
    assert_eq!(kinds, ["day_total", "refund", "trial_grant", "top_up"]);
    harness.audit().await;
}

/// The audit does not ask for what is gone, whatever is kept later.
#[tokio::test]
async fn an_operator_who_keeps_calls_for_thirty_days_finds_the_books_as_they_were() {
    let harness = TestLedger::new().await;
    let (account, _) = played(&harness).await;
    let before = (posted(&harness).await, harness.wallets(account).await);
    let drop_after = async |days| partitions::drop_usage(&harness.data, days).await;
    let shortest = partitions::MIN_USAGE_DAYS_KEPT;
    harness
        .db
        .shift_clock(i64::from(shortest.saturating_add(2)) * DAY)
        .await;
    partitions::ensure(&harness.data).await.unwrap();
    assert_eq!(drop_all(&harness).await, 0);
    assert!(
        drop_after(shortest - 1).await.is_err(),
        "they are kept for so long at least"
    );
    assert_ne!(drop_after(shortest).await.unwrap(), 0);
    let calls = "SELECT count(*)::text FROM ledger.usage";
    assert_eq!(harness.db.ask(calls).await, ["0"]);
    harness.audit().await;
    assert_eq!(drop_all(&harness).await, 0);
    assert_eq!(
        (posted(&harness).await, harness.wallets(account).await),
        before
    );
    harness.audit().await;
}

#[tokio::test]
async fn a_day_waits_for_the_days_before_it() {
    let harness = TestLedger::new().await;
    let account = harness.account(1_000, 0).await;
    let (ledger, _tasks) = harness.ledger("n1").await;
    let open = request();
    assert_eq!(
        ledger.reserve(reserve(open, account, 100)).await,
        Ok(held(100, 0))
    );
    harness.db.shift_clock(DAY).await;
    let tomorrow = SystemClock.now().micros() + DAY * 1_000_000;
    let later = RequestId::new(Timestamp::from_micros(tomorrow), random_bytes());
    ledger.reserve(reserve(later, account, 10)).await.unwrap();
    ledger.settle(settle(later, account, 10)).await.unwrap();
    harness.chained().await;
    harness.db.shift_clock(403 * DAY).await;
    partitions::ensure(&harness.data).await.unwrap();
    let calls = "SELECT count(*)::text FROM ledger.usage";
    drop_all(&harness).await;
    assert_eq!(harness.db.ask(calls).await, ["1"]);
    ledger.void(void(open, account)).await.unwrap();
    harness.chained().await;
    drop_all(&harness).await;
    assert_eq!(harness.db.ask(calls).await, ["2"], "voided today");
    harness.db.shift_clock(401 * DAY).await;
    partitions::ensure(&harness.data).await.unwrap();
    drop_all(&harness).await;
    assert_eq!(harness.db.ask(calls).await, ["0"]);
    harness.audit().await;
}

#[tokio::test]
async fn a_day_with_an_open_hold_or_a_call_that_is_not_summed_up_is_not_dropped() {
    let harness = TestLedger::new().await;
    let account = harness.account(1_000, 0).await;
    let (ledger, _tasks) = harness.ledger("n1").await;
    let call = request();
    assert_eq!(
        ledger.reserve(reserve(call, account, 100)).await,
        Ok(held(100, 0))
    );
    harness.db.shift_clock(403 * DAY).await;
    partitions::ensure(&harness.data).await.unwrap();
    let of_call = format!(
        "SELECT count(*)::text FROM ledger.any_hold WHERE request_id = '{}'",
        call.uuid()
    );
    drop_all(&harness).await;
    assert_eq!(harness.db.ask(&of_call).await, ["1"]);
    assert_eq!(
        ledger.settle(settle(call, account, 100)).await,
        Ok(done(100, 0))
    );
    drop_all(&harness).await;
    assert_eq!(
        harness.db.ask(&of_call).await,
        ["1"],
        "settled today, and not summed up"
    );
    harness.chained().await;
    drop_all(&harness).await;
    assert_eq!(harness.db.ask(&of_call).await, ["1"], "settled today");
}

/// The margin of the day on which it was made needs the call that was refunded.
#[tokio::test]
async fn a_day_whose_refund_is_not_summed_up_is_not_dropped() {
    let harness = TestLedger::new().await;
    let (account, call) = played(&harness).await;
    let (ledger, tasks) = harness.ledger("n1").await;
    let back = ledger.refund(refund(call, account)).await.unwrap();
    assert!(matches!(back, RefundAnswer::Done { .. }), "{back:?}");
    drop(ledger);
    tasks.finish().await;
    let refunded = "SELECT sum(refunded)::text FROM ledger.margin_day WHERE account_id = 0";
    assert_eq!(harness.db.ask(refunded).await, ["100"]);
    harness.db.shift_clock(403 * DAY).await;
    let calls = "SELECT count(*)::text FROM ledger.usage";
    drop_all(&harness).await;
    assert_eq!(harness.db.ask(calls).await, ["2"], "a refund waits");
    harness.chained().await;
    assert_eq!(harness.db.ask(refunded).await, ["200"]);
    drop_all(&harness).await;
    assert_eq!(harness.db.ask(calls).await, ["0"]);
    partitions::ensure(&harness.data).await.unwrap();
    harness.audit().await;
}

#[tokio::test]
async fn an_operator_is_told_that_queries_over_all_days_take_more_locks_than_postgresql_has() {
    let harness = TestLedger::new().await;
    assert_eq!(partitions::lock_shortage(&harness.data).await, Ok(None));
    let small = Postgres::own(OwnSettings {
        max_connections: 20,
        extra_config: vec![("max_locks_per_transaction".to_owned(), "10".to_owned())],
        ..OwnSettings::default()
    })
    .await;
    let relations = small
        .ask(
            "SELECT ((SELECT count(*) FROM pg_tables WHERE schemaname = 'ledger')
                + (SELECT count(*) FROM pg_indexes WHERE schemaname = 'ledger'))::text",
        )
        .await;
    let data = small.connect(Role::Data).await;
    let shortage = partitions::lock_shortage(&data).await.unwrap().unwrap();
    assert_eq!(shortage.locks, 200);
    assert_eq!(relations, [shortage.relations.to_string()]);
}
