//! The vendor's clock. The simulator stands for another company, so it must not follow ours.

use std::time::{SystemTime, UNIX_EPOCH};

/// Microseconds since 1970.
#[expect(
    clippy::disallowed_methods,
    reason = "an upstream has a clock of its own; shifting ours in a test must not shift it"
)]
pub(crate) fn now_micros() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

/// The same in whole seconds, as `created` wants it.
pub(crate) fn seconds(micros: u64) -> u64 {
    micros / 1_000_000
}
