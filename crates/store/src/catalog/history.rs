//! Historical prices: one model at a past revision, as a catalog of its own.

use std::collections::BTreeMap;

use serde_json::Value;
use sqlx::PgConnection;
use trunkline_catalog::{Book, BookError, CatalogHeader, Document, Entry};
use trunkline_db::DbError;

use super::model_at;

/// Why stored prices are not used.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// The database refused, or did not answer.
    #[error(transparent)]
    Db(#[from] DbError),
    /// They do not pass their checks.
    #[error(transparent)]
    Book(#[from] BookError),
    /// Something stored is not what it should be.
    #[error("{what} cannot be read: {why}")]
    Unreadable { what: String, why: String },
}

/// One model at a past revision, and the pricing version then. None if the model or the revision
/// did not exist.
pub async fn book_at(
    connection: &mut PgConnection,
    name: &str,
    revision: i64,
) -> Result<Option<(Book, [u8; 32])>, HistoryError> {
    let Some((entry, frame, version)) = model_at(connection, name, revision).await? else {
        return Ok(None);
    };
    let Ok(version) = <[u8; 32]>::try_from(version.as_slice()) else {
        return Ok(None);
    };
    let models = BTreeMap::from([(name.to_owned(), entry_of(name, entry)?)]);
    let book = Book::check(Document::of_parts(header_of(frame)?, models))?;
    Ok(Some((book, version)))
}

/// The stored header of a catalog.
pub fn header_of(value: Value) -> Result<CatalogHeader, HistoryError> {
    serde_json::from_value(value).map_err(|error| HistoryError::Unreadable {
        what: "the catalog's frame".to_owned(),
        why: error.to_string(),
    })
}

/// A model's entry as it is stored.
pub fn entry_of(name: &str, value: Value) -> Result<Entry, HistoryError> {
    serde_json::from_value(value).map_err(|error| HistoryError::Unreadable {
        what: format!("model {name:?}"),
        why: error.to_string(),
    })
}
