//! Changing what is sold: the whole catalog after the change is checked before a row is written, so
//! a bad one is refused and the last good one stays.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use trunkline_account_api::events::{CatalogNews, catalog_events};
use trunkline_catalog::{Book, BookError, CatalogHeader, Document, Entry};
use trunkline_db::{DbError, Tx, events};
use trunkline_store::catalog::{self, Changes, NewChange};

use crate::catalog_snapshot::{CatalogLoadError, CatalogSnapshot};

/// What is to be other.
#[derive(Debug, Clone, Default)]
pub struct Change {
    /// Groups and vendors; none if they stay.
    pub frame: Option<CatalogHeader>,
    /// Models that are new or other, and, without an entry, those to be sold no more.
    pub models: BTreeMap<String, Option<Entry>>,
}

/// The author of a change, and the reason.
#[derive(Debug, Clone, Copy)]
pub struct ChangeAuthor<'a> {
    pub author: &'a str,
    pub note: &'a str,
}

#[derive(Debug, Clone)]
pub struct Published {
    pub before: CatalogSnapshot,
    /// The catalog after; the same if nothing was other.
    pub after: CatalogSnapshot,
    /// How many models were added, changed or taken off.
    pub models: usize,
}

#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// The catalog after the change does not pass its checks.
    #[error(transparent)]
    Refused(#[from] BookError),
    /// The catalog before cannot be read.
    #[error("the stored catalog is not usable: {0}")]
    Stored(CatalogLoadError),
    /// Something cannot be written as JSON.
    #[error("it cannot be written: {0}")]
    Unwritable(#[from] serde_json::Error),
    /// The database said no, or nothing.
    #[error(transparent)]
    Db(#[from] DbError),
}

impl Change {
    /// What leads from one catalog to exactly another one.
    #[must_use]
    pub fn to(document: Document, before: &Book) -> Self {
        let mut change = Self::with(document);
        let gone = before
            .models()
            .filter(|name| !change.models.contains_key(*name));
        let gone: Vec<String> = gone.map(str::to_owned).collect();
        change
            .models
            .extend(gone.into_iter().map(|name| (name, None)));
        change
    }

    /// What adds a catalog's groups, vendors and models to another one, in place of those of the same
    /// names.
    #[must_use]
    pub fn adding(document: Document, before: &Book) -> Self {
        let mut change = Self::with(document);
        let mut frame = before.header().clone();
        if let Some(added) = change.frame.take() {
            frame.groups.extend(added.groups);
            frame.vendors.extend(added.vendors);
            if !added.auto_groups.is_empty() {
                frame.auto_groups = added.auto_groups;
            }
        }
        change.frame = Some(frame);
        change
    }

    /// What makes a catalog's frame the whole frame, and adds its models.
    fn with(document: Document) -> Self {
        let (frame, models) = document.into_parts();
        Self {
            frame: Some(frame),
            models: models
                .into_iter()
                .map(|(name, entry)| (name, Some(entry)))
                .collect(),
        }
    }
}

/// Changes the catalog. Two of these take turns; the second one sees what the first one wrote.
///
/// The change is made of the catalog as it is then. If the stored one does not pass its checks, it is
/// made of the last good one, and reverts what was written since.
pub async fn publish(
    tx: &mut Tx,
    signed: ChangeAuthor<'_>,
    change: impl FnOnce(&Book) -> Change,
) -> Result<Published, PublishError> {
    let number = catalog::next_number(tx).await?;
    let (before, spoilt) = stored(tx).await?;
    let mut change = without_sames(change(&before.book), &before.book);
    if let Some(spoilt) = spoilt {
        restore(&mut change, spoilt, &before.book);
    }
    if change.frame.is_none() && change.models.is_empty() {
        return Ok(Published {
            after: before.clone(),
            before,
            models: 0,
        });
    }
    let book = before
        .book
        .changed(change.frame.clone(), change.models.clone())?;
    let frame = change
        .frame
        .as_ref()
        .map(serde_json::to_value)
        .transpose()?;
    let mut models: Vec<(String, Option<Value>)> = Vec::with_capacity(change.models.len());
    for (name, entry) in change.models {
        let entry = entry.as_ref().map(serde_json::to_value).transpose()?;
        models.push((name, entry));
    }
    let new = NewChange {
        pricing_version: book.version().bytes(),
        author: signed.author,
        note: signed.note,
        header: frame.as_ref(),
        models: &models,
    };
    catalog::write(tx, number, &new).await?;
    let news = CatalogNews::between(&before.book, &book);
    let published = catalog_events(number, &book.version().to_string(), &news);
    events::append(tx, &published).await?;
    Ok(Published {
        before,
        after: CatalogSnapshot {
            revision: number,
            book: Arc::new(book),
        },
        models: models.len(),
    })
}

/// The catalog as this transaction sees it. If it cannot be used, then the last one that can, and what
/// was written since.
async fn stored(tx: &mut Tx) -> Result<(CatalogSnapshot, Option<Changes>), PublishError> {
    let newest = catalog::newest(tx).await?;
    let changes = catalog::changes_between(tx, 0, newest).await?;
    let error = match CatalogSnapshot::of_changes(changes) {
        Ok(snapshot) => return Ok((snapshot, None)),
        Err(error) => error,
    };
    let usable = |changes| CatalogSnapshot::of_changes(changes).ok();
    let Some(good) = catalog::newest_usable(tx, newest, usable).await? else {
        return Err(PublishError::Stored(error));
    };
    let spoilt = catalog::changes_between(tx, good.revision, newest).await?;
    Ok((good, Some(spoilt)))
}

/// Whatever was written since the last good catalog, and is not changed now, is as it was then.
fn restore(change: &mut Change, spoilt: Changes, good: &Book) {
    if spoilt.header.is_some() && change.frame.is_none() {
        change.frame = Some(good.header().clone());
    }
    for (name, _) in spoilt.models {
        let entry = good.model(&name).map(|model| model.entry().clone());
        change.models.entry(name).or_insert(entry);
    }
}

fn without_sames(mut change: Change, before: &Book) -> Change {
    change.frame = change.frame.filter(|frame| frame != before.header());
    change.models.retain(|name, entry| {
        let known = before.model(name).map(|model| model.entry());
        known != entry.as_ref()
    });
    change
}
