//! What a price may depend on besides quantities: attributes of the request as it is sent, and the
//! time at which it was admitted.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use trunkline_types::Timestamp;

/// A value that a tier can compare with. Fractions are left out on purpose: equality of floats is
/// no basis for a price.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Scalar {
    /// `true` or `false`.
    Bool(bool),
    Integer(i64),
    Text(String),
}

/// The fields of a request that move its price, by dotted path, as they are sent upstream.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Attributes(BTreeMap<String, Scalar>);

/// The attributes and the time that a price may depend on.
#[derive(Debug, Clone, Copy)]
pub struct PricingContext<'a> {
    pub attributes: &'a Attributes,
    /// One reading of the clock, taken at admission and kept with the request.
    pub at: Timestamp,
}

// === impl Scalar ===

impl fmt::Display for Scalar {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => write!(formatter, "{value}"),
            Self::Integer(value) => write!(formatter, "{value}"),
            Self::Text(value) => write!(formatter, "{value:?}"),
        }
    }
}

impl From<&str> for Scalar {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

// === impl Attributes ===

impl Attributes {
    /// A request without price-moving fields.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// The same with one field set.
    #[must_use]
    pub fn with(mut self, path: &str, value: impl Into<Scalar>) -> Self {
        self.0.insert(path.to_owned(), value.into());
        self
    }

    /// The value of a field.
    #[must_use]
    pub fn get(&self, path: &str) -> Option<&Scalar> {
        self.0.get(path)
    }
}
