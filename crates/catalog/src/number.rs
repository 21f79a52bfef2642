//! Numbers for people and programs, written digit by digit: no float is between a price and its
//! text.

use std::fmt;

use serde::ser::Error as _;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

/// Places behind the point that a [`Number`] keeps.
pub const NUMBER_PLACES: u32 = 12;
const SCALE: i128 = 10_i128.pow(NUMBER_PLACES);

/// A decimal number with up to twelve places behind the point. In JSON it is a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Number(i128);

impl Number {
    /// So many 10⁻¹².
    #[must_use]
    pub const fn from_pico(pico: i128) -> Self {
        Self(pico)
    }

    /// How many 10⁻¹² it is.
    #[must_use]
    pub const fn pico(self) -> i128 {
        self.0
    }

    /// A fraction, rounded half up to `places` places; none without a lower number, or beyond what
    /// fits. Both terms must not be negative.
    #[must_use]
    pub fn fraction(upper: i128, lower: i128, places: u32) -> Option<Self> {
        let places = places.min(NUMBER_PLACES);
        let step = SCALE.checked_div(10_i128.checked_pow(places)?)?;
        let steps = upper.checked_mul(10_i128.checked_pow(places)?)?;
        let half = lower.checked_div(2)?;
        let rounded = steps.checked_add(half)?.checked_div(lower)?;
        rounded.checked_mul(step).map(Self)
    }

    /// Reads a decimal such as `0.28`, without sign and exponent.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
        let digits = |text: &str| {
            (1..=18).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
        };
        if !digits(whole) || !digits(part) {
            return None;
        }
        let part = part.trim_end_matches('0');
        let places = u32::try_from(part.len()).ok()?;
        let missing = NUMBER_PLACES.checked_sub(places)?;
        let behind = match part {
            "" => 0,
            part => part.parse::<i128>().ok()?,
        };
        let behind = behind.checked_mul(10_i128.checked_pow(missing)?)?;
        let whole = whole.parse::<i128>().ok()?.checked_mul(SCALE)?;
        whole.checked_add(behind).map(Self)
    }
}

/// Without zeros at the end.
impl fmt::Display for Number {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let all = self.0.unsigned_abs();
        let scale = SCALE.unsigned_abs();
        let whole = all.checked_div(scale).unwrap_or_default();
        let part = all.checked_rem(scale).unwrap_or_default();
        let part = format!("{part:012}");
        match part.trim_end_matches('0') {
            "" => write!(formatter, "{sign}{whole}"),
            part => write!(formatter, "{sign}{whole}.{part}"),
        }
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw = RawValue::from_string(self.to_string()).map_err(S::Error::custom)?;
        raw.serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_written_digit_by_digit_and_read_back() {
        for text in ["0", "0.28", "1.25", "12", "0.000000000001", "123456.789"] {
            let number = Number::parse(text).unwrap();
            assert_eq!(number.to_string(), text);
            assert_eq!(serde_json::to_string(&number).unwrap(), text);
        }
        assert_eq!(Number::from_pico(-1_500_000_000_000).to_string(), "-1.5");
        assert_eq!(Number::parse("2.50").unwrap().to_string(), "2.5");
        for wrong in [
            "",
            ".",
            "1.",
            ".5",
            "-1",
            "1e3",
            "+1",
            "0.0000000000001",
            "1,5",
        ] {
            assert_eq!(Number::parse(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn a_fraction_is_rounded_half_up_once() {
        let third = Number::fraction(1, 3, 6).unwrap();
        assert_eq!(third.to_string(), "0.333333");
        assert_eq!(Number::fraction(2, 3, 2).unwrap().to_string(), "0.67");
        assert_eq!(Number::fraction(1, 8, 2).unwrap().to_string(), "0.13");
        assert_eq!(Number::fraction(8, 2, 6).unwrap().to_string(), "4");
        assert_eq!(Number::fraction(1, 0, 6), None);
        assert_eq!(Number::fraction(i128::MAX, 1, 6), None);
    }
}
