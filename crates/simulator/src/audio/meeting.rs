//! How a request meets its fault, the same for every vendor: the prompt goes before the rules, and what
//! comes instead of an answer is said in the vendor's own words.

use std::time::Duration;

use http::HeaderValue;
use http::header::CONTENT_TYPE;
use serde_json::Value;

use super::encoders::Sound;
use crate::chat::{Met, pause};
use crate::directives::Directives;
use crate::fault::Fault;
use crate::script::{self, GARBAGE, Piece, Script};
use crate::scripted_body::{Abort, MAX_HANG, VendorResponse};
use crate::server::RecordedRequest;

/// What comes instead of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    RateLimited {
        retry_after_secs: u32,
    },
    /// This status.
    Status(u16),
    /// An error under status 200; `MiniMax` gives them codes.
    Inside200 {
        code: Option<u32>,
    },
}

/// A piece of a stream of bare audio.
enum Bare {
    Piece(u64),
    Garbage,
}

/// The fault of a request, written down with the request.
pub(super) fn fault(
    recorded: &RecordedRequest,
    model: &str,
    directives: &Directives,
) -> Option<Fault> {
    let fault = match directives.fault {
        Some(fault) => Some(fault),
        None => recorded.state.plans().strike_audio(model, &recorded.key),
    };
    recorded.note(|record| {
        record.marker.clone_from(&directives.marker);
        record.fault = fault;
    });
    fault
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

/// Carries out what comes before an answer, or instead of one.
pub(super) async fn meet(
    mut recorded: RecordedRequest,
    fault: Option<Fault>,
    stream: bool,
    say: impl Fn(&RecordedRequest, Trouble) -> Script,
) -> Met {
    let trouble = match fault {
        Some(Fault::CloseBeforeHeaders) => {
            recorded.watch.end(false);
            return Met::Ends(Box::new(Err(Abort)));
        }
        Some(Fault::HangBeforeHeaders) => {
            pause(MAX_HANG).await;
            recorded.watch.end(false);
            return Met::Ends(Box::new(Err(Abort)));
        }
        Some(Fault::SlowFirstByte { millis }) => {
            pause(Duration::from_millis(millis.into())).await;
            return Met::Goes(Box::new(recorded));
        }
        Some(Fault::RateLimited { retry_after_secs }) => Trouble::RateLimited { retry_after_secs },
        Some(Fault::Status(status)) => Trouble::Status(if (400..600).contains(&status) {
            status
        } else {
            500
        }),
        Some(Fault::ErrorInside200) => Trouble::Inside200 { code: None },
        Some(Fault::BaseResp(code)) => Trouble::Inside200 { code: Some(code) },
        Some(Fault::ErrorFrameMidStream { .. }) if !stream => Trouble::Inside200 { code: None },
        Some(_) | None => return Met::Goes(Box::new(recorded)),
    };
    let mut script = say(&recorded, trouble);
    script.is_complete &= !matches!(trouble, Trouble::Inside200 { .. });
    Met::Ends(Box::new(Ok(recorded.play(script, None))))
}

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
    let pieces = (0..sent).map(Bare::Piece).collect();
    // The error never comes: its fault was turned into a cut.
    let strangers = (Bare::Garbage, Bare::Garbage);
    let mut script = script::streamed(pieces, strangers, fault, move |_, piece| match piece {
        Bare::Piece(index) => Piece::new(sound.piece(index)).worth(sound.piece_millis(index)),
        Bare::Garbage => Piece::new(GARBAGE),
    });
    script.head.is_event_stream = false;
    script.paced(true, pace_millis, fault)
}

/// A whole document and what a fault does to it.
pub(super) fn whole(text: String, worth: u64, fault: Option<Fault>) -> Script {
    let piece = Piece::new(text).worth(worth);
    script::document(piece, fault).paced(false, 0, fault)
}

/// Usage as it is told: left out, multiplied or true.
pub(super) fn told(fault: Option<Fault>, count: u64) -> Option<u64> {
    match fault {
        Some(Fault::NoUsage) => None,
        Some(Fault::LyingUsage { factor }) => Some(count.saturating_mul(factor.into())),
        Some(_) | None => Some(count),
    }
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
