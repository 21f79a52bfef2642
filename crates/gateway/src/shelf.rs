//! What is sold: the price book, and what a model can do. One immutable snapshot.

use std::collections::BTreeMap;

use serde::Deserialize;
use trunkline_catalog::{Book, BookError};

/// Output tokens of a model whose record does not say.
const DEFAULT_MAX_OUTPUT: u64 = 8_192;
const MAX_RECORDS_BYTES: usize = 16_000_000;

/// A rule of one model beyond those of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Restriction {
    /// Tools only with `reasoning_effort` `none`.
    ToolsNeedEffortNone,
    /// `tool_choice` may be `auto` or `none`.
    ToolChoiceFreeOnly,
    /// Messages of the roles of role-play need a `name`.
    RolesNeedNames,
}

/// What a model can do.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Output tokens of one answer at most.
    #[serde(default = "default_max_output")]
    pub max_output: u64,
    /// Whether it thinks before it answers.
    #[serde(default)]
    pub reasoning: bool,
    /// The words for how hard it may think.
    #[serde(default = "default_efforts")]
    pub efforts: Vec<String>,
    /// What it does not take although the format allows it.
    #[serde(default)]
    pub restrictions: Vec<Restriction>,
    /// Who made it.
    #[serde(default)]
    pub owner: String,
    /// Since when it is sold, seconds since the epoch.
    #[serde(default)]
    pub created: i64,
}

/// Prices and records.
#[derive(Debug, Clone)]
pub struct Shelf {
    /// The prices.
    pub book: Book,
    records: BTreeMap<String, Record>,
}

/// Why there is no shelf.
#[derive(Debug, thiserror::Error)]
pub enum ShelfError {
    /// The prices are not usable.
    #[error(transparent)]
    Book(#[from] BookError),
    /// The records are not usable.
    #[error("the model records cannot be read: {0}")]
    Records(String),
}

impl Shelf {
    /// Reads prices and records, each written as TOML. A record is a table named by its model.
    pub fn from_toml(book: &str, records: &str) -> Result<Self, ShelfError> {
        let book = Book::from_toml(book)?;
        if records.len() > MAX_RECORDS_BYTES {
            return Err(ShelfError::Records("the file is too large".to_owned()));
        }
        let records: BTreeMap<String, Record> =
            toml::from_str(records).map_err(|error| ShelfError::Records(error.to_string()))?;
        if let Some(unsold) = records.keys().find(|name| book.model(name).is_none()) {
            let text = format!("{unsold:?} has a record and no price");
            return Err(ShelfError::Records(text));
        }
        Ok(Self { book, records })
    }

    /// What a model can do; the defaults where nothing is written.
    #[must_use]
    pub fn record(&self, model: &str) -> Record {
        self.records.get(model).cloned().unwrap_or_default()
    }
}

impl Default for Record {
    fn default() -> Self {
        Self {
            max_output: DEFAULT_MAX_OUTPUT,
            reasoning: false,
            efforts: default_efforts(),
            restrictions: Vec::new(),
            owner: String::new(),
            created: 0,
        }
    }
}

fn default_efforts() -> Vec<String> {
    ["low", "medium", "high"].map(str::to_owned).to_vec()
}

const fn default_max_output() -> u64 {
    DEFAULT_MAX_OUTPUT
}
