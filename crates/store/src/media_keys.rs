//! Keys that files in the media store are sealed with, themselves sealed by the keyring. A rotation seals such a row
//! anew, and no file. There is one, unless the keyring that sealed it was lost.

use sqlx::{PgConnection, Row as _};
use trunkline_db::DbError;

/// A sealed key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MediaKey {
    pub id: i64,
    pub sealed: Vec<u8>,
}

/// What a key is bound to in the keyring.
#[must_use]
pub fn context(id: i64) -> Vec<u8> {
    format!("media_key/{id}").into_bytes()
}

/// The newest key; none before the first node stored one.
pub async fn newest(connection: &mut PgConnection) -> Result<Option<MediaKey>, DbError> {
    let row = sqlx::query("SELECT id, sealed FROM app.media_key ORDER BY id DESC LIMIT 1")
        .fetch_optional(connection)
        .await?;
    let Some(row) = row else { return Ok(None) };
    Ok(Some(MediaKey {
        id: row.try_get("id")?,
        sealed: row.try_get("sealed")?,
    }))
}

/// Stores a sealed key, unless another node was faster.
pub async fn insert(connection: &mut PgConnection, key: &MediaKey) -> Result<(), DbError> {
    sqlx::query("INSERT INTO app.media_key (id, sealed) VALUES ($1, $2) ON CONFLICT DO NOTHING")
        .bind(key.id)
        .bind(&key.sealed)
        .execute(connection)
        .await?;
    Ok(())
}
