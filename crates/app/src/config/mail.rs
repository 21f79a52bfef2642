//! How emails are sent: from texts to values.

use std::path::Path;
use std::time::Duration;

use trunkline_mail::{MailSettings, Mailer, Server};

use super::check::{Check, MAX_ROOTS_BYTES, in_range};
use super::raw::RawMail;
use crate::files;

/// Longest try that can be set.
const MAX_TIMEOUT_SECONDS: i64 = 300;

impl Check<'_> {
    /// Outer none: a finding was made. Inner none: not set.
    pub(super) fn mail(&mut self, raw: &RawMail, roots: &str) -> Option<Option<MailSettings>> {
        let timeout = in_range(raw.timeout_seconds, 1, MAX_TIMEOUT_SECONDS);
        let timeout = self.take("mail.timeout_seconds", timeout);
        if raw.smtp.reveal().is_empty() {
            return timeout.map(|_| None);
        }
        let server = Server::parse(&raw.smtp).map_err(|error| error.to_string());
        let server = self.take("mail.smtp", server);
        let from = MailSettings::check_from(&raw.from).map_err(|error| error.to_string());
        let from = self.take("mail.from", from);
        let extra_roots = match roots {
            "" => None,
            // What is wrong with the file is said by its own key.
            file => files::read_bounded(Path::new(file), MAX_ROOTS_BYTES).ok(),
        };
        let ((), timeout) = (from?, timeout?);
        let settings = MailSettings {
            server: server?,
            from: raw.from.clone(),
            timeout: Duration::from_secs(timeout),
            extra_roots,
        };
        let ready = Mailer::new(&settings).map_err(|error| error.to_string());
        self.take("mail.smtp", ready)?;
        Some(Some(settings))
    }
}
