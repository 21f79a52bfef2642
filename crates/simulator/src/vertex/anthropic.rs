//! Another vendor's models behind this endpoint: body and answer are Anthropic's, the address and the
//! token are Google's.

use serde_json::Value;

use crate::anthropic::{self, CallContext, Context, Platform, Purpose};
use crate::gemini::{GoogleError, refusal, send};
use crate::models;
use crate::recorded_request::RecordedRequest;
use crate::refusal::shortened;
use crate::request::Object;
use crate::scripted_body::VendorResult;

/// The only version that Vertex takes in the body.
const VERSION: &str = "vertex-2023-10-16";
/// Stands in the path where a count has no model.
const COUNT_TOKENS: &str = "count-tokens";

/// Answers `rawPredict` and `streamRawPredict`. An error closes the connection without an answer.
pub(super) async fn serve(
    recorded: RecordedRequest,
    model: &str,
    full_name: &str,
    verb: &str,
) -> VendorResult {
    let name = shortened(model).to_owned();
    let streams = verb == "streamRawPredict";
    recorded.note(|record| {
        record.model = name;
        record.stream = streams;
    });
    let is_count = model == COUNT_TOKENS && !streams;
    let betas = match check(&recorded.body, verb, is_count) {
        Ok(_) if !is_count && !models::is_known(model) => {
            let error = GoogleError::no_such_publisher_model(full_name);
            return Ok(send(recorded, refusal(&error, false)));
        }
        Ok(betas) => betas,
        Err(error) => return Ok(send(recorded, refusal(&error, false))),
    };
    let context = Context {
        purpose: if is_count {
            Purpose::Count
        } else {
            Purpose::Answer
        },
        version: VERSION.trim_start_matches("vertex-").to_owned(),
        betas: [anthropic::betas(&recorded.parts.headers), betas].concat(),
        platform: Platform::Vertex,
    };
    let call_context = CallContext {
        platform: Platform::Vertex,
        model: (!is_count).then(|| model.to_owned()),
        stream: Some(streams),
    };
    anthropic::complete(recorded, call_context, Some(context)).await
}

/// What Vertex itself asks of such a body; gives the flags in it.
fn check(body: &[u8], verb: &str, is_count: bool) -> Result<Vec<String>, GoogleError> {
    if !["rawPredict", "streamRawPredict"].contains(&verb) {
        return Err(GoogleError::no_such_path(verb));
    }
    let Ok(Value::Object(body)) = serde_json::from_slice(body) else {
        return Err(GoogleError::not_json());
    };
    if body.contains_key("model") && !is_count {
        return Err(GoogleError::invalid(
            "model: Extra inputs are not permitted",
        ));
    }
    match body.get("anthropic_version").and_then(Value::as_str) {
        Some(VERSION) => Ok(flags(&body)),
        Some(_) => Err(GoogleError::invalid(format!(
            "anthropic_version: Input should be '{VERSION}'"
        ))),
        None => Err(GoogleError::invalid("anthropic_version: Field required")),
    }
}

fn flags(body: &Object) -> Vec<String> {
    let list = body.get("anthropic_beta").and_then(Value::as_array);
    let flags = list.into_iter().flatten().filter_map(Value::as_str);
    flags.map(str::to_owned).collect()
}
