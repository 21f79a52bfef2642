//! The two sources of entries, each read in one bounded statement.

use sqlx::PgConnection;
use sqlx::postgres::PgRow;
use trunkline_db::{DbError, from_sql_time};
use trunkline_types::Money;
use uuid::Uuid;

use super::{CODES, EntryId, EntryKind, JournalEntry, JournalQuery, MAX_SCANNED_ROWS};
use crate::accounts::{TRIAL_EXPIRED, Wallet};
use crate::columns::{column, request_of};
use crate::day_scan::IdRange;

/// JournalPage of one source, and the first request that was not read to its end.
pub(super) struct Part {
    pub(super) entries: Vec<JournalEntry>,
    /// Only ids at or after this one were read; none if the whole range was.
    pub(super) ended_before: Option<Uuid>,
}

/// Charges, from the calls: one or two entries each.
pub(super) async fn charges(
    connection: &mut PgConnection,
    query: &JournalQuery,
    step: IdRange,
    row_limit: usize,
) -> Result<Part, DbError> {
    if query.kind.is_some_and(|kind| kind != EntryKind::Charge) {
        return Ok(Part::empty());
    }
    let rows = sqlx::query(
        "SELECT s.* FROM (
             SELECT u.*, row_number() OVER (ORDER BY u.request_id DESC) AS place FROM (
                 SELECT u.request_id, u.paid, u.trial, u.model, u.settled_at
                 FROM ledger.usage AS u
                 WHERE u.account_id = $1 AND u.request_id >= $2 AND u.request_id < $3
                 ORDER BY u.request_id DESC LIMIT $4) AS u) AS s
         WHERE s.paid + s.trial > 0 OR s.place = $4
         LIMIT $5",
    )
    .bind(query.account.number())
    .bind(step.from)
    .bind(step.to)
    .bind(i64::from(MAX_SCANNED_ROWS))
    .bind(i64::try_from(row_limit).unwrap_or(i64::MAX))
    .persistent(false)
    .fetch_all(connection)
    .await?;
    let mut part = Part::empty();
    for row in &rows {
        let legs = [(Wallet::Paid, "paid"), (Wallet::Trial, "trial")];
        for (wallet, name) in legs {
            let amount: i64 = column(row, name)?;
            if amount > 0 {
                part.entries.push(charge(row, wallet, amount)?);
            }
        }
    }
    part.end(&rows, row_limit)?;
    Ok(part)
}

fn charge(row: &PgRow, wallet: Wallet, amount: i64) -> Result<JournalEntry, DbError> {
    Ok(JournalEntry {
        id: EntryId {
            request: request_of(row)?,
            kind: EntryKind::Charge,
            wallet,
        },
        at: from_sql_time(column(row, "settled_at")?),
        amount: Money::from_nanos(amount.saturating_neg()),
        model: Some(column(row, "model")?),
        text: None,
    })
}

/// Everything else, from the transfers: one row is one entry. Other tables are met by their keys, row by
/// row, so that nothing is read of what no entry needs.
pub(super) async fn moves(
    connection: &mut PgConnection,
    query: &JournalQuery,
    step: IdRange,
    row_limit: usize,
) -> Result<Part, DbError> {
    let rows = sqlx::query(
        "SELECT s.*, u.model FROM (
             SELECT m.*, p.provider, p.event_id, j.reason, row_number() OVER (ORDER BY m.request_id DESC) AS place
             FROM (
                 SELECT t.request_id, t.kind, t.leg, t.at, t.amount, t.credit >= 0 AS is_in
                 FROM ledger.transfer AS t
                 WHERE t.account_id = $1 AND t.request_id >= $2 AND t.request_id < $3
                 ORDER BY t.request_id DESC LIMIT $4) AS m
             LEFT JOIN LATERAL (SELECT p.provider, p.event_id FROM ledger.top_up AS p
                 WHERE p.request_id = m.request_id OFFSET 0) AS p ON true
             LEFT JOIN LATERAL (SELECT j.reason FROM ledger.adjustment AS j
                 WHERE j.request_id = m.request_id OFFSET 0) AS j ON true) AS s
         LEFT JOIN LATERAL (SELECT u.model FROM ledger.usage AS u
             WHERE u.request_id = s.request_id AND u.request_id >= $2 AND u.request_id < $3
             OFFSET 0) AS u ON true
         WHERE s.place = $4 OR $5::text IS NULL
             OR $5 = CASE WHEN s.kind IN ('top_up', 'trial_grant') AND s.provider = $6 THEN 'redemption'
                 WHEN s.kind = 'adjust' AND s.leg = 1 AND NOT s.is_in AND s.reason = $7 THEN 'trial_expiry'
                 WHEN s.kind = 'day_total' THEN 'charge'
                 ELSE s.kind END
         ORDER BY s.place
         LIMIT $8",
    )
    .bind(query.account.number())
    .bind(step.from)
    .bind(step.to)
    .bind(i64::from(MAX_SCANNED_ROWS))
    .bind(query.kind.map(EntryKind::as_str))
    .bind(CODES)
    .bind(TRIAL_EXPIRED)
    .bind(i64::try_from(row_limit).unwrap_or(i64::MAX))
    .persistent(false)
    .fetch_all(connection)
    .await?;
    let mut part = Part::empty();
    for row in &rows {
        let entry = moved(row)?;
        if query.kind.is_none_or(|kind| kind == entry.id.kind) {
            part.entries.push(entry);
        }
    }
    part.end(&rows, row_limit)?;
    Ok(part)
}

fn moved(row: &PgRow) -> Result<JournalEntry, DbError> {
    let word: String = column(row, "kind")?;
    let provider: Option<String> = column(row, "provider")?;
    let reason: Option<String> = column(row, "reason")?;
    let wallet = Wallet::of_leg(column(row, "leg")?);
    let is_in: bool = column(row, "is_in")?;
    // The charges of a day whose calls are not kept any more.
    let name = if word == "day_total" {
        EntryKind::Charge.as_str()
    } else {
        &word
    };
    let kind = EntryKind::of(name).ok_or_else(|| {
        let text = format!("a transfer of the unknown kind {word:?}");
        DbError::from(sqlx::Error::Decode(text.into()))
    })?;
    let by_code = provider.as_deref() == Some(CODES);
    let is_end = reason.as_deref() == Some(TRIAL_EXPIRED) && wallet == Wallet::Trial && !is_in;
    let (kind, text) = match kind {
        EntryKind::TopUp | EntryKind::TrialGrant if by_code => (EntryKind::Redemption, None),
        EntryKind::TopUp => (kind, paid_by(provider, column(row, "event_id")?)),
        EntryKind::Adjust if is_end => (EntryKind::TrialExpiry, None),
        EntryKind::Adjust => (kind, reason),
        EntryKind::Charge
        | EntryKind::Refund
        | EntryKind::SettlementAdjustment
        | EntryKind::Undelivered
        | EntryKind::TrialGrant
        | EntryKind::Redemption
        | EntryKind::TrialExpiry => (kind, None),
    };
    let amount: i64 = column(row, "amount")?;
    let amount = if is_in {
        amount
    } else {
        amount.saturating_neg()
    };
    Ok(JournalEntry {
        id: EntryId {
            request: request_of(row)?,
            kind,
            wallet,
        },
        at: from_sql_time(column(row, "at")?),
        amount: Money::from_nanos(amount),
        model: column(row, "model")?,
        text,
    })
}

/// What the payer's own papers call it.
fn paid_by(provider: Option<String>, event: Option<String>) -> Option<String> {
    Some(format!("{} {}", provider?, event?))
}

// === impl Part ===

impl Part {
    const fn empty() -> Self {
        Self {
            entries: Vec::new(),
            ended_before: None,
        }
    }

    /// A full result, or the last row that may be scanned, ends a part early. The last request may
    /// have more rows than came, so only those above it count as read.
    fn end(&mut self, rows: &[PgRow], row_limit: usize) -> Result<(), DbError> {
        let Some(last) = rows.last() else {
            return Ok(());
        };
        let scanned: i64 = column(last, "place")?;
        if rows.len() >= row_limit || scanned >= i64::from(MAX_SCANNED_ROWS) {
            let beyond = request_of(last)?.uuid().as_u128().saturating_add(1);
            self.ended_before = Some(Uuid::from_u128(beyond));
        }
        Ok(())
    }
}
