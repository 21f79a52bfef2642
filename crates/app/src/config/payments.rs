//! Payments: from texts to values.

use std::path::Path;

use trunkline_payments::StripeSettings;
use trunkline_types::Secret;

use super::check::Check;
use super::console::is_loopback;
use super::raw::RawPayments;
use crate::files;

/// Longest file of a key or of webhook secrets.
const MAX_SECRET_BYTES: u64 = 4_096;
/// Most webhook secrets at a time.
const MAX_WEBHOOK_SECRETS: usize = 8;

impl Check<'_> {
    /// Outer none: a finding was made. Inner none: not set.
    pub(super) fn payments(&mut self, raw: &RawPayments) -> Option<Option<StripeSettings>> {
        let api = self.take("payments.stripe_api", api(&raw.stripe_api));
        let (key, secrets) = (&raw.stripe_key_file, &raw.stripe_webhook_secret_file);
        if key.is_empty() && secrets.is_empty() {
            return api.map(|_| None);
        }
        let key = lines(key).and_then(|mut lines| match (lines.pop(), lines.pop()) {
            (Some(key), None) => Ok(key),
            (Some(_), Some(_)) | (None, _) => Err("must hold one secret key".to_owned()),
        });
        let key = self.take("payments.stripe_key_file", key);
        let secrets = lines(secrets).and_then(|lines| {
            let is_right = (1..=MAX_WEBHOOK_SECRETS).contains(&lines.len());
            let problem = "must hold one to eight webhook secrets, one on each line".to_owned();
            is_right.then_some(lines).ok_or(problem)
        });
        let secrets = self.take("payments.stripe_webhook_secret_file", secrets);
        Some(Some(StripeSettings {
            api: api?,
            key: key?,
            webhook_secrets: secrets?,
        }))
    }
}

/// The lines of a file that are not empty.
fn lines(file: &str) -> Result<Vec<Secret>, String> {
    if file.is_empty() {
        return Err("must be set because the other file of payments is".to_owned());
    }
    let text = files::read_bounded(Path::new(file), MAX_SECRET_BYTES);
    let text = text.map_err(|error| format!("cannot read {file:?}: {error}"))?;
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    Ok(lines.map(|line| Secret::new(line.to_owned())).collect())
}

fn api(text: &str) -> Result<String, String> {
    let text = text.trim_end_matches('/');
    let url = url::Url::parse(text).ok();
    let is_private = url.as_ref().is_some_and(|url| {
        let is_bare = url.path() == "/" && url.query().is_none() && url.username().is_empty();
        is_bare && (url.scheme() == "https" || (url.scheme() == "http" && is_loopback(url)))
    });
    let problem = "must be an address over https without a path, such as https://api.stripe.com";
    is_private
        .then(|| text.to_owned())
        .ok_or_else(|| problem.to_owned())
}
