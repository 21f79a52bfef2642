//! What the console is told of what is sold. Who tells it is the process that serves it.

use std::sync::Arc;

use http::HeaderMap;
use trunkline_catalog::{Book, GroupChoice, PriceClass, Routes};
use trunkline_social::Cell;
use trunkline_terms::Money;

use crate::fault::{Fault, Kind};

/// What is sold, now.
pub trait Shop: Send + Sync {
    /// The catalog.
    fn book(&self) -> Arc<Book>;

    /// What is known of a model's routes.
    fn routes(&self, model: &str) -> Routes;

    /// Every cell of social data, in the order in which they are shown.
    fn cells(&self) -> Vec<SocialCell>;

    /// Changes whenever an answer made of the others could.
    fn stamp(&self) -> u64;

    /// Whose eyes a request has, by the key that it brings.
    fn viewer(&self, headers: &HeaderMap) -> Viewer;
}

/// A cell of social data as it stands.
#[derive(Debug, Clone)]
pub struct SocialCell {
    /// The cell.
    pub cell: Arc<Cell>,
    /// Whether somebody has taken it off sale.
    pub is_paused: bool,
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
    /// Whose eyes a request has; a key that is not known is refused.
    pub(crate) fn of(shop: &dyn Shop, headers: &HeaderMap) -> Result<Self, Fault> {
        match shop.viewer(headers) {
            Self::Unknown => {
                let text = "this API key is not known; leave it out to see what strangers see";
                Err(Fault::new(Kind::UnknownKey, text))
            }
            viewer @ (Self::Stranger | Self::Customer { .. }) => Ok(viewer),
        }
    }

    /// What one call of a cell costs in the viewer's group; none where it has no price there. Which
    /// models a key may use changes no price, and nobody calls a cell who has not paid in.
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

    /// Tells answers for different eyes apart.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Stranger => "stranger".to_owned(),
            Self::Unknown => "unknown".to_owned(),
            Self::Customer { group, models } => format!("customer {group:?} {models:?}"),
        }
    }
}
