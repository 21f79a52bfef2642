//! The catalog in use: groups, vendors and every model with its prices. Loaded whole or refused
//! whole, and immutable; a changed one is built beside it and shares what stayed the same.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use trunkline_types::{Exact, Face, Money, OwnKeyMap, Ratio};

use crate::check::Finding;
use crate::document::{CatalogHeader, Document, Entry};
use crate::model::Model;
use crate::price_list::{PriceClass, PriceList};
use crate::version::PricingVersion;

/// Most models in one book.
pub const MAX_MODELS: usize = 100_000;
/// Longest name of a model or group.
const MAX_NAME: usize = 200;

/// A checked catalog. Nothing in it changes after loading.
#[derive(Debug, Clone)]
pub struct Book {
    header: Arc<CatalogHeader>,
    /// A hash lookup: what a call pays for does not grow with the catalog.
    models: OwnKeyMap<Arc<str>, Arc<Model>>,
    /// For lists, which people read in order.
    names: Vec<Arc<str>>,
    version: PricingVersion,
}

/// A model at a caller's price, kept for the length of a call.
#[derive(Debug, Clone)]
pub struct Sale {
    /// The model.
    pub model: Arc<Model>,
    /// The group whose price it is.
    pub group: String,
    pub rate: Ratio,
    /// The set of prices it is from.
    pub version: PricingVersion,
}

/// A price list seen through a group: everything a quote needs.
#[derive(Debug, Clone, Copy)]
pub struct Offer<'a> {
    pub list: &'a PriceList,
    pub rate: Ratio,
}

/// The group a key asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupChoice<'a> {
    Named(&'a str),
    /// The first of the book's automatic groups that sells the model.
    Auto,
    /// The one with the lowest prices of those.
    Cheapest,
}

/// Why a model has no price for a caller.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unavailable {
    /// The book does not know the model.
    #[error("the price book has no model {0:?}")]
    UnknownModel(String),
    /// The model is sold in other groups only.
    #[error("the model is not sold in the groups of this key")]
    OtherGroups,
}

/// Why a book was refused. The last good one stays in use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BookError {
    /// Not TOML or JSON of the right shape, or an unknown key.
    #[error("the price book cannot be read: {0}")]
    Shape(String),
    /// It reads, but what it says is wrong.
    #[error("the price book is refused:{}", ListOf(.0))]
    Findings(Vec<Finding>),
}

// === impl Book ===

impl Book {
    /// Reads and checks a book written as TOML.
    pub fn from_toml(text: &str) -> Result<Self, BookError> {
        Self::check(Document::from_toml(text).map_err(BookError::Shape)?)
    }

    /// Reads and checks a book written as JSON.
    pub fn from_json(text: &str) -> Result<Self, BookError> {
        Self::check(Document::from_json(text).map_err(BookError::Shape)?)
    }

    pub fn check(document: Document) -> Result<Self, BookError> {
        let (header, models) = document.into_parts();
        let entries = models.into_iter().map(|(name, entry)| (name, Some(entry)));
        Self::empty().changed(Some(header), entries)
    }

    /// The icon of a model: its own, or its vendor's.
    #[must_use]
    pub fn icon<'a>(&'a self, entry: &'a Entry) -> Option<&'a str> {
        let own = entry.icon.as_deref();
        own.or_else(|| {
            let vendor = self.header.vendors.get(entry.vendor.as_ref()?)?;
            vendor.icon.as_deref()
        })
    }

    /// A catalog that sells nothing.
    #[must_use]
    pub fn empty() -> Self {
        let header = CatalogHeader::default();
        let version = PricingVersion::of(&header, std::iter::empty());
        Self {
            header: Arc::new(header),
            models: OwnKeyMap::default(),
            names: Vec::new(),
            version,
        }
    }

    /// The catalog after a change: a new frame, or none to keep it, and models that are new, other,
    /// or gone. Models that stay are shared and not checked again, but for their groups.
    pub fn changed(
        &self,
        header: Option<CatalogHeader>,
        entries: impl IntoIterator<Item = (String, Option<Entry>)>,
    ) -> Result<Self, BookError> {
        let mut findings = Vec::new();
        let mut say = |text: String| findings.push(Finding::from(text));
        let header = header.map_or_else(|| Arc::clone(&self.header), Arc::new);
        check_header(&header, &mut say);
        let mut models = self.models.clone();
        for (name, entry) in entries {
            let Some(entry) = entry else {
                models.remove(name.as_str());
                continue;
            };
            check_name(&name, &mut say);
            let name: Arc<str> = Arc::from(name);
            match Model::check(entry) {
                Ok(model) => drop(models.insert(name, Arc::new(model))),
                Err(wrong) => wrong
                    .iter()
                    .for_each(|finding| say(format!("model {name:?}: {finding}"))),
            }
        }
        if models.len() > MAX_MODELS {
            let count = models.len();
            say(format!("{count} models; at most {MAX_MODELS} are allowed"));
        }
        let mut names: Vec<Arc<str>> = models.keys().map(Arc::clone).collect();
        names.sort_unstable();
        for name in &names {
            if let Some(model) = models.get(name) {
                model.check_within(&header, &mut |text| say(format!("model {name:?}: {text}")));
            }
        }
        if !findings.is_empty() {
            return Err(BookError::Findings(findings));
        }
        let in_order = names
            .iter()
            .filter_map(|name| Some((name.as_ref(), models.get(name)?.as_ref())));
        let version = PricingVersion::of(&header, in_order);
        Ok(Self {
            header,
            models,
            names,
            version,
        })
    }

    /// The hash that names this set of prices.
    #[must_use]
    pub const fn version(&self) -> PricingVersion {
        self.version
    }

    #[must_use]
    pub fn header(&self) -> &CatalogHeader {
        &self.header
    }

    /// The groups tried in order for a key set to `auto`.
    #[must_use]
    pub fn auto_groups(&self) -> &[String] {
        &self.header.auto_groups
    }

    /// The models' names, sorted.
    pub fn models(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(AsRef::as_ref)
    }

    /// How many models there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.names.len()
    }

    #[must_use]
    pub fn model(&self, name: &str) -> Option<&Arc<Model>> {
        self.models.get(name)
    }

    /// The catalog as it is written down.
    #[must_use]
    pub fn document(&self) -> Document {
        let entries = self
            .models
            .iter()
            .map(|(name, model)| (name.as_ref().to_owned(), model.entry().clone()));
        Document::of_parts(self.header.as_ref().clone(), entries.collect())
    }

    /// The prices a caller gets for a model, and the group they come from.
    pub fn offer<'a>(
        &'a self,
        model: &str,
        choice: GroupChoice<'a>,
    ) -> Result<(&'a str, Offer<'a>), Unavailable> {
        let model = self.known(model)?;
        let (group, rate) = self.group_of(model, choice)?;
        let list = model.list();
        Ok((group, Offer { list, rate }))
    }

    fn known(&self, model: &str) -> Result<&Arc<Model>, Unavailable> {
        self.model(model)
            .ok_or_else(|| Unavailable::UnknownModel(model.to_owned()))
    }

    /// The group in which a model is sold for a choice, and its multiplier.
    fn group_of<'a>(
        &'a self,
        model: &Model,
        choice: GroupChoice<'a>,
    ) -> Result<(&'a str, Ratio), Unavailable> {
        let rate_in = |name: &'a str| {
            let sold = model.groups().iter().any(|group| group == name);
            let group = self.header.groups.get(name).filter(|_| sold)?;
            Some((name, group.rate))
        };
        let found = match choice {
            GroupChoice::Named(name) => rate_in(name),
            GroupChoice::Auto => self.auto_groups().iter().find_map(|name| rate_in(name)),
            GroupChoice::Cheapest => {
                let selling = self.auto_groups().iter().filter_map(|name| rate_in(name));
                selling.min_by(|(_, one), (_, other)| one.compare(*other))
            }
        };
        found.ok_or(Unavailable::OtherGroups)
    }

    /// The same, to keep.
    pub fn sale(&self, model: &str, choice: GroupChoice<'_>) -> Result<Sale, Unavailable> {
        let model = self.known(model)?;
        let (group, rate) = self.group_of(model, choice)?;
        Ok(Sale {
            model: Arc::clone(model),
            group: group.to_owned(),
            rate,
            version: self.version,
        })
    }
}

// === impl Offer ===

impl Offer<'_> {
    /// What one call costs by the tier that always holds; none where calls have no price.
    #[must_use]
    pub fn call_price(&self, class: PriceClass) -> Option<Money> {
        let tier = self.list.default_tier()?;
        let (_, price) = tier.price(Face::PerCall, class)?;
        let line = Exact::line(1, price).ok()?;
        line.times(self.rate).ok()?.round_half_up().ok()
    }
}

// === impl Sale ===

impl Sale {
    #[must_use]
    pub fn offer(&self) -> Offer<'_> {
        Offer {
            list: self.model.list(),
            rate: self.rate,
        }
    }
}

pub(crate) fn check_name(name: &str, say: &mut impl FnMut(String)) {
    if name.is_empty() || name.len() > MAX_NAME || name.chars().any(char::is_control) {
        say(format!(
            "name {name:?} must have 1 to {MAX_NAME} printable characters"
        ));
    }
}

fn check_header(header: &CatalogHeader, say: &mut impl FnMut(String)) {
    header
        .groups
        .keys()
        .chain(header.vendors.keys())
        .for_each(|name| check_name(name, say));
    for (position, group) in header.auto_groups.iter().enumerate() {
        if !header.groups.contains_key(group) {
            say(format!("auto_groups names {group:?}, which is no group"));
        }
        let mut earlier = header.auto_groups.iter().take(position);
        if earlier.any(|earlier| earlier == group) {
            say(format!("auto_groups names {group:?} twice"));
        }
    }
    let mut numbers = BTreeMap::new();
    for (name, vendor) in &header.vendors {
        if let Some(other) = numbers.insert(vendor.id, name) {
            say(format!("vendors {other:?} and {name:?} have one number"));
        }
    }
}

/// Findings below each other, each on a line.
struct ListOf<'a>(&'a [Finding]);

impl fmt::Display for ListOf<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .iter()
            .try_for_each(|finding| write!(formatter, "\n  {finding}"))
    }
}
