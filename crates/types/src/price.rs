//! Unit prices in pico-USD, and multipliers as rationals.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::decimal::parse_scaled;

/// A price in pico-USD per one unit (token, character, second, image, call).
///
/// One pico-USD per token is one micro-USD per million tokens, so 2 USD per million is `2000000`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize)]
#[serde(transparent)]
pub struct UnitPrice(u64);

/// Why a number is not a unit price.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UnitPriceError {
    /// Below zero.
    #[error("a price cannot be negative")]
    Negative,
    /// Above [`UnitPrice::MAX`].
    #[error(
        "a price cannot be above 1000 USD per unit ({} pico-USD)",
        UnitPrice::MAX_PICO
    )]
    TooHigh,
}

/// A positive multiplier kept as an exact fraction in lowest terms: 1.33 is 133/100.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ratio {
    numerator: u64,
    denominator: u64,
}

/// Why a text or a fraction is not a multiplier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RatioError {
    /// Neither `1.33` nor `133/100`.
    #[error("not a multiplier: write a decimal such as 1.33 or a fraction such as 133/100")]
    Shape,
    /// Zero or below: a free price is written as price 0, where it can be seen.
    #[error("a multiplier must be above zero; for a free model set its prices to 0")]
    NotPositive,
    /// Numerator or denominator above [`Ratio::MAX_TERM`] in lowest terms.
    #[error(
        "a multiplier in lowest terms must not need numbers above {}",
        Ratio::MAX_TERM
    )]
    TooFine,
}

// === impl UnitPrice ===

impl UnitPrice {
    /// 1,000 USD per unit: dearer is a typing error, and the bound keeps every charge in 128 bits.
    pub const MAX_PICO: u64 = 1_000_000_000_000_000;
    /// A face that is measured and not billed.
    pub const FREE: Self = Self(0);
    pub const MAX: Self = Self(Self::MAX_PICO);

    /// A price given in pico-USD per unit.
    pub fn from_pico(pico: i64) -> Result<Self, UnitPriceError> {
        let unsigned = u64::try_from(pico).map_err(|_| UnitPriceError::Negative)?;
        if unsigned > Self::MAX_PICO {
            return Err(UnitPriceError::TooHigh);
        }
        Ok(Self(unsigned))
    }

    /// The price in pico-USD per unit.
    #[must_use]
    pub const fn pico(self) -> u64 {
        self.0
    }
}

impl<'de> Deserialize<'de> for UnitPrice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let pico = i64::deserialize(deserializer)?;
        Self::from_pico(pico).map_err(serde::de::Error::custom)
    }
}

// === impl Ratio ===

impl Ratio {
    /// Largest numerator and denominator in lowest terms.
    pub const MAX_TERM: u64 = 1_000_000;
    pub const ONE: Self = Self {
        numerator: 1,
        denominator: 1,
    };

    pub fn new(numerator: u64, denominator: u64) -> Result<Self, RatioError> {
        if numerator == 0 || denominator == 0 {
            return Err(RatioError::NotPositive);
        }
        let divisor = greatest_common_divisor(numerator, denominator);
        let reduced = Self {
            numerator: numerator.checked_div(divisor).ok_or(RatioError::Shape)?,
            denominator: denominator.checked_div(divisor).ok_or(RatioError::Shape)?,
        };
        if reduced.numerator > Self::MAX_TERM || reduced.denominator > Self::MAX_TERM {
            return Err(RatioError::TooFine);
        }
        Ok(reduced)
    }

    /// The upper number.
    #[must_use]
    pub const fn numerator(self) -> u64 {
        self.numerator
    }

    /// The lower number, never zero.
    #[must_use]
    pub const fn denominator(self) -> u64 {
        self.denominator
    }

    /// Which of two is smaller.
    #[must_use]
    pub fn compare(self, other: Self) -> Ordering {
        // Terms are small, so their products are exact.
        let cross = |one: Self, other: Self| {
            u128::from(one.numerator).saturating_mul(u128::from(other.denominator))
        };
        cross(self, other).cmp(&cross(other, self))
    }
}

/// `133/100`, or `2` for a whole number.
impl fmt::Display for Ratio {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.denominator == 1 {
            return write!(formatter, "{}", self.numerator);
        }
        write!(formatter, "{}/{}", self.numerator, self.denominator)
    }
}

impl FromStr for Ratio {
    type Err = RatioError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let term = |part: &str| {
            let digits = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            if digits {
                part.parse::<u64>().map_err(|_| RatioError::TooFine)
            } else {
                Err(RatioError::Shape)
            }
        };
        if let Some((numerator, denominator)) = text.split_once('/') {
            return Self::new(term(numerator)?, term(denominator)?);
        }
        const PLACES: u32 = 12;
        let scaled = parse_scaled(text, PLACES).map_err(|_| RatioError::Shape)?;
        let numerator = u64::try_from(scaled).map_err(|_| RatioError::NotPositive)?;
        Self::new(numerator, 10_u64.saturating_pow(PLACES))
    }
}

impl Serialize for Ratio {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Ratio {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

fn greatest_common_divisor(left: u64, right: u64) -> u64 {
    let (mut larger, mut smaller) = (left, right);
    while let Some(rest) = larger.checked_rem(smaller) {
        (larger, smaller) = (smaller, rest);
    }
    larger
}

#[cfg(test)]
mod tests {
    use super::*;

    // covers: D-2-02
    #[test]
    fn prices_are_integers_of_pico_usd_per_one_unit() {
        assert_eq!(
            serde_json::from_str::<UnitPrice>("2000000").unwrap().pico(),
            2_000_000
        );
        assert!(
            serde_json::from_str::<UnitPrice>("2000000.5").is_err(),
            "a fraction is refused"
        );
        assert!(serde_json::from_str::<UnitPrice>("\"2000000\"").is_err());
        assert_eq!(UnitPrice::from_pico(-1), Err(UnitPriceError::Negative));
        assert_eq!(
            UnitPrice::from_pico(1_000_000_000_000_000),
            Ok(UnitPrice::MAX)
        );
        assert_eq!(
            UnitPrice::from_pico(1_000_000_000_000_001),
            Err(UnitPriceError::TooHigh)
        );
        assert_eq!(UnitPrice::from_pico(0), Ok(UnitPrice::FREE));
        assert_eq!(
            serde_json::to_string(&UnitPrice::MAX).unwrap(),
            "1000000000000000"
        );
    }

    // covers: D-2-05
    #[test]
    fn multipliers_are_rationals_1_33_is_133_over_100() {
        let ratio: Ratio = "1.33".parse().unwrap();
        assert_eq!((ratio.numerator(), ratio.denominator()), (133, 100));
        assert_eq!("133/100".parse(), Ok(ratio));
        assert_eq!("266/200".parse(), Ok(ratio));
        assert_eq!(ratio.to_string(), "133/100");
        assert_eq!("5".parse::<Ratio>().unwrap().to_string(), "5");
        assert_eq!("4/2".parse::<Ratio>().unwrap().to_string(), "2");
        assert_eq!("0.9".parse::<Ratio>().unwrap().to_string(), "9/10");
        assert_eq!(Ratio::ONE.to_string(), "1");
    }

    #[test]
    fn a_multiplier_that_is_zero_negative_or_too_fine_is_refused() {
        assert_eq!("0".parse::<Ratio>(), Err(RatioError::NotPositive));
        assert_eq!("-1".parse::<Ratio>(), Err(RatioError::NotPositive));
        assert_eq!("1/0".parse::<Ratio>(), Err(RatioError::NotPositive));
        assert_eq!("0/1".parse::<Ratio>(), Err(RatioError::NotPositive));
        assert_eq!("1000001/1000000".parse::<Ratio>(), Err(RatioError::TooFine));
        assert_eq!("1000000/1000001".parse::<Ratio>(), Err(RatioError::TooFine));
        assert_eq!(
            "1000000".parse::<Ratio>().map(Ratio::numerator),
            Ok(1_000_000)
        );
        assert_eq!(
            "1/1000000".parse::<Ratio>().map(Ratio::denominator),
            Ok(1_000_000)
        );
        for wrong in ["", "/", "1/", "/2", "1.3x", "1/2/3", "+1/2", "1e2"] {
            assert_eq!(wrong.parse::<Ratio>(), Err(RatioError::Shape), "{wrong:?}");
        }
        assert_eq!(
            "99999999999999999999/1".parse::<Ratio>(),
            Err(RatioError::TooFine)
        );
    }
}
