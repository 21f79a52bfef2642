//! The hash chain of accounts: every call and transfer is one line, signed by days; what was changed afterwards shows.

mod bounds;

use std::collections::BTreeSet;

use sqlx::Connection as _;
use trunkline_ledger::chain::{self, ReceiptAnswer, StatementReader};
use trunkline_ledger::usage_report::UtcDay;
use trunkline_ledger::{RefundAnswer, usage_report};
use trunkline_receipts::{Finding, PublicKey, Report, Signer as _, SigningKey, verify};
use trunkline_testkit::random_bytes;
use trunkline_types::{AccountId, RequestId};

use crate::test_ledger::{TestLedger, done, held, refund, request, reserve, settle, void};

const DAY: i64 = 86_400;

fn key(seed: u8) -> SigningKey {
    SigningKey::from_seed(&[seed; 32]).unwrap()
}

impl TestLedger {
    /// Signs what is over; how many days.
    async fn signed(&self, signer: &SigningKey) -> u64 {
        let mut days = 0;
        loop {
            let signed = chain::sign_days(&self.data, signer).await.unwrap();
            assert_eq!(signed.broken, 0);
            days += signed.days;
            if !signed.has_more {
                return days;
            }
        }
    }

    async fn day(&self, back: i64) -> UtcDay {
        usage_report::today(&self.data).await.unwrap().earlier(back)
    }

    /// The statement of the days up to yesterday.
    async fn statement(&self, account: AccountId, days: i64, signer: &SigningKey) -> String {
        let (from, to) = (self.day(days).await, self.day(1).await);
        let opened = StatementReader::open(&self.data, account, from, to, signer).await;
        let mut reader = opened.unwrap();
        let mut file = String::new();
        while let Some(piece) = reader.next_piece().await.unwrap() {
            file.push_str(&piece);
        }
        file
    }

    /// As the superuser, past every trigger.
    async fn tamper(&self, statement: String) {
        let url = self.db.superuser_url();
        let mut owner = sqlx::PgConnection::connect(url.reveal()).await.unwrap();
        let statement = format!("SET session_replication_role = replica; {statement}");
        // Ids and numbers of this test alone.
        sqlx::raw_sql(sqlx::AssertSqlSafe(statement))
            .execute(&mut owner)
            .await
            .unwrap();
    }
}

fn checked(file: &str) -> Report {
    verify(&mut file.as_bytes(), None).unwrap()
}

/// So many calls of 100 nano-USD each.
async fn calls(harness: &TestLedger, account: AccountId, count: usize) -> Vec<RequestId> {
    let (ledger, tasks) = harness.ledger("n1").await;
    let mut made = Vec::new();
    for _ in 0..count {
        // Of the database's day: the clock may be shifted.
        let mut session = harness.data.session().await.unwrap();
        let now = trunkline_db::database_now(&mut session).await.unwrap();
        drop(session);
        let call = RequestId::new(now, random_bytes());
        assert_eq!(
            ledger.reserve(reserve(call, account, 100)).await,
            Ok(held(100, 0))
        );
        assert_eq!(
            ledger.settle(settle(call, account, 100)).await,
            Ok(done(100, 0))
        );
        made.push(call);
    }
    drop(ledger);
    tasks.finish().await;
    made
}

async fn give_back(harness: &TestLedger, account: AccountId, call: RequestId) {
    let (ledger, tasks) = harness.ledger("n1").await;
    let back = ledger.refund(refund(call, account)).await.unwrap();
    assert!(matches!(back, RefundAnswer::Done { .. }), "{back:?}");
    drop(ledger);
    tasks.finish().await;
}

#[tokio::test]
async fn every_call_payment_and_refund_is_one_line_and_the_lines_add_up_to_the_balance() {
    let harness = TestLedger::new().await;
    let signer = key(1);
    let account = harness.account(1_000, 50).await;
    let other = harness.account(1_000, 0).await;
    let (ledger, tasks) = harness.ledger("n1").await;
    let (paid, voided) = (request(), request());
    assert_eq!(
        ledger.reserve(reserve(paid, account, 100)).await,
        Ok(held(50, 50))
    );
    assert_eq!(
        ledger.settle(settle(paid, account, 100)).await,
        Ok(done(50, 50))
    );
    assert_eq!(
        ledger.reserve(reserve(voided, account, 10)).await,
        Ok(held(10, 0))
    );
    ledger.void(void(voided, account)).await.unwrap();
    drop(ledger);
    tasks.finish().await;
    calls(&harness, other, 3).await;
    // Two payments and two calls of the one account, one payment and three calls of the other.
    assert_eq!(harness.chained().await, 8);
    assert_eq!(harness.chained().await, 0, "nothing is entered twice");
    harness.audit().await;
    assert_eq!(harness.signed(&signer).await, 0, "the day is not over");
    harness.db.shift_clock(DAY).await;
    // The refund is a line of the next day.
    give_back(&harness, account, paid).await;
    assert_eq!(harness.chained().await, 2);
    harness.db.shift_clock(DAY).await;
    assert_eq!(harness.signed(&signer).await, 3);
    harness.audit().await;

    let file = harness.statement(account, 5, &signer).await;
    let report = checked(&file);
    assert!(report.is_ok(), "{:?}\n{file}", report.findings);
    assert_eq!((report.totals.days, report.totals.lines), (2, 6));
    let [posted, _, trial, _] = harness.wallets(account).await;
    let sums = (report.totals.paid, report.totals.trial);
    assert_eq!(sums, (i128::from(posted), i128::from(trial)));
    let kinds: Vec<&str> = file
        .lines()
        .filter_map(|line| line.split_once("\"kind\":\"")?.1.split('"').next())
        .collect();
    let count = |kind: &str| kinds.iter().filter(|found| **found == kind).count();
    assert_eq!(
        ["top_up", "trial_grant", "charge", "refund"].map(count),
        [1, 1, 2, 2],
        "{file}"
    );
    assert!(
        !file.contains("\"cost\""),
        "what upstreams bill is not shown"
    );
    let report = checked(&harness.statement(other, 5, &signer).await);
    assert_eq!((report.findings.len(), report.totals.lines), (0, 4));
}

#[tokio::test]
async fn each_call_has_a_receipt_once_its_day_is_signed_and_no_other_account_gets_it() {
    let harness = TestLedger::new().await;
    let signer = key(1);
    let (account, other) = (
        harness.account(10_000, 0).await,
        harness.account(10, 0).await,
    );
    let mut made = Vec::new();
    for count in [1, 2, 4] {
        // Each run is a link of its own.
        made.extend(calls(&harness, account, count).await);
        harness.chained().await;
    }
    let answer = chain::receipt(&harness.data, account, made[0]).await;
    assert_eq!(answer, Ok(ReceiptAnswer::NotSigned));
    harness.db.shift_clock(DAY).await;
    give_back(&harness, account, made[3]).await;
    harness.chained().await;
    harness.signed(&signer).await;
    for call in &made {
        let answer = chain::receipt(&harness.data, account, *call).await;
        let Ok(ReceiptAnswer::File(file)) = answer else {
            panic!("{answer:?}");
        };
        let report = checked(&file);
        assert!(report.is_ok() && report.is_receipt, "{report:?}\n{file}");
        assert_eq!(
            (report.account, report.totals.paid),
            (Some(account.number()), -100)
        );
        assert!(file.contains(&call.to_string()), "{file}");
        let altered = file.replace("\"paid_nanos\":-100", "\"paid_nanos\":-900");
        assert_eq!(checked(&altered).findings, [Finding::ChangedReceipt]);
        let answer = chain::receipt(&harness.data, other, *call).await;
        assert_eq!(answer, Ok(ReceiptAnswer::Unknown));
    }
}

#[tokio::test]
async fn a_row_that_was_changed_or_deleted_after_it_was_entered_is_named_by_its_line() {
    let harness = TestLedger::new().await;
    let signer = key(1);
    let account = harness.account(10_000, 0).await;
    let made = calls(&harness, account, 6).await;
    harness.chained().await;
    harness.db.shift_clock(DAY).await;
    harness.signed(&signer).await;
    let whole = harness.statement(account, 3, &signer).await;
    assert!(checked(&whole).is_ok());
    let number_of = |call: &RequestId| -> u64 {
        let line = whole.lines().find(|line| line.contains(&call.to_string()));
        let (_, rest) = line.unwrap().split_once("{\"n\":").unwrap();
        rest.split(',').next().unwrap().parse().unwrap()
    };
    let (changed, deleted) = (number_of(&made[1]), number_of(&made[4]));
    let id = made[1].uuid();
    harness
        .tamper(format!(
            "UPDATE ledger.usage SET paid = 99 WHERE request_id = '{id}'"
        ))
        .await;
    let report = checked(&harness.statement(account, 3, &signer).await);
    assert_eq!(report.findings, [Finding::ChangedLine { n: changed }]);
    let id = made[4].uuid();
    harness
        .tamper(format!(
            "DELETE FROM ledger.usage WHERE request_id = '{id}'"
        ))
        .await;
    let report = checked(&harness.statement(account, 3, &signer).await);
    let missing = Finding::MissingLines {
        first: deleted,
        last: deleted,
    };
    assert!(report.findings.contains(&missing), "{:?}", report.findings);
    assert!(
        report
            .findings
            .contains(&Finding::ChangedLine { n: changed })
    );
    // What the customer has kept is as good as before.
    assert!(checked(&whole).is_ok());
}

#[tokio::test]
async fn runs_beside_each_other_enter_every_line_once_and_a_clock_set_back_breaks_no_chain() {
    let harness = TestLedger::new().await;
    let signer = key(1);
    let account = harness.account(100_000, 0).await;
    let mut entered = 0;
    for round in 0..4 {
        calls(&harness, account, 5).await;
        usage_report::sum_up(&harness.data).await.unwrap();
        let (one, other) = tokio::join!(chain::link(&harness.data), chain::link(&harness.data));
        entered += one.unwrap().lines + other.unwrap().lines;
        harness.signed(&signer).await;
        // To the next day, and once back to a day that is signed.
        harness
            .db
            .shift_clock(if round == 2 { -DAY } else { DAY })
            .await;
    }
    assert_eq!(entered, 21, "twenty calls and a payment");
    harness.db.shift_clock(4 * DAY).await;
    harness.signed(&signer).await;
    let report = checked(&harness.statement(account, 10, &signer).await);
    assert!(report.is_ok(), "{:?}", report.findings);
    assert_eq!(report.totals.lines, 21);
    let unchained = harness
        .db
        .ask("SELECT count(*)::text FROM ledger.unchained")
        .await;
    assert_eq!(unchained, ["0"]);
}

#[tokio::test]
async fn a_chain_goes_on_under_a_new_key_and_every_key_that_signed_is_listed() {
    let harness = TestLedger::new().await;
    let account = harness.account(10_000, 0).await;
    let signers = [key(1), key(2)];
    for signer in &signers {
        calls(&harness, account, 2).await;
        harness.chained().await;
        harness.db.shift_clock(DAY).await;
        harness.signed(signer).await;
    }
    let file = harness.statement(account, 5, &signers[1]).await;
    let both: Vec<PublicKey> = signers.iter().map(|key| key.public_key()).collect();
    let report = verify(&mut file.as_bytes(), Some(&both)).unwrap();
    assert_eq!((report.is_ok(), &report.keys), (true, &both));
    let newest = verify(&mut file.as_bytes(), Some(&both[1..])).unwrap();
    assert_eq!(newest.findings, [Finding::UnknownKey { file_line: 2 }]);
    let listed = chain::used_keys(&harness.data).await.unwrap();
    let listed: Vec<PublicKey> = listed.iter().map(|used| used.key).collect();
    assert_eq!(listed, both);
}

#[tokio::test]
async fn a_signed_day_cannot_be_changed_by_the_roles_of_the_product() {
    let harness = TestLedger::new().await;
    let signer = key(1);
    let account = harness.account(10_000, 0).await;
    harness.chained().await;
    harness.db.shift_clock(DAY).await;
    harness.signed(&signer).await;
    let statements = [
        "UPDATE ledger.chain_day SET lines = lines + 1",
        "DELETE FROM ledger.chain_day",
        "UPDATE ledger.chain_link SET first_number = 7",
        "DELETE FROM ledger.chain_link",
    ];
    let refusals: BTreeSet<bool> = {
        let mut refused = BTreeSet::new();
        for statement in statements {
            let mut tx = harness.data.begin().await.unwrap();
            refused.insert(sqlx::query(statement).execute(&mut *tx).await.is_err());
            tx.rollback().await.unwrap();
        }
        refused
    };
    assert_eq!(refusals, BTreeSet::from([true]));
    assert!(checked(&harness.statement(account, 2, &signer).await).is_ok());
}
