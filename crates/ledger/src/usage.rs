//! What became of one call: its usage row, and what went back since.

use serde_json::Value;
use trunkline_db::{Database, DbError};
use trunkline_terms::{AccountId, Money, RequestId};

use crate::rows::column;

/// A finished call.
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
    /// The price tier.
    pub tier: Option<String>,
    /// We counted because the upstream did not tell.
    pub estimated: bool,
    /// Charged to the paid wallet.
    pub paid: Money,
    /// Charged to the trial wallet.
    pub trial: Money,
    /// What the upstream bills us, where known. For the operator's eyes.
    pub cost: Option<Money>,
    /// Given back of it since.
    pub refunded: Money,
    /// How it ended.
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
        "SELECT u.model, u.endpoint, u.group_name, u.units, u.tier, u.estimated, u.paid, u.trial, u.cost,
             u.outcome, encode(u.price_version, 'hex') AS price_version, u.warnings,
             COALESCE((SELECT sum(t.amount) FROM ledger.transfer AS t
                 WHERE t.request_id = u.request_id
                     AND t.kind IN ('refund', 'settlement_adjustment', 'undelivered')), 0)::bigint
                 AS refunded
         FROM ledger.usage AS u
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
