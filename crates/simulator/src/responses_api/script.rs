//! From a response and a fault to a script, streamed or whole.

use crate::fault::Fault;
use crate::fault_stage::{self, Injected};
use crate::refusal::Refusal;
use crate::script::{Head, Piece, Script, Step};

use super::event_bytes::Renderer;
use super::events::{Event, events};
use crate::responses::answer::{Outcome, Says, What};
use crate::responses::wire_types::{Reply, Stage, Style};

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
    let script = match (stream, fault_stage::filler_per_frame(fault)) {
        (true, Some(each)) => gigantic_stream(reply, each),
        (true, None) => told_in_events(reply, fault),
        (false, _) => whole(&reply, fault),
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
    let injected = Injected {
        error: Event::Error(Box::new(Refusal::after_ok())),
        garbage: Event::Garbage,
    };
    fault_stage::stream(list.into_iter(), injected, fault, move |number, event| {
        renderer.render(number, &event)
    })
}

fn whole(reply: &Reply, fault: Option<Fault>) -> Script {
    let (reported, usage) = (reply.reported_usage(), reply.output.usage);
    let mut piece = Piece::new(reply.document(Stage::Ended));
    if !matches!(reply.output.outcome, Outcome::Failed(_)) {
        piece = piece.worth(usage.completion);
        if reply.style.tells_usage {
            piece = piece.reporting(reported.prompt, reported.completion);
        }
    }
    if fault_stage::is_gigantic(fault) {
        // The filler counts itself.
        piece = piece
            .worth(usage.reasoning)
            .filled(flood_words(reply), true);
    }
    fault_stage::document(piece, fault)
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
    let head = list.into_iter().take(place);
    let flood = fault_stage::portions(words, each).map(move |now| Event::Flood(flooded, now));
    let renderer = Renderer {
        reply,
        cr_lf: false,
    };
    let events = (0..).zip(head.chain(flood).chain(tail));
    let pieces = events.map(move |(number, event)| {
        if let Event::Flood(at, now) = event {
            let delta = renderer.render(number, &Event::Delta(at, 0));
            // The filler counts itself.
            return delta.worth(0).filled(now, true);
        }
        renderer.render(number, &event).filled(words, false)
    });
    Script::new(Head::event_stream(), vec![Step::pieces(pieces)])
}

fn flood_words(reply: &Reply) -> u64 {
    reply
        .output
        .items
        .last()
        .map_or(0, |item| item.what.deltas())
}
