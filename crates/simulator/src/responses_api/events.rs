//! The events of a stream: which there are and in which order. Their bytes are made in `renderer`.

use crate::refusal::Refusal;

use crate::responses::answer::{CallKind, Item, Outcome, What};
use crate::responses::wire_types::Reply;

/// One event, small enough that a list of a hundred thousand costs little.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    Created,
    Queued,
    InProgress,
    ItemAdded(usize),
    ItemDone(usize),
    SummaryPartAdded(usize),
    SummaryPartDone(usize),
    PartAdded(usize),
    PartDone(usize),
    Delta(usize, u64),
    /// A delta of so many words of filler.
    Flood(usize, u64),
    /// The whole text behind its deltas.
    TextDone(usize),
    Annotation(usize, u64),
    Search(usize, &'static str),
    /// The last one, whatever the outcome.
    Ended,
    /// An error, its fields beside the type.
    Error(Box<Refusal>),
    /// An error in an object of its own.
    NestedError(Box<Refusal>),
    /// The end of a response that could not begin.
    Failed(Box<Refusal>),
    /// Neither JSON nor UTF-8.
    Garbage,
    /// A delta, cut in its middle.
    Cut(usize, u64),
}

/// The events of a response in their order.
pub(crate) fn events(reply: &Reply) -> Vec<Event> {
    let mut events = vec![Event::Created];
    if reply.echo.background {
        events.push(Event::Queued);
    }
    events.push(Event::InProgress);
    for (at, item) in reply.output.items.iter().enumerate() {
        add_item(at, item, &mut events);
    }
    if let Outcome::Failed(_) = reply.output.outcome {
        // It breaks before the first text is whole.
        let is_done = |event: &Event| matches!(event, Event::TextDone(_));
        let end = events.iter().position(is_done).unwrap_or(events.len());
        events.truncate(end);
    }
    events.push(Event::Ended);
    events
}

fn add_item(at: usize, item: &Item, events: &mut Vec<Event>) {
    let deltas = (0..item.what.deltas()).map(|index| Event::Delta(at, index));
    events.push(Event::ItemAdded(at));
    match &item.what {
        What::Reasoning { is_shown: true, .. } => {
            events.push(Event::SummaryPartAdded(at));
            events.extend(deltas);
            events.push(Event::TextDone(at));
            events.push(Event::SummaryPartDone(at));
        }
        What::Reasoning { .. } => {}
        What::Search { .. } => {
            let stages = ["in_progress", "searching", "completed"];
            events.extend(stages.map(|stage| Event::Search(at, stage)));
        }
        What::Message { citations, .. } => {
            events.push(Event::PartAdded(at));
            events.extend(deltas);
            events.extend((0..*citations).map(|index| Event::Annotation(at, index)));
            events.push(Event::TextDone(at));
            events.push(Event::PartDone(at));
        }
        What::Call(call) => match call.kind {
            CallKind::Function | CallKind::Custom => {
                events.extend(deltas);
                events.push(Event::TextDone(at));
            }
            // A command is told whole.
            CallKind::LocalShell => {}
        },
    }
    events.push(Event::ItemDone(at));
}
