//! Which routes a key is served by: their order, and the highest price.

use trunkline_types::Money;

use super::wider;
use crate::validation::{FieldError, Problem};

/// The highest price that can be set, a million USD.
pub const MAX_PRICE_NANOS: i64 = 1_000_000_000_000_000;

/// In which order the routes of a model are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum RoutePolicy {
    /// By the operator's priorities and weights.
    #[default]
    Priority,
    /// The lowest price first.
    Cheapest,
    /// The shortest time to an answer first.
    Fastest,
}

/// The highest price that a key pays. What is none has no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct MaxPrice {
    /// Of a million input tokens.
    pub input: Option<Money>,
    /// Of a million output tokens.
    pub output: Option<Money>,
    /// Of a call, an image, a second or a character, where the price is not one of tokens.
    pub unit: Option<Money>,
}

// === impl RoutePolicy ===

impl RoutePolicy {
    pub const ALL: [Self; 3] = [Self::Priority, Self::Cheapest, Self::Fastest];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Priority => "priority",
            Self::Cheapest => "cheapest",
            Self::Fastest => "fastest",
        }
    }

    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.as_str() == word)
    }
}

// === impl MaxPrice ===

impl MaxPrice {
    /// Reads amounts such as `2.50`. The error names the first that is none.
    pub fn read(
        input: Option<&str>,
        output: Option<&str>,
        unit: Option<&str>,
    ) -> Result<Self, FieldError> {
        let read = |field: &'static str, text: Option<&str>| {
            let be = "an amount in USD such as \"2.50\"";
            let wrong = |_| FieldError::new(field, Problem::Must { be });
            text.map(|text| text.parse().map_err(wrong)).transpose()
        };
        Ok(Self {
            input: read("max_price.input", input)?,
            output: read("max_price.output", output)?,
            unit: read("max_price.unit", unit)?,
        })
    }

    /// Whether it limits anything.
    #[must_use]
    pub const fn is_set(&self) -> bool {
        self.input.is_some() || self.output.is_some() || self.unit.is_some()
    }

    pub(crate) fn check(&self) -> Result<(), FieldError> {
        for (field, price) in self.fields() {
            let range = 0..=MAX_PRICE_NANOS;
            if price.is_some_and(|price| !range.contains(&price.nanos())) {
                let be = "from 0 to 1000000 USD";
                return Err(FieldError::new(field, Problem::Must { be }));
            }
        }
        Ok(())
    }

    /// That of a child key: what is not set is the parent's, and nothing is above it.
    pub(crate) fn below(&self, above: Self) -> Result<Self, FieldError> {
        for ((field, own), (_, above)) in self.fields().into_iter().zip(above.fields()) {
            if let (Some(own), Some(above)) = (own, above)
                && own > above
            {
                return Err(wider(field, &own.to_string()));
            }
        }
        Ok(Self {
            input: self.input.or(above.input),
            output: self.output.or(above.output),
            unit: self.unit.or(above.unit),
        })
    }

    /// The lower of both, limit by limit.
    pub(crate) fn lowest(self, other: Self) -> Self {
        let lower = |one: Option<Money>, other: Option<Money>| match (one, other) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        Self {
            input: lower(self.input, other.input),
            output: lower(self.output, other.output),
            unit: lower(self.unit, other.unit),
        }
    }

    const fn fields(&self) -> [(&'static str, Option<Money>); 3] {
        [
            ("max_price.input", self.input),
            ("max_price.output", self.output),
            ("max_price.unit", self.unit),
        ]
    }
}
