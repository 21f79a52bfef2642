//! AWS Bedrock in front of Anthropic's models: the same messages at another endpoint, with signed
//! calls, AWS's errors, and its own framing of streams.

pub(crate) mod eventstream;
mod exception;
mod sigv4;

use http::Method;
use percent_encoding::percent_decode_str;

use crate::anthropic::{Asked, Platform, Refusal, Usage, complete};
use crate::clock;
use crate::headers;
use crate::headers::set;
use crate::models;
use crate::script::Script;
use crate::scripted_body::{VendorResponse, VendorResult};
use crate::server::RecordedRequest;

use exception::Exception;

const PREFIX: &str = "/model/";
/// What stands before the name of each of this vendor's models.
const VENDOR: &str = "anthropic.";

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
    let asked = match asked(&recorded) {
        Ok(asked) => asked,
        Err(exception) => return Ok(except(recorded, &exception)),
    };
    complete(recorded, asked, None).await
}

/// Sends an answer of a model.
pub(crate) fn play(recorded: RecordedRequest, script: Script, usage: Usage) -> VendorResponse {
    let is_event_stream = script.head.is_event_stream;
    let id = request_id(&recorded);
    let content_type = if is_event_stream {
        "application/vnd.amazon.eventstream"
    } else {
        "application/json"
    };
    let mut response = recorded.respond(script, content_type);
    let headers = response.headers_mut();
    if is_event_stream {
        set(headers, "x-amzn-bedrock-content-type", "application/json");
    } else {
        let (input, output) = (usage.input.to_string(), usage.output.to_string());
        set(headers, "x-amzn-bedrock-input-token-count", &input);
        set(headers, "x-amzn-bedrock-output-token-count", &output);
    }
    set(headers, "x-amzn-requestid", &id);
    response
}

/// Sends what the model's vendor refuses, in this platform's format.
pub(crate) fn refuse(recorded: RecordedRequest, refusal: &Refusal) -> VendorResponse {
    except(recorded, &Exception::of(refusal))
}

/// The body of such a refusal.
pub(crate) fn body(refusal: &Refusal) -> String {
    Exception::of(refusal).body()
}

/// The model's own name: without region, vendor and version.
pub(crate) fn bare_model(id: &str) -> String {
    let name = id.split_once(VENDOR).map_or(id, |(_, name)| name);
    let name = name.split_once(':').map_or(name, |(name, _)| name);
    let is_version =
        |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match name.rsplit_once("-v") {
        Some((bare, version)) if is_version(version) => bare.to_owned(),
        Some(_) | None => name.to_owned(),
    }
}

fn except(recorded: RecordedRequest, exception: &Exception) -> VendorResponse {
    let id = request_id(&recorded);
    let script = Script::json(exception.status, None, exception.body());
    let mut response = recorded.respond(script, "application/json");
    let headers = response.headers_mut();
    set(headers, "x-amzn-errortype", &exception.header());
    set(headers, "x-amzn-requestid", &id);
    response
}

/// Model and whether a stream is asked for, from the path.
fn asked(recorded: &RecordedRequest) -> Result<Asked, Exception> {
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
    Ok(Asked {
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

/// An id in the form of a UUID, which is how this platform writes them.
fn request_id(recorded: &RecordedRequest) -> String {
    let digits = [recorded.id(""), recorded.id("")].concat();
    let part = |from: usize, to: usize| digits.get(from..to).unwrap_or_default();
    [
        part(0, 8),
        part(8, 12),
        part(12, 16),
        part(16, 20),
        part(20, 32),
    ]
    .join("-")
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

    #[test]
    fn a_bare_name_has_neither_region_nor_version() {
        for (id, name) in [
            ("anthropic.sim-small-v1:0", "sim-small"),
            (
                "us.anthropic.sim-large-20260101-v12:0",
                "sim-large-20260101",
            ),
            ("anthropic.sim-vision", "sim-vision"),
        ] {
            assert_eq!(bare_model(id), name);
        }
    }
}
