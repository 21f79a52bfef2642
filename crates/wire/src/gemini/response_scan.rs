//! A whole response: its usage, that it is one, and what it says.

use serde::Deserialize;
use serde_json::value::RawValue;
use trunkline_types::Bucket;

use super::chunk::{Chunk, Feedback};
use super::stream_in::Reader;
use super::usage::RawUsage;
use crate::canonical::{Accumulator, Event, Response};
use crate::token_estimate::tokens_of_bytes;
use crate::upstream_error::read_error;
use crate::{ResponseError, ResponseSummary};

/// The buckets that Google reports.
pub(super) const BUCKETS: [Bucket; 7] = [
    Bucket::PlainInput,
    Bucket::CacheRead,
    Bucket::AudioInput,
    Bucket::ImageInput,
    Bucket::PlainOutput,
    Bucket::AudioOutput,
    Bucket::ImageOutput,
];

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Shell<'a> {
    #[serde(borrow, default)]
    candidates: Option<Vec<&'a RawValue>>,
    #[serde(default)]
    prompt_feedback: Option<Feedback>,
    #[serde(default)]
    usage_metadata: Option<RawUsage>,
    #[serde(default)]
    response_id: Option<String>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

/// Looks at a whole response for what it used.
pub(crate) fn scan_response(body: &[u8]) -> Result<ResponseSummary, ResponseError> {
    let shell: Shell<'_> = match serde_json::from_slice(body) {
        Ok(shell) => shell,
        Err(_) => return Err(no_answer(body)),
    };
    let candidates = shell.candidates.unwrap_or_default();
    let blocked = shell
        .prompt_feedback
        .is_some_and(|feedback| feedback.block_reason.is_some());
    let has_usage = shell.usage_metadata.is_some();
    if shell.error.is_some() || (candidates.is_empty() && !blocked && !has_usage) {
        return Err(ResponseError::Upstream(read_error(body)));
    }
    let bytes = candidates.iter().map(|one| one.get().len()).sum::<usize>();
    Ok(ResponseSummary {
        reported: shell.usage_metadata.and_then(|usage| usage.reported(true)),
        written: tokens_of_bytes(bytes),
        id: shell.response_id.unwrap_or_default(),
        usage_at: None,
    })
}

/// An error may come in a list of one; anything else is no answer.
fn no_answer(body: &[u8]) -> ResponseError {
    let error = read_error(body);
    if error.code.is_some() || !error.message.is_empty() {
        return ResponseError::Upstream(error);
    }
    ResponseError::Invalid
}

/// Reads a whole response: a stream of one piece.
pub(crate) fn response_to_canonical(body: &[u8]) -> Result<Response, ResponseError> {
    let whole = scan_response(body)?;
    let chunk: Chunk = serde_json::from_slice(body).map_err(|_| ResponseError::Invalid)?;
    let mut reader = Reader::default();
    let mut events: Vec<Event> = Vec::new();
    reader.read_chunk(chunk, &mut events);
    reader.end(&mut events);
    let mut collected = Accumulator::default();
    events.iter().for_each(|event| collected.observe(event));
    // A stream may still report its output; a whole response has reported all.
    Ok(Response {
        reported: whole.reported,
        ..collected.answer()
    })
}
