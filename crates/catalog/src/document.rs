//! A catalog as it is written down: the groups, the vendors and one entry for each model. The same
//! words in files and in the database; unchecked.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use trunkline_types::{EndpointType, Ratio, Timestamp};

use crate::extra_prices::ExtraPrices;
use crate::price_list::RawList;
use crate::rules::{ParameterPolicy, Rule};
use crate::specs::Specs;
use crate::unique_map::unique_keys;
use crate::vendor_list::ListPrice;

/// Largest text of a catalog that is read.
pub const MAX_BOOK_BYTES: usize = 64_000_000;

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// Named views of the prices.
    #[serde(default, deserialize_with = "unique_keys")]
    pub groups: BTreeMap<String, Group>,
    /// The groups tried in order for a key set to `auto`.
    #[serde(default)]
    pub auto_groups: Vec<String>,
    #[serde(
        default,
        deserialize_with = "unique_keys",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub vendors: BTreeMap<String, Vendor>,
    /// The models by their public names.
    #[serde(default, deserialize_with = "unique_keys")]
    pub models: BTreeMap<String, Entry>,
}

/// What stands beside the models: small, and changed as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CatalogHeader {
    /// Named views of the prices.
    #[serde(default, deserialize_with = "unique_keys")]
    pub groups: BTreeMap<String, Group>,
    /// The groups tried in order for a key set to `auto`.
    #[serde(default)]
    pub auto_groups: Vec<String>,
    #[serde(default, deserialize_with = "unique_keys")]
    pub vendors: BTreeMap<String, Vendor>,
}

/// A named view of the prices.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// What every price is multiplied by.
    pub rate: Ratio,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vendor {
    /// The number that records carry.
    pub id: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The icon of its models that have none of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icon: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub website: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The groups it is sold in.
    pub groups: Vec<String>,
    /// What it is sold for.
    pub prices: RawList,
    /// What else has a price, on lines of its own.
    #[serde(default, skip_serializing_if = "ExtraPrices::is_empty")]
    pub extra_prices: ExtraPrices,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vendor: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icon: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Hidden from callers without a key.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub login_required: bool,
    /// The endpoints it can be called through.
    #[serde(default = "chat_endpoints")]
    pub endpoints: Vec<EndpointType>,
    /// Its modalities, as the catalog names them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<String>,
    /// Its tasks, as the catalog names them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<String>,
    /// What it can do, in numbers.
    #[serde(default)]
    pub specs: Specs,
    /// The voice that the console offers first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_voice: Option<String>,
    /// The default format of speech.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_response_format: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speech_input: Option<String>,
    /// The only formats that may be uploaded; all if it does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted_upload_formats: Option<Vec<String>>,
    /// What its vendor asks for it, by source.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub list: Vec<ListPrice>,
    /// What it refuses although its format allows it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<Rule>,
    /// What is done with single fields of a request.
    #[serde(
        default,
        deserialize_with = "unique_keys",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub parameters: BTreeMap<String, ParameterPolicy>,
    /// Fields and tools that are on no list and go on all the same, as `messages[].foo` or
    /// `tools[].type=foo`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pass_fields: Vec<String>,
    /// Since when it is sold, seconds since the epoch.
    #[serde(default)]
    pub created: i64,
    /// The day from which new use is discouraged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deprecated_on: Option<String>,
    /// The day on which it is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sunset_on: Option<String>,
    /// The model to use instead from then on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced_by: Option<String>,
}

// === impl Document ===

impl Document {
    /// Reads a catalog written as TOML; nothing in it is checked yet.
    pub fn from_toml(text: &str) -> Result<Self, String> {
        bounded(text)?;
        toml::from_str(text).map_err(|error| error.to_string())
    }

    /// Reads a catalog written as JSON; nothing in it is checked yet.
    pub fn from_json(text: &str) -> Result<Self, String> {
        bounded(text)?;
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    /// Takes another catalog in. What stands in both must be the same, or the names are returned.
    pub fn merge(&mut self, other: Self) -> Result<(), Vec<String>> {
        let mut twice = Vec::new();
        for (name, group) in other.groups {
            if self.groups.get(&name).is_some_and(|known| *known != group) {
                twice.push(format!("group {name:?}"));
            }
            self.groups.insert(name, group);
        }
        for (name, vendor) in other.vendors {
            if self
                .vendors
                .get(&name)
                .is_some_and(|known| *known != vendor)
            {
                twice.push(format!("vendor {name:?}"));
            }
            self.vendors.insert(name, vendor);
        }
        for (name, entry) in other.models {
            if self.models.contains_key(&name) {
                twice.push(format!("model {name:?}"));
            }
            self.models.insert(name, entry);
        }
        for group in other.auto_groups {
            if !self.auto_groups.contains(&group) {
                self.auto_groups.push(group);
            }
        }
        if twice.is_empty() { Ok(()) } else { Err(twice) }
    }

    /// What stands beside the models, and the models.
    #[must_use]
    pub fn into_parts(self) -> (CatalogHeader, BTreeMap<String, Entry>) {
        let header = CatalogHeader {
            groups: self.groups,
            auto_groups: self.auto_groups,
            vendors: self.vendors,
        };
        (header, self.models)
    }

    /// The whole of its parts.
    #[must_use]
    pub fn of_parts(header: CatalogHeader, models: BTreeMap<String, Entry>) -> Self {
        Self {
            groups: header.groups,
            auto_groups: header.auto_groups,
            vendors: header.vendors,
            models,
        }
    }
}

// === impl Entry ===

impl Entry {
    /// Whether it can be called through an endpoint.
    #[must_use]
    pub fn serves(&self, endpoint: EndpointType) -> bool {
        self.endpoints.contains(&endpoint)
    }

    /// Whether there is any endpoint to call it through.
    #[must_use]
    pub fn is_callable(&self) -> bool {
        self.endpoints.iter().any(|endpoint| endpoint.is_callable())
    }

    /// Whether its last day has come. Days are those of UTC.
    #[must_use]
    pub fn is_shut_down(&self, now: Timestamp) -> bool {
        let day = self.sunset_on.as_ref();
        let day = day.and_then(|day| day.parse::<jiff::civil::Date>().ok());
        let midnight = day.and_then(|day| day.to_zoned(jiff::tz::TimeZone::UTC).ok());
        midnight.is_some_and(|midnight| now.seconds() >= midnight.timestamp().as_second())
    }

    /// Whether it thinks before it answers.
    #[must_use]
    pub fn reasons(&self) -> bool {
        self.specs.reasoning_efforts.is_some() || self.tasks.iter().any(|task| task == "reasoning")
    }
}

/// Every chat model takes all three formats unless its record leaves one out.
fn chat_endpoints() -> Vec<EndpointType> {
    vec![
        EndpointType::Openai,
        EndpointType::Anthropic,
        EndpointType::OpenaiResponse,
    ]
}

fn bounded(text: &str) -> Result<(), String> {
    if text.len() > MAX_BOOK_BYTES {
        return Err(format!("it has more than {MAX_BOOK_BYTES} bytes"));
    }
    Ok(())
}
