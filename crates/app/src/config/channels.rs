//! How channels are probed: from texts to values.

use std::time::Duration;

use trunkline_gateway::ProbeSettings;

use super::check::{Check, in_range};
use super::raw::RawChannels;

const MAX_SECONDS: i64 = 86_400;
const MAX_CALLS: i64 = 100_000;

impl Check<'_> {
    pub(super) fn channels(&mut self, raw: &RawChannels) -> Option<ProbeSettings> {
        let every = in_range(raw.probe_seconds, 1, MAX_SECONDS);
        let every = self.take("channels.probe_seconds", every);
        let idle = in_range(raw.idle_probe_seconds, 0, MAX_SECONDS);
        let idle = self.take("channels.idle_probe_seconds", idle);
        let calls = in_range(raw.probe_calls_per_day, 0, MAX_CALLS);
        let calls: Option<u64> = self.take("channels.probe_calls_per_day", calls);
        Some(ProbeSettings {
            every: Duration::from_secs(every?),
            idle: Duration::from_secs(idle?),
            calls_a_day: u32::try_from(calls?).ok()?,
        })
    }
}
