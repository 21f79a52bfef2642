//! The price book: groups, and the price list of every model. Loaded whole or refused whole.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use trunkline_terms::Ratio;

use crate::check::Finding;
use crate::list::{PriceList, RawList};
use crate::unique::unique_keys;
use crate::version::PricingVersion;

/// Most models in one book.
pub const MAX_MODELS: usize = 100_000;
/// Largest book text that is read.
pub const MAX_BOOK_BYTES: usize = 64_000_000;
/// Longest name of a model or group.
const MAX_NAME: usize = 200;

/// A checked price book. Nothing in it changes after loading.
#[derive(Debug, Clone)]
pub struct Book {
    groups: BTreeMap<String, Ratio>,
    auto_groups: Vec<String>,
    models: BTreeMap<String, ModelPrices>,
    version: PricingVersion,
}

/// Prices of one model and the groups it is sold in.
#[derive(Debug, Clone)]
pub struct ModelPrices {
    pub(crate) groups: Vec<String>,
    pub(crate) list: PriceList,
}

/// A price list seen through a group: everything a quote needs.
#[derive(Debug, Clone, Copy)]
pub struct Offer<'a> {
    /// The prices.
    pub list: &'a PriceList,
    /// The group's multiplier.
    pub rate: Ratio,
}

/// The group a key asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupChoice<'a> {
    /// This one.
    Named(&'a str),
    /// The first of the book's automatic groups that sells the model.
    Auto,
}

/// Why a model has no price for a caller.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotSold {
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
    /// Too large to look at.
    #[error("the price book has more than {MAX_BOOK_BYTES} bytes")]
    TooLarge,
    /// It reads, but what it says is wrong.
    #[error("the price book is refused:{}", ListOf(.0))]
    Findings(Vec<Finding>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawBook {
    #[serde(deserialize_with = "unique_keys")]
    groups: BTreeMap<String, RawGroup>,
    #[serde(default)]
    auto_groups: Vec<String>,
    #[serde(default, deserialize_with = "unique_keys")]
    models: BTreeMap<String, RawModel>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawGroup {
    rate: Ratio,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawModel {
    groups: Vec<String>,
    prices: RawList,
}

// === impl Book ===

impl Book {
    /// Reads and checks a book written as TOML.
    pub fn from_toml(text: &str) -> Result<Self, BookError> {
        bounded(text)?;
        let raw = toml::from_str(text).map_err(|error| BookError::Shape(error.to_string()))?;
        Self::check(raw)
    }

    /// Reads and checks a book written as JSON.
    pub fn from_json(text: &str) -> Result<Self, BookError> {
        bounded(text)?;
        let raw =
            serde_json::from_str(text).map_err(|error| BookError::Shape(error.to_string()))?;
        Self::check(raw)
    }

    fn check(raw: RawBook) -> Result<Self, BookError> {
        let mut findings = Vec::new();
        let mut say = |text: String| findings.push(Finding::from(text));
        if raw.models.len() > MAX_MODELS {
            say(format!(
                "{} models; at most {MAX_MODELS} are allowed",
                raw.models.len()
            ));
        }
        for name in raw.groups.keys().chain(raw.models.keys()) {
            if name.is_empty() || name.len() > MAX_NAME || name.chars().any(char::is_control) {
                say(format!(
                    "name {name:?} must have 1 to {MAX_NAME} printable characters"
                ));
            }
        }
        for (position, group) in raw.auto_groups.iter().enumerate() {
            if !raw.groups.contains_key(group) {
                say(format!("auto_groups names {group:?}, which is no group"));
            }
            if raw
                .auto_groups
                .iter()
                .take(position)
                .any(|earlier| earlier == group)
            {
                say(format!("auto_groups names {group:?} twice"));
            }
        }
        let groups: BTreeMap<String, Ratio> = raw
            .groups
            .into_iter()
            .map(|(name, group)| (name, group.rate))
            .collect();
        let mut models = BTreeMap::new();
        for (name, model) in raw.models {
            match check_model(model, &groups) {
                Ok(prices) => {
                    models.insert(name, prices);
                }
                Err(wrong) => wrong
                    .iter()
                    .for_each(|finding| say(format!("model {name:?}: {finding}"))),
            }
        }
        if !findings.is_empty() {
            return Err(BookError::Findings(findings));
        }
        let version = PricingVersion::of(&groups, &raw.auto_groups, &models);
        Ok(Self {
            groups,
            auto_groups: raw.auto_groups,
            models,
            version,
        })
    }

    /// The hash that names this set of prices.
    #[must_use]
    pub const fn version(&self) -> PricingVersion {
        self.version
    }

    /// The groups tried in order for a key set to `auto`.
    #[must_use]
    pub fn auto_groups(&self) -> &[String] {
        &self.auto_groups
    }

    /// The models' names, sorted.
    pub fn models(&self) -> impl Iterator<Item = &str> {
        self.models.keys().map(String::as_str)
    }

    /// A model's prices.
    #[must_use]
    pub fn model(&self, name: &str) -> Option<&ModelPrices> {
        self.models.get(name)
    }

    /// The prices a caller gets for a model, and the group they come from.
    pub fn offer<'a>(
        &'a self,
        model: &str,
        choice: GroupChoice<'a>,
    ) -> Result<(&'a str, Offer<'a>), NotSold> {
        let prices = self
            .model(model)
            .ok_or_else(|| NotSold::UnknownModel(model.to_owned()))?;
        let in_group = |name: &'a str| {
            let sold = prices.groups.iter().any(|group| group == name);
            let rate = self.groups.get(name).filter(|_| sold)?;
            Some((
                name,
                Offer {
                    list: &prices.list,
                    rate: *rate,
                },
            ))
        };
        let found = match choice {
            GroupChoice::Named(name) => in_group(name),
            GroupChoice::Auto => self.auto_groups.iter().find_map(|name| in_group(name)),
        };
        found.ok_or(NotSold::OtherGroups)
    }
}

// === impl ModelPrices ===

impl ModelPrices {
    /// The groups the model is sold in, sorted.
    #[must_use]
    pub fn groups(&self) -> &[String] {
        &self.groups
    }

    /// The price list.
    #[must_use]
    pub const fn list(&self) -> &PriceList {
        &self.list
    }
}

fn bounded(text: &str) -> Result<(), BookError> {
    if text.len() > MAX_BOOK_BYTES {
        Err(BookError::TooLarge)
    } else {
        Ok(())
    }
}

fn check_model(
    model: RawModel,
    known_groups: &BTreeMap<String, Ratio>,
) -> Result<ModelPrices, Vec<Finding>> {
    let RawModel { mut groups, prices } = model;
    groups.sort();
    groups.dedup();
    let mut findings = Vec::new();
    if groups.is_empty() {
        findings.push(Finding::from("it is sold in no group".to_owned()));
    }
    for group in groups
        .iter()
        .filter(|group| !known_groups.contains_key(*group))
    {
        findings.push(Finding::from(format!(
            "it is sold in {group:?}, which is no group"
        )));
    }
    match prices.check() {
        Ok(list) if findings.is_empty() => Ok(ModelPrices { groups, list }),
        Ok(_) => Err(findings),
        Err(wrong) => {
            findings.extend(wrong);
            Err(findings)
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
