//! Revisions: numbers by which followers read changes.
//!
//! They come from a counter row and never from a sequence; the migration that makes the table tells
//! why. What a topic means is its users' business.

use sqlx::PgConnection;

use crate::{DbError, Tx};

/// Takes the topic's next revision. Other writers of the topic wait until this transaction ends, so
/// call it late; several topics in alphabetical order.
pub async fn bump(tx: &mut Tx, topic: &str) -> Result<i64, DbError> {
    let value = sqlx::query_scalar(
        "INSERT INTO app.revision AS r (topic, value) VALUES ($1, 1)
         ON CONFLICT (topic) DO UPDATE SET value = r.value + 1
         RETURNING r.value",
    )
    .bind(topic)
    .fetch_one(&mut **tx)
    .await?;
    Ok(value)
}

/// Raises a topic whose numbers are given from outside, and returns the number that is in force. Never lowers
/// it.
pub async fn raise(tx: &mut Tx, topic: &str, value: i64) -> Result<i64, DbError> {
    let value = sqlx::query_scalar(
        "INSERT INTO app.revision AS r (topic, value) VALUES ($1, $2)
         ON CONFLICT (topic) DO UPDATE SET value = GREATEST(r.value, $2)
         RETURNING r.value",
    )
    .bind(topic)
    .bind(value)
    .fetch_one(&mut **tx)
    .await?;
    Ok(value)
}

/// Every topic with its last committed number, in the order of their names. There are few, so this costs
/// what one of them does.
pub async fn all(connection: &mut PgConnection) -> Result<Vec<(String, i64)>, DbError> {
    let rows = sqlx::query_as("SELECT topic, value FROM app.revision ORDER BY topic")
        .fetch_all(connection)
        .await?;
    Ok(rows)
}

/// The topic's last committed number; 0 before the first.
pub async fn current(connection: &mut PgConnection, topic: &str) -> Result<i64, DbError> {
    let value: Option<i64> = sqlx::query_scalar("SELECT value FROM app.revision WHERE topic = $1")
        .bind(topic)
        .fetch_optional(connection)
        .await?;
    Ok(value.unwrap_or(0))
}
