//! The hash chain of each account (ADR 84): calls and transfers become numbered lines, the lines of a day a tree, the
//! root of the tree a signed record that names the day before it.
//!
//! [`link`] enters what waits, [`sign_days`] signs days that are over; both are jobs of the worker, and one runs at a
//! time. [`receipt`] and [`StatementReader`] make the files that customers check. Lines are written anew from the rows
//! each time, beside the hash that they had when they were entered: a changed row shows.

mod entry;
mod lines;
mod link;
mod links;
mod receipt;
mod sign;
mod statement;

use time::Date;
use trunkline_db::{Database, DbError, from_sql_time};
use trunkline_receipts::{DayRecord, Hash, PublicKey, Signature};
use trunkline_types::{AccountId, Timestamp};

use crate::columns::column;
use crate::usage_report::UtcDay;

pub use link::{Linked, link};
pub use receipt::{ReceiptAnswer, receipt};
pub use sign::{Signed, sign_days};
pub use statement::{StatementError, StatementReader, first_day};

/// Only one may write to chains.
const LOCK: &str = "SELECT pg_try_advisory_xact_lock(hashtext('ledger.chain'))";

/// A key that has signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UsedKey {
    pub key: PublicKey,
    pub first_used_at: Timestamp,
}

/// Every key that has signed, the oldest first.
pub async fn used_keys(database: &Database) -> Result<Vec<UsedKey>, DbError> {
    let mut session = database.session().await?;
    let rows = sqlx::query(
        "SELECT k.public_key, k.first_used_at FROM ledger.chain_key AS k
         ORDER BY k.first_used_at, k.public_key",
    )
    .fetch_all(&mut *session)
    .await?;
    let mut keys = Vec::with_capacity(rows.len());
    for row in &rows {
        keys.push(UsedKey {
            key: stored(row, "public_key", PublicKey::from_slice)?,
            first_used_at: from_sql_time(column(row, "first_used_at")?),
        });
    }
    Ok(keys)
}

/// Notes that a key signs, before anything that it signed is given away.
async fn note_key(connection: &mut sqlx::PgConnection, key: &PublicKey) -> Result<(), DbError> {
    sqlx::query("INSERT INTO ledger.chain_key (public_key) VALUES ($1) ON CONFLICT DO NOTHING")
        .bind(key.bytes().as_slice())
        .execute(connection)
        .await?;
    Ok(())
}

/// A day that is signed.
#[derive(Debug, Clone)]
struct SignedDay {
    day: Date,
    record: DayRecord,
    signature: Signature,
}

impl SignedDay {
    /// None if it is not signed yet.
    fn of_row(account: AccountId, row: &sqlx::postgres::PgRow) -> Result<Option<Self>, DbError> {
        if column::<Option<Vec<u8>>>(row, "head")?.is_none() {
            return Ok(None);
        }
        let day: Date = column(row, "day")?;
        Ok(Some(Self {
            day,
            record: DayRecord {
                account: account.number(),
                day: UtcDay::of(day).to_string(),
                first: count(column(row, "first_number")?),
                lines: count(column(row, "lines")?),
                root: stored(row, "root", Hash::from_slice)?,
                previous: stored(row, "previous", Hash::from_slice)?,
                key: stored(row, "public_key", PublicKey::from_slice)?,
            },
            signature: stored(row, "signature", Signature::from_slice)?,
        }))
    }
}

fn stored<T>(
    row: &sqlx::postgres::PgRow,
    name: &str,
    read: fn(&[u8]) -> Option<T>,
) -> Result<T, DbError> {
    let bytes: Vec<u8> = column(row, name)?;
    read(&bytes).ok_or_else(|| unreadable(name))
}

fn unreadable(what: &str) -> DbError {
    DbError::from(sqlx::Error::Decode(
        format!("{what} of a chain is not as this version writes it").into(),
    ))
}

/// Numbers of lines are positive, by the tables' constraints.
fn count(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}

fn number(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
