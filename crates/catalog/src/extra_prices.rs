//! Prices beside the faces: lines of their own in quotes and charges. A record names what its vendor bills apart
//! from tokens; `book_faces` stays closed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use trunkline_types::{Bucket, Exact, ExactError, Money, Ratio, UnitPrice, Usage};

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
    /// A second of a connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection_second: Option<UnitPrice>,
    /// A token of cached audio; without this price it is sold as `cache_read`.
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

/// What has a price beside the faces, but for tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExtraUnit {
    ConnectionSecond,
    CachedAudio,
}

/// A line of one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExtraLine {
    pub unit: ExtraUnit,
    pub units: u64,
    /// Price of one.
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

    /// What usage costs beside the faces, a line for each price that the record has.
    pub fn lines(
        &self,
        usage: &Usage,
        rate: Ratio,
        rounding: LineRounding,
    ) -> Result<Vec<ExtraLine>, ExactError> {
        let mut lines = Vec::new();
        for unit in ExtraUnit::ALL {
            let units = usage.reported(unit.bucket()).unwrap_or(0);
            let Some(price) = self.price(unit).filter(|_| units > 0) else {
                continue;
            };
            let exact = Exact::line(units, price)?.times(rate)?;
            lines.push(ExtraLine {
                unit,
                units,
                price,
                amount: rounding.round(exact)?,
            });
        }
        Ok(lines)
    }

    /// What the faces bill of usage: all that has no price beside them.
    #[must_use]
    pub fn billed_by_faces(&self, usage: &Usage) -> Usage {
        let mut rest = usage.clone();
        for unit in ExtraUnit::ALL {
            if self.price(unit).is_some() {
                rest = rest.without(unit.bucket());
            }
        }
        rest
    }

    /// The price of one.
    #[must_use]
    pub const fn price(&self, unit: ExtraUnit) -> Option<UnitPrice> {
        match unit {
            ExtraUnit::ConnectionSecond => self.connection_second,
            ExtraUnit::CachedAudio => self.cached_audio,
        }
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

impl ExtraUnit {
    pub const ALL: [Self; 2] = [Self::ConnectionSecond, Self::CachedAudio];

    /// Its name in records, quotes and receipts.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ConnectionSecond => "connection_second",
            Self::CachedAudio => "cached_audio",
        }
    }

    /// What is measured of it.
    #[must_use]
    pub const fn bucket(self) -> Bucket {
        match self {
            Self::ConnectionSecond => Bucket::ConnectionSeconds,
            Self::CachedAudio => Bucket::CachedAudio,
        }
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
    fn seconds_and_cached_audio_are_lines_of_their_own_and_leave_the_rest_to_the_faces() {
        let usage = Usage::unknown()
            .with(Bucket::PlainInput, 7)
            .with(Bucket::CachedAudio, 1_000)
            .with(Bucket::ConnectionSeconds, 60);
        let rate: Ratio = "1.5".parse().unwrap();
        let of = |text: &str| {
            let lines = prices(text).lines(&usage, rate, LineRounding::HalfUp);
            let lines = lines.unwrap();
            let seen: Vec<_> = lines
                .iter()
                .map(|line| (line.unit.name(), line.units, line.amount.nanos()))
                .collect();
            seen
        };
        assert_eq!(of(""), []);
        let seconds = ("connection_second", 60, 75_000_000);
        assert_eq!(of("connection_second = 833333333"), [seconds]);
        assert_eq!(
            of("cached_audio = 400000"),
            [("cached_audio", 1_000, 600_000)]
        );
        let faces = prices("cached_audio = 400000").billed_by_faces(&usage);
        assert_eq!(faces.reported(Bucket::CachedAudio), None);
        assert_eq!(faces.reported(Bucket::PlainInput), Some(7));
        let faces = prices("").billed_by_faces(&usage);
        assert_eq!(faces.reported(Bucket::CachedAudio), Some(1_000));
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
