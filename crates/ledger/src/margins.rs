//! Margins: what calls were sold for and what they cost, for operators. Read-only.
//!
//! A report adds the daily sums and what is not summed yet, from one snapshot, and so agrees with the
//! ledger to the nano-dollar at every moment. Days are UTC days of the settlement; a refund counts on
//! the day on which it is made. A call whose cost is not known has no margin: it is counted apart.

mod calls;

use serde::{Deserialize, Serialize};
use sqlx::postgres::PgRow;
use time::Date;
use trunkline_db::{Database, DbError};
use trunkline_types::{AccountId, Money};

use crate::columns::column;
use crate::usage_report::UtcDay;

pub use calls::{CallMargin, CallsPage, CallsSearch, MAX_CALLS, calls, one_call};

/// Most lines of one page.
pub const MAX_LINES: u32 = 1_000;
/// Channels and models that one alarm round names.
const MAX_BELOW_COST: i64 = 20;

/// Which calls. None does not filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarginFilter {
    /// The first day.
    pub from: UtcDay,
    /// The last day, itself included.
    pub to: UtcDay,
    /// Those whose last attempt was at this channel; 0 for calls without an attempt.
    pub channel: Option<i64>,
    pub model: Option<String>,
    pub account: Option<AccountId>,
    /// The group whose prices applied.
    pub group: Option<String>,
}

/// What sums are apart for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MarginGrouping {
    pub day: bool,
    pub channel: bool,
    pub model: bool,
    pub account: bool,
    pub group: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarginOrder {
    /// The smallest margin first.
    Margin,
    Group,
}

/// The group of a line, and its rank. Fields that are not grouped by are empty. Lines are in this order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct MarginKey {
    /// The margin in nano-dollars where lines are in its order; else 0.
    pub rank: i64,
    pub day: UtcDay,
    pub channel: i64,
    pub model: String,
    pub account: i64,
    pub group: String,
}

/// Sales and costs of some calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MarginTotals {
    pub calls: i64,
    /// Of them, those that delivered nothing and were charged nothing.
    pub failed: i64,
    /// Charged to paid wallets.
    pub paid: Money,
    /// Charged to trial wallets.
    pub trial: Money,
    /// Refunded on these days, of any day's charge.
    pub refunded: Money,
    /// What upstreams bill, where known.
    pub cost: Money,
    /// Delivered calls whose cost is not known.
    pub uncosted_calls: i64,
    /// What those were sold for, less their refunds.
    pub uncosted_sale: Money,
    /// Calls whose cost was inferred.
    pub estimated_calls: i64,
    /// Of the cost, what was inferred.
    pub estimated_cost: Money,
    /// Delivered calls that were charged less than they cost.
    pub below_cost_calls: i64,
    /// By how much.
    pub below_cost_loss: Money,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarginLine {
    pub key: MarginKey,
    pub totals: MarginTotals,
}

/// Some lines, and the sum of all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MarginReport {
    pub lines: Vec<MarginLine>,
    /// How many lines there are in all.
    pub count: i64,
    pub totals: MarginTotals,
}

/// Calls of a channel and a model that were sold below their cost today.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BelowCost {
    /// 0 for calls without an attempt.
    pub channel: i64,
    pub model: String,
    pub calls: i64,
    pub loss: Money,
}

/// The lines after a place, at most [`MAX_LINES`], and the totals of all, from one snapshot.
pub async fn read(
    database: &Database,
    filter: &MarginFilter,
    by: MarginGrouping,
    order: MarginOrder,
    after: Option<&MarginKey>,
    limit: u32,
) -> Result<MarginReport, DbError> {
    let mut session = database.session().await?;
    let rows = sqlx::query(include_str!("sql/margins.sql"))
        .bind(filter.from.date())
        .bind(filter.to.date())
        .bind(filter.channel)
        .bind(filter.model.as_deref())
        .bind(filter.account.map(AccountId::number))
        .bind(filter.group.as_deref())
        .bind(by.day)
        .bind(by.channel)
        .bind(by.model)
        .bind(by.account)
        .bind(by.group)
        .bind(order == MarginOrder::Margin)
        .bind(after.map(|place| place.rank))
        .bind(after.map(|place| place.day.date()))
        .bind(after.map(|place| place.channel))
        .bind(after.map(|place| place.model.as_str()))
        .bind(after.map(|place| place.account))
        .bind(after.map(|place| place.group.as_str()))
        .bind(i64::from(limit.min(MAX_LINES)))
        // Planned each time with its filters known: a generic plan reads the rows of every account.
        .persistent(false)
        .fetch_all(&mut *session)
        .await?;
    let mut report = MarginReport::default();
    // The first row is the totals; it alone has no day.
    for row in &rows {
        let totals = MarginTotals::of_row(row)?;
        match column::<Option<Date>>(row, "day")? {
            None => {
                report.count = column(row, "lines")?;
                report.totals = totals;
            }
            Some(day) => {
                let key = MarginKey::of_row(row, day, order, &totals)?;
                report.lines.push(MarginLine { key, totals });
            }
        }
    }
    Ok(report)
}

/// What was sold below its cost today, the greatest losses first.
pub async fn below_cost_today(database: &Database) -> Result<Vec<BelowCost>, DbError> {
    let mut session = database.session().await?;
    let rows = sqlx::query(include_str!("sql/margin_below_cost_today.sql"))
        .bind(MAX_BELOW_COST)
        .fetch_all(&mut *session)
        .await?;
    let read = |row: &PgRow| {
        Ok(BelowCost {
            channel: column(row, "channel_id")?,
            model: column(row, "model")?,
            calls: column(row, "calls")?,
            loss: column(row, "loss").map(Money::from_nanos)?,
        })
    };
    rows.iter().map(read).collect()
}

// === impl MarginGrouping ===

impl MarginGrouping {
    /// Parses a comma-separated list of dimensions; none if one is unknown.
    #[must_use]
    pub fn parse(words: &str) -> Option<Self> {
        let mut by = Self::default();
        for word in words.split(',') {
            let slot = match word.trim() {
                "day" => &mut by.day,
                "channel" => &mut by.channel,
                "model" => &mut by.model,
                "customer" => &mut by.account,
                "group" => &mut by.group,
                _ => return None,
            };
            *slot = true;
        }
        Some(by)
    }
}

// === impl MarginKey ===

impl MarginKey {
    fn of_row(
        row: &PgRow,
        day: Date,
        order: MarginOrder,
        totals: &MarginTotals,
    ) -> Result<Self, DbError> {
        Ok(Self {
            rank: match order {
                MarginOrder::Margin => totals.margin().nanos(),
                MarginOrder::Group => 0,
            },
            day: UtcDay::of(day),
            channel: column(row, "channel_id")?,
            model: column(row, "model")?,
            account: column(row, "account_id")?,
            group: column(row, "group_name")?,
        })
    }
}

// === impl MarginTotals ===

impl MarginTotals {
    /// Charges less refunds.
    #[must_use]
    pub fn sale(&self) -> Money {
        let charged = plus(self.paid, self.trial);
        minus(charged, self.refunded)
    }

    /// The sale of calls whose cost is known, less that cost.
    #[must_use]
    pub fn margin(&self) -> Money {
        minus(minus(self.sale(), self.uncosted_sale), self.cost)
    }

    /// The sale of calls whose cost is known.
    #[must_use]
    pub fn costed_sale(&self) -> Money {
        minus(self.sale(), self.uncosted_sale)
    }

    fn of_row(row: &PgRow) -> Result<Self, DbError> {
        let money = |name: &str| column(row, name).map(Money::from_nanos);
        Ok(Self {
            calls: column(row, "calls")?,
            failed: column(row, "failed")?,
            paid: money("paid")?,
            trial: money("trial")?,
            refunded: money("refunded")?,
            cost: money("cost")?,
            uncosted_calls: column(row, "uncosted_calls")?,
            uncosted_sale: money("uncosted_sale")?,
            estimated_calls: column(row, "estimated_calls")?,
            estimated_cost: money("estimated_cost")?,
            below_cost_calls: column(row, "below_cost_calls")?,
            below_cost_loss: money("below_cost_loss")?,
        })
    }
}

/// Sums of bigint columns are within money; what is beyond stays as it is.
fn plus(one: Money, other: Money) -> Money {
    one.checked_add(other).unwrap_or(one)
}

fn minus(one: Money, other: Money) -> Money {
    one.checked_sub(other).unwrap_or(one)
}
