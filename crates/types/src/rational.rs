//! The only place where a price is multiplied by a quantity. Sums are exact fractions of pico-USD in 128 bits;
//! rounding happens once, at the end, and its direction is in the function's name.

use crate::{MAX_QUANTITY, Money, Ratio, UnitPrice};

/// Pico-USD in one nano-USD.
const PICO_PER_NANO: u128 = 1_000;

/// An exact, never negative amount of pico-USD, kept as a fraction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exact {
    numerator: u128,
    denominator: u128,
}

/// Why an amount cannot be computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ExactError {
    /// More units than one call can use.
    #[error("more units than one call can use")]
    TooManyUnits,
    /// The amount does not fit a signed 64-bit number of nano-USD.
    #[error("the amount is beyond 9223372036.854775807 USD")]
    TooLarge,
}

// === impl Exact ===

impl Exact {
    pub const ZERO: Self = Self {
        numerator: 0,
        denominator: 1,
    };

    /// So many units at a price.
    pub fn line(quantity: u64, price: UnitPrice) -> Result<Self, ExactError> {
        if quantity > MAX_QUANTITY {
            return Err(ExactError::TooManyUnits);
        }
        let numerator = u128::from(quantity).checked_mul(u128::from(price.pico()));
        Ok(Self {
            numerator: numerator.ok_or(ExactError::TooLarge)?,
            denominator: 1,
        })
    }

    pub fn plus(self, other: Self) -> Result<Self, ExactError> {
        if self.denominator == other.denominator {
            let numerator = self.numerator.checked_add(other.numerator);
            return Ok(Self {
                numerator: numerator.ok_or(ExactError::TooLarge)?,
                ..self
            });
        }
        let cross = |numerator: u128, denominator: u128| {
            numerator
                .checked_mul(denominator)
                .ok_or(ExactError::TooLarge)
        };
        let left = cross(self.numerator, other.denominator)?;
        let right = cross(other.numerator, self.denominator)?;
        Ok(Self {
            numerator: left.checked_add(right).ok_or(ExactError::TooLarge)?,
            denominator: cross(self.denominator, other.denominator)?,
        })
    }

    /// Times a multiplier, still exact.
    pub fn times(self, ratio: Ratio) -> Result<Self, ExactError> {
        let numerator = self.numerator.checked_mul(u128::from(ratio.numerator()));
        let denominator = self
            .denominator
            .checked_mul(u128::from(ratio.denominator()));
        Ok(Self {
            numerator: numerator.ok_or(ExactError::TooLarge)?,
            denominator: denominator.ok_or(ExactError::TooLarge)?,
        })
    }

    /// The charge: rounded to the nearest nano-USD, a half goes up.
    pub fn round_half_up(self) -> Result<Money, ExactError> {
        let (nanos, rest, divisor) = self.divide()?;
        // rest >= divisor / 2, written so that an odd divisor is not cut.
        let up = rest >= divisor.saturating_sub(rest);
        to_money(nanos, up)
    }

    /// The bound: rounded up to the next nano-USD.
    pub fn round_up(self) -> Result<Money, ExactError> {
        let (nanos, rest, _) = self.divide()?;
        to_money(nanos, rest > 0)
    }

    /// Whole nano-USD, the remainder, and the divisor.
    fn divide(self) -> Result<(u128, u128, u128), ExactError> {
        let divisor = self
            .denominator
            .checked_mul(PICO_PER_NANO)
            .ok_or(ExactError::TooLarge)?;
        let nanos = self
            .numerator
            .checked_div(divisor)
            .ok_or(ExactError::TooLarge)?;
        // A second division of 128 bits would cost as much as the first.
        let whole = nanos.checked_mul(divisor);
        let rest = whole.and_then(|whole| self.numerator.checked_sub(whole));
        let rest = rest.ok_or(ExactError::TooLarge)?;
        Ok((nanos, rest, divisor))
    }
}

fn to_money(nanos: u128, up: bool) -> Result<Money, ExactError> {
    let rounded = nanos
        .checked_add(u128::from(up))
        .ok_or(ExactError::TooLarge)?;
    i64::try_from(rounded)
        .map(Money::from_nanos)
        .map_err(|_| ExactError::TooLarge)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pico(amount: i64) -> Exact {
        Exact::line(1, UnitPrice::from_pico(amount).unwrap()).unwrap()
    }

    // covers: D-2-07
    #[test]
    fn one_charge_is_rounded_once_half_up_to_nano_usd() {
        let charged = |amount| pico(amount).round_half_up().unwrap().nanos();
        assert_eq!(
            [
                charged(0),
                charged(1),
                charged(499),
                charged(500),
                charged(999)
            ],
            [0, 0, 0, 1, 1]
        );
        assert_eq!([charged(1_499), charged(1_500), charged(1_501)], [1, 2, 2]);
        let third = "1/3".parse().unwrap();
        let thirds = |amount| {
            pico(amount)
                .times(third)
                .unwrap()
                .round_half_up()
                .unwrap()
                .nanos()
        };
        assert_eq!(
            [thirds(1_499), thirds(1_500), thirds(1_501)],
            [0, 1, 1],
            ".4999, .5"
        );
        let three_halves = pico(500).plus(pico(500)).unwrap().plus(pico(499)).unwrap();
        assert_eq!(
            three_halves.round_half_up().unwrap().nanos(),
            1,
            "lines are summed, then rounded once"
        );
    }

    // covers: D-2-08
    #[test]
    fn a_bound_used_for_admission_is_rounded_up() {
        let bound = |amount| pico(amount).round_up().unwrap().nanos();
        assert_eq!(
            [bound(0), bound(1), bound(999), bound(1_000), bound(1_001)],
            [0, 1, 1, 1, 2]
        );
    }

    // covers: D-2-06
    #[test]
    fn one_charge_is_computed_in_128_bit_integers() {
        let largest = Exact::line(MAX_QUANTITY, UnitPrice::MAX).unwrap();
        let eleven = (0..11)
            .try_fold(Exact::ZERO, |sum, _| sum.plus(largest))
            .unwrap();
        let audio = eleven.times("50/3".parse().unwrap()).unwrap();
        let dearest = audio.times("1000000".parse().unwrap()).unwrap();
        assert_eq!(
            dearest.round_half_up(),
            Err(ExactError::TooLarge),
            "refused, never wrapped"
        );
        assert_eq!(
            Exact::line(MAX_QUANTITY + 1, UnitPrice::FREE),
            Err(ExactError::TooManyUnits)
        );
        let at_the_end = Exact::line(9_223_372_036_854, UnitPrice::FREE);
        assert_eq!(at_the_end, Err(ExactError::TooManyUnits));
        let just_fits = Exact::line(
            922_337_203_685,
            UnitPrice::from_pico(10_000_000_000).unwrap(),
        );
        assert_eq!(
            just_fits.unwrap().round_half_up().unwrap().nanos(),
            9_223_372_036_850_000_000
        );
    }

    #[test]
    fn fractions_with_different_denominators_are_summed_exactly() {
        let half = pico(1).times("1/2".parse().unwrap()).unwrap();
        let third = pico(1).times("1/3".parse().unwrap()).unwrap();
        let sum = half.plus(third).unwrap();
        assert_eq!(
            sum,
            Exact {
                numerator: 5,
                denominator: 6
            }
        );
        assert_eq!(third.plus(half).unwrap(), sum);
        let huge = Exact {
            numerator: u128::MAX,
            denominator: 1,
        };
        assert_eq!(huge.plus(pico(1)), Err(ExactError::TooLarge));
        assert_eq!(huge.plus(half), Err(ExactError::TooLarge));
        assert_eq!(huge.times("2".parse().unwrap()), Err(ExactError::TooLarge));
        assert_eq!(huge.round_up(), Err(ExactError::TooLarge));
    }

    #[test]
    fn the_largest_balance_is_reached_and_not_passed() {
        let edge = |nanos: u128| Exact {
            numerator: nanos * 1_000,
            denominator: 1,
        };
        assert_eq!(edge(i64::MAX as u128).round_up(), Ok(Money::MAX));
        assert_eq!(
            edge(i64::MAX as u128 + 1).round_up(),
            Err(ExactError::TooLarge)
        );
    }
}
