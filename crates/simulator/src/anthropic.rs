//! Anthropic's Messages API: keys, versions and paths. A message is made in `complete`, on one
//! page that Bedrock and Vertex AI share; what differs between the platforms is a [`Platform`].
//!
//! Wordings of refusals were read in public bug reports or are recalled; `docs/dev/upstreams.md` says
//! which.

mod answer;
pub(crate) mod bedrock;
mod complete;
mod decide;
mod frames;
mod refusal;
mod render;
mod reply;
mod request;
mod signature;
mod stream;
mod vertex;
mod wire_types;

use http::{HeaderMap, Method};

use crate::headers;
use crate::recorded_request::RecordedRequest;
use crate::script::Script;
use crate::scripted_body::{VendorResponse, VendorResult};

pub(crate) use complete::{CallContext, Platform, complete};
pub(crate) use refusal::Refusal;
pub(crate) use request::{Context, Purpose};

const MESSAGES: &str = "/v1/messages";
const COUNT_TOKENS: &str = "/v1/messages/count_tokens";
/// The vendor's own bound for a body, below the simulator's.
const MAX_BODY_BYTES: usize = 32 * 1024 * 1024;

/// Whether a path is this vendor's.
pub(crate) fn owns(path: &str) -> bool {
    path.strip_prefix(MESSAGES)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Answers one request. An error closes the connection without an answer.
pub(crate) async fn serve(mut recorded: RecordedRequest, is_too_large: bool) -> VendorResult {
    // The vendor's load balancer refuses a large body before the key is checked.
    if is_too_large || recorded.body.len() > MAX_BODY_BYTES {
        return Ok(refuse(recorded, &Refusal::too_large()));
    }
    let key = key(&recorded.parts.headers).unwrap_or_default().to_owned();
    recorded.keyed(&key);
    if key.is_empty() {
        return Ok(refuse(recorded, &Refusal::no_key()));
    }
    if !recorded.state.accepts(&key) {
        return Ok(refuse(recorded, &Refusal::wrong_key()));
    }
    let path = recorded.parts.uri.path().to_owned();
    let purpose = match path.as_str() {
        MESSAGES => Purpose::Answer,
        COUNT_TOKENS => Purpose::Count,
        _ => return Ok(refuse(recorded, &Refusal::no_such_path())),
    };
    if recorded.parts.method != Method::POST {
        return Ok(refuse(recorded, &Refusal::wrong_method()));
    }
    let context = match context(&recorded.parts.headers, purpose) {
        Ok(context) => context,
        Err(refusal) => return Ok(refuse(recorded, &refusal)),
    };
    complete(recorded, CallContext::by_body(), Some(context)).await
}

/// Sends a refusal in this vendor's words.
pub(crate) fn refuse(recorded: RecordedRequest, refusal: &Refusal) -> VendorResponse {
    let id = reply::request_id(&recorded);
    let script = Script::json(
        refusal.status,
        refusal.retry_after_secs,
        refusal.body(Some(&id)),
    );
    reply::play(recorded, script, None)
}

/// The key of a call: `x-api-key` goes before a bearer.
fn key(headers: &HeaderMap) -> Option<&str> {
    let named = headers.get("x-api-key").and_then(|key| key.to_str().ok());
    named
        .filter(|key| !key.is_empty())
        .or_else(|| headers::bearer(headers))
}

fn context(headers: &HeaderMap, purpose: Purpose) -> Result<Context, Refusal> {
    let version = headers
        .get("anthropic-version")
        .map(|value| String::from_utf8_lossy(value.as_bytes()));
    let Some(version) = version else {
        return Err(Refusal::invalid(
            "anthropic-version: header is required".to_owned(),
        ));
    };
    if !is_date(&version) {
        let message = format!(
            "anthropic-version: \"{}\" is not a valid version",
            crate::refusal::shortened(&version)
        );
        return Err(Refusal::invalid(message));
    }
    Ok(Context {
        purpose,
        version: version.into_owned(),
        betas: betas(headers),
        platform: Platform::Anthropic,
    })
}

/// The flags of the header.
pub(crate) fn betas(headers: &HeaderMap) -> Vec<String> {
    let values = headers.get_all("anthropic-beta").iter();
    values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|flag| flag.trim().to_owned())
        .collect()
}

/// Dates of the form 2023-06-01. Which of them exist is not known here, so all are taken.
fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let [year, month, day] = parts.as_slice() else {
        return false;
    };
    let digits = |part: &str, length: usize| {
        part.len() == length && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    digits(year, 4) && digits(month, 2) && digits(day, 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_paths_below_messages_are_this_vendors() {
        for (path, is_ours) in [
            ("/v1/messages", true),
            ("/v1/messages/count_tokens", true),
            ("/v1/messages/batches", true),
            ("/v1/messagesx", false),
            ("/v1/models", false),
            ("/v1/chat/completions", false),
        ] {
            assert_eq!(owns(path), is_ours, "{path}");
        }
    }

    #[test]
    fn a_version_is_a_date() {
        for (version, is_good) in [
            ("2023-06-01", true),
            ("2026-10-21", true),
            ("2023-6-1", false),
            ("latest", false),
            ("", false),
        ] {
            assert_eq!(is_date(version), is_good, "{version}");
        }
    }
}
