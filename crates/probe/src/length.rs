//! Lengths, and sums of samples that become one. Integers only: this is what is billed.

/// Nanoseconds of a second.
const SECOND_NANOS: u64 = 1_000_000_000;
const MILLI_NANOS: u64 = 1_000_000;

/// A length as whole nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Length(u64);

/// Samples of one rate after another. The samples are added, not their times, so that three thirds of
/// a second are one second.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sum {
    before: Length,
    rate: u32,
    samples: u64,
}

// === impl Length ===

impl Length {
    /// No sound at all.
    pub const ZERO: Self = Self(0);

    /// A length of so many nanoseconds.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// So many samples at a rate, rounded up to a nanosecond: a length that is just over a second is
    /// never exactly one. At no rate there is no length.
    #[must_use]
    pub fn of_samples(samples: u64, rate: u32) -> Self {
        let nanos = u128::from(samples)
            .saturating_mul(u128::from(SECOND_NANOS))
            .div_ceil(u128::from(rate.max(1)));
        if rate == 0 {
            return Self::ZERO;
        }
        Self(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    #[must_use]
    pub const fn nanos(self) -> u64 {
        self.0
    }

    /// Whole milliseconds, rounded down.
    #[must_use]
    pub const fn millis(self) -> u64 {
        self.0.saturating_div(MILLI_NANOS)
    }

    /// Whole seconds as they are billed: rounded up, at least one.
    #[must_use]
    pub fn whole_seconds(self) -> u64 {
        self.0.div_ceil(SECOND_NANOS).max(1)
    }

    /// The rest of it without a part.
    #[must_use]
    pub const fn saturating_sub(self, part: Self) -> Self {
        Self(self.0.saturating_sub(part.0))
    }

    /// Both, one after the other.
    #[must_use]
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

// === impl Sum ===

impl Sum {
    pub(crate) fn add(&mut self, samples: u64, rate: u32) {
        if rate != self.rate {
            self.before = self.length();
            self.samples = 0;
            self.rate = rate;
        }
        self.samples = self.samples.saturating_add(samples);
    }

    /// Takes samples away, as many as there are of the last rate.
    pub(crate) fn take(&mut self, samples: u64) {
        self.samples = self.samples.saturating_sub(samples);
    }

    /// The rate of the last samples.
    pub(crate) fn rate(&self) -> Option<u32> {
        (self.rate > 0).then_some(self.rate)
    }

    pub(crate) fn length(&self) -> Length {
        let last = Length::of_samples(self.samples, self.rate);
        self.before.saturating_add(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_is_rounded_up_to_whole_seconds_and_is_at_least_one() {
        let cases = [
            (0, 1),
            (1, 1),
            (200_000_000, 1),
            (1_000_000_000, 1),
            (1_000_000_001, 2),
            (2_100_000_000, 3),
            (u64::MAX, 18_446_744_074),
        ];
        for (nanos, seconds) in cases {
            assert_eq!(Length::from_nanos(nanos).whole_seconds(), seconds);
        }
    }

    #[test]
    fn one_sample_more_than_a_second_is_two_seconds_at_every_rate() {
        for rate in [1, 3, 8_000, 11_025, 44_100, 48_000, 192_000, u32::MAX] {
            let samples = u64::from(rate);
            assert_eq!(Length::of_samples(samples, rate).whole_seconds(), 1);
            assert_eq!(Length::of_samples(samples + 1, rate).whole_seconds(), 2);
        }
    }

    #[test]
    fn three_thirds_of_a_second_are_one_second() {
        let mut sum = Sum::default();
        for _ in 0..3 {
            sum.add(14_700, 44_100);
        }
        assert_eq!(sum.length(), Length::from_nanos(1_000_000_000));
        sum.add(8_000, 8_000);
        assert_eq!(sum.length(), Length::from_nanos(2_000_000_000));
    }

    #[test]
    fn lengths_add_up_to_the_end_of_their_range_and_no_further() {
        let most = Length::from_nanos(u64::MAX);
        assert_eq!(most.saturating_add(Length::from_nanos(1)), most);
        assert_eq!(Length::of_samples(u64::MAX, 1), most);
        assert_eq!(Length::of_samples(5, 0), Length::ZERO);
        assert_eq!(Length::from_nanos(1_999_999).millis(), 1);
    }
}
