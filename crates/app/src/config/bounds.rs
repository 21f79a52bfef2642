//! How large and how long calls may be, and how long what they leave is kept: from texts to values.

use std::time::Duration;

use trunkline_ledger::partitions::MIN_USAGE_DAYS_KEPT;
use trunkline_worker::Retention;

use super::CallBounds;
use super::check::{Check, in_range};
use super::raw::{RawEdge, RawRetention, RawUpstream};

/// Below it hardly a call fits.
const MIN_BODY_BYTES: i64 = 1_000;
const MAX_BODY_BYTES: i64 = 1_000_000_000;
const MAX_SHARE: i64 = 1_000;
/// Below the life of a hold.
const MAX_CALL_SECONDS: i64 = 3_000;
/// Ten years.
const MAX_DAYS: i64 = 3_650;
const BYTES_A_HALF_MB: i64 = 500_000;
const DAY_SECONDS: u64 = 86_400;

impl Check<'_> {
    pub(super) fn call_bounds(
        &mut self,
        edge: &RawEdge,
        upstream: &RawUpstream,
    ) -> Option<CallBounds> {
        let body = in_range(edge.max_body_bytes, MIN_BODY_BYTES, MAX_BODY_BYTES);
        let body = self.take("edge.max_body_bytes", body);
        if edge.max_body_bytes > edge.memory_mb.saturating_mul(BYTES_A_HALF_MB) {
            let problem = "must fit into half of edge.memory_mb: one body would never be taken";
            self.say("edge.max_body_bytes", problem.to_owned());
            return None;
        }
        let share = in_range(edge.account_share, 1, MAX_SHARE);
        let share = self.take("edge.account_share", share);
        let mut seconds = |key: &str, value: i64| {
            let number = self.take(key, in_range(value, 1, MAX_CALL_SECONDS));
            number.map(Duration::from_secs)
        };
        let stream_idle = seconds("upstream.stream_idle_seconds", upstream.stream_idle_seconds);
        let whole_wait = seconds("upstream.whole_call_seconds", upstream.whole_call_seconds);
        Some(CallBounds {
            max_body_bytes: usize::try_from(body?).ok()?,
            account_share: usize::try_from(share?).ok()?,
            stream_idle: stream_idle?,
            whole_wait: whole_wait?,
        })
    }

    /// Retention of files (`media.keep_days`) and of everything else.
    pub(super) fn retention(&mut self, raw: &RawRetention, media_days: i64) -> Option<Retention> {
        let usage = in_range(raw.usage_days, i64::from(MIN_USAGE_DAYS_KEPT), MAX_DAYS);
        let usage = self.take("retention.usage_days", usage);
        let prompts = in_range(raw.prompt_days, 1, MAX_DAYS);
        let prompts: Option<u64> = self.take("retention.prompt_days", prompts);
        let media = in_range(media_days, 1, MAX_DAYS);
        let media: Option<u64> = self.take("media.keep_days", media);
        Some(Retention {
            usage_days: i32::try_from(usage?).ok()?,
            prompts: Duration::from_secs(prompts?.saturating_mul(DAY_SECONDS)),
            media: Duration::from_secs(media?.saturating_mul(DAY_SECONDS)),
        })
    }
}
