//! Decimal numbers as other programs write them: `0.00000025`, `2.5e-07`. Exact, without floating point.

/// Most digits of a number that is read: above them nothing is a price.
const MAX_DIGITS: usize = 30;
/// Most decimal places, and most zeros behind a whole number.
const MAX_PLACES: i64 = 30;

/// A number that is not negative: `digits` divided by 10 to the power of `places`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Decimal {
    digits: u128,
    places: u32,
}

/// A whole number of small units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Scaled {
    pub(crate) number: u64,
    /// Whether it is the number that was written; else it is the nearest one.
    pub(crate) is_exact: bool,
}

// === impl Decimal ===

impl Decimal {
    /// Reads digits, a point and an exponent. None for what is negative, not a number or out of range.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().ok()?),
            None => (text, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = format!("{whole}{fraction}");
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number || digits.len() > MAX_DIGITS {
            return None;
        }
        let digits: u128 = digits.parse().ok()?;
        let places = i64::try_from(fraction.len()).ok()?.checked_sub(exponent)?;
        if places.unsigned_abs() > MAX_PLACES.unsigned_abs() {
            // Zero has no size, however it is written.
            return (digits == 0).then_some(Self { digits, places: 0 });
        }
        match u32::try_from(places) {
            Ok(places) => Some(Self { digits, places }),
            Err(_) => {
                let zeros = u32::try_from(places.unsigned_abs()).ok()?;
                let digits = digits.checked_mul(power(zeros)?)?;
                Some(Self { digits, places: 0 })
            }
        }
    }

    pub(crate) fn times(self, other: Self) -> Option<Self> {
        let (one, other) = (self.shortest(), other.shortest());
        Some(Self {
            digits: one.digits.checked_mul(other.digits)?,
            places: one.places.checked_add(other.places)?,
        })
    }

    /// The number of units of which `10^places` are one, rounded half up.
    pub(crate) fn scaled(self, places: u32) -> Option<Scaled> {
        let number = self.shortest();
        let (number, is_exact) = if number.places <= places {
            let zeros = places.checked_sub(number.places)?;
            (number.digits.checked_mul(power(zeros)?)?, true)
        } else {
            let divisor = power(number.places.checked_sub(places)?)?;
            let half = divisor.checked_div(2)?;
            let rounded = number.digits.checked_add(half)?.checked_div(divisor)?;
            (rounded, number.digits.checked_rem(divisor)? == 0)
        };
        let number = u64::try_from(number).ok()?;
        Some(Scaled { number, is_exact })
    }

    /// Without zeros at its end, so that products stay small.
    fn shortest(mut self) -> Self {
        while self.places > 0 && self.digits.checked_rem(10) == Some(0) {
            self.digits = self.digits.checked_div(10).unwrap_or_default();
            self.places = self.places.saturating_sub(1);
        }
        self
    }
}

fn power(places: u32) -> Option<u128> {
    10_u128.checked_pow(places)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pico(text: &str) -> Option<(u64, bool)> {
        let scaled = Decimal::parse(text)?.scaled(12)?;
        Some((scaled.number, scaled.is_exact))
    }

    #[test]
    fn a_price_for_one_token_is_read_exactly_in_every_notation() {
        for text in ["2.5e-06", "0.0000025", "2.5E-6", "25e-7", "0.00000250"] {
            assert_eq!(pico(text), Some((2_500_000, true)), "{text}");
        }
        assert_eq!(pico("3"), Some((3_000_000_000_000, true)));
        assert_eq!(pico("1e2"), Some((100_000_000_000_000, true)));
        assert_eq!(pico("0"), Some((0, true)));
        assert_eq!(pico("0e-99"), Some((0, true)));
        assert_eq!(pico("1.25e-12"), Some((1, false)));
        assert_eq!(pico("1.5e-12"), Some((2, false)), "half up");
    }

    #[test]
    fn what_is_no_number_or_too_large_is_not_read() {
        for text in ["", "-1", "1e", "1.2.3", "NaN", "inf", "1,5", "0x1", "1e40"] {
            assert_eq!(pico(text), None, "{text}");
        }
        assert_eq!(pico("99999999"), None, "more than 64 bits of pico-USD");
    }

    #[test]
    fn a_ratio_times_a_unit_is_exact() {
        let ratio = Decimal::parse("0.075").unwrap();
        let unit = Decimal::parse("0.000002").unwrap();
        let price = ratio.times(unit).unwrap().scaled(12).unwrap();
        assert_eq!((price.number, price.is_exact), (150_000, true));
        let long = Decimal::parse("8.219178082191782").unwrap();
        let price = long.times(unit).unwrap().scaled(12).unwrap();
        assert_eq!((price.number, price.is_exact), (16_438_356, false));
    }
}
