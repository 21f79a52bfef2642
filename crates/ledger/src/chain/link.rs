//! Enters what waits in the chains of its accounts. Nothing is entered twice or lost: what waits no more is a line, or
//! neither is so.

use std::collections::BTreeMap;

use sqlx::postgres::PgRow;
use time::{Date, OffsetDateTime};
use trunkline_db::{Database, DbError, Tx};
use trunkline_receipts::Hash;
use uuid::Uuid;

use super::entry::{ENTRY_BYTES, Entry, KINDS, LineId, LineKind};
use super::lines::{LineRow, read_lines};
use super::{LOCK, count, number, unreadable};
use crate::columns::column;

/// Rows of waiting lines that one transaction enters; a row of calls is a batch.
const ROWS_AT_ONCE: i64 = 100;
/// Lines that one transaction enters, but for the rest of a batch. It holds them in memory.
const LINES_AT_ONCE: i64 = 2_000;
/// Transactions of one run; more wait for the next.
const MAX_TRANSACTIONS: u32 = 100;

/// What a run has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Linked {
    pub lines: u64,
    /// Whether there may be more to do.
    pub has_more: bool,
}

/// Where the chain of an account ends.
#[derive(Debug, Clone, Copy)]
struct ChainEnd {
    day: Option<Date>,
    is_signed: bool,
    next_number: u64,
}

/// Lines of an account, in their order.
struct NewLink {
    account: i64,
    day: Date,
    first: u64,
    first_at: OffsetDateTime,
    last_at: OffsetDateTime,
    oldest_call: Option<Uuid>,
    entries: Vec<u8>,
}

/// Enters what waits. Any node may run it at any time.
pub async fn link(database: &Database) -> Result<Linked, DbError> {
    let mut all = Linked::default();
    for _ in 0..MAX_TRANSACTIONS {
        let mut tx = database.begin().await?;
        let linked = link_some(&mut tx).await;
        let linked = tx.finish(linked).await?;
        all.lines = all.lines.saturating_add(linked.lines);
        all.has_more = linked.has_more;
        if !linked.has_more {
            break;
        }
    }
    Ok(all)
}

async fn link_some(tx: &mut Tx) -> Result<Linked, DbError> {
    let is_alone: bool = sqlx::query_scalar(LOCK).fetch_one(&mut **tx).await?;
    if !is_alone {
        return Ok(Linked::default());
    }
    // Kinds of a later version wait for it.
    let rows = sqlx::query(include_str!("../sql/chain_take.sql"))
        .bind(KINDS.as_slice())
        .bind(ROWS_AT_ONCE)
        .bind(LINES_AT_ONCE)
        .fetch_all(&mut **tx)
        .await?;
    let ids = ids(&rows)?;
    let mut by_account: BTreeMap<i64, Vec<(LineId, LineRow)>> = BTreeMap::new();
    for (id, row) in read_lines(tx, &ids).await? {
        by_account.entry(row.account).or_default().push((id, row));
    }
    let accounts: Vec<i64> = by_account.keys().copied().collect();
    let (today, ends) = chain_ends(tx, &accounts).await?;
    let mut links = Vec::new();
    for (account, mut lines) in by_account {
        lines.sort_by(|(one_id, one), (other_id, other)| {
            (&one.at, one_id.request, one_id.kind).cmp(&(
                &other.at,
                other_id.request,
                other_id.kind,
            ))
        });
        let end = ends.get(&account).copied().unwrap_or(ChainEnd::NONE);
        links.extend(NewLink::of(account, end, today, lines));
    }
    write(tx, &links).await?;
    let lines = links.iter().map(NewLink::lines);
    let is_full = |taken: usize, limit: i64| i64::try_from(taken).is_ok_and(|taken| taken >= limit);
    Ok(Linked {
        lines: lines.fold(0, u64::saturating_add),
        has_more: is_full(rows.len(), ROWS_AT_ONCE) || is_full(ids.len(), LINES_AT_ONCE),
    })
}

fn ids(rows: &[PgRow]) -> Result<Vec<LineId>, DbError> {
    let mut ids = Vec::new();
    for row in rows {
        let (kind, leg): (String, i16) = (column(row, "kind")?, column(row, "leg")?);
        let kind = LineKind::new(&kind, leg).ok_or_else(|| unreadable("a kind"))?;
        let requests: Vec<Uuid> = column(row, "request_ids")?;
        ids.extend(requests.into_iter().map(|request| LineId { kind, request }));
    }
    Ok(ids)
}

/// Today, and where the chains of accounts end.
async fn chain_ends(
    tx: &mut Tx,
    accounts: &[i64],
) -> Result<(Date, BTreeMap<i64, ChainEnd>), DbError> {
    let today: Date = sqlx::query_scalar("SELECT (app.now() AT TIME ZONE 'UTC')::date")
        .fetch_one(&mut **tx)
        .await?;
    let rows = sqlx::query(
        "SELECT d.account_id, d.day, d.head IS NOT NULL AS is_signed, d.first_number + d.lines AS next_number
         FROM unnest($1::bigint[]) AS a (id)
         CROSS JOIN LATERAL (
             SELECT * FROM ledger.chain_day AS one WHERE one.account_id = a.id ORDER BY one.day DESC LIMIT 1
         ) AS d",
    )
    .bind(accounts)
    .fetch_all(&mut **tx)
    .await?;
    let mut ends = BTreeMap::new();
    for row in &rows {
        let end = ChainEnd {
            day: Some(column(row, "day")?),
            is_signed: column(row, "is_signed")?,
            next_number: count(column(row, "next_number")?),
        };
        ends.insert(column(row, "account_id")?, end);
    }
    Ok((today, ends))
}

async fn write(tx: &mut Tx, links: &[NewLink]) -> Result<(), DbError> {
    if links.is_empty() {
        return Ok(());
    }
    let accounts: Vec<i64> = links.iter().map(|link| link.account).collect();
    let days: Vec<Date> = links.iter().map(|link| link.day).collect();
    let firsts: Vec<i64> = links.iter().map(|link| number(link.first)).collect();
    let first_ats: Vec<OffsetDateTime> = links.iter().map(|link| link.first_at).collect();
    let last_ats: Vec<OffsetDateTime> = links.iter().map(|link| link.last_at).collect();
    let entries: Vec<&[u8]> = links.iter().map(|link| link.entries.as_slice()).collect();
    let oldest: Vec<Option<Uuid>> = links.iter().map(|link| link.oldest_call).collect();
    sqlx::query(include_str!("../sql/chain_enter.sql"))
        .bind(accounts)
        .bind(days)
        .bind(firsts)
        .bind(first_ats)
        .bind(last_ats)
        .bind(entries)
        .bind(oldest)
        .execute(&mut **tx)
        .await?;
    Ok(())
}

// === impl ChainEnd ===

impl ChainEnd {
    const NONE: Self = Self {
        day: None,
        is_signed: false,
        next_number: 1,
    };

    /// The day of the next line: today, but never a day that is signed or past, whatever the clock says.
    fn next_day(self, today: Date) -> Date {
        let open = self.day.and_then(|day| {
            if self.is_signed {
                day.next_day()
            } else {
                Some(day)
            }
        });
        open.map_or(today, |open| open.max(today))
    }
}

// === impl NewLink ===

impl NewLink {
    /// None without lines.
    fn of(account: i64, end: ChainEnd, today: Date, lines: Vec<(LineId, LineRow)>) -> Option<Self> {
        let first_at = lines.first()?.1.at;
        let last_at = lines.last()?.1.at;
        let is_call = |id: &&LineId| id.kind == LineKind::CALL;
        let calls = lines.iter().map(|(id, _)| id).filter(is_call);
        let oldest_call = calls.map(|id| id.request).min();
        let first = end.next_number;
        let mut entries = Vec::with_capacity(lines.len().saturating_mul(ENTRY_BYTES));
        for (number, (id, mut row)) in (first..).zip(lines) {
            let leaf = Hash::of_leaf(row.text(number).as_bytes());
            Entry { id, leaf }.write(&mut entries);
        }
        Some(Self {
            account,
            day: end.next_day(today),
            first,
            first_at,
            last_at,
            oldest_call,
            entries,
        })
    }

    fn lines(&self) -> u64 {
        let lines = self.entries.len().checked_div(ENTRY_BYTES);
        lines
            .and_then(|lines| u64::try_from(lines).ok())
            .unwrap_or(0)
    }
}
