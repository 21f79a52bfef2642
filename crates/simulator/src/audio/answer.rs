//! What the answers of every audio vendor share: bare audio, documents and their content types.

use http::HeaderValue;
use http::header::CONTENT_TYPE;
use serde_json::Value;

use crate::directives::Directives;
use crate::encoders::Sound;
use crate::fault::Fault;
use crate::fault_stage::{self, GARBAGE, Injected};
use crate::recorded_request::RecordedRequest;
use crate::script::{Piece, Script};
use crate::scripted_body::VendorResponse;

/// A piece of a stream of bare audio.
enum Bare {
    Piece(u64),
    Garbage,
}

/// Writes down what was asked, acceptable or not.
pub(super) fn note(recorded: &RecordedRequest, model: &str, stream: bool) {
    let end = model.floor_char_boundary(MAX_MODEL_BYTES);
    let model = model.get(..end).unwrap_or_default().to_owned();
    recorded.note(|record| {
        record.model = model;
        record.stream = stream;
    });
}

/// Longest name of a model that is kept.
const MAX_MODEL_BYTES: usize = 256;

/// The pause between two pieces of speech.
pub(super) fn pace(recorded: &RecordedRequest, directives: &Directives) -> u64 {
    directives
        .pace_millis
        .max(recorded.state.audio.settings.pace_millis)
}

/// Speech as bare bytes. There is no way to tell of an error inside it: such a fault is a cut.
pub(super) fn bare(sound: Sound, fault: Option<Fault>, pace_millis: u64) -> Script {
    let fault = match fault {
        Some(Fault::ErrorFrameMidStream { after_frames }) => {
            Some(Fault::CloseMidStream { after_frames })
        }
        Some(_) | None => fault,
    };
    let all = sound.pieces();
    let sent = if fault == Some(Fault::TruncatedJson) {
        all / 2
    } else {
        all
    };
    let pieces = (0..sent).map(Bare::Piece);
    // The error never comes: its fault was turned into an abort.
    let injected = Injected {
        error: Bare::Garbage,
        garbage: Bare::Garbage,
    };
    let mut script = fault_stage::stream(pieces, injected, fault, move |_, piece| match piece {
        Bare::Piece(index) => Piece::new(sound.piece(index)).worth(sound.piece_millis(index)),
        Bare::Garbage => Piece::new(GARBAGE),
    });
    script.head.is_event_stream = false;
    script.paced(true, pace_millis, fault)
}

/// A whole document and what a fault does to it.
pub(super) fn whole(text: String, worth: u64, fault: Option<Fault>) -> Script {
    let piece = Piece::new(text).worth(worth);
    fault_stage::document(piece, fault).paced(false, 0, fault)
}

/// Sends a script under another content type.
pub(super) fn typed(
    recorded: RecordedRequest,
    script: Script,
    kind: &'static str,
) -> VendorResponse {
    let mut response = recorded.play(script, None);
    let kind = HeaderValue::from_static(kind);
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

/// Seconds as a JSON number with three digits behind its point.
pub(super) fn seconds(millis: u64) -> Value {
    let text = format!("{}.{:03}", millis / 1_000, millis % 1_000);
    // Digits with a point are a number.
    serde_json::from_str(&text).unwrap_or(Value::Null)
}
