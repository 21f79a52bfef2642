//! One-time links, and deletion of expired rows.

use sqlx::{PgConnection, Row as _};
use trunkline_db::{Database, DbError, Tx};

use super::login_attempts::DEVICE_LIFE_SECONDS;
use super::{IDLE_LIFE_SECONDS, PersonId, TokenHash};

/// Rows that one sweep takes from a table at most, so that no transaction is long.
const SWEPT_AT_ONCE: i64 = 1_000;
/// Retention of used and expired links, for investigations.
const KEPT_SECONDS: i64 = 7 * 86_400;
/// A failed login is deleted after this long without another.
pub(super) const ATTEMPT_LIFE_SECONDS: i64 = 86_400;

/// What a link is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// The address is the person's.
    Verify,
    Reset,
    Setup,
}

// === impl Purpose ===

impl Purpose {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Verify => "verify",
            Self::Reset => "reset",
            Self::Setup => "setup",
        }
    }
}

/// Writes a link. `person` is none for [`Purpose::Setup`], and for nothing else.
pub async fn issue_token(
    tx: &mut Tx,
    purpose: Purpose,
    person: Option<PersonId>,
    token: &TokenHash,
    life_seconds: i64,
) -> Result<(), DbError> {
    sqlx::query(
        "INSERT INTO app.person_token (token_hash, purpose, person_id, expires_at)
         VALUES ($1, $2, $3, app.now() + $4 * interval '1 second')",
    )
    .bind(&token[..])
    .bind(purpose.as_str())
    .bind(person.map(PersonId::number))
    .bind(life_seconds)
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Voids the links of a purpose: a person's, or those without a person.
pub async fn void_tokens(
    tx: &mut Tx,
    purpose: Purpose,
    person: Option<PersonId>,
) -> Result<u64, DbError> {
    let done = sqlx::query(
        "UPDATE app.person_token SET used_at = app.now()
         WHERE purpose = $1 AND person_id IS NOT DISTINCT FROM $2 AND used_at IS NULL",
    )
    .bind(purpose.as_str())
    .bind(person.map(PersonId::number))
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected())
}

/// Whether a link is valid, without consuming it.
pub async fn has_token(
    connection: &mut PgConnection,
    purpose: Purpose,
    token: &TokenHash,
) -> Result<bool, DbError> {
    let is_good = sqlx::query_scalar(
        "SELECT EXISTS (SELECT FROM app.person_token
         WHERE token_hash = $1 AND purpose = $2 AND used_at IS NULL AND expires_at > app.now())",
    )
    .bind(&token[..])
    .bind(purpose.as_str())
    .fetch_one(connection)
    .await?;
    Ok(is_good)
}

/// Whether any link of a purpose is good now.
pub async fn has_any_token(
    connection: &mut PgConnection,
    purpose: Purpose,
) -> Result<bool, DbError> {
    let is_good = sqlx::query_scalar(
        "SELECT EXISTS (SELECT FROM app.person_token
         WHERE purpose = $1 AND used_at IS NULL AND expires_at > app.now())",
    )
    .bind(purpose.as_str())
    .fetch_one(connection)
    .await?;
    Ok(is_good)
}

/// Consumes a link; one of two concurrent requests gets it. Outer none: it is unknown, used or
/// expired.
pub async fn take_token(
    tx: &mut Tx,
    purpose: Purpose,
    token: &TokenHash,
) -> Result<Option<Option<PersonId>>, DbError> {
    let row = sqlx::query(
        "UPDATE app.person_token SET used_at = app.now()
         WHERE token_hash = $1 AND purpose = $2 AND used_at IS NULL AND expires_at > app.now()
         RETURNING person_id",
    )
    .bind(&token[..])
    .bind(purpose.as_str())
    .fetch_optional(&mut **tx)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let person: Option<i64> = row.try_get("person_id")?;
    Ok(Some(person.map(PersonId::new)))
}

/// Deletes expired sign-ins, links and login attempts, a bounded number of each. Returns how many.
pub async fn sweep(database: &Database) -> Result<u64, DbError> {
    let statements = [
        (
            "DELETE FROM app.sign_in WHERE id IN (SELECT id FROM app.sign_in
                 WHERE expires_at < app.now() OR last_seen_at < app.now() - $1 * interval '1 second' LIMIT $2)",
            IDLE_LIFE_SECONDS,
        ),
        (
            "DELETE FROM app.person_token WHERE token_hash IN (SELECT token_hash FROM app.person_token
                 WHERE expires_at < app.now() - $1 * interval '1 second' LIMIT $2)",
            KEPT_SECONDS,
        ),
        (
            "DELETE FROM app.sign_in_attempt WHERE (kind, subject_hash) IN (SELECT kind, subject_hash
                 FROM app.sign_in_attempt
                 WHERE kind <> 'device' AND last_at < app.now() - $1 * interval '1 second' LIMIT $2)",
            ATTEMPT_LIFE_SECONDS,
        ),
        (
            "DELETE FROM app.sign_in_attempt WHERE (kind, subject_hash) IN (SELECT kind, subject_hash
                 FROM app.sign_in_attempt
                 WHERE kind = 'device' AND last_at < app.now() - $1 * interval '1 second' LIMIT $2)",
            DEVICE_LIFE_SECONDS,
        ),
    ];
    let mut gone = 0_u64;
    for (statement, seconds) in statements {
        let mut tx = database.begin().await?;
        let done = sqlx::query(statement)
            .bind(seconds)
            .bind(SWEPT_AT_ONCE)
            .execute(&mut *tx)
            .await
            .map_err(DbError::from);
        gone = gone.saturating_add(tx.finish(done).await?.rows_affected());
    }
    Ok(gone)
}
