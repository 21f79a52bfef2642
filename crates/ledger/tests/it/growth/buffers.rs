//! Counts the buffers that a settlement, a lookup and the newest rows of an account touch, with one
//! full day and with ten.

use serde_json::Value;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use trunkline_db::{Role, SystemClock};
use trunkline_ledger::accounts::{self, AccountKind, TopUp, Wallet};
use trunkline_ledger::{Ledger, LedgerSettings};
use trunkline_testkit::{OwnSettings, Postgres, random_bytes};
use trunkline_types::{AccountId, Clock as _, Money, NodeId, RequestId};

use crate::test_ledger::reserve;

/// Rows a day; ten days make twenty million.
const ROWS_A_DAY: i64 = 2_000_000;
const DAYS: i32 = 10;
const ACCOUNTS: i64 = 10_000;

struct Touched {
    settle: i64,
    lookup: i64,
    newest: i64,
}

/// Fills one day with settled calls of many accounts, as a busy day leaves them.
async fn fill(superuser: &mut PgConnection, days_ago: i32) {
    let statement = format!(
        "INSERT INTO ledger.usage (request_id, account_id, node, epoch, model, endpoint, group_name, units, measured,
             estimated, price_version, paid, trial, attempts, warnings, outcome, opened_at, settled_at)
         SELECT overlay(app.uuid_v7_floor(at)::text PLACING lpad(to_hex(n), 12, '0') FROM 25)::uuid,
             1000 + n % {ACCOUNTS}, 'n', 1, 'model', 'chat', 'default', '{{\"input\":1000,\"output\":200}}', '{{}}',
             false, '\\x{version}', 100, 0, '[]', '{{}}', 'complete', at, at
         FROM (SELECT n, ((app.now() AT TIME ZONE 'UTC')::date - {days_ago})::timestamp AT TIME ZONE 'UTC'
                   + n * interval '1 day' / {ROWS_A_DAY} * 0.0001 AS at
               FROM generate_series(0, {ROWS_A_DAY} - 1) AS n) AS calls",
        version = "07".repeat(32),
    );
    sqlx::raw_sql(AssertSqlSafe(statement))
        .execute(&mut *superuser)
        .await
        .unwrap();
}

/// Buffers a statement touches, hit or read, over all its parts.
async fn buffers(connection: &mut PgConnection, statement: String) -> i64 {
    let explain = format!("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement}");
    let plan: Value = sqlx::query_scalar(AssertSqlSafe(explain))
        .fetch_one(connection)
        .await
        .unwrap();
    let of = |name: &str| plan[0]["Plan"][name].as_i64().unwrap();
    of("Shared Hit Blocks") + of("Shared Read Blocks")
}

/// The ledger's own settlement of one open call, and two questions that customers ask.
async fn touched(superuser: &mut PgConnection, ledger: &Ledger, account: AccountId) -> Touched {
    let call = RequestId::new(SystemClock.now(), random_bytes());
    let mut row = reserve(call, account, 2);
    // A row, which this statement settles.
    row.lifetime = std::time::Duration::from_secs(600);
    ledger.reserve(row).await.unwrap();
    let day: String =
        sqlx::query_scalar("SELECT to_char(app.now() AT TIME ZONE 'UTC', 'YYYYMMDD')")
            .fetch_one(&mut *superuser)
            .await
            .unwrap();
    let mut settle = include_str!("../../../src/sql/resolve.sql").to_owned();
    for table in ["hold", "usage", "transfer"] {
        settle = settle.replace(&format!("{{{table}}}"), &format!("ledger.{table}_{day}"));
    }
    let author = ledger.node_epoch();
    let values = [
        format!("ARRAY['{}']", call.uuid()),
        format!("ARRAY[{}]", account.number()),
        "ARRAY[1]".to_owned(),
        "ARRAY['{}']".to_owned(),
        "ARRAY['{}']".to_owned(),
        "ARRAY[false]".to_owned(),
        "ARRAY['standard']".to_owned(),
        "ARRAY[1]".to_owned(),
        "ARRAY['[]']".to_owned(),
        "ARRAY['']".to_owned(),
        "ARRAY['complete']".to_owned(),
        format!("'{}'", author.node.as_str()),
        author.epoch.to_string(),
        "false".to_owned(),
    ];
    let code: Vec<&str> = settle
        .lines()
        .filter(|line| !line.trim_start().starts_with("--"))
        .collect();
    let mut settle = code.join("\n");
    for (number, value) in values.iter().enumerate().rev() {
        settle = settle.replace(&format!("${}", number + 1), value);
    }
    let lookup = format!(
        "SELECT * FROM ledger.usage WHERE request_id = '{}'",
        call.uuid()
    );
    let newest = format!(
        "SELECT * FROM ledger.usage WHERE account_id = {} ORDER BY request_id DESC LIMIT 50",
        account.number()
    );
    Touched {
        settle: buffers(superuser, settle).await,
        lookup: buffers(superuser, lookup).await,
        newest: buffers(superuser, newest).await,
    }
}

#[tokio::test]
#[ignore = "writes twenty million rows: just ledger-growth"]
async fn ten_times_the_rows_touch_the_same_buffers() {
    let server = Postgres::own(OwnSettings {
        extra_config: vec![
            ("shared_buffers".to_owned(), "1GB".to_owned()),
            ("max_wal_size".to_owned(), "8GB".to_owned()),
        ],
        ..OwnSettings::default()
    })
    .await;
    let data = server.connect(Role::Data).await;
    let console = server.connect(Role::Console).await;
    let mut superuser = PgConnection::connect(server.superuser_url().reveal())
        .await
        .unwrap();
    let partitions = format!(
        "SELECT ledger.make_partitions((app.now() AT TIME ZONE 'UTC')::date - {DAYS}, {DAYS})"
    );
    sqlx::raw_sql(AssertSqlSafe(partitions))
        .execute(&mut superuser)
        .await
        .unwrap();
    let mut tx = console.begin().await.unwrap();
    let account = accounts::create_account(&mut tx, AccountKind::Live)
        .await
        .unwrap();
    let money = TopUp {
        request: RequestId::new(SystemClock.now(), random_bytes()),
        account,
        wallet: Wallet::Paid,
        amount: Money::from_nanos(1_000_000),
        provider: "growth".to_owned(),
        event: "1".to_owned(),
    };
    accounts::top_up(&mut tx, &money).await.unwrap();
    tx.commit().await.unwrap();
    let node = NodeId::new("growth").unwrap();
    let (ledger, _tasks) = Ledger::open(data, &node, LedgerSettings::default())
        .await
        .unwrap();

    fill(&mut superuser, 0).await;
    sqlx::raw_sql("VACUUM ANALYZE")
        .execute(&mut superuser)
        .await
        .unwrap();
    touched(&mut superuser, &ledger, account).await;
    let small = touched(&mut superuser, &ledger, account).await;
    for days_ago in 1..DAYS {
        fill(&mut superuser, days_ago).await;
    }
    sqlx::raw_sql("VACUUM ANALYZE")
        .execute(&mut superuser)
        .await
        .unwrap();
    touched(&mut superuser, &ledger, account).await;
    let large = touched(&mut superuser, &ledger, account).await;
    println!(
        "buffers at {} and {} rows: settle {} and {}, lookup by request id {} and {}, newest 50 of an account {} and {}",
        ROWS_A_DAY,
        ROWS_A_DAY * i64::from(DAYS),
        small.settle,
        large.settle,
        small.lookup,
        large.lookup,
        small.newest,
        large.newest
    );
    // A page that happens to be full, or a hint bit, is worth a buffer or two; growth is not.
    for (name, small, large) in [
        ("settle", small.settle, large.settle),
        ("lookup", small.lookup, large.lookup),
        ("newest", small.newest, large.newest),
    ] {
        assert!(
            large <= small + 4,
            "{name} grew from {small} to {large} buffers"
        );
    }
}
