//! The last piece of a stream that we write ourselves.

use serde_json::{Value, json};

use super::chunk::finish_word;
use super::usage::priced_usage;
use crate::canonical::Stop;
use crate::{StreamEnd, json_bytes};

/// A response that ends here. Its empty text makes it a turn for clients that look for one.
pub(super) fn last_candidate(index: u32, stop: &Stop) -> Value {
    json!({
        "content": { "role": "model", "parts": [{ "text": "" }] },
        "finishReason": finish_word(stop),
        "index": index,
    })
}

/// A piece that ends a stream.
pub(super) fn last_chunk(
    candidates: Vec<Value>,
    model: &str,
    id: &str,
    stream_end: &StreamEnd,
) -> Vec<u8> {
    let chunk = json!({ "candidates": candidates, "modelVersion": model, "responseId": id });
    let plain = json_bytes(&chunk);
    let usage = priced_usage(&stream_end.reported, &stream_end.cost);
    // Patched in, so that no digit of the cost passes through a float.
    let priced = crate::scan(&plain)
        .map(|object| crate::patch(&object, &[crate::Edit::Set("usageMetadata", usage)]));
    priced.unwrap_or(plain)
}
