//! How social data is sold: from texts to values.

use std::path::PathBuf;
use std::time::Duration;

use trunkline_gateway::SocialSettings;

use super::check::{Check, in_range};
use super::raw::RawSocial;

/// Most calls a day that can be set.
const MAX_DAILY_CAPACITY: i64 = 1_000_000_000_000;
/// Most calls at once to one platform that can be set.
const MAX_AT_ONCE: i64 = 10_000;
/// Longest wait for the data source that can be set: ten minutes, the length of a call.
const MAX_WAIT_SECONDS: i64 = 600;

impl Check<'_> {
    pub(super) fn social(&mut self, raw: RawSocial) -> Option<SocialSettings> {
        let capacity = in_range(raw.daily_capacity, 0, MAX_DAILY_CAPACITY);
        let daily_capacity = self.take("social.daily_capacity", capacity);
        let at_once = in_range(raw.at_once_per_platform, 1, MAX_AT_ONCE);
        let at_once = self.take("social.at_once_per_platform", at_once);
        let wait = in_range(raw.wait_seconds, 1, MAX_WAIT_SECONDS);
        let wait = self.take("social.wait_seconds", wait);
        Some(SocialSettings {
            daily_capacity: i64::try_from(daily_capacity?).ok()?,
            at_once_per_platform: usize::try_from(at_once?).ok()?,
            cells: (!raw.cells.is_empty()).then(|| PathBuf::from(raw.cells)),
            wait: Duration::from_secs(wait?),
            ..SocialSettings::default()
        })
    }
}
