//! The links of a day as they are read: some at a time, so that no day is too long.

use sqlx::PgConnection;
use time::Date;
use trunkline_db::DbError;

use super::entry::{ENTRY_BYTES, Entry};
use super::{count, number, unreadable};
use crate::columns::column;

/// Links that are read at once.
const LINKS_AT_ONCE: i64 = 500;
/// Lines that are read at once, but for the rest of a link.
const LINES_AT_ONCE: usize = 2_000;

/// Lines that were entered together.
pub(super) struct Link {
    /// The number of its first line.
    pub(super) first: u64,
    pub(super) entries: Vec<Entry>,
}

/// Some links of a day, from the one that begins with a line on; none behind the last.
pub(super) async fn links_from(
    connection: &mut PgConnection,
    account: i64,
    day: Date,
    first: u64,
) -> Result<Vec<Link>, DbError> {
    let bytes = LINES_AT_ONCE.saturating_mul(ENTRY_BYTES);
    let rows = sqlx::query(include_str!("../sql/chain_links.sql"))
        .bind(account)
        .bind(day)
        .bind(number(first))
        .bind(LINKS_AT_ONCE)
        .bind(i64::try_from(bytes).unwrap_or(i64::MAX))
        .fetch_all(connection)
        .await?;
    let mut links = Vec::with_capacity(rows.len());
    for row in &rows {
        let entries: Vec<u8> = column(row, "entries")?;
        links.push(Link {
            first: count(column(row, "first_number")?),
            entries: Entry::read_all(&entries).ok_or_else(|| unreadable("a link"))?,
        });
    }
    Ok(links)
}
