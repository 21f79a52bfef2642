//! AWS signatures, version 4, in headers: what is signed is the method, the path, the query, some
//! headers and a hash of the body. By hand, since it is one page, and held to AWS's own test suite.

mod canonical;

use aws_lc_rs::hmac;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use http::uri::Scheme;
use http::{HeaderName, HeaderValue, Uri};
use time::OffsetDateTime;
use trunkline_types::{Secret, Timestamp};

use self::canonical::{Canonical, hash, hex, merged};
use super::{OpenError, sensitive};
use crate::client::{Outgoing, SendError};

const DATE: HeaderName = HeaderName::from_static("x-amz-date");
const TOKEN: HeaderName = HeaderName::from_static("x-amz-security-token");
/// Headers of this kind are signed if they are sent.
const AMAZON: &str = "x-amz";
/// Where an address of AWS has its region: the label before one of these.
const BEHIND_REGION: [&str; 4] = [
    ".amazonaws.com",
    ".amazonaws.com.cn",
    ".vpce.amazonaws.com",
    ".api.aws",
];
const MAX_REGION_BYTES: usize = 64;

/// An AWS credential for one service.
pub(super) struct Keys {
    service: String,
    whole: Secret,
    access_key: Secret,
    secret_key: Secret,
    session_token: Option<Secret>,
    /// None: the host says.
    region: Option<String>,
}

/// When and where a signature counts.
struct Scope<'a> {
    /// `20150830T123600Z`.
    stamp: &'a str,
    region: &'a str,
    service: &'a str,
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
            Some(token) => Some(token.ok_or(OpenError::NotAws)?),
        };
        if region.is_some_and(|region| !is_region(region)) {
            return Err(OpenError::NotAws);
        }
        let secret_of = |text: &str| Secret::new(text.to_owned());
        Ok(Self {
            service: service.to_owned(),
            whole: secret.clone(),
            access_key: secret_of(access_key),
            secret_key: secret_of(secret_key),
            session_token: session_token.map(secret_of),
            region: region.map(str::to_owned),
        })
    }

    pub(super) fn secrets(&self) -> Vec<Secret> {
        let mut all = vec![
            self.whole.clone(),
            self.access_key.clone(),
            self.secret_key.clone(),
        ];
        all.extend(self.session_token.clone());
        all
    }

    /// The headers of a signed call: its date, its session, its signature.
    pub(super) fn headers(
        &self,
        call: &Outgoing<'_>,
        now: Timestamp,
    ) -> Result<Vec<(HeaderName, HeaderValue)>, SendError> {
        let not_sent = |words: &str| SendError::NotSent(words.to_owned());
        let host = host(&call.uri).ok_or_else(|| not_sent("the address has no host"))?;
        let region = match &self.region {
            Some(region) => region,
            None => region_of(call.uri.host().unwrap_or_default()).ok_or_else(|| {
                not_sent("the address names no AWS region; write @REGION behind the credential")
            })?,
        };
        let stamp = stamp(now).ok_or_else(|| not_sent("the clock is beyond all dates"))?;
        let unfit = |_| not_sent("the credential cannot stand in a header");
        let mut made = vec![(
            DATE,
            HeaderValue::from_str(&stamp).map_err(|_| not_sent("the date is no text"))?,
        )];
        if let Some(token) = &self.session_token {
            made.push((TOKEN, sensitive(token.reveal()).map_err(unfit)?));
        }
        let mut headers = vec![(HOST.as_str().to_owned(), host)];
        let sent = call.headers.iter().filter(|(name, _)| is_signed(name));
        let sent = sent.filter(|(name, _)| **name != DATE && **name != TOKEN);
        for (name, value) in sent.chain(made.iter().map(|(name, value)| (name, value))) {
            let value = value
                .to_str()
                .map_err(|_| not_sent("a header is no text"))?;
            headers.push((name.as_str().to_owned(), value.to_owned()));
        }
        let canonical = Canonical {
            method: call.method.as_str(),
            path: call.uri.path(),
            query: call.uri.query().unwrap_or_default(),
            headers: merged(headers),
            body: call.body.whole(),
        };
        let scope = Scope {
            stamp: &stamp,
            region,
            service: &self.service,
        };
        let signed = self.authorization(&canonical, &scope);
        made.push((AUTHORIZATION, sensitive(&signed).map_err(unfit)?));
        Ok(made)
    }

    fn authorization(&self, canonical: &Canonical<'_>, scope: &Scope<'_>) -> String {
        format!(
            "AWS4-HMAC-SHA256 Credential={}/{}, SignedHeaders={}, Signature={}",
            self.access_key.reveal(),
            scope.text(),
            canonical.names(),
            self.signature(&scope.to_sign(&canonical.text()), scope),
        )
    }

    fn signature(&self, to_sign: &str, scope: &Scope<'_>) -> String {
        let first = Secret::new(format!("AWS4{}", self.secret_key.reveal()));
        let mut key = hmac::Key::new(hmac::HMAC_SHA256, first.reveal().as_bytes());
        for word in [scope.day(), scope.region, scope.service, "aws4_request"] {
            let tag = hmac::sign(&key, word.as_bytes());
            key = hmac::Key::new(hmac::HMAC_SHA256, tag.as_ref());
        }
        hex(hmac::sign(&key, to_sign.as_bytes()).as_ref())
    }
}

// === impl Scope ===

impl Scope<'_> {
    fn day(&self) -> &str {
        self.stamp.split('T').next().unwrap_or_default()
    }

    fn text(&self) -> String {
        format!(
            "{}/{}/{}/aws4_request",
            self.day(),
            self.region,
            self.service
        )
    }

    fn to_sign(&self, canonical: &str) -> String {
        let hashed = hash(canonical.as_bytes());
        format!(
            "AWS4-HMAC-SHA256\n{}\n{}\n{hashed}",
            self.stamp,
            self.text()
        )
    }
}

/// Others may be changed on the way, by a proxy or by the client beneath us.
fn is_signed(name: &HeaderName) -> bool {
    *name == CONTENT_TYPE || name.as_str().starts_with(AMAZON)
}

/// The host as the client beneath us writes it: a port that goes without saying is left out.
fn host(uri: &Uri) -> Option<String> {
    let host = uri.host()?;
    let usual = match uri.scheme() {
        Some(scheme) if *scheme == Scheme::HTTPS => 443,
        Some(_) | None => 80,
    };
    Some(match uri.port_u16().filter(|port| *port != usual) {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    })
}

fn region_of(host: &str) -> Option<&str> {
    let before = BEHIND_REGION
        .iter()
        .filter_map(|ending| host.strip_suffix(ending))
        .min_by_key(|before| before.len())?;
    let region = before.rsplit('.').next().filter(|region| is_region(region));
    // Without a service before it, the label is not a region.
    region.filter(|region| region.len() < before.len())
}

fn is_region(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !text.is_empty() && text.len() <= MAX_REGION_BYTES && text.bytes().all(plain)
}

fn stamp(now: Timestamp) -> Option<String> {
    let at = OffsetDateTime::from_unix_timestamp(now.seconds()).ok()?;
    let (date, time) = (at.date(), at.time());
    Some(format!(
        "{:04}{:02}{:02}T{:02}{:02}{:02}Z",
        date.year(),
        u8::from(date.month()),
        date.day(),
        time.hour(),
        time.minute(),
        time.second()
    ))
}

#[cfg(test)]
mod tests;
