//! What the console is told of what is sold. Who tells it is the process that serves it.

use std::sync::Arc;

use http::HeaderMap;
use trunkline_catalog::{Book, GroupChoice, Routes};

/// What is sold, now.
pub trait Shop: Send + Sync {
    /// The catalog.
    fn book(&self) -> Arc<Book>;

    /// What is known of a model's routes.
    fn routes(&self, model: &str) -> Routes;

    /// Changes whenever an answer made of the other two could.
    fn stamp(&self) -> u64;

    /// Whose eyes a request has, by the key that it brings.
    fn viewer(&self, headers: &HeaderMap) -> Viewer;
}

/// Whose eyes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Viewer {
    /// No key was brought.
    Stranger,
    /// A key that opens the door.
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

    /// Tells answers for different eyes apart.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Stranger => "stranger".to_owned(),
            Self::Unknown => "unknown".to_owned(),
            Self::Customer { group, models } => format!("customer {group:?} {models:?}"),
        }
    }
}
