//! An answer of Anthropic's models as AWS Bedrock sends it.

mod exception;

use crate::headers::set;
use crate::recorded_request::RecordedRequest;
use crate::script::Script;
use crate::scripted_body::VendorResponse;

use super::answer::Usage;
use super::refusal::Refusal;

pub(crate) use exception::Exception;

/// What stands before the name of each of this vendor's models.
pub(crate) const VENDOR: &str = "anthropic.";

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

pub(crate) fn except(recorded: RecordedRequest, exception: &Exception) -> VendorResponse {
    let id = request_id(&recorded);
    let script = Script::json(exception.status, None, exception.body());
    let mut response = recorded.respond(script, "application/json");
    let headers = response.headers_mut();
    set(headers, "x-amzn-errortype", &exception.header());
    set(headers, "x-amzn-requestid", &id);
    response
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
