//! How long until the next try. Pure.

use std::time::Duration;

/// Between the tries of one message; the last one again and again, until its time is over.
const WAITS: [u64; 9] = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];
/// Longest wait that a receiver may ask for.
pub(super) const MAX_RETRY_AFTER: Duration = Duration::from_secs(86_400);
/// At most one part in so many is added by chance, so that what failed together does not come together.
const JITTER_PARTS: u32 = 10;

/// Until the next try after so many, with a random byte, and with what the receiver asked for if that is
/// longer.
pub(super) fn wait_after(tries: i32, chance: u8, retry_after: Option<Duration>) -> Duration {
    let index = usize::try_from(tries.saturating_sub(1)).unwrap_or(0);
    let [.., last] = WAITS;
    let usual = Duration::from_secs(WAITS.get(index).copied().unwrap_or(last));
    let parts = JITTER_PARTS.saturating_mul(u32::from(u8::MAX));
    let jitter = usual.saturating_mul(u32::from(chance)).checked_div(parts);
    let usual = usual.saturating_add(jitter.unwrap_or(Duration::ZERO));
    usual.max(retry_after.unwrap_or(Duration::ZERO).min(MAX_RETRY_AFTER))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_as_they_are_promised_and_chance_adds_a_tenth_at_most() {
        let mut before = Duration::ZERO;
        for (tries, seconds) in (1..).zip(WAITS) {
            let least = wait_after(tries, 0, None);
            assert_eq!(least, Duration::from_secs(seconds));
            assert!(least > before);
            before = least;
            let most = wait_after(tries, u8::MAX, None);
            assert_eq!(most, least + least / 10);
        }
        for tries in [10, 1_000, i32::MAX] {
            assert_eq!(wait_after(tries, 0, None), Duration::from_secs(86_400));
        }
        assert_eq!(wait_after(0, 0, None), wait_after(1, 0, None));
    }

    #[test]
    fn what_a_receiver_asks_for_counts_if_it_is_longer_and_at_most_a_day() {
        let retry_after = |seconds| wait_after(1, 0, Some(Duration::from_secs(seconds)));
        assert_eq!(retry_after(1), Duration::from_secs(5));
        assert_eq!(retry_after(120), Duration::from_secs(120));
        assert_eq!(retry_after(u64::MAX), MAX_RETRY_AFTER);
    }
}
