//! AWS Bedrock in front of Anthropic's models: the same messages at another endpoint, with signed
//! calls, AWS's errors, and its own framing of streams.

mod sigv4;

use http::Method;
use percent_encoding::percent_decode_str;

use crate::anthropic::bedrock::{Exception, VENDOR, except};
use crate::anthropic::{CallContext, Platform, complete};
use crate::clock;
use crate::headers;
use crate::models;
use crate::recorded_request::RecordedRequest;
use crate::scripted_body::VendorResult;

const PREFIX: &str = "/model/";

/// Whether a path is this platform's.
pub(crate) fn owns(path: &str) -> bool {
    path.starts_with(PREFIX)
}

/// Answers one request. An error closes the connection without an answer.
pub(crate) async fn serve(mut recorded: RecordedRequest, is_too_large: bool) -> VendorResult {
    if is_too_large {
        return Ok(except(recorded, &Exception::too_large()));
    }
    let now_secs = clock::seconds(recorded.received_at_micros);
    // The signature comes before the path: a stranger does not learn what there is.
    let signer = match headers::bearer(&recorded.parts.headers) {
        Some(key) if recorded.state.accepts(key) => Ok(key.to_owned()),
        Some(_) => Err(Exception::wrong_bearer()),
        None => sigv4::verify(
            &recorded.parts,
            &recorded.body,
            &recorded.state.aws_keys,
            now_secs,
        ),
    };
    match signer {
        Ok(key) => recorded.keyed(&key),
        Err(exception) => return Ok(except(recorded, &exception)),
    }
    let call_context = match call_context(&recorded) {
        Ok(call_context) => call_context,
        Err(exception) => return Ok(except(recorded, &exception)),
    };
    complete(recorded, call_context, None).await
}

/// Model and whether a stream is asked for, from the path.
fn call_context(recorded: &RecordedRequest) -> Result<CallContext, Exception> {
    let path = recorded.parts.uri.path();
    let split = path
        .strip_prefix(PREFIX)
        .and_then(|rest| rest.rsplit_once('/'));
    let (id, stream) = match split {
        Some((id, "invoke")) => (id, false),
        Some((id, "invoke-with-response-stream")) => (id, true),
        Some(_) | None => return Err(Exception::unknown_operation()),
    };
    if recorded.parts.method != Method::POST {
        return Err(Exception::unknown_operation());
    }
    let id = percent_decode_str(id).decode_utf8_lossy().into_owned();
    if !is_model(&id) {
        return Err(Exception::invalid_model());
    }
    Ok(CallContext {
        platform: Platform::Bedrock,
        model: Some(id),
        stream: Some(stream),
    })
}

/// `anthropic.sim-…`, with a region before it, or as the end of an ARN; a bare name of ours too,
/// so that one name serves at every vendor.
fn is_model(id: &str) -> bool {
    let name = id.rsplit('/').next().unwrap_or(id);
    let Some((region, name)) = name.split_once(VENDOR) else {
        return models::is_known(id);
    };
    let is_region = region.is_empty()
        || region
            .strip_suffix('.')
            .is_some_and(|region| region.bytes().all(|byte| byte.is_ascii_alphanumeric()));
    is_region && models::is_known(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_known_by_name_region_and_arn() {
        for (id, is_known) in [
            ("anthropic.sim-small-v1:0", true),
            ("us.anthropic.sim-large-20260101-v2:0", true),
            (
                "arn:aws:bedrock:us-east-1:123456789012:inference-profile/eu.anthropic.sim-a-v1:0",
                true,
            ),
            ("sim-small", true),
            ("small", false),
            ("anthropic.claude-x-v1:0", false),
            ("amazon.nova-lite-v1:0", false),
            ("..anthropic.sim-a", false),
        ] {
            assert_eq!(is_model(id), is_known, "{id}");
        }
    }
}
