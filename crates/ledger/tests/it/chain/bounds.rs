//! Chains beside retention, days whose links are broken, and more lines than are read at once.

use trunkline_ledger::accounts::{self as ledger_accounts, Wallet};
use trunkline_ledger::chain::{self, StatementError, StatementReader};
use trunkline_ledger::{partitions, usage_report};

use super::{DAY, calls, checked, key};
use crate::test_ledger::{TestLedger, top_up};

#[tokio::test]
async fn retention_takes_old_lines_and_leaves_heads_and_what_customers_have() {
    let harness = TestLedger::new().await;
    let signer = key(1);
    let account = harness.account(10_000, 0).await;
    calls(&harness, account, 3).await;
    harness.chained().await;
    harness.db.shift_clock(DAY).await;
    harness.signed(&signer).await;
    let kept = harness.statement(account, 3, &signer).await;
    harness.db.shift_clock(403 * DAY).await;
    partitions::ensure(&harness.data).await.unwrap();
    let dropped = partitions::drop_usage(&harness.data, partitions::USAGE_DAYS_KEPT).await;
    assert_ne!(dropped.unwrap(), 0);
    let calls = "SELECT count(*)::text FROM ledger.usage";
    assert_eq!(harness.db.ask(calls).await, ["0"]);
    // Day totals of dropped days are no lines.
    assert_eq!(harness.chained().await, 0);
    harness.signed(&signer).await;
    let links = harness
        .db
        .ask("SELECT count(*)::text FROM ledger.chain_link")
        .await;
    assert_eq!(links, ["0"]);
    let mut tx = harness.console.begin().await.unwrap();
    let payment = top_up(account, Wallet::Paid, 7, "later");
    ledger_accounts::top_up(&mut tx, &payment).await.unwrap();
    tx.commit().await.unwrap();
    harness.chained().await;
    harness.db.shift_clock(DAY).await;
    harness.signed(&signer).await;
    harness.audit().await;
    let later = harness.statement(account, 5, &signer).await;
    let (before, after) = (checked(&kept), checked(&later));
    assert!(before.is_ok() && after.is_ok(), "{before:?} {after:?}");
    assert_eq!(after.totals.lines, 1);
    assert_eq!(
        after.previous, before.head,
        "the new day follows the old head"
    );
    let (first, old) = (harness.day(401).await, harness.day(402).await);
    let refused = StatementReader::open(&harness.data, account, old, old, &signer).await;
    assert_eq!(refused.err(), Some(StatementError::TooOld { first }));
    let refused = StatementReader::open(&harness.data, account, first, old, &signer).await;
    assert_eq!(refused.err(), Some(StatementError::Order));
    let today = harness.day(0).await;
    let refused = StatementReader::open(&harness.data, account, today, today, &signer).await;
    assert_eq!(refused.err(), Some(StatementError::NotOver));
}

#[tokio::test]
async fn a_call_that_is_no_line_yet_is_not_dropped_and_no_statement_has_days_of_dropped_calls() {
    let harness = TestLedger::new().await;
    let signer = key(1);
    let account = harness.account(10_000, 0).await;
    calls(&harness, account, 2).await;
    usage_report::sum_up(&harness.data).await.unwrap();
    // No worker runs for days: the calls are lines of a day that is kept, and are not kept themselves.
    harness.db.shift_clock(403 * DAY).await;
    partitions::ensure(&harness.data).await.unwrap();
    let drop_all =
        async || partitions::drop_usage(&harness.data, partitions::USAGE_DAYS_KEPT).await;
    let rows = "SELECT count(*)::text FROM ledger.usage";
    drop_all().await.unwrap();
    assert_eq!(harness.db.ask(rows).await, ["2"]);
    assert_eq!(harness.chained().await, 3);
    drop_all().await.unwrap();
    assert_eq!(harness.db.ask(rows).await, ["0"]);
    harness.db.shift_clock(2 * DAY).await;
    assert_eq!(harness.signed(&signer).await, 1);
    let (late, next) = (harness.day(2).await, harness.day(1).await);
    let refused = StatementReader::open(&harness.data, account, late, next, &signer).await;
    assert_eq!(refused.err(), Some(StatementError::TooOld { first: next }));
    assert_eq!(chain::first_day(&harness.data, account).await, Ok(next));
    let report = checked(&harness.statement(account, 1, &signer).await);
    assert_eq!((report.is_ok(), report.totals.lines), (true, 0));
    partitions::ensure(&harness.data).await.unwrap();
    harness.audit().await;
}

#[tokio::test]
async fn a_day_whose_links_are_not_its_lines_is_not_signed_and_stops_no_other_account() {
    let harness = TestLedger::new().await;
    let signer = key(1);
    let (broken, other) = (
        harness.account(10_000, 0).await,
        harness.account(10_000, 0).await,
    );
    for _ in 0..3 {
        calls(&harness, broken, 1).await;
        calls(&harness, other, 1).await;
        harness.chained().await;
        harness.db.shift_clock(DAY).await;
    }
    harness
        .tamper(format!(
            "DELETE FROM ledger.chain_link AS l WHERE l.account_id = {broken} AND l.day = (
                 SELECT d.day FROM ledger.chain_day AS d WHERE d.account_id = {broken}
                 ORDER BY d.day OFFSET 1 LIMIT 1)"
        ))
        .await;
    let signed = chain::sign_days(&harness.data, &signer).await.unwrap();
    let expected = chain::Signed {
        days: 4,
        broken: 1,
        has_more: false,
    };
    assert_eq!(signed, expected);
    let from = harness.day(5).await;
    let to = harness.day(1).await;
    let opened = StatementReader::open(&harness.data, broken, from, to, &signer).await;
    assert_eq!(opened.err(), Some(StatementError::NotSigned));
    assert!(checked(&harness.statement(other, 5, &signer).await).is_ok());
}

#[tokio::test]
async fn lines_beyond_what_is_read_at_once_are_entered_signed_and_read_as_one_day() {
    let harness = TestLedger::new().await;
    let signer = key(1);
    let account = harness.account(1, 0).await;
    harness.chained().await;
    // As a large batch leaves them: rows of calls, and their note.
    harness
        .tamper(format!(
            "INSERT INTO ledger.transfer (request_id, kind, leg, account_id, debit, credit, amount, at)
             SELECT overlay(gen_random_uuid()::text PLACING left(app.uuid_v7_floor(app.now())::text, 15) FROM 1)::uuid,
                 'top_up', 0, {account}, -2, {account} * 2, 1, app.now()
             FROM generate_series(1, 5000);
             INSERT INTO ledger.unchained (kind, leg, request_ids)
             SELECT 'top_up', 0, array_agg(n.request_id) FROM (
                 SELECT t.request_id, row_number() OVER () AS place FROM ledger.transfer AS t WHERE t.amount = 1
                     AND t.at = (SELECT max(o.at) FROM ledger.transfer AS o)) AS n
             GROUP BY n.place % 9"
        ))
        .await;
    assert_eq!(harness.chained().await, 5_000);
    let links = "SELECT count(*)::text FROM ledger.chain_link";
    assert_eq!(harness.db.ask(links).await, ["4"], "the payment, and three");
    harness.db.shift_clock(DAY).await;
    assert_eq!(harness.signed(&signer).await, 1);
    let report = checked(&harness.statement(account, 1, &signer).await);
    assert!(report.is_ok(), "{:?}", report.findings);
    assert_eq!(report.totals.lines, 5_001);
}
