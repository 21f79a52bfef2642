//! The catalog's rows: written once for each change, followed by revision. Entries are JSON here;
//! `trunkline_catalog` knows their content.

mod history;

use serde_json::Value;
use sqlx::types::Json;
use sqlx::{PgConnection, Row as _};
use time::OffsetDateTime;
use trunkline_db::{DbError, Tx, from_sql_time, revision};
use trunkline_types::Timestamp;

pub use self::history::{HistoryError, book_at, entry_of, header_of};

/// The topic whose numbers the rows carry.
pub const TOPIC: &str = "catalog";
/// Most models that one question brings.
pub const PAGE_MAX_ROWS: i64 = 2_000;
/// Longest note of a change.
pub const NOTE_MAX_CHARACTERS: usize = 500;
/// Longest name of who made a change.
pub const AUTHOR_MAX_CHARACTERS: usize = 100;
/// Changes that a list shows at most.
pub const HISTORY_MAX_ROWS: i64 = 1_000;
/// Changes that are tried for one that can be used.
pub const HISTORY_MAX_USED: i64 = 100;

#[derive(Debug, Clone)]
pub struct NewChange<'a> {
    /// The hash of all prices after it.
    pub pricing_version: [u8; 32],
    pub author: &'a str,
    pub note: &'a str,
    /// Groups and vendors; none if unchanged.
    pub header: Option<&'a Value>,
    /// New and changed models and, without an entry, removed ones.
    pub models: &'a [(String, Option<Value>)],
}

/// A change that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub revision: i64,
    /// The hash of all prices after it.
    pub pricing_version: Vec<u8>,
    pub author: String,
    pub note: String,
    /// When, by the database's clock.
    pub created_at: Timestamp,
}

/// Changes since an earlier revision.
#[derive(Debug, Clone, Default)]
pub struct Changes {
    /// The revision after these changes.
    pub revision: i64,
    /// Groups and vendors, if changed.
    pub header: Option<Value>,
    /// Changed models; none for removed ones.
    pub models: Vec<(String, Option<Value>)>,
}

/// Takes the next revision. Other writers of the catalog wait until this transaction ends, so what
/// is read after this stays valid until then.
pub async fn next_number(tx: &mut Tx) -> Result<i64, DbError> {
    revision::bump(tx, TOPIC).await
}

/// Writes a change under the number that was taken for it. Texts that are too long are cut.
pub async fn write(tx: &mut Tx, number: i64, change: &NewChange<'_>) -> Result<(), DbError> {
    let cut = |text: &str, most| text.chars().take(most).collect::<String>();
    sqlx::query(
        "INSERT INTO app.catalog_change (revision, pricing_version, author, note) VALUES ($1, $2, $3, $4)",
    )
    .bind(number)
    .bind(change.pricing_version.as_slice())
    .bind(cut(change.author, AUTHOR_MAX_CHARACTERS))
    .bind(cut(change.note, NOTE_MAX_CHARACTERS))
    .execute(&mut **tx)
    .await?;
    if let Some(frame) = change.header {
        sqlx::query("INSERT INTO app.catalog_header (revision, header) VALUES ($1, $2)")
            .bind(number)
            .bind(Json(frame))
            .execute(&mut **tx)
            .await?;
    }
    let rows = usize::try_from(PAGE_MAX_ROWS).unwrap_or(usize::MAX);
    for part in change.models.chunks(rows) {
        let names: Vec<&str> = part.iter().map(|(name, _)| name.as_str()).collect();
        let entries: Vec<Option<String>> = part
            .iter()
            .map(|(_, entry)| entry.as_ref().map(Value::to_string))
            .collect();
        sqlx::query(
            "INSERT INTO app.catalog_model (name, revision, entry)
             SELECT n.name, $2, n.entry::jsonb FROM unnest($1::text[], $3::text[]) AS n (name, entry)",
        )
        .bind(names)
        .bind(number)
        .bind(entries)
        .execute(&mut **tx)
        .await?;
    }
    Ok(())
}

/// The newest revision; 0 while there is no catalog.
pub async fn newest(connection: &mut PgConnection) -> Result<i64, DbError> {
    let newest: Option<i64> = sqlx::query_scalar("SELECT max(revision) FROM app.catalog_change")
        .fetch_one(connection)
        .await?;
    Ok(newest.unwrap_or(0))
}

pub async fn changes_between(
    connection: &mut PgConnection,
    seen: i64,
    upto: i64,
) -> Result<Changes, DbError> {
    let frame: Option<Json<Value>> = sqlx::query_scalar(
        "SELECT header FROM app.catalog_header WHERE revision > $1 AND revision <= $2
         ORDER BY revision DESC LIMIT 1",
    )
    .bind(seen)
    .bind(upto)
    .fetch_optional(&mut *connection)
    .await?;
    let mut models = Vec::new();
    let mut after = String::new();
    loop {
        let rows = sqlx::query(
            "SELECT DISTINCT ON (name) name, entry FROM app.catalog_model
             WHERE revision > $1 AND revision <= $2 AND name > $3
             ORDER BY name, revision DESC LIMIT $4",
        )
        .bind(seen)
        .bind(upto)
        .bind(&after)
        .bind(PAGE_MAX_ROWS)
        .fetch_all(&mut *connection)
        .await?;
        let Some(last) = rows.last() else {
            return Ok(Changes {
                revision: upto,
                header: frame.map(|Json(frame)| frame),
                models,
            });
        };
        after = last.try_get("name")?;
        for row in &rows {
            let entry: Option<Json<Value>> = row.try_get("entry")?;
            models.push((row.try_get("name")?, entry.map(|Json(entry)| entry)));
        }
    }
}

/// The newest catalog before a revision that `usable` accepts. Tries at most [`HISTORY_MAX_USED`]
/// revisions.
pub async fn newest_usable<T>(
    connection: &mut PgConnection,
    before: i64,
    usable: impl Fn(Changes) -> Option<T>,
) -> Result<Option<T>, DbError> {
    let numbers: Vec<i64> = sqlx::query_scalar(
        "SELECT revision FROM app.catalog_change WHERE revision < $1 ORDER BY revision DESC LIMIT $2",
    )
    .bind(before)
    .bind(HISTORY_MAX_USED)
    .fetch_all(&mut *connection)
    .await?;
    for number in numbers {
        let changes = changes_between(connection, 0, number).await?;
        if let Some(found) = usable(changes) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// One model, the header and the pricing version at a revision. None if the model or the revision
/// did not exist.
pub async fn model_at(
    connection: &mut PgConnection,
    name: &str,
    revision: i64,
) -> Result<Option<(Value, Value, Vec<u8>)>, DbError> {
    let row = sqlx::query(
        "SELECT m.entry, c.pricing_version,
             (SELECT f.header FROM app.catalog_header AS f WHERE f.revision <= $2
              ORDER BY f.revision DESC LIMIT 1) AS header
         FROM app.catalog_change AS c
         CROSS JOIN LATERAL (SELECT entry FROM app.catalog_model
             WHERE name = $1 AND revision <= $2 ORDER BY revision DESC LIMIT 1) AS m
         WHERE c.revision = $2",
    )
    .bind(name)
    .bind(revision)
    .fetch_optional(connection)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let entry: Option<Json<Value>> = row.try_get("entry")?;
    let frame: Option<Json<Value>> = row.try_get("header")?;
    let version = row.try_get("pricing_version")?;
    Ok(entry
        .zip(frame)
        .map(|(Json(entry), Json(frame))| (entry, frame, version)))
}

/// The newest revision with a pricing version; none if that version is not stored.
pub async fn number_of(
    connection: &mut PgConnection,
    pricing_version: &[u8],
) -> Result<Option<i64>, DbError> {
    let number: Option<i64> = sqlx::query_scalar(
        "SELECT max(revision) FROM app.catalog_change WHERE pricing_version = $1",
    )
    .bind(pricing_version)
    .fetch_one(connection)
    .await?;
    Ok(number)
}

/// The latest changes, newest first.
pub async fn history(connection: &mut PgConnection, limit: i64) -> Result<Vec<Change>, DbError> {
    let rows = sqlx::query(
        "SELECT revision, pricing_version, author, note, created_at FROM app.catalog_change
         ORDER BY revision DESC LIMIT $1",
    )
    .bind(limit.clamp(1, HISTORY_MAX_ROWS))
    .fetch_all(connection)
    .await?;
    let read = |row: &sqlx::postgres::PgRow| {
        let created_at: OffsetDateTime = row.try_get("created_at")?;
        Ok(Change {
            revision: row.try_get("revision")?,
            pricing_version: row.try_get("pricing_version")?,
            author: row.try_get("author")?,
            note: row.try_get("note")?,
            created_at: from_sql_time(created_at),
        })
    };
    rows.iter().map(read).collect()
}
