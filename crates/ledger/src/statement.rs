//! EntryDetail happened to an account's money, newest first, and which budgets it has. Reading only.
//!
//! Entries are in the order of their request ids, that is, of the moments the calls and payments
//! began. A refund is next to its call. That is the order of the indexes, and it makes the balance
//! after each entry a plain sum of the entries below it.

use sqlx::Row as _;
use sqlx::postgres::PgRow;
use time::OffsetDateTime;
use trunkline_db::{Database, DbError, from_sql_time};
use trunkline_types::{AccountId, KeyId, Money, RequestId, Timestamp};

use crate::columns::{column, request_of};

/// Most entries of one statement.
pub const MAX_ENTRIES: u32 = 500;
/// Most keys whose budgets one call reads.
pub const MAX_KEYS: usize = 1_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// In the paid wallet now.
    pub paid: Money,
    /// In the trial wallet now.
    pub trial: Money,
    /// Newest first.
    pub entries: Vec<Entry>,
}

/// One thing that moved money, or a call that cost nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The call or the movement.
    pub request: RequestId,
    /// When it was booked, by the database's clock.
    pub at: Timestamp,
    /// EntryDetail the paid wallet gained, or lost if negative.
    pub paid: Money,
    /// EntryDetail the trial wallet gained, or lost if negative.
    pub trial: Money,
    /// In the paid wallet after it.
    pub paid_after: Money,
    /// In the trial wallet after it.
    pub trial_after: Money,
    pub detail: EntryDetail,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryDetail {
    /// A call, also one that cost nothing.
    Call {
        key: Option<KeyId>,
        /// Public name of the model or data set.
        model: String,
        /// The interface that was called.
        endpoint: String,
        /// The group whose prices applied.
        group: String,
        outcome: String,
        /// Usage was estimated because the upstream did not report it.
        estimated: bool,
        /// Codes of warnings given to the caller.
        warnings: Vec<String>,
    },
    /// The rest of a charge was refunded.
    Refund,
    /// The difference to a lower price was refunded.
    SettlementAdjustment,
    /// A charge was refunded because the result was not delivered.
    Undelivered,
    /// All charges of a day whose calls are not kept any more.
    DayTotal,
    TopUp(Payment),
    /// Money to try things out.
    TrialGrant(Payment),
    /// A correction by a person.
    Adjustment {
        reason: String,
        actor: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payment {
    pub provider: String,
    /// The provider's id of the payment.
    pub event: String,
}

/// A spending limit per period.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Budget {
    pub id: i64,
    /// Whose; none for the account's own.
    pub key: Option<KeyId>,
    /// `total`, `daily`, `weekly` or `monthly`.
    pub period: String,
    /// The time zone of its periods.
    pub timezone: String,
    pub limit: Money,
    /// Used in the current period, by open holds and charges.
    pub used: Money,
    /// When the current period ends; none for a total.
    pub ends_at: Option<Timestamp>,
}

/// The latest entries of an account, at most [`MAX_ENTRIES`]. None if there is no such account.
pub async fn read(
    database: &Database,
    account: AccountId,
    limit: u32,
) -> Result<Option<Statement>, DbError> {
    let mut session = database.session().await?;
    // One statement, so that the balance and the entries are of one snapshot. A transfer has at most
    // two legs: twice the limit of rows is the limit of movements or more, and never half of one.
    let rows = sqlx::query(
        "WITH calls AS (
             SELECT u.request_id, 0 AS step, 'call' AS kind, u.settled_at AS at, -u.paid AS paid,
                 -u.trial AS trial, u.key_id, u.model, u.endpoint, u.group_name,
                 COALESCE((SELECT f.outcome FROM ledger.late_failure AS f
                     WHERE f.request_id = u.request_id), u.outcome) AS outcome, u.estimated, u.warnings
             FROM ledger.usage AS u
             WHERE u.account_id = $1
             ORDER BY u.request_id DESC
             LIMIT $2
         ), legs AS (
             SELECT t.request_id, t.kind, t.leg, t.at,
                 CASE WHEN t.credit >= 0 THEN t.amount ELSE -t.amount END AS amount
             FROM ledger.transfer AS t
             WHERE t.account_id = $1
             ORDER BY t.request_id DESC, t.kind DESC
             LIMIT $2 * 2
         ), moves AS (
             SELECT l.request_id, 1 AS step, l.kind, max(l.at) AS at,
                 COALESCE(sum(l.amount) FILTER (WHERE l.leg = 0), 0)::bigint AS paid,
                 COALESCE(sum(l.amount) FILTER (WHERE l.leg = 1), 0)::bigint AS trial
             FROM legs AS l
             GROUP BY l.request_id, l.kind
         ), entries AS (
             SELECT * FROM calls
             UNION ALL
             SELECT m.*, NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM moves AS m
             ORDER BY request_id DESC, step DESC, kind DESC
             LIMIT $2
         )
         SELECT a.paid_posted, a.trial_posted, e.*, p.provider, p.event_id, j.reason, j.actor
         FROM ledger.account AS a
         LEFT JOIN entries AS e ON true
         LEFT JOIN ledger.top_up AS p ON p.request_id = e.request_id
         LEFT JOIN ledger.adjustment AS j ON j.request_id = e.request_id
         WHERE a.id = $1
         ORDER BY e.request_id DESC, e.step DESC, e.kind DESC",
    )
    .bind(account.number())
    .bind(i64::from(limit.min(MAX_ENTRIES)))
    .fetch_all(&mut *session)
    .await?;
    rows.first()
        .map(|first| Statement::of_rows(first, &rows))
        .transpose()
}

/// The budgets of an account and of some of its keys, the account's own first. At most [`MAX_KEYS`]
/// keys are read; each has at most one budget of each period.
pub async fn budgets(
    database: &Database,
    account: AccountId,
    keys: &[KeyId],
) -> Result<Vec<Budget>, DbError> {
    let mut session = database.session().await?;
    let keys: Vec<i64> = keys.iter().take(MAX_KEYS).map(|key| key.number()).collect();
    let rows = sqlx::query(
        "SELECT b.id, b.key_id, b.period, b.timezone, b.limit_nanos, COALESCE(p.used, 0) AS used,
             CASE WHEN b.period = 'total' THEN NULL
                 ELSE ledger.period_end(b.period, b.timezone, app.now()) END AS ends_at
         FROM ledger.budget AS b
         LEFT JOIN ledger.budget_period AS p ON p.budget_id = b.id
             AND p.starts_at = ledger.period_start(b.period, b.timezone, app.now())
         WHERE b.account_id = $1 AND b.removed_at IS NULL AND (b.key_id IS NULL OR b.key_id = ANY ($2))
         ORDER BY b.key_id NULLS FIRST, b.id",
    )
    .bind(account.number())
    .bind(keys)
    .fetch_all(&mut *session)
    .await?;
    rows.iter().map(Budget::of_row).collect()
}

// === impl Statement ===

impl Statement {
    /// Every row has the balance; a row without a request means that there are no entries.
    fn of_rows(first: &PgRow, rows: &[PgRow]) -> Result<Self, DbError> {
        let nanos = |name: &str| column(first, name).map(Money::from_nanos);
        let (paid, trial) = (nanos("paid_posted")?, nanos("trial_posted")?);
        let mut entries = Vec::new();
        let (mut paid_after, mut trial_after) = (paid, trial);
        for row in rows {
            let Some(kind) = column::<Option<String>>(row, "kind")? else {
                break;
            };
            let entry = Entry {
                request: request_of(row)?,
                at: from_sql_time(column::<OffsetDateTime>(row, "at")?),
                paid: Money::from_nanos(column(row, "paid")?),
                trial: Money::from_nanos(column(row, "trial")?),
                paid_after,
                trial_after,
                detail: EntryDetail::of_row(&kind, row)?,
            };
            paid_after = before(paid_after, entry.paid)?;
            trial_after = before(trial_after, entry.trial)?;
            entries.push(entry);
        }
        Ok(Self {
            paid,
            trial,
            entries,
        })
    }
}

fn before(after: Money, gained: Money) -> Result<Money, DbError> {
    let sum = after.checked_sub(gained);
    sum.map_err(|error| DbError::from(sqlx::Error::Decode(Box::new(error))))
}

// === impl EntryDetail ===

impl EntryDetail {
    fn of_row(kind: &str, row: &PgRow) -> Result<Self, DbError> {
        let payment = || -> Result<Payment, DbError> {
            Ok(Payment {
                provider: column(row, "provider")?,
                event: column(row, "event_id")?,
            })
        };
        Ok(match kind {
            "call" => Self::Call {
                key: column::<Option<i64>>(row, "key_id")?.map(KeyId::new),
                model: column(row, "model")?,
                endpoint: column(row, "endpoint")?,
                group: column(row, "group_name")?,
                outcome: column(row, "outcome")?,
                estimated: column(row, "estimated")?,
                warnings: column(row, "warnings")?,
            },
            "refund" => Self::Refund,
            "settlement_adjustment" => Self::SettlementAdjustment,
            "undelivered" => Self::Undelivered,
            "day_total" => Self::DayTotal,
            "top_up" => Self::TopUp(payment()?),
            "trial_grant" => Self::TrialGrant(payment()?),
            "adjust" => Self::Adjustment {
                reason: column(row, "reason")?,
                actor: column(row, "actor")?,
            },
            other => {
                let text = format!("a transfer of the unknown kind {other:?}");
                return Err(DbError::from(sqlx::Error::Decode(text.into())));
            }
        })
    }

    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Call { .. } => "call",
            Self::Refund => "refund",
            Self::SettlementAdjustment => "settlement_adjustment",
            Self::Undelivered => "undelivered",
            Self::DayTotal => "day_total",
            Self::TopUp(_) => "top_up",
            Self::TrialGrant(_) => "trial_grant",
            Self::Adjustment { .. } => "adjustment",
        }
    }
}

// === impl Budget ===

impl Budget {
    fn of_row(row: &PgRow) -> Result<Self, DbError> {
        let key: Option<i64> = row.try_get("key_id")?;
        let ends_at: Option<OffsetDateTime> = row.try_get("ends_at")?;
        Ok(Self {
            id: row.try_get("id")?,
            key: key.map(KeyId::new),
            period: row.try_get("period")?,
            timezone: row.try_get("timezone")?,
            limit: Money::from_nanos(row.try_get("limit_nanos")?),
            used: Money::from_nanos(row.try_get("used")?),
            ends_at: ends_at.map(from_sql_time),
        })
    }
}
