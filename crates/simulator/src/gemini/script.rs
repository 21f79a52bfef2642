//! From an answer and a fault to a script: what is sent in which form, and what a fault does to
//! it in this vendor's format.

use crate::fault::Fault;
use crate::fault_stage::{self, GARBAGE, Injected};
use crate::script::{Piece, Script, Step};

use super::answer::{Answer, Usage};
use super::chunks;
use super::errors::GoogleError;
use super::schema::Service;

/// How an answer is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
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

pub(crate) fn refusal(error: &GoogleError, is_wrapped: bool) -> Script {
    Script::json(error.code, None, error.body(is_wrapped))
}

pub(super) fn answer(renderer: &Renderer<'_>, pace_millis: u64) -> Script {
    let streams = renderer.form != Form::Whole;
    // Another vendor's way of failing under a good status is told in this one's words.
    if fault_stage::inside_200(renderer.fault, streams).is_some() {
        return Script::inside_200(GoogleError::after_ok().body(streams));
    }
    let script = if streams {
        stream(renderer)
    } else {
        let mut whole = chunks::of_whole(renderer);
        whole.bytes = [&whole.bytes, &b"\n"[..]].concat().into();
        fault_stage::document(whole, renderer.fault)
    };
    script.paced(streams, pace_millis, renderer.fault)
}

fn stream(renderer: &Renderer<'_>) -> Script {
    let (form, fault) = (renderer.form, renderer.fault);
    let mut all = chunks::of_stream(renderer);
    if fault == Some(Fault::TruncatedJson)
        && let Some(last) = all.last_mut()
    {
        // Half of a chunk counts for nothing.
        *last = Piece::new(last.bytes.slice(..last.bytes.len() / 2));
    }
    let closing: &'static [u8] = if all.is_empty() { b"[]" } else { b"\n]" };
    let injected = Injected {
        error: Piece::new(renderer.error()),
        garbage: Piece::new(GARBAGE),
    };
    let mut script = fault_stage::stream(all.into_iter(), injected, fault, move |at, chunk| {
        framed(form, fault, at, chunk)
    });
    script.head.is_event_stream = form == Form::Events;
    let is_open = matches!(
        fault,
        Some(
            Fault::HangMidStream { .. }
                | Fault::CloseMidStream { .. }
                | Fault::TruncatedJson
                | Fault::NoDone
        )
    );
    if form == Form::Array && !is_open {
        script.steps.push_back(Step::Send(Piece::new(closing)));
    }
    // There is no end mark but the bracket of an array.
    if form == Form::Events && fault == Some(Fault::NoDone) {
        script.is_complete = true;
    }
    script
}

/// A chunk with what stands around it.
fn framed(form: Form, fault: Option<Fault>, at: u64, mut chunk: Piece) -> Piece {
    let (before, after): (&[u8], &[u8]) = match form {
        Form::Events if fault == Some(Fault::CrLf) => (b": keep-alive\r\n\r\ndata: ", b"\r\n\r\n"),
        Form::Events => (b"data: ", b"\r\n\r\n"),
        Form::Array if at == 0 => (b"[", b""),
        Form::Array | Form::Whole => (b"\n,\r\n", b""),
    };
    chunk.bytes = [before, &chunk.bytes, after].concat().into();
    chunk
}

// === impl Renderer ===

impl Renderer<'_> {
    /// Counts as they are told.
    pub(super) fn reported(&self, usage: &Usage) -> Usage {
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
