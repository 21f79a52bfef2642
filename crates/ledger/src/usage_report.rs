//! Usage of an account: sums by day, key, model, group and endpoint, and single calls. Read-only.
//!
//! A report adds the daily sums and the calls that are not summed yet, from one snapshot, so it is
//! always current. Days are UTC days of the settlement, by the database's clock.

mod calls;
mod day;
mod keys;

use serde::{Deserialize, Serialize};
use sqlx::postgres::PgRow;
use time::Date;
use trunkline_db::{Database, DbError};
use trunkline_types::{AccountId, KeyId, Money};

use crate::columns::column;

pub use calls::{Call, CallsQuery, MAX_CALLS, calls};
pub use day::UtcDay;
pub use keys::{KeyUse, MOST_COUNTED, has_called, of_keys};

/// Most days of one report; also their retention.
pub const MAX_DAYS: i64 = 400;
/// Most lines of one page.
pub const MAX_LINES: u32 = 5_000;

/// Filter of a usage report: the account, what the calling key may see, and what was requested of
/// that.
#[derive(Debug, Clone)]
pub struct UsageFilter {
    pub account: AccountId,
    /// Only of this key and those below it; none for the whole account.
    pub below: Option<KeyId>,
    /// Only of this key.
    pub key: Option<KeyId>,
    /// Only of this model.
    pub model: Option<String>,
    /// The first day.
    pub from: UtcDay,
    /// The last day, itself included.
    pub to: UtcDay,
}

/// What sums are apart for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Grouping {
    /// Each day.
    pub day: bool,
    pub key: bool,
    /// Each model.
    pub model: bool,
    pub group: bool,
    pub endpoint: bool,
}

/// The group of a row. Fields that are not grouped by are empty. Rows are in this order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct GroupKey {
    /// The day, `YYYY-MM-DD`.
    pub day: UtcDay,
    /// The key's number; 0 for calls without a key.
    pub key: i64,
    pub model: String,
    pub group: String,
    pub endpoint: String,
}

/// What was used and charged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Totals {
    pub calls: i64,
    /// Of them, those that delivered nothing and cost nothing.
    pub failed: i64,
    /// Billed on the way in: tokens; characters of speech; seconds of recordings.
    pub input_units: i64,
    /// Billed on the way out.
    pub output_units: i64,
    /// Billed by the call or the picture.
    pub call_units: i64,
    /// Billed seconds of video.
    pub second_units: i64,
    /// Charged to the paid wallet.
    pub paid: Money,
    /// Charged to the trial wallet.
    pub trial: Money,
    /// Refunded on these days, of any day's charge.
    pub refunded: Money,
    /// What upstreams bill us, where known. For operators only.
    pub cost: Money,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportRow {
    pub group_key: GroupKey,
    pub totals: Totals,
}

/// Some lines, and the sum of all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    pub lines: Vec<ReportRow>,
    /// How many lines there are in all.
    pub count: i64,
    pub totals: Totals,
}

/// Batches that are summed up in one transaction.
const SUMMED_AT_ONCE: i32 = 100;
/// Transactions of one round; more wait for the next.
const MAX_TRANSACTIONS: u32 = 100;

/// Adds settled calls to the daily sums; returns how many batches of calls they were. Any node may
/// run it at any time: it changes how fast sums are read, not their values.
pub async fn sum_up(database: &Database) -> Result<u64, DbError> {
    let mut all: u64 = 0;
    for _ in 0..MAX_TRANSACTIONS {
        let mut tx = database.begin().await?;
        let summed = sqlx::query_scalar::<_, i32>("SELECT ledger.sum_up($1)")
            .bind(SUMMED_AT_ONCE)
            .fetch_one(&mut *tx)
            .await
            .map_err(DbError::from);
        let batches = tx.finish(summed).await?;
        all = all.saturating_add(u64::try_from(batches).unwrap_or(0));
        if batches < SUMMED_AT_ONCE {
            break;
        }
    }
    Ok(all)
}

/// Today by the database's clock.
pub async fn today(database: &Database) -> Result<UtcDay, DbError> {
    let mut session = database.session().await?;
    let day: Date = sqlx::query_scalar("SELECT (app.now() AT TIME ZONE 'UTC')::date")
        .fetch_one(&mut *session)
        .await?;
    Ok(UtcDay::of(day))
}

/// The rows after a group, at most [`MAX_LINES`], and the totals of all, from one snapshot.
pub async fn read(
    database: &Database,
    filter: &UsageFilter,
    by: Grouping,
    after: Option<&GroupKey>,
    limit: u32,
) -> Result<Report, DbError> {
    let mut session = database.session().await?;
    let rows = sqlx::query(include_str!("sql/usage_report.sql"))
        .bind(filter.account.number())
        .bind(filter.from.date())
        .bind(filter.to.date())
        .bind(filter.key.map(KeyId::number))
        .bind(filter.model.as_deref())
        .bind(filter.below.map(KeyId::number))
        .bind(by.day)
        .bind(by.key)
        .bind(by.model)
        .bind(by.group)
        .bind(by.endpoint)
        .bind(after.map(|place| place.day.date()))
        .bind(after.map(|place| place.key))
        .bind(after.map(|place| place.model.as_str()))
        .bind(after.map(|place| place.group.as_str()))
        .bind(after.map(|place| place.endpoint.as_str()))
        .bind(i64::from(limit.min(MAX_LINES)))
        .fetch_all(&mut *session)
        .await?;
    let mut report = Report {
        lines: Vec::new(),
        count: 0,
        totals: Totals::NOTHING,
    };
    // The first row is the totals; it alone has no day.
    for row in &rows {
        let totals = Totals::of_row(row)?;
        match column::<Option<Date>>(row, "day")? {
            None => {
                report.count = column(row, "lines")?;
                report.totals = totals;
            }
            Some(day) => report.lines.push(ReportRow {
                group_key: GroupKey {
                    day: UtcDay::of(day),
                    key: column(row, "key_id")?,
                    model: column(row, "model")?,
                    group: column(row, "group_name")?,
                    endpoint: column(row, "endpoint")?,
                },
                totals,
            }),
        }
    }
    Ok(report)
}

// === impl Grouping ===

impl Grouping {
    /// Parses a comma-separated list of dimensions; none if one is unknown.
    #[must_use]
    pub fn parse(words: &str) -> Option<Self> {
        let mut by = Self::default();
        for word in words.split(',') {
            let slot = match word.trim() {
                "day" => &mut by.day,
                "key" => &mut by.key,
                "model" => &mut by.model,
                "group" => &mut by.group,
                "endpoint" => &mut by.endpoint,
                _ => return None,
            };
            *slot = true;
        }
        Some(by)
    }

    /// The names of its dimensions.
    #[must_use]
    pub fn words(self) -> Vec<&'static str> {
        let all = [
            (self.day, "day"),
            (self.key, "key"),
            (self.model, "model"),
            (self.group, "group"),
            (self.endpoint, "endpoint"),
        ];
        let grouped = all.into_iter().filter(|(grouped, _)| *grouped);
        grouped.map(|(_, word)| word).collect()
    }
}

/// Why some days are not reported; none if they are.
#[must_use]
pub fn wrong_days(from: UtcDay, to: UtcDay) -> Option<String> {
    let days = from.days_to(to);
    if days < 1 {
        let text = format!("`from` ({from}) must not be after `to` ({to}); both are UTC days");
        return Some(text);
    }
    (days > MAX_DAYS).then(|| {
        format!("from {from} to {to} are {days} days; at most {MAX_DAYS} can be asked for")
    })
}

// === impl Totals ===

impl Totals {
    pub const NOTHING: Self = Self {
        calls: 0,
        failed: 0,
        input_units: 0,
        output_units: 0,
        call_units: 0,
        second_units: 0,
        paid: Money::ZERO,
        trial: Money::ZERO,
        refunded: Money::ZERO,
        cost: Money::ZERO,
    };

    /// What was charged to both wallets.
    #[must_use]
    pub fn charged(&self) -> Money {
        self.paid.checked_add(self.trial).unwrap_or(self.paid)
    }

    /// What was spent: charges less refunds. Below zero where more was refunded, of charges of other days.
    #[must_use]
    pub fn spent(&self) -> Money {
        let charged = self.charged();
        charged.checked_sub(self.refunded).unwrap_or(charged)
    }

    fn of_row(row: &PgRow) -> Result<Self, DbError> {
        let money = |name: &str| column(row, name).map(Money::from_nanos);
        Ok(Self {
            calls: column(row, "calls")?,
            failed: column(row, "failed")?,
            input_units: column(row, "input_units")?,
            output_units: column(row, "output_units")?,
            call_units: column(row, "call_units")?,
            second_units: column(row, "second_units")?,
            paid: money("paid")?,
            trial: money("trial")?,
            refunded: money("refunded")?,
            cost: money("cost")?,
        })
    }
}
