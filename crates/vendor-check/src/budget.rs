//! The cost bound of a case, and the remaining budget.

use anyhow::Context as _;
use trunkline_types::Money;

use crate::vendor::Vendor;

/// Tokens that a vendor may count beside our bytes: its own frame around messages and tools.
const FRAME_TOKENS: u64 = 500;
/// The least that a request counts, 0.000001 USD: no request is assumed to be free.
const LEAST_NANOS: i64 = 1_000;
const PICO_PER_NANO: u128 = 1_000;

/// The money of a run.
#[derive(Debug)]
pub(crate) struct Budget {
    most: Money,
    bound: Money,
}

impl Budget {
    pub(crate) const fn new(most: Money) -> Self {
        Self {
            most,
            bound: Money::ZERO,
        }
    }

    /// The most that all cases so far may have cost.
    pub(crate) const fn bound(&self) -> Money {
        self.bound
    }

    /// Counts a case before it is sent; `false` if the sum would pass what may be spent.
    pub(crate) fn take(&mut self, cost: Money) -> bool {
        match self.bound.checked_add(cost) {
            Ok(sum) if sum <= self.most => {
                self.bound = sum;
                true
            }
            Ok(_) | Err(_) => false,
        }
    }
}

/// The most that a request may cost. A token has at least one byte, so bytes are tokens enough.
pub(crate) fn bound(
    vendor: &Vendor,
    body_bytes: usize,
    output_tokens: u64,
) -> anyhow::Result<Money> {
    let input = u64::try_from(body_bytes).ok();
    let input = input.and_then(|bytes| bytes.checked_add(FRAME_TOKENS));
    let priced = |tokens: u64, pico: u64| u128::from(tokens).checked_mul(u128::from(pico));
    let pico = input
        .and_then(|input| priced(input, vendor.input_pico))
        .zip(priced(output_tokens, vendor.output_pico))
        .and_then(|(input, output)| input.checked_add(output));
    let nanos = pico.map(|pico| pico.div_ceil(PICO_PER_NANO));
    let nanos = nanos.and_then(|nanos| i64::try_from(nanos).ok());
    let nanos = nanos.context("a case whose cost has no bound")?;
    Ok(Money::from_nanos(nanos.max(LEAST_NANOS)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_counts_bytes_frame_and_answer_and_rounds_up() {
        let mut vendor = Vendor::find("openai").unwrap();
        vendor.input_pico = 1_000_000;
        vendor.output_pico = 4_000_001;
        let cost = bound(&vendor, 100, 200).unwrap();
        // 600 tokens at 1000 nano-USD and 200 at a little more than 4000.
        assert_eq!(cost, Money::from_nanos(600_000 + 800_000 + 1));
        vendor.input_pico = 1;
        assert_eq!(
            bound(&vendor, 0, 0).unwrap(),
            Money::from_nanos(LEAST_NANOS)
        );
        vendor.output_pico = u64::MAX;
        assert!(bound(&vendor, 0, u64::MAX).is_err());
    }

    #[test]
    fn the_last_case_that_fits_is_sent_and_the_next_is_not() {
        let mut budget = Budget::new(Money::from_nanos(10));
        assert!(budget.take(Money::from_nanos(6)) && budget.take(Money::from_nanos(4)));
        assert!(!budget.take(Money::NANO));
        assert_eq!(budget.bound(), Money::from_nanos(10));
        assert!(!Budget::new(Money::ZERO).take(Money::NANO));
    }
}
