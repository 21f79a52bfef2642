//! OpenAI's speech, and vendors with the same API: JSON at `/audio/speech`, and the body of the response is the
//! audio, relayed as it arrives. A voice is a name, or `{"id": …}` for one that an account has made; it
//! goes on as the caller wrote it. `response_format` is always sent.

use serde_json::Value;
use trunkline_catalog::RequestError;

use super::{format_of, no_prefix};
use crate::encoding::put;
use crate::error_mapping;
use crate::speech::{Protocol, SpeechRequest, StreamMode};
use crate::vendor_http::{Encoded, VendorRequest};

pub(super) const PROTOCOL: Protocol = Protocol {
    format: "openai_speech",
    encode,
    stream_mode,
    prefix: no_prefix,
    read_error: error_mapping::openai,
};

fn encode(request: &SpeechRequest, model: &str) -> Result<Encoded, RequestError> {
    let mut body = request.extras.clone();
    put(&mut body, "model", model);
    put(&mut body, "input", request.input.as_str());
    body.entry("voice")
        .or_insert_with(|| Value::from(request.voice.as_str()));
    put(&mut body, "response_format", format_of(request).as_str());
    if let Some(speed) = &request.speed {
        put(&mut body, "speed", speed.clone());
    }
    if let Some(instructions) = &request.instructions {
        put(&mut body, "instructions", instructions.as_str());
    }
    Ok(Encoded {
        request: VendorRequest::post("/audio/speech", &body),
        notes: Vec::new(),
    })
}

fn stream_mode(_ask: &SpeechRequest) -> StreamMode {
    StreamMode::Bytes
}
