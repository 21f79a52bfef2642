//! Money: nano-USD in a signed 64-bit integer.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::decimal::{DecimalError, format_scaled, parse_scaled};

const USD_PLACES: u32 = 9;

/// An amount of money in nano-USD. Negative only where a difference is meant.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Money(i64);

/// Why a text or a sum is not an amount of money.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MoneyError {
    /// Not a decimal number.
    #[error("not a decimal amount of USD, such as 12.5")]
    Shape,
    /// Finer than one nano-USD.
    #[error("finer than one nano-USD (nine decimal places)")]
    TooFine,
    /// Outside the range of a signed 64-bit number of nano-USD.
    #[error("beyond 9223372036.854775807 USD")]
    TooLarge,
}

// === impl Money ===

impl Money {
    /// No money.
    pub const ZERO: Self = Self(0);
    pub const MAX: Self = Self(i64::MAX);
    /// One nano-USD, the smallest amount.
    pub const NANO: Self = Self(1);

    /// An amount given in nano-USD.
    #[must_use]
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// The amount in nano-USD.
    #[must_use]
    pub const fn nanos(self) -> i64 {
        self.0
    }

    /// The sum, unless it leaves the range.
    pub fn checked_add(self, other: Self) -> Result<Self, MoneyError> {
        self.0
            .checked_add(other.0)
            .map(Self)
            .ok_or(MoneyError::TooLarge)
    }

    /// The difference, unless it leaves the range.
    pub fn checked_sub(self, other: Self) -> Result<Self, MoneyError> {
        self.0
            .checked_sub(other.0)
            .map(Self)
            .ok_or(MoneyError::TooLarge)
    }

    /// True below zero.
    #[must_use]
    pub const fn is_negative(self) -> bool {
        self.0 < 0
    }
}

/// Decimal USD without trailing zeros: `0.0025`.
impl fmt::Display for Money {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&format_scaled(self.0, 9))
    }
}

impl FromStr for Money {
    type Err = MoneyError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse_scaled(text, USD_PLACES)
            .map(Self)
            .map_err(|error| match error {
                DecimalError::Shape => MoneyError::Shape,
                DecimalError::TooFine => MoneyError::TooFine,
                DecimalError::TooLarge => MoneyError::TooLarge,
            })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    // covers: D-2-01
    #[test]
    fn balances_are_nano_usd_in_a_signed_64_bit_integer() {
        assert_eq!(
            "9223372036.854775807".parse(),
            Ok(Money::from_nanos(i64::MAX))
        );
        assert_eq!(
            "9223372036.854775808".parse::<Money>(),
            Err(MoneyError::TooLarge)
        );
        assert_eq!("0.000000001".parse(), Ok(Money::NANO));
        assert_eq!("0.0000000005".parse::<Money>(), Err(MoneyError::TooFine));
        assert_eq!(
            Money::MAX.checked_add(Money::NANO),
            Err(MoneyError::TooLarge)
        );
        assert_eq!(
            Money::from_nanos(i64::MIN).checked_sub(Money::NANO),
            Err(MoneyError::TooLarge)
        );
        assert_eq!(
            Money::from_nanos(5).checked_add(Money::from_nanos(-7)),
            Ok(Money::from_nanos(-2))
        );
        assert_eq!(
            Money::from_nanos(5).checked_sub(Money::from_nanos(7)),
            Ok(Money::from_nanos(-2))
        );
        assert!(Money::from_nanos(-1).is_negative() && !Money::ZERO.is_negative());
    }

    proptest! {
        // covers: D-2-09
        #[test]
        fn no_floating_point_touches_money_not_even_when_it_is_written_as_text(nanos: i64) {
            let money = Money::from_nanos(nanos);
            prop_assert_eq!(money.to_string().parse(), Ok(money));
            let json = serde_json::to_string(&money).unwrap();
            prop_assert_eq!(&json, &nanos.to_string());
            prop_assert_eq!(serde_json::from_str::<Money>(&json).unwrap(), money);
        }
    }
}
