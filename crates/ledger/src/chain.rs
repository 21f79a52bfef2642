//! The hash chain of each account (ADR 84): calls and transfers become numbered lines, the lines of a day a tree, the
//! root of the tree a signed record that names the day before it.
//!
//! [`link`] enters what waits, [`sign_days`] signs days that are over; both are jobs of the worker, and one runs at a
//! time.

mod entry;
mod lines;
mod link;
mod links;
mod sign;

use trunkline_db::{Database, DbError, from_sql_time};
use trunkline_receipts::PublicKey;
use trunkline_types::Timestamp;

use crate::columns::column;

pub use link::{Linked, link};
pub use sign::{Signed, sign_days};

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
