//! The playground key of a person in an organisation.

use sqlx::{PgConnection, Row as _};
use trunkline_db::{DbError, Tx};
use trunkline_types::{AccountId, KeyId};

use crate::people::PersonId;

/// Locks a person's playground key and returns it.
pub async fn lock_playground_key(
    tx: &mut Tx,
    account: AccountId,
    person: PersonId,
) -> Result<Option<KeyId>, DbError> {
    sqlx::query(
        "SELECT pg_catalog.pg_advisory_xact_lock(
             pg_catalog.hashtextextended('playground key of ' || $1::text || ' ' || $2::text, 0))",
    )
    .bind(account.number())
    .bind(person.number())
    .execute(&mut **tx)
    .await?;
    let row = sqlx::query(
        "SELECT key_id FROM app.playground_key WHERE account_id = $1 AND person_id = $2",
    )
    .bind(account.number())
    .bind(person.number())
    .fetch_optional(&mut **tx)
    .await?;
    Ok(row
        .map(|row| row.try_get("key_id"))
        .transpose()?
        .map(KeyId::new))
}

/// Deletes a person's playground key, for one whose membership or role ends. False if there is none.
pub async fn end_playground_key(
    tx: &mut Tx,
    account: AccountId,
    person: PersonId,
) -> Result<bool, DbError> {
    let Some(key) = lock_playground_key(tx, account, person).await? else {
        return Ok(false);
    };
    let by = format!("person {}", person.number());
    super::delete(tx, key, &by).await?;
    Ok(true)
}

/// Sets a person's playground key.
pub async fn set_playground_key(
    tx: &mut Tx,
    account: AccountId,
    person: PersonId,
    key: KeyId,
) -> Result<(), DbError> {
    let connection: &mut PgConnection = tx;
    sqlx::query(
        "INSERT INTO app.playground_key (account_id, person_id, key_id) VALUES ($1, $2, $3)
         ON CONFLICT (account_id, person_id) DO UPDATE SET key_id = excluded.key_id",
    )
    .bind(account.number())
    .bind(person.number())
    .bind(key.number())
    .execute(connection)
    .await?;
    Ok(())
}
