//! What the indexes of calls cost each settlement: log written, and work of PostgreSQL, with none of
//! them, with each alone and with all. Rounds take turns, so that a machine that is busy is so for all.

use std::fs;

use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use tokio::task::JoinSet;
use trunkline_db::{Database, Role};
use trunkline_ledger::accounts::{self as ledger_accounts, AccountKind, TopUp, Wallet};
use trunkline_ledger::{Ledger, Outcome, Void};
use trunkline_testkit::{OwnSettings, Postgres};
use trunkline_types::{AccountId, KeyId, Money, NodeId};

use crate::test_ledger::{detail, patient, request, reserve, settle};

const ACCOUNTS: i64 = 500;
const CALLS: i64 = 8_000;
const CALLERS: i64 = 256;
const ROUNDS: usize = 3;
/// One in so many calls fails.
const FAILS: i64 = 50;

/// Sets of indexes beside those that money needs.
const SETS: [(&str, &[&str]); 5] = [
    ("none", &[]),
    ("key", &["usage_of_key"]),
    ("model", &["usage_of_model"]),
    ("marked", &["usage_failed_or_expensive"]),
    (
        "all",
        &[
            "usage_of_key",
            "usage_of_model",
            "usage_failed_or_expensive",
        ],
    ),
];

#[derive(Debug, Clone, Copy)]
struct Spent {
    log_bytes: f64,
    cpu_micros: f64,
}

/// CPU of all processes of a server, in ticks of ten milliseconds.
fn ticks(postmaster: &str) -> f64 {
    let of = |process: &str| -> Option<(String, f64, f64)> {
        let text = fs::read(format!("/proc/{process}/stat")).ok()?;
        let text = String::from_utf8_lossy(&text).into_owned();
        let (_, behind) = text.rsplit_once(')')?;
        let fields: Vec<&str> = behind.split_whitespace().collect();
        let number = |place: usize| fields.get(place)?.parse::<f64>().ok();
        let (own, buried) = (number(11)? + number(12)?, number(13)? + number(14)?);
        Some(((*fields.get(1)?).to_owned(), own, buried))
    };
    let (_, own, buried) = of(postmaster).unwrap();
    let children = fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let name = entry.unwrap().file_name();
        let (parent, ticks, _) = of(name.to_str()?)?;
        (parent == postmaster).then_some(ticks)
    });
    own + buried + children.sum::<f64>()
}

async fn accounts(console: &Database) -> Vec<AccountId> {
    let mut made = Vec::new();
    let mut tx = console.begin().await.unwrap();
    for number in 0..ACCOUNTS {
        let account = ledger_accounts::create_account(&mut tx, AccountKind::Live)
            .await
            .unwrap();
        let money = TopUp {
            request: request(),
            account,
            wallet: Wallet::Paid,
            amount: Money::from_nanos(1_000_000_000_000),
            provider: "price".to_owned(),
            event: number.to_string(),
        };
        ledger_accounts::top_up(&mut tx, &money).await.unwrap();
        let key = KeyId::new(account.number());
        assert!(
            ledger_accounts::register_key(&mut tx, account, key, None)
                .await
                .unwrap()
        );
        made.push(account);
    }
    tx.commit().await.unwrap();
    made
}

async fn calls(ledger: &Ledger, accounts: &[AccountId]) {
    let mut callers = JoinSet::new();
    for caller in 0..CALLERS {
        let (ledger, accounts) = (ledger.clone(), accounts.to_vec());
        callers.spawn(async move {
            for number in (caller..CALLS).step_by(usize::try_from(CALLERS).unwrap()) {
                let call = request();
                let account = accounts[usize::try_from(number % ACCOUNTS).unwrap()];
                let mut reserve_op = reserve(call, account, 1_000);
                reserve_op.key = Some(KeyId::new(account.number()));
                reserve_op.model = format!("vendor/model-{}", number % 7);
                ledger.reserve(reserve_op).await.unwrap();
                if number % FAILS == 0 {
                    let detail = detail(Outcome::UpstreamFailed);
                    let void = Void {
                        request: call,
                        account,
                        detail,
                    };
                    ledger.void(void).await.unwrap();
                } else {
                    ledger.settle(settle(call, account, 700)).await.unwrap();
                }
            }
        });
    }
    while let Some(done) = callers.join_next().await {
        done.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "measures for minutes: just logs-growth"]
async fn every_index_of_calls_costs_a_settlement_something() {
    let server = Postgres::own(OwnSettings {
        durable: true,
        extra_config: vec![
            ("shared_buffers".to_owned(), "512MB".to_owned()),
            ("max_wal_size".to_owned(), "8GB".to_owned()),
            ("full_page_writes".to_owned(), "off".to_owned()),
            ("autovacuum".to_owned(), "off".to_owned()),
        ],
        ..OwnSettings::default()
    })
    .await;
    let (data, console) = (
        server.connect(Role::Data).await,
        server.connect(Role::Console).await,
    );
    let mut superuser = PgConnection::connect(server.superuser_url().reveal())
        .await
        .unwrap();
    let pid: i32 =
        sqlx::query_scalar("SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'")
            .fetch_one(&mut superuser)
            .await
            .unwrap();
    let status = String::from_utf8(fs::read(format!("/proc/{pid}/status")).unwrap()).unwrap();
    let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"));
    let postmaster = parent.unwrap().trim().to_owned();
    let made: Vec<(String, String)> = sqlx::query_as(
        "SELECT c.relname::text, replace(pg_get_indexdef(c.oid), ' ON ONLY ', ' ON ')
         FROM pg_class AS c WHERE c.relname IN ('usage_of_key', 'usage_of_model', 'usage_failed_or_expensive')",
    )
    .fetch_all(&mut superuser)
    .await
    .unwrap();
    assert_eq!(made.len(), 3, "{made:?}");
    let accounts = accounts(&console).await;
    let mut spent: Vec<Vec<Spent>> = SETS.iter().map(|_| Vec::new()).collect();
    for round in 0..ROUNDS {
        for (place, (name, expected)) in SETS.iter().enumerate() {
            let mut text = "DROP INDEX IF EXISTS ledger.usage_of_key, ledger.usage_of_model,
                ledger.usage_failed_or_expensive; TRUNCATE ledger.usage, ledger.hold, ledger.hold_batch, ledger.hold_extension, ledger.transfer;"
                .to_owned();
            for (_, statement) in made
                .iter()
                .filter(|(one, _)| expected.contains(&one.as_str()))
            {
                text.push_str(statement);
                text.push(';');
            }
            sqlx::raw_sql(AssertSqlSafe(text))
                .execute(&mut superuser)
                .await
                .unwrap();
            let node = NodeId::new(&format!("price-{round}-{name}")).unwrap();
            let (ledger, tasks) = Ledger::open(data.clone(), &node, patient()).await.unwrap();
            // The first ones fill what every set needs: pages that exist, plans, caches.
            calls(&ledger, &accounts).await;
            let log = "SELECT (pg_current_wal_insert_lsn() - '0/0')::float8";
            let before: f64 = sqlx::query_scalar(log)
                .fetch_one(&mut superuser)
                .await
                .unwrap();
            let busy = ticks(&postmaster);
            calls(&ledger, &accounts).await;
            let busy = ticks(&postmaster) - busy;
            let after: f64 = sqlx::query_scalar(log)
                .fetch_one(&mut superuser)
                .await
                .unwrap();
            drop(ledger);
            tasks.finish().await;
            spent[place].push(Spent {
                log_bytes: (after - before) / CALLS as f64,
                cpu_micros: busy * 10_000.0 / CALLS as f64,
            });
        }
    }
    let middle = |values: &[Spent], of: fn(&Spent) -> f64| {
        let mut all: Vec<f64> = values.iter().map(of).collect();
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    };
    let columns: Vec<(f64, f64)> = spent
        .iter()
        .map(|values| {
            let least = values.iter().map(|one| one.cpu_micros);
            let least = least.fold(f64::INFINITY, f64::min);
            (middle(values, |one| one.log_bytes), least)
        })
        .collect();
    for ((name, _), (log, cpu)) in SETS.iter().zip(&columns) {
        println!("{name:8} {log:7.0} bytes of log a call, {cpu:6.1} us of PostgreSQL at best");
    }
    // What marks few calls costs few bytes; all of them together less than a fifth more.
    assert!(columns[3].0 < columns[0].0 * 1.02, "{columns:?}");
    assert!(columns[4].0 < columns[0].0 * 1.25, "{columns:?}");
}
