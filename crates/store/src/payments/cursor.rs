//! Up to when a provider's events were compared with ours.

use sqlx::Row as _;
use time::OffsetDateTime;
use trunkline_db::{DbError, Tx, from_sql_time, to_sql_time};
use trunkline_types::Timestamp;

/// Providers tell of events for so long.
const KEPT_DAYS: i32 = 30;

/// Claims the reconciliation with a provider if the last one began `every_seconds` ago or earlier, and returns
/// from when events are to be compared. Without a payment there is nothing to compare.
pub async fn claim(
    tx: &mut Tx,
    provider: &str,
    every_seconds: i32,
) -> Result<Option<Timestamp>, DbError> {
    let row = sqlx::query(
        "INSERT INTO app.payment_cursor AS c (provider, compared_to, reconciled_at)
         SELECT $1, GREATEST(min(p.created_at), app.now() - make_interval(days => $3)), app.now()
         FROM app.payment AS p WHERE p.provider = $1 HAVING count(*) > 0
         ON CONFLICT (provider) DO UPDATE SET reconciled_at = app.now()
         WHERE c.reconciled_at <= app.now() - make_interval(secs => $2)
         RETURNING compared_to",
    )
    .bind(provider)
    .bind(f64::from(every_seconds))
    .bind(KEPT_DAYS)
    .fetch_optional(&mut **tx)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let at: OffsetDateTime = row.try_get("compared_to")?;
    Ok(Some(from_sql_time(at)))
}

/// Everything before this moment was compared.
pub async fn advance(tx: &mut Tx, provider: &str, compared_to: Timestamp) -> Result<(), DbError> {
    sqlx::query(
        "UPDATE app.payment_cursor SET compared_to = GREATEST(compared_to, $2) WHERE provider = $1",
    )
    .bind(provider)
    .bind(to_sql_time(compared_to))
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// A reconciliation that failed is due again.
pub async fn release(tx: &mut Tx, provider: &str) -> Result<(), DbError> {
    sqlx::query("UPDATE app.payment_cursor SET reconciled_at = '-infinity' WHERE provider = $1")
        .bind(provider)
        .execute(&mut **tx)
        .await?;
    Ok(())
}
