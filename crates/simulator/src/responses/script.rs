//! From a response and a fault to a script, streamed or whole.

use bytes::Bytes;

use crate::fault::Fault;
use crate::refusal::Refusal;
use crate::script::{self, GAP, Head, Piece, Script, Step, filler};

use super::answer::{Outcome, Says, What};
use super::event_bytes::Renderer;
use super::events::{Event, events};
use super::wire_types::{Reply, Stage, Style};

/// A unit of a flood.
enum Unit {
    Event(Event),
    /// A delta of so many words of filler.
    Words(usize, u64),
}

/// Filler words in each event of a gigantic stream.
const FILLER_WORDS_PER_EVENT: u64 = 1024;

/// The script of an answer. Faults that never come to an answer are not for here.
pub(crate) fn script(
    mut reply: Reply,
    stream: bool,
    pace_millis: u64,
    fault: Option<Fault>,
) -> Script {
    if let Some(script) = Script::error_under_ok(fault, stream) {
        return script;
    }
    reply.style = style(fault);
    let script = match fault {
        Some(Fault::GiganticBody { .. }) if stream => {
            gigantic_stream(reply, FILLER_WORDS_PER_EVENT)
        }
        Some(Fault::GiganticFrame { .. }) if stream => gigantic_stream(reply, u64::MAX),
        Some(Fault::GiganticBody { .. } | Fault::GiganticFrame { .. }) => gigantic_whole(&reply),
        Some(_) | None if stream => told_in_events(reply, fault),
        Some(_) | None => whole(&reply, fault),
    };
    script.paced(stream, pace_millis, fault)
}

/// The script of a few events of a response that failed before it began.
pub(crate) fn broken(reply: Reply, list: Vec<Event>) -> Script {
    let mut script = play(reply, list, None);
    script.is_complete = false;
    script
}

fn style(fault: Option<Fault>) -> Style {
    let mut style = Style::default();
    match fault {
        Some(Fault::LyingUsage { factor }) => style.factor = factor.into(),
        Some(Fault::NoUsage) => style.tells_usage = false,
        Some(Fault::NoFinishReason) => style.tells_status = false,
        Some(Fault::SplitBytes { .. }) => style.accents = true,
        Some(Fault::GiganticBody { .. } | Fault::GiganticFrame { .. }) => style.has_gap = true,
        Some(_) | None => {}
    }
    style
}

fn told_in_events(reply: Reply, fault: Option<Fault>) -> Script {
    let mut list = events(&reply);
    if fault == Some(Fault::TruncatedJson) {
        let is_delta = |event: &Event| matches!(event, Event::Delta(..));
        if let Some(last) = list.iter().rposition(is_delta) {
            list.truncate(last.saturating_add(1));
            if let Some(Event::Delta(at, index)) = list.pop() {
                list.push(Event::Cut(at, index));
            }
        }
    }
    if fault == Some(Fault::NoDone) {
        // The last event is to this API what the end mark is to others.
        list.pop();
    }
    play(reply, list, fault)
}

fn play(reply: Reply, list: Vec<Event>, fault: Option<Fault>) -> Script {
    let cr_lf = fault == Some(Fault::CrLf);
    let renderer = Renderer { reply, cr_lf };
    let error = Event::Error(Box::new(Refusal::after_ok()));
    let marks = (error, Event::Garbage);
    script::streamed(list, marks, fault, move |number, event| {
        renderer.render(number, &event)
    })
}

fn whole(reply: &Reply, fault: Option<Fault>) -> Script {
    let told = reply.told();
    let mut piece = Piece::new(reply.document(Stage::Ended));
    if !matches!(reply.output.outcome, Outcome::Failed(_)) {
        piece = piece.worth(reply.output.usage.completion);
        if reply.style.tells_usage {
            piece = piece.reporting((told.prompt, told.completion));
        }
    }
    script::document(piece, fault)
}

/// A whole answer too large to be held: its two ends, and filler between them.
fn gigantic_whole(reply: &Reply) -> Script {
    let told = reply.told();
    let usage = reply.output.usage;
    let words = flood_words(reply);
    let document = reply.document(Stage::Ended);
    let (before, after) = document.rsplit_once(GAP).unwrap_or((&document, ""));
    let end = Piece::new(after.to_owned())
        .worth(usage.reasoning)
        .reporting((told.prompt, told.completion));
    let before = Piece::new(before.to_owned());
    let pieces = std::iter::once(before)
        .chain(filler(words, true))
        .chain(std::iter::once(end));
    let head = Head {
        status: 200,
        is_event_stream: false,
        // Without a length, so that a client has to bound what it reads.
        content_length: None,
        retry_after_secs: None,
    };
    Script::new(head, vec![Step::pieces(pieces)])
}

/// A stream too large to be held. The text comes in deltas, and then again, as always, in each of
/// the four events that end it.
fn gigantic_stream(reply: Reply, each: u64) -> Script {
    let words = flood_words(&reply);
    let mut empty = reply.clone();
    for item in &mut empty.output.items {
        if let What::Message { says, .. } = &mut item.what {
            *says = Says::Words(0);
        }
    }
    let list = events(&empty);
    let flooded = reply.output.items.len().saturating_sub(1);
    let is_done = |event: &Event| *event == Event::TextDone(flooded);
    let place = list.iter().position(is_done).unwrap_or(list.len());
    let tail = list.get(place..).unwrap_or_default().to_vec();
    let head = list.into_iter().take(place).map(Unit::Event);
    let mut left = words;
    let flood = std::iter::from_fn(move || {
        let now = left.min(each);
        left = left.saturating_sub(now);
        (now > 0).then_some(Unit::Words(flooded, now))
    });
    let units = head.chain(flood).chain(tail.into_iter().map(Unit::Event));
    let renderer = Renderer {
        reply,
        cr_lf: false,
    };
    let pieces = (0..).zip(units).flat_map(move |(number, unit)| match unit {
        Unit::Event(event) => around(renderer.render(number, &event), words, false),
        Unit::Words(at, now) => {
            let mut piece = renderer.render(number, &Event::Delta(at, 0));
            // The filler counts itself.
            piece.tokens = 0;
            around(piece, now, true)
        }
    });
    let head = Head {
        status: 200,
        is_event_stream: true,
        content_length: None,
        retry_after_secs: None,
    };
    Script::new(head, vec![Step::pieces(pieces)])
}

/// Puts filler into the gap of a piece, if it has one. The end carries the meaning.
fn around(piece: Piece, words: u64, worth: bool) -> Box<dyn Iterator<Item = Piece> + Send> {
    let ends = std::str::from_utf8(&piece.bytes)
        .ok()
        .and_then(|text| text.rsplit_once(GAP))
        .map(|(before, after)| {
            let before = Bytes::copy_from_slice(before.as_bytes());
            (before, Bytes::copy_from_slice(after.as_bytes()))
        });
    let Some((before, after)) = ends else {
        return Box::new(std::iter::once(piece));
    };
    let mut end = piece;
    end.bytes = after;
    let parts = std::iter::once(Piece::new(before))
        .chain(filler(words, worth))
        .chain(std::iter::once(end));
    Box::new(parts)
}

fn flood_words(reply: &Reply) -> u64 {
    reply
        .output
        .items
        .last()
        .map_or(0, |item| item.what.deltas())
}
