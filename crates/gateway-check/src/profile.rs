//! What the bench has to know of a gateway: names, formats, prices, and where it tells a charge.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::charge::Prices;
use crate::format::Format;

/// A gateway, as its file describes it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    pub(crate) name: String,
    pub(crate) version: Option<String>,
    /// What a reader of the results should know.
    #[serde(default)]
    pub(crate) notes: Vec<String>,
    /// Whether it tells callers apart by keys, as it was set up.
    #[serde(default = "always")]
    pub(crate) checks_keys: bool,
    /// The gateway's model for each format that an upstream speaks. What it has no model for is not checked.
    pub(crate) models: BTreeMap<Format, String>,
    /// The paths of the formats that clients may speak, `{model}` and `{method}` in Google's; empty is the vendor's.
    pub(crate) formats: BTreeMap<Format, String>,
    /// The simulator's model behind all of them.
    pub(crate) upstream_model: String,
    /// None for a gateway that keeps no prices: it is scored without money.
    pub(crate) prices: Option<Prices>,
    #[serde(default)]
    pub(crate) cost: CostSource,
    /// Checks that fail for a reason, by the beginning of their names.
    #[serde(default)]
    pub(crate) explained: BTreeMap<String, String>,
}

/// Where a gateway says what it charged. The first that answers counts.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CostSource {
    pub(crate) lookup: Option<Lookup>,
    pub(crate) header: Option<String>,
    /// Whether the header of a stream tells its cost: it is sent before the answer. `fields` are read all the same.
    #[serde(default = "always")]
    pub(crate) streams: bool,
    /// JSON pointers into an answer, or into any frame of a stream.
    #[serde(default)]
    pub(crate) fields: Vec<String>,
}

/// A request that tells what a call has cost.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Lookup {
    /// The header of an answer that names the call.
    pub(crate) id_header: String,
    /// With `{id}`. An answer of 404 says that nothing was charged.
    pub(crate) path: String,
    pub(crate) field: String,
}

#[derive(Debug, thiserror::Error)]
#[error("the profile: {0}")]
pub struct ProfileError(#[from] toml::de::Error);

/// That of `trunkline dev`, whose models are called by every format.
const OWN: &str = include_str!("../profiles/trunkline.toml");

// === impl CostSource ===

impl Default for CostSource {
    fn default() -> Self {
        Self {
            lookup: None,
            header: None,
            streams: true,
            fields: Vec::new(),
        }
    }
}

const fn always() -> bool {
    true
}

// === impl Profile ===

impl Profile {
    pub fn read(text: &str) -> Result<Self, ProfileError> {
        Ok(toml::from_str(text)?)
    }

    /// The one for a `trunkline dev`.
    pub fn own() -> Result<Self, ProfileError> {
        Self::read(OWN)
    }

    #[must_use]
    pub fn with_version(mut self, version: Option<String>) -> Self {
        self.version = version.or(self.version);
        self
    }

    pub(crate) fn explanation(&self, id: &str) -> Option<&str> {
        let mut known = self.explained.iter();
        let found = known.find(|(begins, _)| id.starts_with(begins.as_str()))?;
        Some(found.1.as_str())
    }

    /// The path of a format; none if clients may not speak it.
    pub(crate) fn path(&self, format: Format) -> Option<&str> {
        let path = self.formats.get(&format)?;
        Some(match path.is_empty() {
            true => format.usual_path(),
            false => path.as_str(),
        })
    }
}
