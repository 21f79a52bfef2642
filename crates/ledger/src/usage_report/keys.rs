//! What some keys of an account were used for lately.

use sqlx::PgConnection;
use sqlx::postgres::PgRow;
use time::OffsetDateTime;
use trunkline_db::{Database, DbError, from_sql_time};
use trunkline_types::{AccountId, KeyId, Money, Timestamp};

use crate::columns::column;
use crate::day_scan::{AccountLifetime, first_id};

/// Days that are summed up.
const DAYS: i64 = 30;
const SECONDS_A_DAY: i64 = 86_400;
const SECONDS_AN_HOUR: i64 = 3_600;
/// Calls of the last hour are counted so far and no further.
pub const MOST_COUNTED: i64 = 1_000;
/// Most keys of one call.
const MAX_KEYS: usize = 200;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyUse {
    pub key: KeyId,
    /// Charged in the last 30 days, less refunds.
    pub spent: Money,
    /// Calls that began in the last hour and are over, up to [`MOST_COUNTED`].
    pub calls_last_hour: i64,
    /// When its newest call of the last 30 days began.
    pub last_used_at: Option<Timestamp>,
}

/// The use of some keys; those that were not used in the last 30 days are left out.
pub async fn of_keys(
    database: &Database,
    account: AccountId,
    keys: &[KeyId],
) -> Result<Vec<KeyUse>, DbError> {
    let mut session = database.session().await?;
    let Some(lifetime) = AccountLifetime::of(&mut session, account).await? else {
        return Ok(Vec::new());
    };
    let key_ids: Vec<i64> = keys.iter().take(MAX_KEYS).map(|key| key.number()).collect();
    let rows = sqlx::query(
        "SELECT d.key_id, (sum(d.paid) + sum(d.trial) - sum(d.refunded))::bigint AS spent
         FROM ledger.usage_sum AS d
         WHERE d.account_id = $1 AND d.key_id = ANY ($2)
             AND d.day > (app.now() AT TIME ZONE 'UTC')::date - $3::integer
         GROUP BY d.key_id",
    )
    .bind(account.number())
    .bind(key_ids)
    .bind(i32::try_from(DAYS).unwrap_or(i32::MAX))
    .fetch_all(&mut *session)
    .await?;
    let mut uses = Vec::with_capacity(rows.len());
    for row in &rows {
        let key = KeyId::new(column(row, "key_id")?);
        let (calls_last_hour, last_used_at) = newest(&mut session, account, key, lifetime).await?;
        uses.push(KeyUse {
            key,
            spent: Money::from_nanos(column(row, "spent")?),
            calls_last_hour,
            last_used_at,
        });
    }
    Ok(uses)
}

/// How many calls of a key began in the last hour, and when the newest of the last days did. The order
/// names the key so that only its own index gives it.
async fn newest(
    connection: &mut PgConnection,
    account: AccountId,
    key: KeyId,
    lifetime: AccountLifetime,
) -> Result<(i64, Option<Timestamp>), DbError> {
    let days_ago = lifetime
        .now
        .plus_seconds(DAYS.saturating_mul(-SECONDS_A_DAY));
    let hour_ago = lifetime.now.plus_seconds(-SECONDS_AN_HOUR);
    let row: Option<PgRow> = sqlx::query(
        "SELECT u.opened_at, (SELECT count(*) FROM (
                 SELECT 1 FROM ledger.usage AS h
                 WHERE h.account_id = $1 AND h.key_id = $2 AND h.request_id >= $5 AND h.request_id < $4
                 LIMIT $6) AS counted) AS calls
         FROM ledger.usage AS u
         WHERE u.account_id = $1 AND u.key_id >= $2 AND u.key_id <= $2
             AND u.request_id >= $3 AND u.request_id < $4
         ORDER BY u.key_id DESC, u.request_id DESC LIMIT 1",
    )
    .bind(account.number())
    .bind(key.number())
    .bind(first_id(days_ago))
    .bind(lifetime.ids().to)
    .bind(first_id(hour_ago))
    .bind(MOST_COUNTED)
    .persistent(false)
    .fetch_optional(connection)
    .await?;
    let Some(row) = row else { return Ok((0, None)) };
    let opened_at: OffsetDateTime = column(&row, "opened_at")?;
    Ok((column(&row, "calls")?, Some(from_sql_time(opened_at))))
}

/// Whether an account has had a finished call, within the retention of the sums.
pub async fn has_called(database: &Database, account: AccountId) -> Result<bool, DbError> {
    let mut session = database.session().await?;
    let called = sqlx::query_scalar(
        "SELECT EXISTS (SELECT FROM ledger.usage_sum AS d WHERE d.account_id = $1 AND d.calls > 0)",
    )
    .bind(account.number())
    .fetch_one(&mut *session)
    .await?;
    Ok(called)
}
