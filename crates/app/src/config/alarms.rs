//! Whom alarms are told: from texts to values.

use std::time::Duration;

use trunkline_account_api::AlarmTarget;
use trunkline_gateway::AlarmLimits;
use trunkline_mail::MailSettings;
use trunkline_types::Money;

use super::Alarms;
use super::check::{Check, in_range};
use super::raw::RawAlarms;

const MAX_WAIT_SECONDS: i64 = 86_400;
const MAX_CALLS: i64 = 1_000_000_000;

impl Check<'_> {
    pub(super) fn alarms(&mut self, raw: &RawAlarms, has_mail: bool) -> Option<Alarms> {
        for address in &raw.emails {
            let is_address = MailSettings::check_from(address).is_ok();
            if !is_address {
                self.say(
                    "alarms.emails",
                    "must be addresses such as ops@example.com".to_owned(),
                );
            }
        }
        if !raw.emails.is_empty() && !has_mail {
            self.say("alarms.emails", "needs mail.smtp".to_owned());
        }
        let wait = in_range(raw.wait_seconds, 0, MAX_WAIT_SECONDS);
        let wait = self.take("alarms.wait_seconds", wait);
        let calls = in_range(raw.account_calls, 0, MAX_CALLS);
        let calls = self.take("alarms.account_calls", calls);
        let usd = raw.account_usd.parse::<Money>().ok();
        let usd = usd.filter(|usd| *usd >= Money::ZERO);
        let usd = usd.ok_or_else(|| "must be an amount such as \"5\"".to_owned());
        let usd = self.take("alarms.account_usd", usd);
        Some(Alarms {
            emails: raw.emails.clone(),
            webhook: self.alarm_target(raw)?,
            wait: Duration::from_secs(wait?),
            limits: AlarmLimits {
                account_usd: usd?,
                account_calls: i64::try_from(calls?).ok()?,
            },
        })
    }

    /// Outer none: a finding was made. Inner none: not set.
    fn alarm_target(&mut self, raw: &RawAlarms) -> Option<Option<AlarmTarget>> {
        let (url, secret) = (raw.webhook_url.as_str(), raw.webhook_secret.reveal());
        if url.is_empty() && secret.is_empty() {
            return Some(None);
        }
        let uri: Option<http::Uri> = url.parse().ok();
        let uri = uri.filter(|uri| {
            let known = matches!(uri.scheme_str(), Some("http" | "https"));
            known && uri.host().is_some_and(|host| !host.is_empty())
        });
        let problem = "must be an address such as https://ops.example.com/alarms".to_owned();
        let uri = self.take("alarms.webhook_url", uri.ok_or(problem))?;
        let problem = "must be whsec_ and the base64 of at least 24 bytes".to_owned();
        let target = AlarmTarget::new(uri, secret).ok_or(problem);
        self.take("alarms.webhook_secret", target).map(Some)
    }
}
