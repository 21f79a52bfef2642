//! AWS Signature Version 4 in request headers, computed by `aws-sigv4` and checked against AWS's own test
//! suite. This module parses the credential, finds the region and selects the headers that are signed.

use std::time::{Duration, SystemTime};

use aws_credential_types::Credentials;
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
use aws_sigv4::sign::v4;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use http::uri::Scheme;
use http::{HeaderName, HeaderValue, Uri};
use trunkline_types::{Secret, Timestamp};

use super::OpenError;
use crate::client::{Outgoing, SendError};

const DATE: HeaderName = HeaderName::from_static("x-amz-date");
const TOKEN: HeaderName = HeaderName::from_static("x-amz-security-token");
/// Headers with this prefix are signed if they are sent.
const AMAZON: &str = "x-amz";
/// The region of an AWS host is the label before one of these suffixes.
const REGION_SUFFIXES: [&str; 4] = [
    ".amazonaws.com",
    ".amazonaws.com.cn",
    ".vpce.amazonaws.com",
    ".api.aws",
];
const MAX_REGION_BYTES: usize = 64;
/// The year 9999: `aws-sigv4` panics on a date that its calendar does not have.
const MAX_SECONDS: u64 = 253_402_300_799;

/// An AWS credential for one service.
pub(super) struct Keys {
    service: String,
    whole: Secret,
    /// Zeroized on drop, and redacted in `Debug`, by their own crate.
    credentials: Credentials,
    /// None: taken from the host.
    region: Option<String>,
}

// === impl Keys ===

impl Keys {
    pub(super) fn read(service: &str, secret: &Secret) -> Result<Self, OpenError> {
        let text = secret.reveal().trim();
        let (keys, region) = match text.rsplit_once('@') {
            Some((keys, region)) => (keys, Some(region)),
            None => (text, None),
        };
        let mut parts = keys.splitn(3, ':');
        let graphic = |part: &&str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_graphic());
        let mut next = || parts.next().map(|part| Some(part).filter(graphic));
        let both = (next().flatten(), next().flatten());
        let (Some(access_key), Some(secret_key)) = both else {
            return Err(OpenError::NotAws);
        };
        let session_token = match next() {
            None => None,
            Some(token) => Some(token.ok_or(OpenError::NotAws)?.to_owned()),
        };
        if region.is_some_and(|region| !is_region(region)) {
            return Err(OpenError::NotAws);
        }
        Ok(Self {
            service: service.to_owned(),
            whole: secret.clone(),
            credentials: Credentials::new(access_key, secret_key, session_token, None, "trunkline"),
            region: region.map(str::to_owned),
        })
    }

    pub(super) fn secrets(&self) -> Vec<Secret> {
        let keys = &self.credentials;
        let parts = [keys.access_key_id(), keys.secret_access_key()];
        let parts = parts.into_iter().chain(keys.session_token());
        let mut all = vec![self.whole.clone()];
        all.extend(parts.map(|part| Secret::new(part.to_owned())));
        all
    }

    /// The headers of a signed request: its date, its session token, its signature.
    pub(super) fn headers(
        &self,
        call: &Outgoing<'_>,
        now: Timestamp,
    ) -> Result<Vec<(HeaderName, HeaderValue)>, SendError> {
        let not_sent = |reason: &str| SendError::NotSent(reason.to_owned());
        let host = host(&call.uri).ok_or_else(|| not_sent("the address has no host"))?;
        let region = match &self.region {
            Some(region) => region,
            None => region_of(call.uri.host().unwrap_or_default()).ok_or_else(|| {
                not_sent("the address names no AWS region; write @REGION behind the credential")
            })?,
        };
        let at = system_time(now).ok_or_else(|| not_sent("the clock is beyond all dates"))?;
        let mut headers = vec![(HOST.as_str(), host.as_str())];
        for (name, value) in call.headers.iter().filter(|(name, _)| is_signed(name)) {
            let value = value
                .to_str()
                .map_err(|_| not_sent("a header is no text"))?;
            headers.push((name.as_str(), value));
        }
        let body = SignableBody::Bytes(call.body.whole());
        let uri = call.uri.to_string();
        let request = SignableRequest::new(call.method.as_str(), uri, headers.into_iter(), body);
        let signed = request
            .ok()
            .and_then(|request| self.sign(request, region, at, SigningSettings::default()));
        signed.ok_or_else(|| not_sent("the request cannot be signed"))
    }

    /// Date, session token and signature, in this order.
    fn sign(
        &self,
        request: SignableRequest<'_>,
        region: &str,
        at: SystemTime,
        settings: SigningSettings,
    ) -> Option<Vec<(HeaderName, HeaderValue)>> {
        let identity = self.credentials.clone().into();
        let params = v4::SigningParams::builder()
            .identity(&identity)
            .region(region)
            .name(&self.service)
            .time(at)
            .settings(settings)
            .build();
        let (instructions, _) = sign(request, &params.ok()?.into()).ok()?.into_parts();
        let (mut headers, _) = instructions.into_parts();
        headers.sort_by_key(|header| header.name() == AUTHORIZATION);
        let made = headers.into_iter().map(|header| {
            let name = HeaderName::from_static(header.name());
            let mut value = HeaderValue::from_str(header.value()).ok()?;
            value.set_sensitive(name != DATE);
            Some((name, value))
        });
        made.collect()
    }
}

/// Proxies and the client below may change the other headers.
fn is_signed(name: &HeaderName) -> bool {
    let is_replaced = *name == DATE || *name == TOKEN;
    !is_replaced && (*name == CONTENT_TYPE || name.as_str().starts_with(AMAZON))
}

/// The host as the client below writes it: without the scheme's default port.
fn host(uri: &Uri) -> Option<String> {
    let host = uri.host()?;
    let default = match uri.scheme() {
        Some(scheme) if *scheme == Scheme::HTTPS => 443,
        Some(_) | None => 80,
    };
    Some(match uri.port_u16().filter(|port| *port != default) {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    })
}

fn region_of(host: &str) -> Option<&str> {
    let before = REGION_SUFFIXES
        .iter()
        .filter_map(|suffix| host.strip_suffix(suffix))
        .min_by_key(|before| before.len())?;
    let region = before.rsplit('.').next().filter(|region| is_region(region));
    // Without a service before it, the label is not a region.
    region.filter(|region| region.len() < before.len())
}

fn is_region(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !text.is_empty() && text.len() <= MAX_REGION_BYTES && text.bytes().all(plain)
}

fn system_time(now: Timestamp) -> Option<SystemTime> {
    let seconds = u64::try_from(now.seconds()).ok()?;
    let since = Duration::from_secs(seconds);
    SystemTime::UNIX_EPOCH
        .checked_add(since)
        .filter(|_| seconds <= MAX_SECONDS)
}

#[cfg(test)]
mod tests;
