//! Price lists that a channel has had. A trigger writes them with every change of a channel's costs.

use serde_json::Value;
use sqlx::{PgConnection, Row as _};
use time::OffsetDateTime;
use trunkline_db::{DbError, from_sql_time, to_sql_time};
use trunkline_types::Timestamp;

use super::ChannelId;

/// A price list and since when it applied.
#[derive(Debug, Clone, PartialEq)]
pub struct DatedCost {
    pub since: Timestamp,
    /// None if the channel had no price list from then on.
    pub cost: Option<Value>,
}

/// The price list of a channel at a moment; none if there was none yet.
pub async fn cost_at(
    connection: &mut PgConnection,
    channel: ChannelId,
    at: Timestamp,
) -> Result<Option<DatedCost>, DbError> {
    let row = sqlx::query(
        "SELECT since, cost FROM app.channel_cost WHERE channel_id = $1 AND since <= $2
         ORDER BY since DESC LIMIT 1",
    )
    .bind(channel.number())
    .bind(to_sql_time(at))
    .fetch_optional(connection)
    .await?;
    let read = |row: sqlx::postgres::PgRow| {
        let since: OffsetDateTime = row.try_get("since")?;
        Ok(DatedCost {
            since: from_sql_time(since),
            cost: row.try_get("cost")?,
        })
    };
    row.map(read).transpose()
}
