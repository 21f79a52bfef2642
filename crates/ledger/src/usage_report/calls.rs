//! Single calls, newest first.

use serde_json::Value;
use sqlx::postgres::PgRow;
use trunkline_db::{Database, DbError, from_sql_time};
use trunkline_types::{KeyId, Money, RequestId, Timestamp};

use super::UsageFilter;
use crate::columns::{column, request_of};

/// Most calls of one page.
pub const MAX_CALLS: u32 = 1_000;
/// Days that a call may take to its settlement and still be found under the day of it. Tasks have a
/// deadline of one; each day is one more partition to read.
const LONGEST_CALL_DAYS: i32 = 7;

/// Which calls: those settled on the days, in the order in which they began.
#[derive(Debug, Clone)]
pub struct CallsQuery {
    /// Whose, and of which days.
    pub filter: UsageFilter,
    /// Those that began before this one.
    pub before: Option<RequestId>,
    /// At most so many, up to [`MAX_CALLS`].
    pub limit: u32,
}

/// A call that is over.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    pub request: RequestId,
    pub key: Option<KeyId>,
    /// Public name of the model or data set.
    pub model: String,
    /// The interface that was called.
    pub endpoint: String,
    /// The group whose prices applied.
    pub group: String,
    pub outcome: String,
    /// Billed units per face.
    pub units: Value,
    /// Usage was estimated because the upstream did not report it.
    pub estimated: bool,
    /// Charged to the paid wallet.
    pub paid: Money,
    /// Charged to the trial wallet.
    pub trial: Money,
    /// Refunded of it since.
    pub refunded: Money,
    /// When it was admitted, by the database's clock.
    pub opened_at: Timestamp,
    /// When it was settled or voided.
    pub settled_at: Timestamp,
}

pub async fn calls(database: &Database, query: &CallsQuery) -> Result<Vec<Call>, DbError> {
    let mut session = database.session().await?;
    let filter = &query.filter;
    let rows = sqlx::query(include_str!("../sql/usage_report_calls.sql"))
        .bind(filter.account.number())
        .bind(filter.from.date())
        .bind(filter.to.date())
        .bind(filter.key.map(KeyId::number))
        .bind(filter.model.as_deref())
        .bind(filter.below.map(KeyId::number))
        .bind(query.before.map(RequestId::uuid))
        .bind(LONGEST_CALL_DAYS)
        .bind(i64::from(query.limit.min(MAX_CALLS)))
        .fetch_all(&mut *session)
        .await?;
    rows.iter().map(Call::of_row).collect()
}

// === impl Call ===

impl Call {
    fn of_row(row: &PgRow) -> Result<Self, DbError> {
        let money = |name: &str| column(row, name).map(Money::from_nanos);
        Ok(Self {
            request: request_of(row)?,
            key: column::<Option<i64>>(row, "key_id")?.map(KeyId::new),
            model: column(row, "model")?,
            endpoint: column(row, "endpoint")?,
            group: column(row, "group_name")?,
            outcome: column(row, "outcome")?,
            units: column(row, "units")?,
            estimated: column(row, "estimated")?,
            paid: money("paid")?,
            trial: money("trial")?,
            refunded: money("refunded")?,
            opened_at: from_sql_time(column(row, "opened_at")?),
            settled_at: from_sql_time(column(row, "settled_at")?),
        })
    }
}
