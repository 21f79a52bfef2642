//! Search of keys: newest first, by a part of their name; and names by id.

use sqlx::{PgConnection, Row as _};
use trunkline_db::DbError;
use trunkline_types::{AccountId, KeyId};

use super::rows::{self, COLUMNS};
use super::{Key, PAGE_MAX_ROWS};

/// Rows that one search scans.
pub const SEARCH_MAX_ROWS: u32 = 5_000;
/// Most names of one query.
const NAMES_MAX: usize = 5_000;

#[derive(Debug, Clone)]
pub struct KeysQuery<'a> {
    pub account: AccountId,
    /// Those whose name or hint has this text, in any case.
    pub text: Option<&'a str>,
    /// Those made before this one.
    pub before: Option<KeyId>,
    pub limit: u32,
}

#[derive(Debug, Clone)]
pub struct KeysPage {
    /// The newest first.
    pub keys: Vec<Key>,
    /// Where the next page goes on: before this key.
    pub next: Option<KeyId>,
}

/// Keys of an account that were not deleted, the newest first.
pub async fn search(
    connection: &mut PgConnection,
    query: &KeysQuery<'_>,
) -> Result<KeysPage, DbError> {
    let most = usize::try_from(query.limit.clamp(1, PAGE_MAX_ROWS)).unwrap_or(usize::MAX);
    let text = format!(
        "SELECT s.* FROM (
             SELECT k.*, row_number() OVER (ORDER BY k.id DESC) AS place,
                 $2::text IS NULL OR strpos(lower(k.name), lower($2)) > 0
                     OR strpos(lower(k.hint), lower($2)) > 0 AS fits
             FROM (SELECT {COLUMNS} FROM app.api_key
                 WHERE account_id = $1 AND deleted_at IS NULL AND id < COALESCE($3, 9223372036854775807)
                 ORDER BY id DESC LIMIT $4) AS k) AS s
         WHERE s.fits OR s.place = $4
         ORDER BY s.id DESC LIMIT $5"
    );
    let rows = sqlx::query(sqlx::AssertSqlSafe(text))
        .bind(query.account.number())
        .bind(query.text)
        .bind(query.before.map(KeyId::number))
        .bind(i64::from(SEARCH_MAX_ROWS))
        .bind(i64::try_from(most.saturating_add(1)).unwrap_or(i64::MAX))
        .fetch_all(connection)
        .await?;
    let mut found = KeysPage {
        keys: Vec::new(),
        next: None,
    };
    for row in &rows {
        let place: i64 = row.try_get("place")?;
        if row.try_get("fits")? {
            found.keys.push(rows::key_of(row)?);
        }
        if place >= i64::from(SEARCH_MAX_ROWS) {
            found.next = Some(KeyId::new(row.try_get("id")?));
        }
    }
    if found.keys.len() > most {
        found.keys.truncate(most);
        found.next = found.keys.last().map(|key| key.id);
    }
    Ok(found)
}

/// A key of an account that was not deleted; a key of another account is treated as unknown.
pub async fn of_account(
    connection: &mut PgConnection,
    account: AccountId,
    id: KeyId,
) -> Result<Option<Key>, DbError> {
    let found = rows::find(connection, id).await?;
    Ok(found.filter(|key| key.account == account && key.deleted_at.is_none()))
}

/// Names of some keys of an account, deleted ones included: usage refers to them.
pub async fn names(
    connection: &mut PgConnection,
    account: AccountId,
    ids: &[KeyId],
) -> Result<Vec<(KeyId, String)>, DbError> {
    let mut numbers: Vec<i64> = ids.iter().map(|id| id.number()).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers.truncate(NAMES_MAX);
    if numbers.is_empty() {
        return Ok(Vec::new());
    }
    let rows =
        sqlx::query("SELECT id, name FROM app.api_key WHERE account_id = $1 AND id = ANY ($2)")
            .bind(account.number())
            .bind(numbers)
            .fetch_all(connection)
            .await?;
    let read =
        |row: &sqlx::postgres::PgRow| Ok((KeyId::new(row.try_get("id")?), row.try_get("name")?));
    rows.iter().map(read).collect()
}
