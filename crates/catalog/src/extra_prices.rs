//! Prices beside the faces: lines of their own in quotes and charges. A record names what its vendor bills apart
//! from tokens; `book_faces` stays closed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use trunkline_types::{Exact, ExactError, Money, Ratio, UnitPrice};

use crate::unique_map::unique_keys;

/// Most tools of one record with a price.
const MAX_TOOLS: usize = 50;
const MAX_NAME: usize = 64;

/// Prices in pico-USD per one unit, as those of the faces.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExtraPrices {
    /// A call of a vendor-run tool, by the tool's name without its version.
    #[serde(
        default,
        deserialize_with = "unique_keys",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub tool_call: BTreeMap<String, UnitPrice>,
    /// A second of a connection. No operation measures it yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection_second: Option<UnitPrice>,
    /// A token of cached audio. No operation measures it yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_audio: Option<UnitPrice>,
}

/// A line of calls of one tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolLine {
    pub tool: String,
    pub calls: u64,
    /// Price of one call.
    pub price: UnitPrice,
    /// What they come to, with the group's rate.
    pub amount: Money,
}

/// How the amount of a line is rounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineRounding {
    /// As a charge is.
    HalfUp,
    /// As a bound is.
    Up,
}

impl ExtraPrices {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The tool with a price that a vendor's word names: its own name, or that with a version behind it.
    #[must_use]
    pub fn tool_named(&self, word: &str) -> Option<&str> {
        let word = snake_case(word);
        let named = |name: &&str| {
            let rest = word.strip_prefix(*name);
            rest.is_some_and(|rest| rest.is_empty() || is_version(rest))
        };
        self.tool_call.keys().map(String::as_str).find(named)
    }

    /// What calls of tools cost. A tool without a price is left out: it is not sold.
    pub fn tool_lines<'a>(
        &self,
        calls: impl Iterator<Item = (&'a str, u64)>,
        rate: Ratio,
        rounding: LineRounding,
    ) -> Result<Vec<ToolLine>, ExactError> {
        let mut lines = Vec::new();
        for (tool, calls) in calls.filter(|(_, calls)| *calls > 0) {
            let Some(price) = self.tool_call.get(tool) else {
                continue;
            };
            let exact = Exact::line(calls, *price)?.times(rate)?;
            lines.push(ToolLine {
                tool: tool.to_owned(),
                calls,
                price: *price,
                amount: rounding.round(exact)?,
            });
        }
        Ok(lines)
    }

    pub(crate) fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if self.tool_call.len() > MAX_TOOLS {
            faults.push(format!(
                "extra_prices.tool_call has more than {MAX_TOOLS} tools"
            ));
        }
        let is_name = |name: &String| {
            let plain =
                |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
            !name.is_empty() && name.len() <= MAX_NAME && name.bytes().all(plain)
        };
        for name in self.tool_call.keys().filter(|name| !is_name(name)) {
            faults.push(format!(
                "extra_prices.tool_call: {name:?} must be a name such as web_search, without its version"
            ));
        }
        faults
    }
}

impl LineRounding {
    fn round(self, exact: Exact) -> Result<Money, ExactError> {
        match self {
            Self::HalfUp => exact.round_half_up(),
            Self::Up => exact.round_up(),
        }
    }
}

/// `googleSearch` as `google_search`: Gemini's tools are named both ways.
fn snake_case(word: &str) -> String {
    let mut out = String::with_capacity(word.len());
    for character in word.chars() {
        if character.is_ascii_uppercase() {
            out.push('_');
        }
        out.push(character.to_ascii_lowercase());
    }
    out
}

/// `_20250305`, `_preview`, `_preview_2025_03_11`.
fn is_version(rest: &str) -> bool {
    let is_part = |part: &str| {
        part == "preview" || (!part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let rest = rest.strip_prefix('_');
    rest.is_some_and(|rest| rest.split('_').all(is_part))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prices(text: &str) -> ExtraPrices {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn a_tool_is_known_by_its_name_with_or_without_a_version() {
        let prices = prices("tool_call = { web_search = 1, google_search = 2 }");
        for (word, name) in [
            ("web_search", Some("web_search")),
            ("web_search_20250305", Some("web_search")),
            ("web_search_preview_2025_03_11", Some("web_search")),
            ("googleSearch", Some("google_search")),
            ("google_search", Some("google_search")),
            ("web_search_turbo", None),
            ("web", None),
            ("web_searches", None),
            ("", None),
        ] {
            assert_eq!(prices.tool_named(word), name, "{word}");
        }
    }

    #[test]
    fn calls_cost_their_price_times_the_rate_and_others_are_not_sold() {
        let prices = prices("tool_call = { web_search = 10_000_000_000 }");
        let rate: Ratio = "1.5".parse().unwrap();
        let calls = [("web_search", 3), ("other", 7)];
        let lines = prices.tool_lines(calls.into_iter(), rate, LineRounding::HalfUp);
        let lines = lines.unwrap();
        let seen: Vec<_> = lines
            .iter()
            .map(|line| (line.tool.as_str(), line.amount))
            .collect();
        assert_eq!(seen, [("web_search", Money::from_nanos(45_000_000))]);
    }

    #[test]
    fn names_are_plain_and_unknown_keys_are_refused() {
        assert_eq!(prices("").faults(), Vec::<String>::new());
        assert!(prices("").is_empty());
        assert_eq!(prices("tool_call = { WebSearch = 1 }").faults().len(), 1);
        for text in [
            "tool_calls = {}",
            "tool_call = { a = -1 }",
            "cached_audio = \"1\"",
        ] {
            assert!(toml::from_str::<ExtraPrices>(text).is_err(), "{text}");
        }
        let all = prices("connection_second = 5\ncached_audio = 400000");
        assert_eq!(all.cached_audio.map(UnitPrice::pico), Some(400_000));
    }
}
