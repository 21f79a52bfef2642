//! Prices and charges, in pico-USD: a token costs less than a nano-USD at most models.

use serde::Deserialize;
use serde_json::Value;
use trunkline_types::Money;

use crate::exchange::Answer;
use crate::profile::CostSource;
use crate::upstream_log::Record;

/// What a gateway was told to charge, per token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Prices {
    #[serde(deserialize_with = "per_million")]
    input: u64,
    #[serde(deserialize_with = "per_million")]
    cached: u64,
    #[serde(deserialize_with = "per_million")]
    output: u64,
}

/// Pico-USD.
pub(crate) type Picos = i128;

const DIGITS: i64 = 12;
/// Gateways round to a nano-USD, or to a float near it.
pub(crate) const TOLERANCE: Picos = 1_000;
const PICOS_PER_NANO: Picos = 1_000;
const HALF: Picos = 500;
/// Longest number that is read.
const MAX_NUMBER_BYTES: usize = 64;

// === impl Prices ===

impl Prices {
    /// The price of what the upstream told; none if it told nothing.
    pub(crate) fn of_told(&self, record: &Record) -> Option<Picos> {
        let (input, output) = record.told_usage?;
        Some(self.of(input, record.cache_read_tokens, output))
    }

    /// The price of what the upstream has read and produced.
    pub(crate) fn of_produced(&self, record: &Record) -> Picos {
        self.of(
            record.prompt_tokens,
            record.cache_read_tokens,
            record.completion_tokens,
        )
    }

    fn of(&self, input: u64, cached: u64, output: u64) -> Picos {
        let cost = |tokens: u64, price: u64| Picos::from(tokens).saturating_mul(price.into());
        let cached = cached.min(input);
        cost(input.saturating_sub(cached), self.input)
            .saturating_add(cost(cached, self.cached))
            .saturating_add(cost(output, self.output))
    }
}

/// A price in USD per million tokens, which is the same number of millions of pico-USD per token.
fn per_million<'de, D: serde::Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    let text = String::deserialize(from)?;
    let picos = decimal(&text).and_then(|picos| picos.checked_div(1_000_000));
    let picos = picos.and_then(|picos| u64::try_from(picos).ok());
    picos.ok_or_else(|| serde::de::Error::custom("a price is a decimal number of USD"))
}

/// What the gateway says that it charged, where it says so in the answer; none if it says nothing.
pub(crate) fn reported(
    source: &CostSource,
    streamed: bool,
    answer: &Answer,
    values: &[Value],
) -> Option<Picos> {
    if let Some(name) = &source.header
        && (source.streams || !streamed)
        && let Some(text) = answer.header(name)
    {
        return decimal(text);
    }
    let found = |pointer: &String| {
        let mut values = values.iter().rev();
        values.find_map(|value| amount(value.pointer(pointer)?))
    };
    source.fields.iter().find_map(found)
}

/// An amount that is a number or a text.
pub(crate) fn amount(value: &Value) -> Option<Picos> {
    match value {
        Value::Number(number) => decimal(&number.to_string()),
        Value::String(text) => decimal(text),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// A decimal number of USD, which may have an exponent, as pico-USD; what is below them is cut.
pub(crate) fn decimal(text: &str) -> Option<Picos> {
    let text = text.trim();
    if text.is_empty() || text.len() > MAX_NUMBER_BYTES {
        return None;
    }
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().ok()?),
        None => (text, 0),
    };
    let (negative, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, mantissa),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits: Picos = format!("{whole}{fraction}").parse().ok()?;
    let places = i64::try_from(fraction.len()).ok()?;
    let shift = DIGITS.checked_add(exponent)?.checked_sub(places)?;
    let power = 10_i128.checked_pow(u32::try_from(shift.unsigned_abs()).ok()?);
    let picos = match (shift >= 0, power) {
        (true, Some(power)) => digits.checked_mul(power)?,
        (true, None) => return None,
        (false, Some(power)) => digits.checked_div(power)?,
        (false, None) => 0,
    };
    Some(if negative {
        picos.saturating_neg()
    } else {
        picos
    })
}

/// As money, for people: half a nano-USD is one.
pub(crate) fn money(picos: Picos) -> Money {
    let nanos = picos.saturating_add(HALF).checked_div(PICOS_PER_NANO);
    let nanos = nanos.and_then(|nanos| i64::try_from(nanos).ok());
    Money::from_nanos(nanos.unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_is_read_as_gateways_write_it() {
        for (text, picos) in [
            ("0.0000485", Some(48_500_000)),
            ("4.85e-05", Some(48_500_000)),
            ("1", Some(1_000_000_000_000)),
            ("0", Some(0)),
            ("1e-30", Some(0)),
            ("-0.5", Some(-500_000_000_000)),
            ("", None),
            ("none", None),
        ] {
            assert_eq!(decimal(text), picos, "{text}");
        }
        assert_eq!(money(48_500_500).to_string(), "0.000048501");
    }

    #[test]
    fn cached_tokens_have_their_own_price() {
        let prices: Prices =
            toml::from_str("input = '0.5'\ncached = '0.05'\noutput = '3'").unwrap();
        let record = Record {
            told_usage: Some((13, 14)),
            cache_read_tokens: 10,
            ..Record::default()
        };
        let expected = 3 * 500_000 + 10 * 50_000 + 14 * 3_000_000;
        assert_eq!(prices.of_told(&record), Some(expected));
    }
}
