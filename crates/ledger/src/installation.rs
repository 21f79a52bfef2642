//! The whole installation in numbers, for operators: revenue, cost and calls by day, what was sold below cost, money
//! in, and what went through each channel. Read-only.

use sqlx::postgres::PgRow;
use time::Date;
use trunkline_db::{Database, DbError, to_sql_time};
use trunkline_types::{AccountId, Money, RequestId, Timestamp};

use crate::accounts::AccountKind;
use crate::columns::{account_of, column, request_of};
use crate::usage_report::UtcDay;

/// Calls that a search by a part of an id looks at, and those that it returns.
const SEARCHED_CALLS: i64 = 20_000;
const FOUND_CALLS: i64 = 5;

/// Sums of some calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sums {
    pub calls: i64,
    /// Of them, those that delivered nothing and cost nothing.
    pub failed: i64,
    /// Charged to both wallets.
    pub charged: Money,
    /// Refunded on these days, of any day's charge.
    pub refunded: Money,
    /// What upstreams bill us, where known.
    pub cost: Money,
}

/// What was sold for less than upstreams bill, by lines of a day, key and model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BelowCost {
    pub lines: i64,
    pub calls: i64,
    pub loss: Money,
}

/// What went through a channel: calls whose last attempt was there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChannelSums {
    pub channel: i64,
    pub sums: Sums,
}

/// A call as far as an operator needs to find it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallOwner {
    pub account: AccountId,
    /// What the upstream bills, where known.
    pub cost: Option<Money>,
}

/// What an account has, as lists show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListedBalance {
    pub account: AccountId,
    pub kind: AccountKind,
    pub paid: Money,
    pub trial: Money,
}

/// The sums of each day from one to another, both included; days without calls are left out.
pub async fn days(
    database: &Database,
    from: UtcDay,
    to: UtcDay,
) -> Result<Vec<(UtcDay, Sums)>, DbError> {
    let mut session = database.session().await?;
    let rows = sqlx::query(
        "SELECT d.day, sum(d.calls)::bigint AS calls, sum(d.failed)::bigint AS failed,
             (sum(d.paid) + sum(d.trial))::bigint AS charged, sum(d.refunded)::bigint AS refunded,
             sum(d.cost)::bigint AS cost
         FROM ledger.usage_sum AS d WHERE d.day BETWEEN $1 AND $2 GROUP BY d.day ORDER BY d.day",
    )
    .bind(from.date())
    .bind(to.date())
    .fetch_all(&mut *session)
    .await?;
    let day = |row: &PgRow| {
        let day: Date = column(row, "day")?;
        Ok((UtcDay::of(day), Sums::of_row(row)?))
    };
    rows.iter().map(day).collect()
}

/// What was sold below cost on some days.
pub async fn below_cost(
    database: &Database,
    from: UtcDay,
    to: UtcDay,
) -> Result<BelowCost, DbError> {
    let mut session = database.session().await?;
    let row = sqlx::query(
        "SELECT count(*) AS lines, COALESCE(sum(l.calls), 0)::bigint AS calls,
             COALESCE(sum(l.cost - l.charged), 0)::bigint AS loss
         FROM (SELECT sum(d.calls) AS calls, sum(d.cost) AS cost, sum(d.paid) + sum(d.trial) AS charged
               FROM ledger.usage_sum AS d WHERE d.day BETWEEN $1 AND $2
               GROUP BY d.account_id, d.day, d.key_id, d.model, d.endpoint, d.group_name) AS l
         WHERE l.cost > l.charged",
    )
    .bind(from.date())
    .bind(to.date())
    .fetch_one(&mut *session)
    .await?;
    Ok(BelowCost {
        lines: column(&row, "lines")?,
        calls: column(&row, "calls")?,
        loss: Money::from_nanos(column(&row, "loss")?),
    })
}

/// Money that came in on some days: payments, and credit by hand into paid wallets.
pub async fn money_in(database: &Database, from: UtcDay, to: UtcDay) -> Result<Money, DbError> {
    let mut session = database.session().await?;
    let amount: i64 = sqlx::query_scalar(
        "SELECT COALESCE(sum(t.amount), 0)::bigint FROM ledger.transfer AS t
         WHERE t.kind = 'top_up' AND t.request_id >= app.uuid_v7_floor($1) AND t.request_id < app.uuid_v7_floor($2)",
    )
    .bind(to_sql_time(from.starts_at()))
    .bind(to_sql_time(to.next().starts_at()))
    .fetch_one(&mut *session)
    .await?;
    Ok(Money::from_nanos(amount))
}

/// What went through the channels since a moment. It reads every call since then.
pub async fn of_channels(
    database: &Database,
    since: Timestamp,
) -> Result<Vec<ChannelSums>, DbError> {
    let mut session = database.session().await?;
    let rows = sqlx::query(
        "SELECT c.channel, count(*) AS calls, count(*) FILTER (WHERE c.is_failed) AS failed,
             COALESCE(sum(c.charged), 0)::bigint AS charged, 0::bigint AS refunded,
             COALESCE(sum(c.cost), 0)::bigint AS cost
         FROM (SELECT (u.attempts -> -1 ->> 'channel')::bigint AS channel, u.paid + u.trial AS charged, u.cost,
                   u.outcome NOT IN ('complete', 'client_gone', 'balance_exhausted', 'accepted') AS is_failed
               FROM ledger.usage AS u WHERE u.request_id >= app.uuid_v7_floor($1)) AS c
         WHERE c.channel IS NOT NULL GROUP BY c.channel",
    )
    .bind(to_sql_time(since))
    .fetch_all(&mut *session)
    .await?;
    let sums = |row: &PgRow| {
        Ok(ChannelSums {
            channel: column(row, "channel")?,
            sums: Sums::of_row(row)?,
        })
    };
    rows.iter().map(sums).collect()
}

/// Whose a call is; none if it is still running or unknown.
pub async fn owner_of(
    database: &Database,
    request: RequestId,
) -> Result<Option<CallOwner>, DbError> {
    let mut session = database.session().await?;
    let row = sqlx::query("SELECT account_id, cost FROM ledger.usage WHERE request_id = $1")
        .bind(request.uuid())
        .fetch_optional(&mut *session)
        .await?;
    let owner = |row: &PgRow| {
        Ok(CallOwner {
            account: account_of(row)?,
            cost: column::<Option<i64>>(row, "cost")?.map(Money::from_nanos),
        })
    };
    row.as_ref().map(owner).transpose()
}

/// Calls among the newest whose id has these parts in this order, as a page that shortens ids shows them.
pub async fn newest_calls_with(
    database: &Database,
    parts: &[&str],
) -> Result<Vec<(RequestId, AccountId)>, DbError> {
    let mut session = database.session().await?;
    // Digits need no escape in a pattern.
    let pattern = format!("%{}%", parts.join("%"));
    let rows = sqlx::query(
        "SELECT n.request_id, n.account_id
         FROM (SELECT u.request_id, u.account_id FROM ledger.usage AS u ORDER BY u.request_id DESC LIMIT $2) AS n
         WHERE replace(n.request_id::text, '-', '') LIKE $1 LIMIT $3",
    )
    .bind(pattern)
    .bind(SEARCHED_CALLS)
    .bind(FOUND_CALLS)
    .fetch_all(&mut *session)
    .await?;
    let call = |row: &PgRow| Ok((request_of(row)?, account_of(row)?));
    rows.iter().map(call).collect()
}

/// What upstreams bill for calls, where known.
pub async fn costs(
    database: &Database,
    requests: &[RequestId],
) -> Result<Vec<(RequestId, Money)>, DbError> {
    let ids: Vec<uuid::Uuid> = requests.iter().map(|request| request.uuid()).collect();
    let mut session = database.session().await?;
    let rows = sqlx::query(
        "SELECT request_id, cost FROM ledger.usage WHERE request_id = ANY ($1) AND cost IS NOT NULL",
    )
    .bind(ids)
    .fetch_all(&mut *session)
    .await?;
    let pair = |row: &PgRow| {
        let request = request_of(row)?;
        Ok((request, Money::from_nanos(column(row, "cost")?)))
    };
    rows.iter().map(pair).collect()
}

/// Kinds and posted balances of accounts; unknown ones are left out.
pub async fn balances(
    database: &Database,
    accounts: &[AccountId],
) -> Result<Vec<ListedBalance>, DbError> {
    let numbers: Vec<i64> = accounts.iter().map(|account| account.number()).collect();
    let mut session = database.session().await?;
    let rows = sqlx::query(
        "SELECT id AS account_id, kind, paid_posted, trial_posted FROM ledger.account WHERE id = ANY ($1)",
    )
    .bind(numbers)
    .fetch_all(&mut *session)
    .await?;
    let balance = |row: &PgRow| {
        Ok(ListedBalance {
            account: account_of(row)?,
            kind: AccountKind::of(column(row, "kind")?),
            paid: Money::from_nanos(column(row, "paid_posted")?),
            trial: Money::from_nanos(column(row, "trial_posted")?),
        })
    };
    rows.iter().map(balance).collect()
}

// === impl Sums ===

impl Sums {
    /// Charges less refunds.
    #[must_use]
    pub fn revenue(&self) -> Money {
        let net = self.charged.checked_sub(self.refunded);
        net.unwrap_or(self.charged)
    }

    /// Revenue less cost.
    #[must_use]
    pub fn margin(&self) -> Money {
        let revenue = self.revenue();
        revenue.checked_sub(self.cost).unwrap_or(revenue)
    }

    /// Both together.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        let money = |one: Money, other: Money| one.checked_add(other).unwrap_or(one);
        Self {
            calls: self.calls.saturating_add(other.calls),
            failed: self.failed.saturating_add(other.failed),
            charged: money(self.charged, other.charged),
            refunded: money(self.refunded, other.refunded),
            cost: money(self.cost, other.cost),
        }
    }

    fn of_row(row: &PgRow) -> Result<Self, DbError> {
        let money = |name: &str| column(row, name).map(Money::from_nanos);
        Ok(Self {
            calls: column(row, "calls")?,
            failed: column(row, "failed")?,
            charged: money("charged")?,
            refunded: money("refunded")?,
            cost: money("cost")?,
        })
    }
}
