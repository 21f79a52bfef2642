//! Calls whose upstream may bill what the customer does not pay, by account and kind. Read-only. The operator
//! bears them by promise; many of one account are an attack or a defect.

use sqlx::postgres::PgRow;
use trunkline_db::{Database, DbError};
use trunkline_types::{AccountId, Money};

use crate::columns::{account_of, column};

/// Most days of one report.
pub const MAX_DAYS: u16 = 400;

/// Why such a call was not paid in full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LossKind {
    /// It used more than wallets, budgets, the caller's limit or the quote allowed, or a dearer tier than
    /// it asked for.
    Overrun,
    /// Its outcome was lost: a crash, an expired hold, an unavailable database, a late result.
    Unbilled,
    /// Charged, and refunded because the client did not take the answer.
    Undelivered,
    /// The client left before its answer, or a stream whose usage is an estimate.
    Interrupted,
}

/// Calls and what their customers would have paid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LossTotals {
    pub calls: i64,
    /// None if it is known of no call.
    pub sale: Option<Money>,
}

/// The losses of one kind by one account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountLosses {
    pub account: AccountId,
    pub kind: LossKind,
    /// Of all days of the report.
    pub total: LossTotals,
    /// Of today, UTC.
    pub today: LossTotals,
}

/// Today's losses of one kind, for metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KindLosses {
    pub kind: LossKind,
    pub total: LossTotals,
    /// The most calls and the largest sale of one account.
    pub account_max: LossTotals,
}

// === impl LossKind ===

impl LossKind {
    pub const ALL: [Self; 4] = [
        Self::Overrun,
        Self::Unbilled,
        Self::Undelivered,
        Self::Interrupted,
    ];

    /// Its name in `ledger.exposure`, metrics and reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Overrun => "overrun",
            Self::Unbilled => "unbilled",
            Self::Undelivered => "undelivered",
            Self::Interrupted => "interrupted",
        }
    }
}

/// The losses of the last days, today included: the largest of today first.
pub async fn by_account(database: &Database, days: u16) -> Result<Vec<AccountLosses>, DbError> {
    let mut session = database.session().await?;
    let rows = sqlx::query(include_str!("sql/losses_by_account.sql"))
        .bind(i32::from(days.clamp(1, MAX_DAYS)))
        .fetch_all(&mut *session)
        .await?;
    rows.iter()
        .map(|row| {
            Ok(AccountLosses {
                account: account_of(row)?,
                kind: kind_of(row)?,
                total: totals(row, "calls", "sale")?,
                today: totals(row, "calls_today", "sale_today")?,
            })
        })
        .collect()
}

/// Today's losses of all accounts, each kind once.
pub async fn today(database: &Database) -> Result<Vec<KindLosses>, DbError> {
    let mut session = database.session().await?;
    let rows = sqlx::query(include_str!("sql/losses_today.sql"))
        .bind(LossKind::ALL.map(LossKind::as_str).as_slice())
        .fetch_all(&mut *session)
        .await?;
    rows.iter()
        .map(|row| {
            Ok(KindLosses {
                kind: kind_of(row)?,
                total: totals(row, "calls", "sale")?,
                account_max: totals(row, "most_calls", "most_sale")?,
            })
        })
        .collect()
}

fn kind_of(row: &PgRow) -> Result<LossKind, DbError> {
    let word: String = column(row, "kind")?;
    let known = LossKind::ALL.into_iter().find(|kind| kind.as_str() == word);
    known.ok_or_else(|| {
        let unknown = format!("ledger.exposure has a kind {word:?}");
        DbError::from(sqlx::Error::Decode(unknown.into()))
    })
}

fn totals(row: &PgRow, calls: &str, sale: &str) -> Result<LossTotals, DbError> {
    let sale: Option<i64> = column(row, sale)?;
    Ok(LossTotals {
        calls: column(row, calls)?,
        sale: sale.map(Money::from_nanos),
    })
}
