//! Descendants of a key, at any depth.

use sqlx::PgConnection;
use trunkline_db::DbError;
use trunkline_types::{AccountId, KeyId};

use super::{Key, PAGE_MAX_ROWS, rows};

/// Whether a key that is not deleted descends from another of the account. The ledger bounds the
/// depth.
pub async fn is_descendant(
    connection: &mut PgConnection,
    account: AccountId,
    above: KeyId,
    key: KeyId,
) -> Result<bool, DbError> {
    let found: bool = sqlx::query_scalar(
        "WITH RECURSIVE line (id, parent_id) AS (
             SELECT k.id, k.parent_id FROM app.api_key AS k
             WHERE k.account_id = $1 AND k.id = $3 AND k.deleted_at IS NULL
             UNION
             SELECT k.id, k.parent_id FROM app.api_key AS k
             JOIN line AS l ON k.account_id = $1 AND k.id = l.parent_id
         )
         SELECT EXISTS (SELECT FROM line WHERE parent_id = $2)",
    )
    .bind(account.number())
    .bind(above.number())
    .bind(key.number())
    .fetch_one(connection)
    .await?;
    Ok(found)
}

/// The keys below a key that were not deleted, oldest first, from after a given one. At most
/// [`PAGE_MAX_ROWS`].
pub async fn list_descendants(
    connection: &mut PgConnection,
    account: AccountId,
    above: KeyId,
    after: Option<KeyId>,
    limit: u32,
) -> Result<Vec<Key>, DbError> {
    let found = sqlx::query(
        "WITH RECURSIVE family (id) AS (
             SELECT k.id FROM app.api_key AS k WHERE k.account_id = $1 AND k.parent_id = $2
             UNION
             SELECT k.id FROM app.api_key AS k
             JOIN family AS f ON k.account_id = $1 AND k.parent_id = f.id
         )
         SELECT k.id, account_id, parent_id, name, key_hash, hint, group_name, models, endpoints,
             platforms, addresses::text[] AS addresses, regions, requests_per_minute,
             tokens_per_minute, concurrent_calls, strict, fit_to_balance, zero_retention, on_disconnect, policy, max_input_nanos,
             max_output_nanos, max_unit_nanos, residencies, upstream_zero_retention, expires_at,
             revoked_at, disabled_at, previous_hash, previous_until, deleted_at, created_at, revision
         FROM app.api_key AS k JOIN family AS f ON f.id = k.id
         WHERE k.id > $3 AND k.deleted_at IS NULL ORDER BY k.id LIMIT $4",
    )
    .bind(account.number())
    .bind(above.number())
    .bind(after.map_or(0, KeyId::number))
    .bind(i64::from(limit.min(PAGE_MAX_ROWS)))
    .fetch_all(connection)
    .await?;
    found.iter().map(rows::key_of).collect()
}
