//! Route health of each model, per minute. Nodes add samples; the console and routing read them.

use sqlx::{PgConnection, Row as _};
use time::OffsetDateTime;
use trunkline_db::{Database, DbError, from_sql_time};
use trunkline_types::Timestamp;

/// Retention of the minutes.
pub const KEPT_HOURS: i32 = 192;

/// Calls of a model that a node saw since its last sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sample {
    /// Calls sent to an upstream.
    pub calls: i64,
    /// Calls that failed because of the upstream.
    pub failed: i64,
    /// Output tokens of successful calls.
    pub output_tokens: i64,
}

/// Route health of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    pub model: String,
    pub sample: Sample,
    /// When the last of them was added.
    pub last_at: Timestamp,
}

/// Adds to the present minute, by the database's clock.
pub async fn add(database: &Database, sample: &[(String, Sample)]) -> Result<(), DbError> {
    // Sorted, so that two nodes cannot deadlock.
    let mut sorted: Vec<&(String, Sample)> = sample.iter().collect();
    sorted.sort_by(|one, other| one.0.cmp(&other.0));
    let column = |of: fn(&Sample) -> i64| -> Vec<i64> {
        sorted.iter().map(|(_, sample)| of(sample)).collect()
    };
    let names: Vec<&str> = sorted.iter().map(|(name, _)| name.as_str()).collect();
    let mut session = database.session().await?;
    sqlx::query(
        "INSERT INTO app.route_minute AS m (model, minute, calls, failed, output_tokens, last_at)
         SELECT n.model, date_trunc('minute', app.now()), n.calls, n.failed, n.tokens, app.now()
         FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[]) AS n (model, calls, failed, tokens)
         ON CONFLICT (minute, model) DO UPDATE SET calls = m.calls + EXCLUDED.calls,
             failed = m.failed + EXCLUDED.failed, last_at = EXCLUDED.last_at,
             output_tokens = m.output_tokens + EXCLUDED.output_tokens",
    )
    .bind(names)
    .bind(column(|sample| sample.calls))
    .bind(column(|sample| sample.failed))
    .bind(column(|sample| sample.output_tokens))
    .execute(&mut *session)
    .await?;
    Ok(())
}

/// Route health of every model over the last hours and all nodes.
pub async fn health(
    connection: &mut PgConnection,
    window_hours: i32,
) -> Result<Vec<Health>, DbError> {
    let rows = sqlx::query(
        "SELECT model, sum(calls)::bigint AS calls, sum(failed)::bigint AS failed,
             sum(output_tokens)::bigint AS tokens, max(last_at) AS last_at
         FROM app.route_minute WHERE minute > app.now() - make_interval(hours => $1)
         GROUP BY model ORDER BY model",
    )
    .bind(window_hours)
    .fetch_all(connection)
    .await?;
    let read = |row: &sqlx::postgres::PgRow| {
        let last_at: OffsetDateTime = row.try_get("last_at")?;
        Ok(Health {
            model: row.try_get("model")?,
            sample: Sample {
                calls: row.try_get("calls")?,
                failed: row.try_get("failed")?,
                output_tokens: row.try_get("tokens")?,
            },
            last_at: from_sql_time(last_at),
        })
    };
    rows.iter().map(read).collect()
}

/// Deletes minutes past their retention.
pub async fn purge(database: &Database) -> Result<u64, DbError> {
    let mut session = database.session().await?;
    let done = sqlx::query(
        "DELETE FROM app.route_minute WHERE minute < app.now() - make_interval(hours => $1)",
    )
    .bind(KEPT_HOURS)
    .execute(&mut *session)
    .await?;
    Ok(done.rows_affected())
}
