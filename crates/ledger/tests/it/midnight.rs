//! The first calls of a day: its tables are empty, and plans that are made then are kept.

use std::time::Duration;

use trunkline_ledger::Ledger;
use trunkline_ledger::accounts::{self, Period};
use trunkline_testkit::{SystemClock, random_bytes};
use trunkline_types::{AccountId, Clock as _, KeyId, Money, RequestId, Timestamp};

use crate::test_ledger::{TestLedger, done, held, reserve, settle};

const CALLERS: usize = 50;
const CALLS_EACH: usize = 200;
const CALLS: i64 = 10_000;
/// Searches when the node registers, in every day's table: doubtful deliveries.
const USAGE_SEARCHES: i64 = 1;
const DAY_MICROS: i64 = 86_400_000_000;
/// How long a backend that was closed may take to count what it did.
const COUNTED: Duration = Duration::from_secs(30);

/// What PostgreSQL counted of one table: scans from its beginning, rows read by them, scans of its
/// indexes, rows inserted and updated.
type Counted = (i64, i64, i64, i64, i64);

fn call_at(moment: Timestamp) -> RequestId {
    RequestId::new(moment, random_bytes())
}

async fn calls(ledger: &Ledger, payer: (AccountId, KeyId), each: usize, at: Timestamp) {
    let mut callers = tokio::task::JoinSet::new();
    for _ in 0..CALLERS {
        let ledger = ledger.clone();
        callers.spawn(async move {
            for _ in 0..each {
                let call = call_at(at);
                let mut hold = reserve(call, payer.0, 2);
                hold.key = Some(payer.1);
                assert_eq!(ledger.reserve(hold).await, Ok(held(2, 0)));
                assert_eq!(
                    ledger.settle(settle(call, payer.0, 1)).await,
                    Ok(done(1, 0))
                );
            }
        });
    }
    while let Some(ended) = callers.join_next().await {
        ended.unwrap();
    }
}

/// The figures of a day's table, once they are complete: a backend adds its own when it ends.
async fn counted(harness: &TestLedger, table: &str, expected: Counted) -> Counted {
    let owner = harness.db.owner().await;
    let mut session = owner.session().await.unwrap();
    let began = std::time::Instant::now();
    loop {
        let figures: Counted = sqlx::query_as(
            "SELECT seq_scan, seq_tup_read, COALESCE(idx_scan, 0), n_tup_ins, n_tup_upd
             FROM pg_stat_user_tables WHERE schemaname = 'ledger' AND relname = $1",
        )
        .bind(table)
        .fetch_one(&mut *session)
        .await
        .unwrap();
        if figures == expected || began.elapsed() > COUNTED {
            return figures;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_ten_thousand_calls_of_a_day_find_every_row_by_its_key() {
    let harness = TestLedger::new().await;
    let account = harness.account(1_000_000, 0).await;
    let key = harness.key(account, 7, None).await;
    let mut tx = harness.console.begin().await.unwrap();
    let limit = Some(Money::from_nanos(1_000_000));
    accounts::set_budget(&mut tx, account, Some(key), Period::Daily, "UTC", limit)
        .await
        .unwrap();
    tx.commit().await.unwrap();
    let (ledger, tasks) = harness.ledger("n1").await;
    let today = SystemClock.now();
    calls(&ledger, (account, key), 2, today).await;

    let tomorrow = Timestamp::from_micros(today.micros() + DAY_MICROS);
    harness.db.shift_clock(86_400).await;
    calls(&ledger, (account, key), CALLS_EACH, tomorrow).await;
    drop(ledger);
    tasks.finish().await;

    let day = time::OffsetDateTime::from_unix_timestamp(tomorrow.seconds()).unwrap();
    let (year, month, day) = day.to_calendar_date();
    let of_day = |table: &str| format!("{table}_{year:04}{:02}{day:02}", u8::from(month));
    // A usage row is looked for when its hold is made and when it ends; nothing else is written a call.
    let expected = (0, 0, 2 * CALLS + USAGE_SEARCHES, CALLS, 0);
    let usage = counted(&harness, &of_day("usage"), expected).await;
    assert_eq!(usage, expected);
    let tables = ["hold", "transfer", "hold_batch", "hold_extension"].map(of_day);
    let scanned = harness
        .db
        .ask(&format!(
            "SELECT relname FROM pg_stat_user_tables WHERE schemaname = 'ledger' AND relname IN ('{}')
                 AND (seq_tup_read > 0 OR n_tup_upd > 0 OR n_tup_ins > CASE relname WHEN '{}' THEN {CALLS} ELSE 0 END)",
            tables.join("', '"),
            of_day("hold_batch"),
        ))
        .await;
    assert_eq!(scanned, Vec::<String>::new());
    let spent = CALLS + i64::try_from(CALLERS * 2).unwrap();
    assert_eq!(harness.wallets(account).await, [1_000_000 - spent, 0, 0, 0]);
    harness.audit().await;
}
