//! The console's port to the gateway: catalog, routes, cells, keys and tasks. The app implements it.

use std::pin::Pin;
use std::sync::Arc;

use http::HeaderMap;
use trunkline_catalog::{Book, GroupChoice, PriceClass, Routes};
use trunkline_db::{DbError, Tx};
use trunkline_social::Cell;
use trunkline_store::tasks::Task;
use trunkline_types::{Money, Timestamp};

use crate::error::{ApiError, ConsoleErrorCode};
use crate::operations::price_preview::CatalogChange;

/// What the console needs of the gateway.
pub trait GatewayPort: Send + Sync {
    fn book(&self) -> Arc<Book>;

    /// What is known of a model's routes.
    fn routes(&self, model: &str) -> Routes;

    /// Every cell of social data, in the order in which they are shown.
    fn cells(&self) -> Vec<SocialCell>;

    /// Changes whenever an answer made of the others could.
    fn stamp(&self) -> u64;

    /// The viewer of a request, by its key.
    fn viewer(&self, headers: &HeaderMap) -> Viewer;

    /// Reloads changed keys, so that a change takes effect here immediately.
    fn refresh_keys(&self) -> BoxFuture<'_, ()>;

    /// Inspects a task, `closely` with its prompt and settings. None if that is unavailable.
    fn inspect_task<'a>(
        &'a self,
        task: &'a Task,
        closely: bool,
    ) -> BoxFuture<'a, Option<TaskInspection>>;

    /// Publishes a change of the catalog within a transaction. The change is made of the catalog as it is then,
    /// behind all others; what the book refuses is told in words.
    fn publish<'a>(
        &'a self,
        tx: &'a mut Tx,
        author: &'a str,
        note: &'a str,
        change: MakeChange<'a>,
    ) -> BoxFuture<'a, Result<PublishedPrices, PublishFault>>;

    /// Cancels a task; false if it continues. None if the outcome is unknown.
    fn stop_task<'a>(&'a self, task: &'a Task) -> BoxFuture<'a, Option<bool>>;
}

/// Makes a change of a book; the error says what is wrong with it.
pub type MakeChange<'a> = Box<dyn FnOnce(&Book) -> Result<CatalogChange, String> + Send + 'a>;

/// The catalog before and after a change.
#[derive(Debug, Clone)]
pub struct PublishedPrices {
    pub before: Arc<Book>,
    /// The revision before.
    pub before_revision: i64,
    pub after: Arc<Book>,
    /// The revision after; the same if nothing was other.
    pub revision: i64,
    /// How many models were added, changed or taken off.
    pub models: usize,
}

/// Why a change was not published.
#[derive(Debug)]
pub enum PublishFault {
    /// The change or the catalog after it is wrong; what is.
    Refused(String),
    Db(DbError),
}

/// Something that takes a while.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

#[derive(Debug, Clone)]
pub struct FileLink {
    pub url: String,
    pub download_url: String,
    /// When both end.
    pub ends: Timestamp,
}

/// What is known of a task beyond its row.
#[derive(Debug, Clone)]
pub struct TaskInspection {
    /// A link to its file, once there is one.
    pub link: Option<FileLink>,
    pub content_type: String,
    /// Estimated progress in percent, if the provider reports none.
    pub guess: Option<u8>,
    /// What was asked for; none when it was forgotten.
    pub prompt: Option<String>,
    pub settings: Vec<(String, String)>,
    /// Whether it is worth trying to stop it.
    pub can_stop: bool,
}

/// A cell of social data as it stands.
#[derive(Debug, Clone)]
pub struct SocialCell {
    pub cell: Arc<Cell>,
    pub is_paused: bool,
}

/// For whom the catalog is rendered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Viewer {
    /// No key was brought.
    Stranger,
    Customer {
        /// The group whose prices apply; none for the first automatic one that sells a model.
        group: Option<String>,
        /// The only models the key may use; none for all.
        models: Option<Vec<String>>,
    },
    /// A key that does not.
    Unknown,
}

impl Viewer {
    /// The viewer of a request by its key alone; an unknown key is rejected.
    pub(crate) fn of(gateway: &dyn GatewayPort, headers: &HeaderMap) -> Result<Self, ApiError> {
        match gateway.viewer(headers) {
            Self::Unknown => {
                let text = "unknown API key; omit it to get the public catalog";
                Err(ApiError::new(ConsoleErrorCode::UnknownKey, text))
            }
            viewer @ (Self::Stranger | Self::Customer { .. }) => Ok(viewer),
        }
    }

    /// What one call of a cell costs in the viewer's group; none where it has no price there. Which
    /// models a key may use changes no price, and only paid accounts can call a cell.
    pub(crate) fn call_price(&self, book: &Book, model: &str) -> Option<Money> {
        let choice = match self {
            Self::Stranger if book.model(model)?.entry().login_required => return None,
            Self::Stranger => GroupChoice::Auto,
            Self::Customer { group, .. } => group
                .as_deref()
                .map_or(GroupChoice::Auto, GroupChoice::Named),
            Self::Unknown => return None,
        };
        let (_, offer) = book.offer(model, choice).ok()?;
        offer.call_price(PriceClass::Paid)
    }

    /// The group whose price of a model is shown; none if it is not shown at all.
    pub(crate) fn group<'a>(&'a self, book: &'a Book, model: &str) -> Option<&'a str> {
        let entry = book.model(model)?.entry();
        let choice = match self {
            Self::Stranger if entry.login_required => return None,
            Self::Stranger => GroupChoice::Auto,
            Self::Customer { group, models } => {
                let allowed = models.as_ref();
                if allowed.is_some_and(|allowed| !allowed.iter().any(|name| name == model)) {
                    return None;
                }
                group
                    .as_deref()
                    .map_or(GroupChoice::Auto, GroupChoice::Named)
            }
            Self::Unknown => return None,
        };
        book.offer(model, choice).ok().map(|(group, _)| group)
    }

    /// Cache key of the viewer.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Stranger => "stranger".to_owned(),
            Self::Unknown => "unknown".to_owned(),
            Self::Customer { group, models } => format!("customer {group:?} {models:?}"),
        }
    }
}
