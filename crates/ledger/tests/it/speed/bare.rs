//! The yardsticks: the ledger's statements without the ledger, and the simplest thing that could work.

use std::time::Instant;

use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use trunkline_db::Tx;
use trunkline_db::{Database, SystemClock};
use trunkline_ledger::NodeEpoch;
use trunkline_testkit::random_bytes;
use trunkline_types::{AccountId, Clock as _, RequestId};
use uuid::Uuid;

const CHECK_AUTHOR: &str = include_str!("../../../src/sql/check_epoch.sql");
const LOCK_ACCOUNTS: &str = include_str!("../../../src/sql/lock_accounts.sql");
const READ_HOLDS: &str = include_str!("../../../src/sql/read_holds.sql");
const READ_ACCOUNT_BUDGETS: &str = include_str!("../../../src/sql/read_account_budgets.sql");
const RESERVE: &str = include_str!("../../../src/sql/reserve.sql");
const RESOLVE: &str = include_str!("../../../src/sql/resolve.sql");

/// The statement with the tables of a day in it, as the ledger sends it.
fn of_day(statement: &str, suffix: &str) -> AssertSqlSafe<String> {
    let tables = ["hold", "usage", "transfer"];
    let text = tables.iter().fold(statement.to_owned(), |text, table| {
        text.replace(&format!("{{{table}}}"), &format!("ledger.{table}_{suffix}"))
    });
    AssertSqlSafe(text)
}

/// One batch of calls: the arrays of its reservation and of its settlement.
pub(crate) struct Ready {
    ids: Vec<Uuid>,
    accounts: Vec<i64>,
    distinct: Vec<i64>,
    /// The day's tables end in this.
    day: String,
}

impl Ready {
    pub(crate) fn new(accounts: &[AccountId], offset: usize, calls: usize) -> Self {
        let of = |place: usize| accounts[(offset + place) % accounts.len()].number();
        let accounts: Vec<i64> = (0..calls).map(of).collect();
        let mut distinct = accounts.clone();
        distinct.sort_unstable();
        distinct.dedup();
        let now = SystemClock.now();
        let ids = (0..calls)
            .map(|_| RequestId::new(now, random_bytes()).uuid())
            .collect();
        let today = time::OffsetDateTime::from_unix_timestamp(now.seconds()).unwrap();
        let (year, month, day) = today.to_calendar_date();
        Self {
            ids,
            accounts,
            distinct,
            day: format!("{year:04}{:02}{day:02}", u8::from(month)),
        }
    }
}

/// Sends the ledger's statements for ready batches, each batch's settlements with the next batch's
/// reservations, as a busy ledger does. Returns words a second.
pub(crate) async fn bare_loop(database: &Database, author: &NodeEpoch, batches: &[Ready]) -> f64 {
    let began = Instant::now();
    let mut words = 0;
    let mut before: Option<&Ready> = None;
    for batch in batches.iter().map(Some).chain([None]) {
        let mut tx = database.begin().await.unwrap();
        let accounts: Vec<i64> = [batch, before]
            .into_iter()
            .flatten()
            .flat_map(|ready| ready.distinct.iter().copied())
            .collect();
        sqlx::query(CHECK_AUTHOR)
            .bind(author.node.as_str())
            .bind(author.epoch)
            .fetch_all(&mut *tx)
            .await
            .unwrap();
        sqlx::query(LOCK_ACCOUNTS)
            .bind(&accounts)
            .fetch_all(&mut *tx)
            .await
            .unwrap();
        if let Some(batch) = batch {
            reserve(&mut tx, author, batch).await;
            words += batch.ids.len();
        }
        if let Some(batch) = before {
            settle(&mut tx, author, batch).await;
            words += batch.ids.len();
        }
        tx.commit().await.unwrap();
        before = batch;
    }
    words as f64 / began.elapsed().as_secs_f64()
}

async fn reserve(tx: &mut Tx, author: &NodeEpoch, batch: &Ready) {
    sqlx::query(of_day(READ_HOLDS, &batch.day))
        .bind(&batch.ids)
        .fetch_all(&mut **tx)
        .await
        .unwrap();
    sqlx::query(READ_ACCOUNT_BUDGETS)
        .bind(&batch.distinct)
        .fetch_all(&mut **tx)
        .await
        .unwrap();
    let count = batch.ids.len();
    let none_text: Vec<Option<String>> = vec![None; count];
    sqlx::query(of_day(RESERVE, &batch.day))
        .bind(&batch.ids)
        .bind(&batch.accounts)
        .bind(vec![None::<i64>; count])
        .bind(vec!["request"; count])
        .bind(&batch.ids)
        .bind(vec![2_i64; count])
        .bind(vec![0_i64; count])
        .bind(vec!["{}"; count])
        .bind(vec!["{}"; count])
        .bind(&none_text)
        .bind(vec!["model"; count])
        .bind(vec!["chat"; count])
        .bind(vec!["default"; count])
        .bind(vec![[7_u8; 32].as_slice(); count])
        .bind(author.node.as_str())
        .bind(author.epoch)
        .bind(&none_text)
        .bind(vec![600_000_i64; count])
        .fetch_all(&mut **tx)
        .await
        .unwrap();
}

async fn settle(tx: &mut Tx, author: &NodeEpoch, batch: &Ready) {
    let count = batch.ids.len();
    sqlx::query(of_day(RESOLVE, &batch.day))
        .bind(&batch.ids)
        .bind(&batch.accounts)
        .bind(vec![1_i64; count])
        .bind(vec![json!({ "input": 12 }); count])
        .bind(vec![json!({}); count])
        .bind(vec![false; count])
        .bind(vec![Some("standard"); count])
        .bind(vec![Some(3_i64); count])
        .bind(vec![Value::Array(Vec::new()); count])
        .bind(vec![""; count])
        .bind(vec!["complete"; count])
        .bind(author.node.as_str())
        .bind(author.epoch)
        .bind(false)
        .fetch_all(&mut **tx)
        .await
        .unwrap();
}

/// One durable UPDATE per word from many connections. Returns words a second.
pub(crate) async fn one_update_per_call(
    url: &str,
    accounts: &[AccountId],
    connections: usize,
    seconds: f64,
) -> f64 {
    let began = Instant::now();
    let mut running = tokio::task::JoinSet::new();
    for number in 0..connections {
        let (url, accounts) = (url.to_owned(), accounts.to_vec());
        running.spawn(async move {
            let mut connection = PgConnection::connect(&url).await.unwrap();
            let mut words = 0_usize;
            let mut place = number;
            while began.elapsed().as_secs_f64() < seconds {
                let account = accounts[place % accounts.len()].number();
                for change in [1_i64, -1] {
                    sqlx::query(
                        "UPDATE ledger.account SET paid_held = paid_held + $2
                         WHERE id = $1 AND paid_posted - paid_held >= $2",
                    )
                    .bind(account)
                    .bind(change)
                    .execute(&mut connection)
                    .await
                    .unwrap();
                    words += 1;
                }
                place += connections;
            }
            words
        });
    }
    let mut words = 0;
    while let Some(done) = running.join_next().await {
        words += done.unwrap();
    }
    words as f64 / began.elapsed().as_secs_f64()
}
