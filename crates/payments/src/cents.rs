//! Whole cents, as providers count.

use trunkline_types::Money;

/// Nano-dollars of a cent.
const NANOS: i64 = 10_000_000;

/// An amount in cents of a dollar, not negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cents(i64);

impl Cents {
    /// None for a negative number, or one that no balance can hold.
    #[must_use]
    pub const fn new(cents: i64) -> Option<Self> {
        if cents < 0 || cents.checked_mul(NANOS).is_none() {
            return None;
        }
        Some(Self(cents))
    }

    /// None for a negative amount, or one that is not whole cents.
    #[must_use]
    pub fn of(amount: Money) -> Option<Self> {
        let nanos = amount.nanos();
        let cents = nanos.checked_div(NANOS)?;
        (nanos >= 0 && cents.checked_mul(NANOS) == Some(nanos)).then_some(Self(cents))
    }

    #[must_use]
    pub const fn number(self) -> i64 {
        self.0
    }

    #[must_use]
    pub const fn money(self) -> Money {
        Money::from_nanos(self.0.saturating_mul(NANOS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_is_whole_cents_or_none() {
        let five: Money = "5.01".parse().unwrap();
        assert_eq!(Cents::of(five).map(Cents::number), Some(501));
        assert_eq!(Cents::new(501).unwrap().money(), five);
        assert_eq!(Cents::of("0.001".parse().unwrap()), None);
        assert_eq!(Cents::of(Money::from_nanos(-NANOS)), None);
        assert_eq!(Cents::new(-1), None);
        assert_eq!(Cents::new(i64::MAX), None);
    }
}
