//! Limits and waits of duplicate requests.

use std::time::Duration;

/// How calls that come again are treated.
#[derive(Debug, Clone)]
pub struct IdempotencySettings {
    /// How long the same call waits for the first one.
    pub wait: Duration,
    /// Largest body that is kept.
    pub most_bytes: usize,
}

impl Default for IdempotencySettings {
    fn default() -> Self {
        Self {
            wait: Duration::from_secs(30),
            most_bytes: 8_000_000,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // covers: D-4-44, D-4-46
    #[test]
    fn the_same_call_waits_half_a_minute_and_eight_megabytes_are_kept() {
        let settings = IdempotencySettings::default();
        assert_eq!(settings.wait, Duration::from_secs(30));
        assert_eq!(settings.most_bytes, 8_000_000);
    }
}
