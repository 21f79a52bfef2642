//! One try to deliver one message: through the guarded client, once, without following redirects.
//! The answer is its status; the rest is read up to a bound and thrown away.

use std::time::Duration;

use bytes::Bytes;
use http::header::RETRY_AFTER;
use http::{HeaderMap, StatusCode};
use trunkline_types::{AccountId, Timestamp};
use trunkline_upstream::safe_fetch::{FetchError, FetchRequest, FetchResponse};
use uuid::Uuid;

use super::binding;
use super::message::{TEST, headers, test_body};
use super::{SealedFor, Secret};
use crate::state::AccountApi;

/// Bytes of an answer that are read; hanging up on the rest is no failure.
const MAX_ANSWER_BYTES: u64 = 64 << 10;
/// How long a name may take to be looked up when its address is given.
const JUDGED_WITHIN: Duration = Duration::from_secs(5);

/// A webhook with its seals.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Receiver<'a> {
    pub(crate) webhook: Uuid,
    pub(crate) account: AccountId,
    /// Where the address stands, and the address.
    pub(crate) url: (SealedFor, &'a [u8]),
    pub(crate) secret: &'a [u8],
    pub(crate) old_secret: Option<&'a [u8]>,
}

/// A message that is ready.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    pub(crate) id: Uuid,
    pub(crate) body: Bytes,
}

/// What came of a try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// What came back, if anything did.
    pub(crate) status: Option<u16>,
    /// Why it was not taken; none if it was.
    pub(crate) error: Option<DeliveryError>,
    /// When the receiver wants the retry.
    pub(crate) retry_after: Option<Duration>,
}

/// Why a message was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DeliveryError {
    /// A status that is neither success nor one of the next two.
    Status,
    /// A redirect, which is not followed.
    Redirect,
    /// It will never take one again.
    Gone,
    /// The address cannot be read or is not served.
    BadAddress,
    /// The host is unknown or not public.
    NotPublic,
    Unreachable,
    /// The certificate does not hold.
    Tls,
    /// No head of an answer in time.
    Timeout,
    /// What came is no answer.
    BadAnswer,
    /// The connection was closed before the answer.
    Closed,
    /// It is too large to be sent.
    TooLarge,
    /// Too many messages are on their way.
    Busy,
    /// The event is not kept any more.
    Forgotten,
    /// The address or the secret cannot be opened.
    Unreadable,
}

impl DeliveryError {
    /// The code that customers and counters see.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Status => "status",
            Self::Redirect => "redirect",
            Self::Gone => "gone",
            Self::BadAddress => "bad_address",
            Self::NotPublic => "not_public",
            Self::Unreachable => "unreachable",
            Self::Tls => "tls",
            Self::Timeout => "timeout",
            Self::BadAnswer => "bad_answer",
            Self::Closed => "closed",
            Self::TooLarge => "too_large",
            Self::Busy => "busy",
            Self::Forgotten => "forgotten",
            Self::Unreadable => "unreadable",
        }
    }

    const fn of(error: FetchError) -> Self {
        match error {
            FetchError::NotAnAddress
            | FetchError::AddressTooLong
            | FetchError::Scheme
            | FetchError::Credentials
            | FetchError::Port => Self::BadAddress,
            FetchError::NotPublic => Self::NotPublic,
            FetchError::Unreachable => Self::Unreachable,
            FetchError::Untrusted => Self::Tls,
            FetchError::Slow => Self::Timeout,
            FetchError::TooLarge { .. }
            | FetchError::HeadersTooLarge
            | FetchError::TooManyRedirects
            | FetchError::Downgrade
            | FetchError::BadAnswer => Self::BadAnswer,
            FetchError::BrokenOff => Self::Closed,
            FetchError::PostTooLarge => Self::TooLarge,
            FetchError::Busy => Self::Busy,
        }
    }
}

impl Outcome {
    pub(super) const fn failed(error: DeliveryError) -> Self {
        Self {
            status: None,
            error: Some(error),
            retry_after: None,
        }
    }

    fn of(status: StatusCode, headers: &HeaderMap, now: Timestamp) -> Self {
        let error = match status {
            status if status.is_success() => None,
            StatusCode::GONE => Some(DeliveryError::Gone),
            status if status.is_redirection() => Some(DeliveryError::Redirect),
            _ => Some(DeliveryError::Status),
        };
        Self {
            status: Some(status.as_u16()),
            error,
            retry_after: error.and_then(|_| retry_after(headers, now)),
        }
    }
}

/// Whether an address may be given: read, resolved and judged, but not reached for.
pub(crate) async fn check_url(api: &AccountApi, url: &str) -> Result<(), FetchError> {
    api.webhooks.client.judge(url, JUDGED_WITHIN).await
}

/// Sends a message once.
pub(crate) async fn send(api: &AccountApi, to: Receiver<'_>, message: Message) -> Outcome {
    let (sealed_for, url) = to.url;
    let url = binding::open_url(api, to.account, sealed_for, url);
    let secrets: Option<Vec<Secret>> = [Some(to.secret), to.old_secret]
        .into_iter()
        .flatten()
        .map(|sealed| binding::open_secret(api, to.account, to.webhook, sealed))
        .collect();
    let (Some(url), Some(secrets)) = (url, secrets) else {
        tracing::error!(webhook.id = %to.webhook, "webhook delivery: the secret cannot be unsealed with this keyring");
        return Outcome::failed(DeliveryError::Unreadable);
    };
    let now = api.edge.now();
    let Some(headers) = headers(message.id, now, &message.body, &secrets) else {
        return Outcome::failed(DeliveryError::Unreadable);
    };
    let within = api.settings.webhooks.wait;
    let ask = FetchRequest {
        range: None,
        max_bytes: MAX_ANSWER_BYTES,
        within,
    };
    let client = &api.webhooks.client;
    match client.post(&url, &headers, message.body, ask).await {
        Ok(answer) => {
            let outcome = Outcome::of(answer.status, &answer.headers, now);
            hear_out(answer).await;
            outcome
        }
        Err(error) => Outcome::failed(DeliveryError::of(error)),
    }
}

/// Sends a message that tells of nothing but itself.
pub(crate) async fn send_test(api: &AccountApi, to: Receiver<'_>, name: &str) -> Outcome {
    let message = Message {
        id: api.edge.request_id().uuid(),
        body: test_body(name, api.edge.now()),
    };
    let outcome = send(api, to, message).await;
    count(api, TEST);
    outcome
}

pub(super) fn count(api: &AccountApi, word: &'static str) {
    api.edge.metrics.webhooks.add(word);
}

/// Reads what comes behind the head, so that an honest receiver sees an orderly end. Whatever it is, and
/// however it ends, the status was the answer.
async fn hear_out(mut answer: FetchResponse) {
    while let Ok(Some(_)) = answer.piece().await {}
}

/// Seconds, or a date.
fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = jiff::fmt::rfc2822::parse(text).ok()?;
    let seconds = date.timestamp().as_second().saturating_sub(now.seconds());
    u64::try_from(seconds).ok().map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn outcome(status: u16, wait: &'static str) -> Outcome {
        let mut headers = HeaderMap::new();
        headers.insert(RETRY_AFTER, HeaderValue::from_static(wait));
        // Tuesday, 14 November 2023, 22:13:20.
        let now = Timestamp::from_micros(1_700_000_000_000_000);
        Outcome::of(StatusCode::from_u16(status).unwrap(), &headers, now)
    }

    #[test]
    fn a_status_of_success_is_success_and_nothing_else_is() {
        for status in [200, 201, 202, 204, 299] {
            assert_eq!(outcome(status, "5").error, None, "{status}");
            assert_eq!(outcome(status, "5").retry_after, None, "{status}");
        }
        for (status, error) in [
            (301, DeliveryError::Redirect),
            (304, DeliveryError::Redirect),
            (308, DeliveryError::Redirect),
            (400, DeliveryError::Status),
            (404, DeliveryError::Status),
            (410, DeliveryError::Gone),
            (429, DeliveryError::Status),
            (500, DeliveryError::Status),
        ] {
            assert_eq!(outcome(status, "5").error, Some(error), "{status}");
        }
    }

    #[test]
    fn retry_after_is_seconds_or_a_date_that_is_to_come() {
        let wait = |text| outcome(503, text).retry_after;
        assert_eq!(wait("120"), Some(Duration::from_secs(120)));
        let date = "Tue, 14 Nov 2023 22:15:20 GMT";
        assert_eq!(wait(date), Some(Duration::from_secs(120)));
        assert_eq!(wait("Tue, 14 Nov 2023 22:00:00 GMT"), None);
        assert_eq!(wait("-5"), None);
        assert_eq!(wait("soon"), None);
    }
}
