//! The end of an account, and what is erased of it: names and addresses of people, names of keys, notes, webhooks and
//! emails. What moved money stays, under the account's number.

use trunkline_db::{DbError, Tx, revision};
use trunkline_types::{AccountId, KeyId};

use crate::{accounts, keys};

/// What an erased account or key is called.
const ERASED: &str = "erased";

/// Closes an account and revokes its keys. False if there is no such open account.
pub async fn close(tx: &mut Tx, account: AccountId, by: &str) -> Result<bool, DbError> {
    let number = revision::bump(tx, accounts::TOPIC).await?;
    let done = sqlx::query(
        "UPDATE app.account SET closed_at = app.now(), revision = $2 WHERE id = $1 AND closed_at IS NULL",
    )
    .bind(account.number())
    .bind(number)
    .execute(&mut **tx)
    .await?;
    if done.rows_affected() == 0 {
        return Ok(false);
    }
    // A key takes those below it along.
    let top: Vec<i64> = sqlx::query_scalar(
        "SELECT id FROM app.api_key WHERE account_id = $1 AND parent_id IS NULL AND deleted_at IS NULL ORDER BY id",
    )
    .bind(account.number())
    .fetch_all(&mut **tx)
    .await?;
    for key in top {
        keys::delete(tx, KeyId::new(key), by).await?;
    }
    Ok(true)
}

/// Erases what names people of a closed account. Members who have no other account are erased with it.
pub async fn erase(tx: &mut Tx, account: AccountId) -> Result<(), DbError> {
    let number = revision::bump(tx, accounts::TOPIC).await?;
    let key_number = revision::bump(tx, keys::TOPIC).await?;
    let id = account.number();
    sqlx::query("UPDATE app.account SET name = $2, aliases = '{}', revision = $3 WHERE id = $1")
        .bind(id)
        .bind(ERASED)
        .bind(number)
        .execute(&mut **tx)
        .await?;
    sqlx::query("UPDATE app.api_key SET name = $2, revision = $3 WHERE account_id = $1")
        .bind(id)
        .bind(ERASED)
        .bind(key_number)
        .execute(&mut **tx)
        .await?;
    let alone: Vec<i64> = sqlx::query_scalar(
        "SELECT m.person_id FROM app.member AS m JOIN app.person AS p ON p.id = m.person_id AND NOT p.is_operator
         WHERE m.account_id = $1 AND NOT EXISTS (
             SELECT FROM app.member AS o WHERE o.person_id = m.person_id AND o.account_id <> $1)",
    )
    .bind(id)
    .fetch_all(&mut **tx)
    .await?;
    for text in [
        "DELETE FROM app.account_note WHERE account_id = $1",
        "DELETE FROM app.webhook_delivery WHERE webhook_id IN (SELECT id FROM app.webhook WHERE account_id = $1)",
        "DELETE FROM app.task_webhook WHERE account_id = $1",
        "DELETE FROM app.webhook WHERE account_id = $1",
        "UPDATE app.invitation SET email = 'erased@invalid',
             revoked_at = CASE WHEN accepted_at IS NULL THEN COALESCE(revoked_at, app.now()) END
         WHERE account_id = $1",
        "UPDATE app.sign_in SET account_id = NULL WHERE account_id = $1",
        "UPDATE app.sign_in SET viewing_id = NULL WHERE viewing_id = $1",
        "DELETE FROM app.member WHERE account_id = $1",
    ] {
        sqlx::query(text).bind(id).execute(&mut **tx).await?;
    }
    for text in [
        "DELETE FROM app.sign_in WHERE person_id = ANY ($1)",
        "DELETE FROM app.second_factor WHERE person_id = ANY ($1)",
        "DELETE FROM app.recovery_code WHERE person_id = ANY ($1)",
        "DELETE FROM app.person_token WHERE person_id = ANY ($1)",
        "DELETE FROM app.person_identity WHERE person_id = ANY ($1)",
        "DELETE FROM app.email WHERE to_address IN (SELECT email FROM app.person WHERE id = ANY ($1))",
        "UPDATE app.person SET email = 'erased-' || id || '@invalid', name = 'erased', password_hash = NULL,
             email_verified_at = NULL, disabled_at = app.now()
         WHERE id = ANY ($1)",
    ] {
        sqlx::query(text)
            .bind(&alone)
            .execute(&mut **tx)
            .await?;
    }
    Ok(())
}
