//! What is sold, as this node has it: one immutable snapshot, exchanged whole when the database has
//! a newer one. Calls keep the snapshot they began with.

use std::sync::Arc;

use trunkline_catalog::{Book, BookError};
use trunkline_db::{DbError, Session};
use trunkline_store::catalog::{self, Changes, HistoryError, entry_of, header_of};

/// A catalog and its number.
#[derive(Debug, Clone)]
pub struct CatalogSnapshot {
    /// The number of its last change.
    pub revision: i64,
    pub book: Arc<Book>,
}

/// Why a stored catalog is not used.
#[derive(Debug, thiserror::Error)]
pub enum CatalogLoadError {
    /// The database said no, or nothing.
    #[error(transparent)]
    Db(#[from] DbError),
    /// It does not pass its checks.
    #[error(transparent)]
    Book(#[from] BookError),
    /// Something stored is not what it should be.
    #[error("{what} cannot be read: {why}")]
    Unreadable { what: String, why: String },
}

impl CatalogSnapshot {
    #[must_use]
    pub fn empty() -> Self {
        Self {
            revision: 0,
            book: Arc::new(Book::empty()),
        }
    }

    /// The catalog as the database has it at its newest number.
    pub async fn load(session: &mut Session) -> Result<Self, CatalogLoadError> {
        let newest = catalog::newest(session).await?;
        Self::empty().at(session, newest).await
    }

    /// The catalog that changes from nothing lead to.
    pub(crate) fn of_changes(changes: Changes) -> Result<Self, CatalogLoadError> {
        let revision = changes.revision;
        let book = Arc::new(changed(&Book::empty(), changes)?);
        Ok(Self { revision, book })
    }

    /// This catalog, brought to a later number. What did not change is shared.
    pub(crate) async fn at(
        &self,
        session: &mut Session,
        revision: i64,
    ) -> Result<Self, CatalogLoadError> {
        let changes = catalog::changes_between(session, self.revision, revision).await?;
        // Hundreds of price lists may have to be checked; calls must not wait for that.
        let before = Arc::clone(&self.book);
        let built = tokio::task::spawn_blocking(move || changed(&before, changes));
        let book = built.await.map_err(|error| CatalogLoadError::Unreadable {
            what: "the catalog".to_owned(),
            why: error.to_string(),
        })??;
        let book = Arc::new(book);
        Ok(Self { revision, book })
    }
}

fn changed(before: &Book, changes: Changes) -> Result<Book, CatalogLoadError> {
    let frame = changes.header.map(header_of).transpose()?;
    let mut models = Vec::with_capacity(changes.models.len());
    for (name, entry) in changes.models {
        let entry = entry.map(|entry| entry_of(&name, entry)).transpose()?;
        models.push((name, entry));
    }
    Ok(before.changed(frame, models)?)
}

impl From<HistoryError> for CatalogLoadError {
    fn from(error: HistoryError) -> Self {
        match error {
            HistoryError::Db(error) => Self::Db(error),
            HistoryError::Book(error) => Self::Book(error),
            HistoryError::Unreadable { what, why } => Self::Unreadable { what, why },
        }
    }
}
