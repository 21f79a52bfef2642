//! From an answer and a fault to a script: what is sent in which form, and what a fault does to
//! it in this vendor's clothes.

use bytes::Bytes;

use crate::fault::Fault;
use crate::script::{Piece, Script, Step};
use crate::tokens::count;

use super::answer::{Answer, Usage};
use super::chunks::{self, Unit};
use super::errors::GoogleError;
use super::schema::Service;

/// How an answer is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// One document.
    Whole,
    /// Events, one chunk in each; there is no end mark.
    Events,
    /// One JSON array that comes in pieces.
    Array,
}

/// How the chunks of one answer are told.
pub(super) struct Renderer<'a> {
    pub(super) answer: &'a Answer,
    pub(super) service: Service,
    pub(super) form: Form,
    pub(super) fault: Option<Fault>,
    /// What the counts are multiplied by, which may be a lie.
    pub(super) factor: u64,
}

/// Bytes no JSON parser and no UTF-8 decoder accepts.
const GARBAGE: &[u8] = b"{\"candidates\": \xff\xfe\x00 <html> not json";
/// What a wrong content length promises for a stream, which has no length of its own.
const WRONG_STREAM_LENGTH: u64 = 1 << 30;
/// What a wrong content length promises beyond the bytes of a whole answer.
const WRONG_SURPLUS: u64 = 64;
/// Bytes of each piece of a whole answer that drips.
const DRIP_BYTES: usize = 64;

/// What becomes of a stream behind its last chunk.
enum End {
    /// It ends as it should.
    Well,
    /// It ends and lacks something.
    Short,
    Hang,
    Abort,
}

/// A refusal as a script.
pub(crate) fn refusal(error: &GoogleError, is_wrapped: bool) -> Script {
    Script::json(error.code, None, error.body(is_wrapped))
}

/// The script of an answer.
pub(super) fn answer(renderer: &Renderer<'_>, pace_millis: u64) -> Script {
    let streams = renderer.form != Form::Whole;
    let fails_inside = match renderer.fault {
        // Another vendor's way of failing under a good status has no clothes here.
        Some(Fault::ErrorInside200 | Fault::BaseResp(_)) => true,
        Some(Fault::ErrorFrameMidStream { .. }) => !streams,
        Some(_) | None => false,
    };
    if fails_inside {
        let body = GoogleError::after_ok().body(streams);
        let mut script = Script::json(200, None, body);
        script.is_complete = false;
        return script;
    }
    let mut script = if streams {
        stream(renderer)
    } else {
        whole(renderer)
    };
    if streams {
        script.pause_millis = pace_millis;
    }
    if let Some(Fault::SlowDrip { millis }) = renderer.fault {
        script.pause_millis = pace_millis.max(millis.into());
    }
    if let Some(Fault::SplitBytes { chunk }) = renderer.fault {
        script.split = Some(usize::try_from(chunk).unwrap_or(usize::MAX).max(1));
    }
    script
}

/// A script of steps, without a length.
fn of_steps(steps: Vec<Step>) -> Script {
    let mut script = Script::json(200, None, String::new());
    script.head.content_length = None;
    script.steps = steps.into();
    script
}

fn stream(renderer: &Renderer<'_>) -> Script {
    let mut all = chunks::of_stream(renderer);
    let end = strike(renderer, &mut all);
    let mut steps = Vec::new();
    let has_chunks = !all.is_empty();
    for (index, unit) in all.into_iter().enumerate() {
        steps.extend(framed(renderer, index, unit));
    }
    match end {
        End::Well if renderer.form == Form::Array => {
            let closing: &'static [u8] = if has_chunks { b"\n]" } else { b"[]" };
            steps.push(Step::Send(Piece::new(Bytes::from_static(closing))));
        }
        End::Well | End::Short => {}
        End::Hang => steps.push(Step::Hang),
        End::Abort => steps.push(Step::Abort),
    }
    let mut script = of_steps(steps);
    script.head.is_event_stream = renderer.form == Form::Events;
    script.is_complete = matches!(end, End::Well) && !is_broken(renderer.fault);
    if renderer.fault == Some(Fault::WrongContentLength) {
        script.head.content_length = Some(WRONG_STREAM_LENGTH);
    }
    script
}

/// Whether a stream that ends well is no complete answer all the same.
fn is_broken(fault: Option<Fault>) -> bool {
    matches!(
        fault,
        Some(Fault::WrongContentLength | Fault::ErrorFrameMidStream { .. })
    )
}

/// What a fault does to the chunks, and how the stream ends.
fn strike(renderer: &Renderer<'_>, all: &mut Vec<Unit>) -> End {
    let place = |after_frames: u32, all: &[Unit]| {
        let at = usize::try_from(after_frames).unwrap_or(usize::MAX);
        at.min(all.len())
    };
    match renderer.fault {
        Some(Fault::HangMidStream { after_frames }) => {
            all.truncate(place(after_frames, all));
            End::Hang
        }
        Some(Fault::CloseMidStream { after_frames }) => {
            all.truncate(place(after_frames, all));
            End::Abort
        }
        Some(Fault::ErrorFrameMidStream { after_frames }) => {
            all.truncate(place(after_frames, all));
            all.push(Unit::plain(renderer.error()));
            End::Well
        }
        Some(Fault::GarbageFrame { after_frames }) => {
            all.insert(place(after_frames, all), Unit::plain(GARBAGE.to_vec()));
            End::Well
        }
        Some(Fault::TruncatedJson) => {
            if let Some(last) = all.last_mut() {
                last.cut();
            }
            End::Short
        }
        // There is no end mark but the bracket of an array.
        Some(Fault::NoDone) if renderer.form == Form::Array => End::Short,
        // These change the chunks themselves, the pieces, or nothing.
        Some(
            Fault::CloseBeforeHeaders
            | Fault::HangBeforeHeaders
            | Fault::SlowFirstByte { .. }
            | Fault::RateLimited { .. }
            | Fault::Status(_)
            | Fault::ErrorInside200
            | Fault::BaseResp(_)
            | Fault::SlowDrip { .. }
            | Fault::WrongContentLength
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
        | None => End::Well,
    }
}

/// A chunk with what stands around it. The last step carries the meaning.
fn framed(renderer: &Renderer<'_>, index: usize, unit: Unit) -> Vec<Step> {
    let has_comments = renderer.fault == Some(Fault::CrLf);
    let (before, after): (&[u8], &[u8]) = match renderer.form {
        Form::Events if has_comments => (b": keep-alive\r\n\r\ndata: ", b"\r\n\r\n"),
        Form::Events => (b"data: ", b"\r\n\r\n"),
        Form::Array if index == 0 => (b"[", b""),
        Form::Array | Form::Whole => (b"\n,\r\n", b""),
    };
    unit.steps(before, after)
}

fn whole(renderer: &Renderer<'_>) -> Script {
    let unit = chunks::of_whole(renderer);
    if unit.has_filler() {
        // Without a length, so that a client has to bound what it reads.
        return of_steps(unit.steps(b"", b"\n"));
    }
    let piece = unit.into_piece(b"\n");
    let length = count(piece.bytes.len());
    let half = piece.bytes.slice(..piece.bytes.len() / 2);
    let (length, steps, is_complete) = match renderer.fault {
        Some(Fault::HangMidStream { .. }) => (length, vec![send(half), Step::Hang], false),
        Some(Fault::CloseMidStream { .. }) => (length, vec![send(half), Step::Abort], false),
        Some(Fault::TruncatedJson) => (count(half.len()), vec![send(half)], false),
        Some(Fault::GarbageFrame { .. }) => {
            let bytes: Bytes = [&half, GARBAGE].concat().into();
            (count(bytes.len()), vec![send(bytes)], false)
        }
        Some(Fault::WrongContentLength) => {
            let length = length.saturating_add(WRONG_SURPLUS);
            (length, vec![Step::Send(piece)], false)
        }
        Some(Fault::SlowDrip { .. }) => (length, drip(piece), true),
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
        | None => (length, vec![Step::Send(piece)], true),
    };
    let mut script = of_steps(steps);
    script.head.content_length = Some(length);
    script.is_complete = is_complete;
    script
}

fn send(bytes: Bytes) -> Step {
    Step::Send(Piece::new(bytes))
}

/// The same bytes in small pieces; the last one carries the meaning.
fn drip(mut whole: Piece) -> Vec<Step> {
    let mut steps = Vec::new();
    while whole.bytes.len() > DRIP_BYTES {
        steps.push(send(whole.bytes.split_to(DRIP_BYTES)));
    }
    steps.push(Step::Send(whole));
    steps
}

// === impl Renderer ===

impl Renderer<'_> {
    /// Counts as they are told.
    pub(super) fn told(&self, usage: &Usage) -> Usage {
        usage.times(self.factor)
    }

    /// An error where a chunk is expected: in a list of one, unless it stands in a list already.
    fn error(&self) -> Vec<u8> {
        let error = GoogleError::after_ok();
        let text = match self.form {
            Form::Events => format!("[{}]", error.line()),
            Form::Array | Form::Whole => error.body(false),
        };
        text.into_bytes()
    }
}
