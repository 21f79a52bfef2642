//! Stored responses that another generation of keys has sealed, so that they can be sealed anew. A row is named
//! by its account, a slash and its key.

use sqlx::{PgConnection, Row as _};
use trunkline_db::{DbError, Tx};
use trunkline_types::AccountId;
use uuid::Uuid;

/// A stored response as it lies in its row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedResponse {
    /// The row's name.
    pub row: String,
    pub account: AccountId,
    pub request: Uuid,
    pub sealed: Vec<u8>,
}

/// The rows whose response does not begin so.
pub async fn sealed_by_others(
    connection: &mut PgConnection,
    header: &[u8],
) -> Result<Vec<String>, DbError> {
    let rows = sqlx::query_scalar(
        "SELECT account_id || '/' || key FROM ledger.idempotency
         WHERE response IS NOT NULL AND substring(response FOR 3) <> $1",
    )
    .bind(header)
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

/// The responses of rows; those that are gone meanwhile are left out.
pub async fn read(
    connection: &mut PgConnection,
    rows: &[String],
) -> Result<Vec<SealedResponse>, DbError> {
    let found = sqlx::query(
        "SELECT i.account_id || '/' || i.key AS row_name, i.account_id, i.request_id, i.response
         FROM unnest($1::text[]) AS n (name)
         JOIN ledger.idempotency AS i ON i.account_id = split_part(n.name, '/', 1)::bigint
             AND i.key = substr(n.name, strpos(n.name, '/') + 1)
         WHERE i.response IS NOT NULL",
    )
    .bind(rows)
    .fetch_all(connection)
    .await?;
    let read = |row: &sqlx::postgres::PgRow| {
        Ok(SealedResponse {
            row: row.try_get("row_name")?,
            account: AccountId::new(row.try_get("account_id")?),
            request: row.try_get("request_id")?,
            sealed: row.try_get("response")?,
        })
    };
    found.iter().map(read).collect()
}

/// Replaces a response, if it is the one that was read. False if it is not.
pub async fn replace(
    tx: &mut Tx,
    row: &str,
    before: &[u8],
    sealed: &[u8],
) -> Result<bool, DbError> {
    let done = sqlx::query(
        "UPDATE ledger.idempotency SET response = $3
         WHERE account_id = split_part($1, '/', 1)::bigint AND key = substr($1, strpos($1, '/') + 1)
             AND response = $2",
    )
    .bind(row)
    .bind(before)
    .bind(sealed)
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected() == 1)
}
