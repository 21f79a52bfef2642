//! An idempotency key: the client's key and a fingerprint of what was sent under it. A duplicate comes back
//! as [`ErrorCode::SameCall`], which the edge turns into the stored response.

use std::borrow::Cow;

use http::HeaderMap;
use sha2::{Digest as _, Sha256};
use trunkline_ledger::stored_responses::{self, GENERATED_KEY_PREFIX, Include};
use trunkline_types::Defect;

use super::{IdempotencyKey, IdempotencyPolicy};
use crate::caller::Caller;
use crate::error::{ApiError, ErrorCode};
use crate::rate_limit::{self, Cost};
use crate::request_context::RequestContext;
use crate::services::Services;

/// The client's name for a call.
const KEY: &str = "idempotency-key";
const MAX_KEY: usize = 255;
/// A client's library that tries again by itself counts its tries here.
const RETRY_COUNT: &str = "x-stainless-retry-count";

/// What is sent, as far as it makes two calls the same.
#[derive(Debug, Clone)]
pub(crate) struct Fingerprint<'a> {
    /// The path, with a model or verb in it.
    pub(crate) path: &'a str,
    /// JSON or a form, and the shape that the answer is to have.
    pub(crate) class: &'a str,
    /// The body. Of a form its fields and what its files hash to: boundaries are new each time.
    pub(crate) body: Cow<'a, [u8]>,
    pub(crate) task: bool,
}

/// Whether a request brings a key.
pub(crate) fn has_key(headers: &HeaderMap) -> bool {
    headers.contains_key(KEY)
}

/// Whether a call comes from a library that may try again by itself.
fn may_retry(headers: &HeaderMap) -> bool {
    retries(headers).is_some()
}

/// Whether it is such a try.
pub(crate) fn is_retry(headers: &HeaderMap) -> bool {
    retries(headers).is_some_and(|count| count > 0)
}

fn retries(headers: &HeaderMap) -> Option<u32> {
    headers.get(RETRY_COUNT)?.to_str().ok()?.parse().ok()
}

/// The idempotency key of a request that brings one, or that is given one of ours. If it is taken,
/// the request that has it is the error.
pub(crate) async fn idempotency_key(
    services: &Services,
    policy: IdempotencyPolicy,
    context: &RequestContext,
    caller: &Caller,
    headers: &HeaderMap,
    fingerprint: Fingerprint<'_>,
) -> Result<Option<IdempotencyKey>, ApiError> {
    if policy == IdempotencyPolicy::Ignored {
        return Ok(None);
    }
    let keeps_nothing = caller.key.policy.fields().zero_retention;
    let Some(key) = key_of(headers)? else {
        // Whether a second submission makes a second thing, the operation says.
        let assigns = policy == IdempotencyPolicy::KeyOrSdkRetry && may_retry(headers);
        if !assigns || keeps_nothing {
            return Ok(None);
        }
        let assigned = assigned_key(services, context, caller, headers, &fingerprint);
        return Box::pin(assigned).await;
    };
    if keeps_nothing {
        let text = "this API key keeps nothing (`zero_retention`), and an `Idempotency-Key` asks for \
                    the answer to be kept for a day; leave the header out, or use another API key; \
                    nothing was charged";
        return Err(ApiError::new(ErrorCode::Invalid("invalid_request"), text).at(KEY));
    }
    let key = IdempotencyKey {
        key,
        body_hash: fingerprint.hash(),
    };
    if Defect::MissingReplay.is_on() {
        return Ok(None);
    }
    let unused = unused_key(services, context, caller, key, fingerprint.task);
    // In a box: few calls bring a key, and the others need not carry what looks for it.
    Box::pin(unused).await.map(Some)
}

/// The key, unless a request has it already.
async fn unused_key(
    services: &Services,
    context: &RequestContext,
    caller: &Caller,
    key: IdempotencyKey,
    is_task: bool,
) -> Result<IdempotencyKey, ApiError> {
    let account = caller.account.id;
    let found = stored_responses::find(&services.data, account, &key.key, Include::Nothing).await;
    match found? {
        None => Ok(key),
        // Before the body is understood: one that cannot be is another body as well.
        Some(row) if row.body_hash != key.body_hash => {
            rate_limit::check(&services.edge, context, caller, Cost::Read).await?;
            Err(conflict())
        }
        Some(_) => duplicate(services, context, caller, key, is_task).await,
    }
}

pub(crate) fn conflict() -> ApiError {
    let text = "this idempotency key was used with another body, path or type of body; use a new key \
                for a new call; nothing was charged";
    ApiError::new(ErrorCode::IdempotencyConflict, text).at(KEY)
}

/// A duplicate costs nothing, so it takes of the read limit what its original took of the paid ones.
async fn duplicate<T>(
    services: &Services,
    context: &RequestContext,
    caller: &Caller,
    key: IdempotencyKey,
    is_task: bool,
) -> Result<T, ApiError> {
    rate_limit::check(&services.edge, context, caller, Cost::Read).await?;
    let duplicate = key.duplicate(caller.account.id, is_task);
    Err(ApiError::duplicate(duplicate))
}

/// A client library that may try again by itself gets a key from us, and its next try finds the
/// first.
async fn assigned_key(
    services: &Services,
    context: &RequestContext,
    caller: &Caller,
    headers: &HeaderMap,
    fingerprint: &Fingerprint<'_>,
) -> Result<Option<IdempotencyKey>, ApiError> {
    let (account, body_hash) = (caller.account.id, fingerprint.hash());
    if is_retry(headers) {
        let found = stored_responses::newest_generated(&services.data, account, &body_hash).await;
        if let Some((key, _)) = found? {
            let key = IdempotencyKey { key, body_hash };
            return duplicate(services, context, caller, key, fingerprint.task).await;
        }
    }
    // No two requests have it, so it names one request for ever.
    let key = format!("{GENERATED_KEY_PREFIX}{}", context.id);
    Ok(Some(IdempotencyKey { key, body_hash }))
}

// === impl Fingerprint ===

impl Fingerprint<'_> {
    /// Each part with its length, so that no part can pass for another.
    fn hash(&self) -> [u8; 32] {
        let mut hash = Sha256::new();
        for part in [
            b"POST",
            self.path.as_bytes(),
            self.class.as_bytes(),
            &self.body,
        ] {
            let length = u64::try_from(part.len()).unwrap_or(u64::MAX);
            hash.update(length.to_be_bytes());
            hash.update(part);
        }
        hash.finalize().into()
    }
}

fn key_of(headers: &HeaderMap) -> Result<Option<String>, ApiError> {
    let mut values = headers.get_all(KEY).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    let key = value.to_str().unwrap_or_default();
    let is_visible = key.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    if key.is_empty() || key.len() > MAX_KEY || !is_visible || values.next().is_some() {
        let text = format!(
            "`{KEY}` must have 1 to {MAX_KEY} visible characters and be sent once; nothing was charged"
        );
        return Err(ApiError::new(ErrorCode::Invalid("invalid_request"), text).at(KEY));
    }
    Ok(Some(key.to_owned()))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn with(key: &[u8]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(KEY, HeaderValue::from_bytes(key).unwrap());
        headers
    }

    #[test]
    fn a_key_has_1_to_255_visible_characters() {
        let read = |key: &[u8]| key_of(&with(key)).map_err(|error| error.param);
        assert_eq!(key_of(&HeaderMap::new()).unwrap(), None);
        assert_eq!(read(b"a key of mine"), Ok(Some("a key of mine".to_owned())));
        assert!(read(&[b'x'; 255]).is_ok());
        let wrong = Err(Some(KEY.to_owned()));
        for key in [&b""[..], &[b'x'; 256], b"tab\tbed", b"caf\xc3\xa9"] {
            assert_eq!(read(key), wrong);
        }
        let mut twice = with(b"one");
        twice.append(KEY, HeaderValue::from_static("two"));
        assert!(key_of(&twice).is_err());
    }

    #[test]
    fn what_is_sent_where_and_as_what_makes_two_calls_the_same() {
        let first = Fingerprint {
            path: "/v1/chat/completions",
            class: "json",
            body: Cow::Borrowed(b"{}"),
            task: false,
        };
        let others = [
            Fingerprint {
                path: "/v1/completions",
                ..first.clone()
            },
            Fingerprint {
                class: "form",
                ..first.clone()
            },
            Fingerprint {
                body: Cow::Borrowed(b"{} "),
                ..first.clone()
            },
            Fingerprint {
                class: "jso",
                body: Cow::Borrowed(b"n{}"),
                ..first.clone()
            },
        ];
        assert_eq!(first.hash(), first.hash());
        for other in others {
            assert_ne!(first.hash(), other.hash());
        }
    }

    #[test]
    fn a_library_that_counts_its_tries_is_known() {
        let mut headers = HeaderMap::new();
        assert!(!may_retry(&headers));
        for (count, may, is) in [("0", true, false), ("2", true, true), ("x", false, false)] {
            headers.insert(RETRY_COUNT, HeaderValue::from_static(count));
            assert_eq!((may_retry(&headers), is_retry(&headers)), (may, is));
        }
    }
}
