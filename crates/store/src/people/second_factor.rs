//! The second factor of a person: a sealed secret of time-based codes, and recovery codes. The caller seals,
//! opens and computes; a code is taken once.

use sqlx::{PgConnection, Row as _};
use time::OffsetDateTime;
use trunkline_db::{DbError, Tx, from_sql_time};
use trunkline_types::Timestamp;
use uuid::Uuid;

use super::{PersonId, TokenHash};

/// A secret as it is kept.
#[derive(Debug, Clone)]
pub struct SecondFactor {
    pub id: i64,
    /// Sealed under [`secret_context`].
    pub sealed: Vec<u8>,
    /// Since when it counts; none while it is being set up.
    pub confirmed_at: Option<Timestamp>,
}

/// Associated data of a secret's seal.
#[must_use]
pub fn secret_context(person: PersonId) -> Vec<u8> {
    format!("app.second_factor.secret\n{person}").into_bytes()
}

/// The secret that counts, or the one that is being set up.
pub async fn second_factor(
    connection: &mut PgConnection,
    person: PersonId,
    confirmed: bool,
) -> Result<Option<SecondFactor>, DbError> {
    let row = sqlx::query(
        "SELECT id, secret, confirmed_at FROM app.second_factor
         WHERE person_id = $1 AND (confirmed_at IS NOT NULL) = $2",
    )
    .bind(person.number())
    .bind(confirmed)
    .fetch_optional(connection)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let confirmed_at: Option<OffsetDateTime> = row.try_get("confirmed_at")?;
    Ok(Some(SecondFactor {
        id: row.try_get("id")?,
        sealed: row.try_get("secret")?,
        confirmed_at: confirmed_at.map(from_sql_time),
    }))
}

/// Begins to set one up, in place of another that was begun.
pub async fn begin_second_factor(
    tx: &mut Tx,
    person: PersonId,
    sealed: &[u8],
) -> Result<(), DbError> {
    sqlx::query("DELETE FROM app.second_factor WHERE person_id = $1 AND confirmed_at IS NULL")
        .bind(person.number())
        .execute(&mut **tx)
        .await?;
    sqlx::query("INSERT INTO app.second_factor (person_id, secret) VALUES ($1, $2)")
        .bind(person.number())
        .bind(sealed)
        .execute(&mut **tx)
        .await?;
    Ok(())
}

/// Makes the one that was begun count from now on, in place of the one before. False if it is gone.
pub async fn confirm_second_factor(
    tx: &mut Tx,
    person: PersonId,
    id: i64,
    step: i64,
) -> Result<bool, DbError> {
    sqlx::query("DELETE FROM app.second_factor WHERE person_id = $1 AND confirmed_at IS NOT NULL")
        .bind(person.number())
        .execute(&mut **tx)
        .await?;
    let done = sqlx::query(
        "UPDATE app.second_factor SET confirmed_at = app.now(), last_step = $3
         WHERE id = $2 AND person_id = $1 AND confirmed_at IS NULL",
    )
    .bind(person.number())
    .bind(id)
    .bind(step)
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Takes the code of a step. False if it, or a later one, was taken before.
pub async fn take_step(tx: &mut Tx, id: i64, step: i64) -> Result<bool, DbError> {
    let done =
        sqlx::query("UPDATE app.second_factor SET last_step = $2 WHERE id = $1 AND last_step < $2")
            .bind(id)
            .bind(step)
            .execute(&mut **tx)
            .await?;
    Ok(done.rows_affected() == 1)
}

/// Takes a recovery code. False if there is no such one, or it was taken before.
pub async fn take_recovery_code(
    tx: &mut Tx,
    person: PersonId,
    code: &TokenHash,
) -> Result<bool, DbError> {
    let done = sqlx::query(
        "UPDATE app.recovery_code SET used_at = app.now()
         WHERE person_id = $1 AND code_hash = $2 AND used_at IS NULL",
    )
    .bind(person.number())
    .bind(&code[..])
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Replaces all recovery codes of a person.
pub async fn set_recovery_codes(
    tx: &mut Tx,
    person: PersonId,
    codes: &[TokenHash],
) -> Result<(), DbError> {
    sqlx::query("DELETE FROM app.recovery_code WHERE person_id = $1")
        .bind(person.number())
        .execute(&mut **tx)
        .await?;
    let hashes: Vec<&[u8]> = codes.iter().map(<[u8; 32]>::as_slice).collect();
    sqlx::query(
        "INSERT INTO app.recovery_code (person_id, code_hash) SELECT $1, c.hash FROM unnest($2::bytea[]) AS c (hash)",
    )
    .bind(person.number())
    .bind(hashes)
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Recovery codes of a person that were not used.
pub async fn recovery_codes_left(
    connection: &mut PgConnection,
    person: PersonId,
) -> Result<i64, DbError> {
    let text = "SELECT count(*) FROM app.recovery_code WHERE person_id = $1 AND used_at IS NULL";
    let left = sqlx::query_scalar(text).bind(person.number());
    Ok(left.fetch_one(connection).await?)
}

/// Removes the second factor of a person. False if there was none.
pub async fn remove_second_factor(tx: &mut Tx, person: PersonId) -> Result<bool, DbError> {
    let removed = sqlx::query("DELETE FROM app.second_factor WHERE person_id = $1")
        .bind(person.number())
        .execute(&mut **tx)
        .await?;
    sqlx::query("DELETE FROM app.recovery_code WHERE person_id = $1")
        .bind(person.number())
        .execute(&mut **tx)
        .await?;
    Ok(removed.rows_affected() > 0)
}

/// Notes that the second factor was given on a device; its token stays.
pub async fn note_second_factor(tx: &mut Tx, id: Uuid) -> Result<(), DbError> {
    sqlx::query("UPDATE app.sign_in SET second_factor_at = app.now() WHERE id = $1")
        .bind(id)
        .execute(&mut **tx)
        .await?;
    Ok(())
}

/// Notes that the second factor was given on a device, with a new token; the step-up begins too. False if the
/// sign-in ended.
pub async fn pass_second_factor(tx: &mut Tx, id: Uuid, token: &TokenHash) -> Result<bool, DbError> {
    let done = sqlx::query(
        "UPDATE app.sign_in SET second_factor_at = app.now(), token_hash = $2,
             stepped_up_until = app.now() + $3 * interval '1 second'
         WHERE id = $1",
    )
    .bind(id)
    .bind(&token[..])
    .bind(super::STEP_UP_SECONDS)
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected() == 1)
}
