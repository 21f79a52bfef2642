//! The sums of a day are the ledger's own at every moment.

use std::sync::Arc;

use serde_json::Value;
use trunkline_db::{Database, Role};
use trunkline_ledger::usage_report::{
    self, CallsQuery, Grouping, Report, ReportRow, UsageFilter, UtcDay,
};
use trunkline_ledger::{
    Answer, Ledger, Op, Outcome, RefundAnswer, RefundKind, SettleAnswer, partitions, run_in, usage,
};
use trunkline_testkit::{SystemClock, random_bytes};
use trunkline_types::{
    AccountId, Clock as _, Face, KeyId, Money, RequestId, Side, Timestamp, Units,
};

use crate::test_ledger::{TestLedger, refund, request, reserve, reserve_row, settle, void};

const BY_ALL: Grouping = Grouping {
    day: true,
    key: true,
    model: true,
    group: true,
    endpoint: true,
};

/// The whole account, today.
async fn seen(harness: &TestLedger, account: AccountId) -> UsageFilter {
    let today = usage_report::today(&harness.data).await.unwrap();
    UsageFilter {
        account,
        below: None,
        key: None,
        model: None,
        from: today,
        to: today,
    }
}

async fn read(harness: &TestLedger, seen: &UsageFilter, by: Grouping) -> Report {
    usage_report::read(&harness.data, seen, by, None, usage_report::MAX_LINES)
        .await
        .unwrap()
}

/// Calls, failed calls, charged, given back.
fn four(line: &usage_report::Totals) -> [i64; 4] {
    let charged = line.charged().nanos();
    [line.calls, line.failed, charged, line.refunded.nanos()]
}

/// How many lines the audit of these sums has, while calls are under way.
async fn disagreements(auditor: &Database) -> i64 {
    let mut session = auditor.session().await.unwrap();
    sqlx::query_scalar("SELECT count(*) FROM ledger.audit_usage_day_disagrees")
        .fetch_one(&mut *session)
        .await
        .unwrap()
}

/// One random life of a call; returns what was charged and what went back.
async fn live(ledger: Arc<Ledger>, account: AccountId, key: Option<KeyId>) -> [i64; 4] {
    let [dice, model, amount] = random_bytes::<3>();
    let (call, amount) = (request(), i64::from(amount) + 1);
    let mut reserve_op = reserve(call, account, 256);
    reserve_op.key = key;
    reserve_op.model = format!("model-{}", model % 3);
    ledger.reserve(reserve_op).await.unwrap();
    if dice % 4 == 0 {
        ledger.void(void(call, account)).await.unwrap();
        return [1, 1, 0, 0];
    }
    ledger.settle(settle(call, account, amount)).await.unwrap();
    let mut back = refund(call, account);
    match dice % 4 {
        1 => {}
        2 => {
            back.kind = RefundKind::SettlementAdjustment;
            back.amount = Some(Money::from_nanos(amount / 2 + 1));
        }
        _ => return [1, 0, amount, 0],
    }
    let RefundAnswer::Done { paid, trial } = ledger.refund(back).await.unwrap() else {
        panic!("it was charged");
    };
    [1, 0, amount, paid.nanos() + trial.nanos()]
}

#[tokio::test]
async fn random_calls_of_two_nodes_keep_sums_equal_to_the_ledger() {
    let harness = TestLedger::new().await;
    let (first, _first_tasks) = harness.ledger("n1").await;
    let (second, _second_tasks) = harness.ledger("n2").await;
    let ledgers = [Arc::new(first), Arc::new(second)];
    let auditor = harness.db.connect(Role::Audit).await;
    let accounts = [
        harness.account(1_000_000, 3_000).await,
        harness.account(1_000_000, 0).await,
    ];
    let key = harness.key(accounts[0], 1, None).await;
    let mut books = [[0_i64; 4]; 2];
    for _ in 0..3 {
        let mut running = tokio::task::JoinSet::new();
        for number in 0..48 {
            let place = number % 2;
            let ledger = Arc::clone(&ledgers[(number / 2) % 2]);
            let key = (number % 6 == 0).then_some(key);
            let account = accounts[place];
            running.spawn(async move { (place, live(ledger, account, key).await) });
        }
        let mut looks = 0;
        while let Some(done) = running.join_next().await {
            let (place, life) = done.unwrap();
            for (sum, part) in books[place].iter_mut().zip(life) {
                *sum += part;
            }
            looks += 1;
            if looks % 12 == 0 {
                assert_eq!(disagreements(&auditor).await, 0, "in the middle of it");
            }
            // Two at once, as nodes do it, while calls end.
            if looks % 8 == 0 {
                let (one, other) = tokio::join!(
                    usage_report::sum_up(&harness.data),
                    usage_report::sum_up(&harness.data)
                );
                one.and(other).unwrap();
            }
        }
        for (account, book) in accounts.iter().zip(&books) {
            let seen = seen(&harness, *account).await;
            let report = read(&harness, &seen, BY_ALL).await;
            assert_eq!(&four(&report.totals), book);
            let mut summed = [0_i64; 4];
            for line in &report.lines {
                for (sum, part) in summed.iter_mut().zip(four(&line.totals)) {
                    *sum += part;
                }
            }
            assert_eq!(&summed, book, "the lines are the totals");
        }
        harness.audit().await;
    }
}

#[tokio::test]
async fn a_batch_that_is_rolled_back_leaves_no_trace_in_the_sums() {
    let harness = TestLedger::new().await;
    let account = harness.account(1_000, 0).await;
    let (ledger, _tasks) = harness.ledger("n1").await;
    let (call, charged) = (request(), request());
    ledger
        .reserve(reserve_row(call, account, 10))
        .await
        .unwrap();
    ledger
        .reserve(reserve_row(charged, account, 10))
        .await
        .unwrap();
    ledger.settle(settle(charged, account, 7)).await.unwrap();
    let words = [
        Op::Settle(Box::new(settle(call, account, 10))),
        Op::Refund(refund(charged, account)),
    ];
    let words: Vec<&Op> = words.iter().collect();
    for commit in [false, true] {
        let mut tx = harness.data.begin().await.unwrap();
        let answers = run_in(&mut tx, ledger.node_epoch(), &words).await.unwrap();
        assert!(
            matches!(
                answers.as_slice(),
                [
                    Answer::Settle(SettleAnswer::Done { .. }),
                    Answer::Refund(RefundAnswer::Done { .. })
                ]
            ),
            "{answers:?}"
        );
        if commit {
            tx.commit().await.unwrap();
        } else {
            tx.rollback().await.unwrap();
        }
        let totals = read(&harness, &seen(&harness, account).await, BY_ALL)
            .await
            .totals;
        let expected = if commit { [2, 0, 17, 7] } else { [1, 0, 7, 0] };
        assert_eq!(four(&totals), expected);
        harness.audit().await;
    }
}

#[tokio::test]
async fn every_face_counts_in_the_one_sum_of_its_side() {
    let harness = TestLedger::new().await;
    let account = harness.account(1_000, 0).await;
    let (ledger, _tasks) = harness.ledger("n1").await;
    let mut before = [0; 4];
    for (number, face) in Face::ALL.into_iter().enumerate() {
        let units = i64::try_from(number).unwrap() + 1;
        let call = request();
        ledger.reserve(reserve(call, account, 10)).await.unwrap();
        let mut end = settle(call, account, 1);
        let counted = Units::none().plus(face, u64::try_from(units).unwrap());
        end.detail.units = counted.unwrap();
        ledger.settle(end).await.unwrap();
        let sums = read(&harness, &seen(&harness, account).await, BY_ALL)
            .await
            .totals;
        let now = [
            sums.input_units,
            sums.output_units,
            sums.call_units,
            sums.second_units,
        ];
        let side = match (face.side(), face) {
            (Side::Input, _) => 0,
            (Side::Output, _) => 1,
            (Side::Fixed, Face::VideoSecond) => 3,
            (Side::Fixed, _) => 2,
        };
        before[side] += units;
        assert_eq!(now, before, "{face:?}");
    }
    harness.audit().await;
}

#[tokio::test]
async fn a_call_counts_on_the_utc_day_of_its_settlement_and_a_refund_on_its_own() {
    let harness = TestLedger::new().await;
    let account = harness.account(1_000, 0).await;
    let (ledger, _tasks) = harness.ledger("n1").await;
    let mut session = harness.data.session().await.unwrap();
    let left: i64 = sqlx::query_scalar(
        "SELECT ceil(extract(epoch FROM ledger.period_end('daily', 'UTC', app.now()) - app.now()))::bigint",
    )
    .fetch_one(&mut *session)
    .await
    .unwrap();
    drop(session);
    // Ten minutes before midnight in UTC: a day later in Shanghai already, and the same day in New York.
    harness.db.shift_clock(left - 600).await;
    let today = usage_report::today(&harness.data).await.unwrap();
    let (charged, late) = (request(), request());
    for call in [charged, late] {
        ledger.reserve(reserve(call, account, 50)).await.unwrap();
    }
    ledger.settle(settle(charged, account, 40)).await.unwrap();
    assert_eq!(usage_report::today(&harness.data).await.unwrap(), today);
    harness.db.shift_clock(1_200).await;
    let tomorrow = usage_report::today(&harness.data).await.unwrap();
    assert_eq!(today.days_to(tomorrow), 2);
    ledger.settle(settle(late, account, 50)).await.unwrap();
    ledger.refund(refund(charged, account)).await.unwrap();
    let mut both = seen(&harness, account).await;
    both.from = today;
    let by_day = Grouping {
        day: true,
        ..Grouping::default()
    };
    let lines = read(&harness, &both, by_day).await.lines;
    let days: Vec<(UtcDay, [i64; 4])> = lines
        .iter()
        .map(|line| (line.group_key.day, four(&line.totals)))
        .collect();
    assert_eq!(
        days,
        [(today, [1, 0, 40, 0]), (tomorrow, [1, 0, 50, 40])],
        "what goes back goes back on its own day"
    );
    usage_report::sum_up(&harness.data).await.unwrap();
    assert_eq!(read(&harness, &both, by_day).await.lines, lines);
    harness.audit().await;
}

#[tokio::test]
async fn four_hundred_days_are_kept_and_shown_and_older_ones_are_dropped() {
    const DAY: i64 = 86_400;
    let harness = TestLedger::new().await;
    let account = harness.account(1_000, 0).await;
    let (ledger, _tasks) = harness.ledger("n1").await;
    let first = usage_report::today(&harness.data).await.unwrap();
    let held = async |days: i64| {
        let now = SystemClock.now().micros() + days * DAY * 1_000_000;
        let call = RequestId::new(Timestamp::from_micros(now), random_bytes());
        ledger.reserve(reserve(call, account, 10)).await.unwrap();
        call
    };
    let charge = async |days: i64| {
        let call = held(days).await;
        ledger.settle(settle(call, account, 10)).await.unwrap();
        call
    };
    let oldest = charge(0).await;
    let later = async |days: i64| {
        harness.db.shift_clock(days * DAY).await;
        partitions::ensure(&harness.data).await.unwrap();
    };
    later(200).await;
    let middle = charge(200).await;
    later(199).await;
    charge(399).await;
    let drop_usage = async || {
        let dropped = partitions::drop_usage(&harness.data, partitions::USAGE_DAYS_KEPT).await;
        dropped.unwrap();
    };
    let by_day = Grouping {
        day: true,
        ..Grouping::default()
    };
    let mut all = seen(&harness, account).await;
    all.from = first;
    assert_eq!(all.from.days_to(all.to), 400);
    let lines = async || read(&harness, &all, by_day).await.lines;
    let log = async |call: RequestId| {
        let found = usage::find(&harness.data, account, call).await;
        found.unwrap().is_some()
    };
    harness.db.shift_clock(DAY).await;
    drop_usage().await;
    assert_eq!(
        lines().await.len(),
        3,
        "400 days later the first is still there"
    );
    harness.db.shift_clock(DAY).await;
    drop_usage().await;
    assert!(log(oldest).await, "a day whose calls are not summed stays");
    harness.chained().await;
    drop_usage().await;
    assert!(!log(oldest).await);
    let left = lines().await;
    assert_eq!(left.len(), 2);
    assert!(left.iter().all(|line| line.group_key.day > first));
    assert_eq!(harness.wallets(account).await, [970, 0, 0, 0]);
    partitions::ensure(&harness.data).await.unwrap();
    harness.audit().await;
    let mut session = harness.data.session().await.unwrap();
    let forgotten: i32 = sqlx::query_scalar(
        "SELECT ledger.purge_usage_days((app.now() AT TIME ZONE 'UTC')::date, 10)",
    )
    .fetch_one(&mut *session)
    .await
    .unwrap();
    assert_eq!(
        forgotten, 0,
        "no sum of a day is forgotten before its calls"
    );
    let young = partitions::drop_usage(&harness.data, partitions::MIN_USAGE_DAYS_KEPT - 1).await;
    assert!(young.is_err(), "what is kept cannot be dropped by mistake");
    held(200).await;
    harness.db.shift_clock(300 * DAY).await;
    drop_usage().await;
    assert!(log(middle).await, "a day with an open hold stays");
}

#[tokio::test]
async fn a_key_sees_itself_and_those_below_it_and_pages_follow_each_other() {
    let harness = TestLedger::new().await;
    let account = harness.account(10_000, 0).await;
    let stranger = harness.account(10_000, 0).await;
    let (ledger, _tasks) = harness.ledger("n1").await;
    let parent = harness.key(account, 1, None).await;
    let child = harness.key(account, 2, Some(1)).await;
    let sibling = harness.key(account, 3, None).await;
    let foreign = harness.key(stranger, 4, None).await;
    let mut made: Vec<RequestId> = Vec::new();
    for (owner, key, nanos) in [
        (account, Some(parent), 1),
        (account, Some(child), 2),
        (account, Some(sibling), 4),
        (account, None, 8),
        (stranger, Some(foreign), 16),
    ] {
        let call = request();
        let mut query = reserve(call, owner, 20);
        query.key = key;
        ledger.reserve(query).await.unwrap();
        ledger.settle(settle(call, owner, nanos)).await.unwrap();
        made.push(call);
    }
    let whole = seen(&harness, account).await;
    let charged = async |below: Option<KeyId>, key: Option<KeyId>| {
        let mut seen = whole.clone();
        (seen.below, seen.key) = (below, key);
        let totals = read(&harness, &seen, BY_ALL).await.totals.charged().nanos();
        let query = CallsQuery {
            filter: seen,
            before: None,
            limit: 100,
        };
        let calls = usage_report::calls(&harness.data, &query).await.unwrap();
        let single: i64 = calls.iter().map(|call| call.paid.nanos()).sum();
        assert_eq!(single, totals, "single calls are the sums");
        totals
    };
    assert_eq!(charged(None, None).await, 15, "the whole account");
    assert_eq!(charged(Some(parent), None).await, 3, "itself and below");
    assert_eq!(charged(Some(child), None).await, 2);
    assert_eq!(charged(None, Some(sibling)).await, 4);
    assert_eq!(charged(Some(child), Some(sibling)).await, 0, "a sibling's");
    assert_eq!(charged(None, Some(foreign)).await, 0, "a stranger's");

    let mut paged: Vec<ReportRow> = Vec::new();
    loop {
        let after = paged.last().map(|line| line.group_key.clone());
        let page = usage_report::read(&harness.data, &whole, BY_ALL, after.as_ref(), 3).await;
        let page = page.unwrap();
        assert_eq!((page.count, page.totals.calls), (4, 4));
        if page.lines.is_empty() {
            break;
        }
        paged.extend(page.lines);
    }
    assert_eq!(paged, read(&harness, &whole, BY_ALL).await.lines);

    let mut calls = CallsQuery {
        filter: whole,
        before: None,
        limit: 3,
    };
    let newest = usage_report::calls(&harness.data, &calls).await.unwrap();
    calls.before = newest.last().map(|call| call.request);
    let rest = usage_report::calls(&harness.data, &calls).await.unwrap();
    let mut ids: Vec<RequestId> = newest
        .iter()
        .chain(&rest)
        .map(|call| call.request)
        .collect();
    assert!(ids.is_sorted_by(|one, next| one > next), "newest first");
    ids.sort_unstable();
    let mut own = made[..4].to_vec();
    own.sort_unstable();
    assert_eq!(ids, own);
    assert!(
        newest
            .iter()
            .all(|call| call.outcome == Outcome::Complete.as_str())
    );
}

#[tokio::test]
async fn a_month_of_an_account_is_a_small_read_however_many_accounts_there_are() {
    const ACCOUNTS: i64 = 2_000;
    let harness = TestLedger::new().await;
    let owner = harness.db.connect(Role::Owner).await;
    let mut owner = owner.session().await.unwrap();
    sqlx::query(
        "INSERT INTO ledger.usage_day (account_id, day, key_id, model, endpoint, group_name, calls, paid)
         SELECT 5000 + a, date '2026-11-16' - d, 0, 'model-' || m, 'chat', 'default', 1, 1
         FROM generate_series(0, 44) AS d, generate_series(1, $1) AS a, generate_series(1, 2) AS m",
    )
    .bind(ACCOUNTS)
    .execute(&mut *owner)
    .await
    .unwrap();
    sqlx::raw_sql("ANALYZE ledger.usage_day")
        .execute(&mut *owner)
        .await
        .unwrap();
    let values = [
        "5777",
        "date '2026-10-18'",
        "date '2026-11-16'",
        "NULL",
        "NULL",
        "NULL",
        "true",
        "false",
        "true",
        "false",
        "false",
        "NULL",
        "NULL",
        "NULL",
        "NULL",
        "NULL",
        "1000",
    ];
    let code = include_str!("../../src/sql/usage_report.sql").lines();
    let code: Vec<&str> = code.filter(|line| !line.starts_with("--")).collect();
    let mut statement = code.join("\n");
    for (number, value) in values.iter().enumerate().rev() {
        statement = statement.replace(&format!("${}", number + 1), value);
    }
    let explain = format!("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement}");
    let plan: Value = sqlx::query_scalar(sqlx::AssertSqlSafe(explain))
        .fetch_one(&mut *owner)
        .await
        .unwrap();
    let of = |name: &str| plan[0]["Plan"][name].as_i64().unwrap();
    let touched = of("Shared Hit Blocks") + of("Shared Read Blocks");
    println!("a month of one account among {ACCOUNTS}: {touched} buffers");
    assert_eq!(of("Actual Rows"), 61, "sixty lines and the totals");
    assert!(touched <= 150, "{touched} buffers for 60 rows");
}
