//! The guardrail: from texts to values.

use std::time::Duration;

use trunkline_gateway::{FailMode, GuardrailSettings, ProbeSettings};

use super::check::{Check, in_range};
use super::raw::{RawChannels, RawGuardrail};

const MAX_TIMEOUT_MS: i64 = 60_000;
const MAX_BYTES: i64 = 16_000_000;

impl Check<'_> {
    /// How channels are probed, and which service checks calls.
    pub(super) fn calls(
        &mut self,
        channels: &RawChannels,
        guardrail: &RawGuardrail,
    ) -> Option<(ProbeSettings, Option<GuardrailSettings>)> {
        let probes = self.channels(channels);
        let guardrail = self.guardrail(guardrail);
        Some((probes?, guardrail?))
    }

    /// Outer none: a finding was made. Inner none: not set.
    fn guardrail(&mut self, raw: &RawGuardrail) -> Option<Option<GuardrailSettings>> {
        let timeout = in_range(raw.timeout_ms, 1, MAX_TIMEOUT_MS);
        let timeout = self.take("guardrail.timeout_ms", timeout);
        let bytes = in_range(raw.max_bytes, 0, MAX_BYTES);
        let bytes: Option<u64> = self.take("guardrail.max_bytes", bytes);
        let fail = FailMode::of_word(&raw.fail);
        let fail = fail.ok_or_else(|| "must be \"closed\" or \"open\"".to_owned());
        let fail = self.take("guardrail.fail", fail);
        let (url, secret) = (raw.url.as_str(), raw.secret.reveal());
        if url.is_empty() && secret.is_empty() {
            return Some(None);
        }
        let uri: Option<http::Uri> = url.parse().ok();
        let uri = uri.filter(|uri| {
            let known = matches!(uri.scheme_str(), Some("http" | "https"));
            known && uri.host().is_some_and(|host| !host.is_empty())
        });
        let problem = "must be an address such as https://guard.example.com/check".to_owned();
        let uri = self.take("guardrail.url", uri.ok_or(problem))?;
        let problem = "must be whsec_ and the base64 of at least 24 bytes".to_owned();
        let secret = trunkline_account_api::SigningSecret::parse(secret).ok_or(problem);
        let secret = self.take("guardrail.secret", secret)?;
        Some(Some(GuardrailSettings {
            uri,
            secret,
            timeout: Duration::from_millis(timeout?),
            fail: fail?,
            max_bytes: usize::try_from(bytes?).ok()?,
        }))
    }
}
