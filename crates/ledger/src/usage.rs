//! The usage row of one call, and its refunds.

use serde_json::Value;
use trunkline_db::{Database, DbError, from_sql_time};
use trunkline_types::{AccountId, Money, RequestId, Timestamp, Units, Usage};

use crate::columns::{column, request_of};

#[derive(Debug, Clone, PartialEq)]
pub struct UsageRow {
    /// Public name of the model or data set.
    pub model: String,
    /// The interface that was called.
    pub endpoint: String,
    /// The group whose prices applied.
    pub group: String,
    /// Billed units per face.
    pub units: Value,
    /// All that was measured, billed or not.
    pub measured: Usage,
    pub tier: Option<String>,
    /// Usage was estimated because the upstream did not report it.
    pub estimated: bool,
    /// Charged to the paid wallet.
    pub paid: Money,
    /// Charged to the trial wallet.
    pub trial: Money,
    /// What the upstream bills us, where known. For operators only.
    pub cost: Option<Money>,
    /// Refunded of it since.
    pub refunded: Money,
    pub outcome: String,
    /// The prices' version, in hexadecimal.
    pub price_version: String,
    /// Codes of warnings given to the caller.
    pub warnings: Vec<String>,
}

/// The usage row of a call, none if it is another account's, still running or unknown.
pub async fn find(
    database: &Database,
    account: AccountId,
    request: RequestId,
) -> Result<Option<UsageRow>, DbError> {
    let mut session = database.session().await?;
    let row = sqlx::query(
        "SELECT u.model, u.endpoint, u.group_name, u.units, u.measured, u.tier, u.estimated, u.paid, u.trial,
             u.cost, COALESCE(f.outcome, u.outcome) AS outcome, encode(u.price_version, 'hex') AS price_version, u.warnings,
             COALESCE((SELECT sum(t.amount) FROM ledger.transfer AS t
                 WHERE t.request_id = u.request_id
                     AND t.kind IN ('refund', 'settlement_adjustment', 'undelivered')), 0)::bigint
                 AS refunded
         FROM ledger.usage AS u
         LEFT JOIN ledger.late_failure AS f ON f.request_id = u.request_id
         WHERE u.request_id = $1 AND u.account_id = $2",
    )
    .bind(request.uuid())
    .bind(account.number())
    .fetch_optional(&mut *session)
    .await?;
    let Some(row) = row else {
        return Ok(None);
    };
    let money = |name| column(&row, name).map(Money::from_nanos);
    Ok(Some(UsageRow {
        model: column(&row, "model")?,
        endpoint: column(&row, "endpoint")?,
        group: column(&row, "group_name")?,
        units: column(&row, "units")?,
        // A value that cannot be read was written by a later version.
        measured: serde_json::from_value(column(&row, "measured")?).unwrap_or_default(),
        tier: column(&row, "tier")?,
        estimated: column(&row, "estimated")?,
        paid: money("paid")?,
        trial: money("trial")?,
        cost: column::<Option<i64>>(&row, "cost")?.map(Money::from_nanos),
        refunded: money("refunded")?,
        outcome: column(&row, "outcome")?,
        price_version: column(&row, "price_version")?,
        warnings: column(&row, "warnings")?,
    }))
}

/// A call that was charged, as far as another price list needs to know it.
#[derive(Debug, Clone)]
pub struct SoldCall {
    /// Its id, to go on from.
    pub request: RequestId,
    pub account: AccountId,
    /// Public name of the model.
    pub model: String,
    /// The group whose prices applied.
    pub group: String,
    /// Billed units per face.
    pub units: Units,
    /// The tier it was charged under.
    pub tier: Option<String>,
    pub charged: Money,
    /// What the upstream bills us, where known.
    pub cost: Option<Money>,
    /// When it was admitted.
    pub at: Timestamp,
    /// Whether its account had paid in by then.
    pub topped_up: bool,
}

/// Charged calls of some models after a call, oldest first. Continue from the last until the page
/// is empty.
pub async fn sold_after(
    database: &Database,
    models: &[String],
    after: RequestId,
    limit: i64,
) -> Result<Vec<SoldCall>, DbError> {
    let mut session = database.session().await?;
    let rows = sqlx::query(
        "SELECT u.request_id, u.account_id, u.model, u.group_name, u.units, u.tier, u.paid + u.trial AS charged, u.cost,
             u.opened_at, COALESCE(a.topped_up_at <= u.opened_at, false) AS topped_up
         FROM ledger.usage AS u JOIN ledger.account AS a ON a.id = u.account_id
         WHERE u.request_id > $1 AND u.model = ANY ($2) AND u.paid + u.trial > 0
         ORDER BY u.request_id LIMIT $3",
    )
    .bind(after.uuid())
    .bind(models)
    .bind(limit)
    .fetch_all(&mut *session)
    .await?;
    let read = |row: &sqlx::postgres::PgRow| {
        let units: Value = column(row, "units")?;
        Ok(SoldCall {
            request: request_of(row)?,
            account: AccountId::new(column(row, "account_id")?),
            model: column(row, "model")?,
            group: column(row, "group_name")?,
            // A face that is unknown now cannot be priced; the call then counts as nothing.
            units: serde_json::from_value(units).unwrap_or_default(),
            tier: column(row, "tier")?,
            charged: Money::from_nanos(column(row, "charged")?),
            cost: column::<Option<i64>>(row, "cost")?.map(Money::from_nanos),
            at: from_sql_time(column(row, "opened_at")?),
            topped_up: column(row, "topped_up")?,
        })
    };
    rows.iter().map(read).collect()
}
