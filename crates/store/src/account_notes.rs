//! What operators write down about a customer.

use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row as _};
use time::OffsetDateTime;
use trunkline_db::{DbError, Tx, from_sql_time};
use trunkline_types::{AccountId, Timestamp};

pub const TEXT_MAX_CHARACTERS: usize = 4_000;
/// Notes of one list, the newest.
const LIST_MAX: i64 = 200;

#[derive(Debug, Clone)]
pub struct Note {
    pub id: i64,
    pub text: String,
    pub author: String,
    pub created_at: Timestamp,
}

/// Writes a note; its length was checked.
pub async fn add(
    tx: &mut Tx,
    account: AccountId,
    text: &str,
    author: &str,
) -> Result<Note, DbError> {
    let row = sqlx::query(
        "INSERT INTO app.account_note (account_id, text, author) VALUES ($1, $2, $3)
         RETURNING id, text, author, created_at",
    )
    .bind(account.number())
    .bind(text)
    .bind(author)
    .fetch_one(&mut **tx)
    .await?;
    Note::of_row(&row)
}

/// The notes of an account, newest first.
pub async fn list(connection: &mut PgConnection, account: AccountId) -> Result<Vec<Note>, DbError> {
    let rows = sqlx::query(
        "SELECT id, text, author, created_at FROM app.account_note WHERE account_id = $1
         ORDER BY id DESC LIMIT $2",
    )
    .bind(account.number())
    .bind(LIST_MAX)
    .fetch_all(connection)
    .await?;
    rows.iter().map(Note::of_row).collect()
}

impl Note {
    fn of_row(row: &PgRow) -> Result<Self, DbError> {
        let created_at: OffsetDateTime = row.try_get("created_at")?;
        Ok(Self {
            id: row.try_get("id")?,
            text: row.try_get("text")?,
            author: row.try_get("author")?,
            created_at: from_sql_time(created_at),
        })
    }
}
