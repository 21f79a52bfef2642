//! The script of an answer that is not streamed: one document, and what a fault does to it.

use bytes::Bytes;

use crate::fault::Fault;
use crate::tokens::count;
use crate::wire_types::Completion;

use super::frames::{GAP, GARBAGE};
use super::{Head, Piece, Renderer, Script, Step};

/// Bytes of each piece of a whole answer that drips.
const DRIP_BYTES: usize = 64;
/// What a wrong content length promises beyond the bytes of a whole answer.
const WRONG_SURPLUS: u64 = 64;

/// The script of a whole answer.
pub(super) fn script(renderer: &Renderer, fault: Option<Fault>) -> Script {
    if let Some(Fault::GiganticBody { .. } | Fault::GiganticFrame { .. }) = fault {
        return gigantic(renderer);
    }
    let bytes = completion(renderer, &renderer.content(), fault);
    let mut whole = Piece::new(bytes).worth(renderer.answer.usage.completion);
    whole.reports = (fault != Some(Fault::NoUsage)).then(|| renderer.told_pair());
    document(whole, fault)
}

/// The script of one document of any vendor, and what a fault does to its bytes.
pub(crate) fn document(whole: Piece, fault: Option<Fault>) -> Script {
    let length = count(whole.bytes.len());
    let half = whole.bytes.slice(..whole.bytes.len() / 2);
    let (length, steps, is_complete) = match fault {
        Some(Fault::HangMidStream { .. }) => (
            length,
            vec![Step::Send(Piece::new(half)), Step::Hang],
            false,
        ),
        Some(Fault::CloseMidStream { .. }) => (
            length,
            vec![Step::Send(Piece::new(half)), Step::Abort],
            false,
        ),
        Some(Fault::TruncatedJson) => {
            let length = count(half.len());
            (length, vec![Step::Send(Piece::new(half))], false)
        }
        Some(Fault::GarbageFrame { .. }) => {
            let bytes = [&half, GARBAGE].concat();
            let length = count(bytes.len());
            (length, vec![Step::Send(Piece::new(bytes))], false)
        }
        Some(Fault::WrongContentLength) => {
            let length = length.saturating_add(WRONG_SURPLUS);
            (length, vec![Step::Send(whole)], false)
        }
        Some(Fault::SlowDrip { .. }) => (length, drip(&whole), true),
        Some(
            Fault::CloseBeforeHeaders
            | Fault::HangBeforeHeaders
            | Fault::SlowFirstByte { .. }
            | Fault::RateLimited { .. }
            | Fault::Status(_)
            | Fault::ErrorInside200
            | Fault::BaseResp(_)
            | Fault::ErrorFrameMidStream { .. }
            | Fault::GiganticBody { .. }
            | Fault::GiganticFrame { .. }
            | Fault::LyingUsage { .. }
            | Fault::NoUsage
            | Fault::SplitUsage
            | Fault::NoDone
            | Fault::NoFinishReason
            | Fault::SplitBytes { .. }
            | Fault::CrLf
            | Fault::NotReady { .. }
            | Fault::Audio(_)
            | Fault::Image(_)
            | Fault::Social(_),
        )
        | None => (length, vec![Step::Send(whole)], true),
    };
    let head = Head {
        status: 200,
        is_event_stream: false,
        content_length: Some(length),
        retry_after_secs: None,
    };
    let mut script = Script::new(head, steps);
    script.is_complete = is_complete;
    script
}

/// A whole answer as JSON.
fn completion(renderer: &Renderer, content: &str, fault: Option<Fault>) -> Bytes {
    let reasoning = renderer.reasoning();
    let is_told = fault != Some(Fault::NoFinishReason);
    let completion = Completion::new(
        &renderer.answer,
        content,
        reasoning.as_deref(),
        is_told.then(|| renderer.answer.finish.name()),
        (fault != Some(Fault::NoUsage)).then_some(renderer.told),
    );
    // A struct of texts and numbers always has a JSON form.
    serde_json::to_vec(&completion).unwrap_or_default().into()
}

/// A whole answer too large to be held: its two ends, and filler between them.
fn gigantic(renderer: &Renderer) -> Script {
    let document = completion(renderer, GAP, None);
    let text = String::from_utf8_lossy(&document);
    let (before, after) = text.rsplit_once(GAP).unwrap_or((&text, ""));
    let hidden = renderer.answer.usage.reasoning;
    let end = Piece::new(after.to_owned())
        .worth(hidden)
        .reporting(renderer.told_pair());
    let words = renderer.answer.says.pieces();
    let steps = vec![
        Step::Send(Piece::new(before.to_owned())),
        Step::Filler { words },
        Step::Send(end),
    ];
    let head = Head {
        status: 200,
        is_event_stream: false,
        // Without a length, so that a client has to bound what it reads.
        content_length: None,
        retry_after_secs: None,
    };
    Script::new(head, steps)
}

/// The same bytes in small pieces; the last one carries the meaning.
fn drip(whole: &Piece) -> Vec<Step> {
    let mut rest = whole.bytes.clone();
    let mut steps = Vec::new();
    while rest.len() > DRIP_BYTES {
        steps.push(Step::Send(Piece::new(rest.split_to(DRIP_BYTES))));
    }
    let mut last = whole.clone();
    last.bytes = rest;
    steps.push(Step::Send(last));
    steps
}
