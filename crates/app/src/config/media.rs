//! Where files lie, what may be fetched, and how video tasks behave: from texts to values.

use std::path::PathBuf;
use std::time::Duration;

use trunkline_blobs::{DEFAULT_TIME_LIMIT, MediaSettings, Place, S3Settings};
use trunkline_gateway::VideoSettings;
use trunkline_upstream::Roots;
use trunkline_upstream::safe_fetch::{Network, SafeFetchSettings};
use trunkline_worker::Retention;

use super::check::{Check, in_range};
use super::raw::{RawFetch, RawMedia, RawRetention, RawVideo};

/// Largest budget that can be set, in units of 1,000,000,000 bytes.
const MAX_BUDGET_GB: i64 = 1_000_000;
const GB: u64 = 1_000_000_000;
/// Longest times of video tasks that can be set: a week, and an hour for one call.
const MAX_SECONDS: i64 = 604_800;
const MAX_CALL_MS: i64 = 3_600_000;

impl Check<'_> {
    /// Where files lie, and how long they and the rest are kept.
    pub(super) fn media(
        &mut self,
        raw: RawMedia,
        kept: &RawRetention,
    ) -> Option<(MediaSettings, Retention)> {
        let budget = in_range(raw.budget_gb, 0, MAX_BUDGET_GB);
        let budget = self.take("media.budget_gb", budget)?;
        let retention = self.retention(kept, raw.keep_days)?;
        let place = if raw.s3_bucket.is_empty() {
            if raw.directory.is_empty() {
                let problem = "must be set, or media.s3_bucket: finished videos lie there";
                self.say("media.directory", problem.to_owned());
                return None;
            }
            Place::Directory(PathBuf::from(raw.directory))
        } else {
            let keys = [&raw.s3_access_key, &raw.s3_secret_key];
            if keys.iter().any(|key| key.reveal().is_empty()) {
                let problem = "must be set, with media.s3_secret_key, for a bucket";
                self.say("media.s3_access_key", problem.to_owned());
                return None;
            }
            Place::S3(S3Settings {
                endpoint: (!raw.s3_endpoint.is_empty()).then_some(raw.s3_endpoint),
                bucket: raw.s3_bucket,
                region: raw.s3_region,
                path_style: raw.s3_path_style,
                access_key: raw.s3_access_key,
                secret_key: raw.s3_secret_key,
                time_limit: DEFAULT_TIME_LIMIT,
                extra_roots_pem: Vec::new(),
            })
        };
        let settings = MediaSettings {
            place,
            budget_bytes: (budget > 0).then(|| budget.saturating_mul(GB)),
        };
        Some((settings, retention))
    }

    /// What addresses of customers may lead to.
    pub(super) fn fetch(&mut self, raw: &RawFetch, roots: &Roots) -> Option<SafeFetchSettings> {
        let mut allowed = Vec::new();
        for text in &raw.allowed_networks {
            let network: Result<Network, String> = text
                .parse()
                .map_err(|_| format!("{text:?} is not a network such as 10.0.0.0/8"));
            allowed.push(self.take("fetch.allowed_networks", network)?);
        }
        Some(SafeFetchSettings {
            allowed,
            has_high_ports: raw.high_ports,
            roots: roots.clone(),
            ..SafeFetchSettings::default()
        })
    }

    pub(super) fn video(&mut self, raw: &RawVideo) -> Option<VideoSettings> {
        let mut millis = |key: &str, value: i64| {
            let number = self.take(key, in_range(value, 1, MAX_CALL_MS));
            number.map(Duration::from_millis)
        };
        let poll_first = millis("video.poll_first_ms", raw.poll_first_ms);
        let poll_most = millis("video.poll_most_ms", raw.poll_most_ms);
        let call_wait = millis("video.call_ms", raw.call_ms)?;
        let lease = millis("video.lease_ms", raw.lease_ms)?;
        let mut seconds = |key: &str, value: i64| {
            let number = self.take(key, in_range(value, 1, MAX_SECONDS));
            number.map(Duration::from_secs)
        };
        let deadline = seconds("video.deadline_seconds", raw.deadline_seconds);
        let queue = seconds("video.queue_seconds", raw.queue_seconds);
        if lease <= call_wait {
            let problem = "must be more than video.call_ms: a call under way is no dead one";
            self.say("video.lease_ms", problem.to_owned());
            return None;
        }
        Some(VideoSettings {
            poll_first: poll_first?,
            poll_most: poll_most?.max(poll_first?),
            deadline: deadline?,
            queue: queue?,
            call_wait,
            lease,
            ..VideoSettings::default()
        })
    }
}
