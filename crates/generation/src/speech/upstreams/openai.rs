//! OpenAI's speech, and everybody's who copies it: JSON at `/audio/speech`, and the body of the answer is the
//! audio, handed on while it comes. A voice is a name, or `{"id": …}` for one that an account has made; it
//! goes on as the caller wrote it. `response_format` is always said.

use crate::vendor_http::{Call, Said};
use serde_json::Value;
use trunkline_catalog::Refusal;

use super::{format_of, no_opening, put};
use crate::complaints;
use crate::errand::{Errand, Written};
use crate::speech::{Ask, Manner, Protocol};
use crate::trouble::Trouble;

/// The protocol.
pub(super) const PROTOCOL: Protocol = Protocol {
    format: "openai_speech",
    write,
    manner,
    opening: no_opening,
    read_error,
};

fn write(ask: &Ask, model: &str) -> Result<Written, Refusal> {
    let mut body = ask.extras.clone();
    put(&mut body, "model", model);
    put(&mut body, "input", ask.input.as_str());
    body.entry("voice")
        .or_insert_with(|| Value::from(ask.voice.as_str()));
    put(&mut body, "response_format", format_of(ask).word());
    if let Some(speed) = &ask.speed {
        put(&mut body, "speed", speed.clone());
    }
    if let Some(instructions) = &ask.instructions {
        put(&mut body, "instructions", instructions.as_str());
    }
    Ok(Written {
        errand: Errand::plain(Call::post("/audio/speech", &body)),
        notes: Vec::new(),
    })
}

fn manner(_ask: &Ask) -> Manner {
    Manner::Bytes
}

fn read_error(said: &Said<'_>) -> Trouble {
    complaints::openai(said)
}
