//! The bytes of each event. Every one has its type twice, as the SSE event and in the data, and a
//! number that rises; there is no end mark.

use crate::fault_stage::GARBAGE;
use crate::ordered_json::OrderedJson;
use crate::refusal::Detail;
use crate::script::Piece;

use super::events::Event;
use crate::responses::answer::{CallKind, Item, Outcome, Says, What};
use crate::responses::wire_types::{Reply, Stage, annotation, summary_part};

/// How the events of one response are told.
#[derive(Debug)]
pub(crate) struct Renderer {
    pub(crate) reply: Reply,
    pub(crate) cr_lf: bool,
}

// === impl Renderer ===

impl Renderer {
    /// The bytes of an event and what they mean for the record.
    pub(crate) fn render(&self, number: u64, event: &Event) -> Piece {
        let reply = &self.reply;
        match event {
            Event::Created => {
                let stage = if reply.echo.background {
                    Stage::Queued
                } else {
                    Stage::InProgress
                };
                let hidden = reply.output.hidden_tokens;
                self.about("response.created", number, stage).worth(hidden)
            }
            Event::Queued => self.about("response.queued", number, Stage::Queued),
            Event::InProgress => self.about("response.in_progress", number, Stage::InProgress),
            Event::Ended => {
                let kind = format!("response.{}", reply.output.outcome.name());
                let piece = self.about(&kind, number, Stage::Ended);
                let is_failed = matches!(reply.output.outcome, Outcome::Failed(_));
                if reply.style.tells_usage && !is_failed {
                    let reported = reply.reported_usage();
                    return piece.reporting(reported.prompt, reported.completion);
                }
                piece
            }
            Event::Error(refusal) => {
                let Detail { message, param, .. } = &refusal.detail;
                let written = opened("error", number)
                    .with("code", &refusal.detail.code)
                    .with("message", message)
                    .with("param", param);
                self.frame("error", written)
            }
            Event::NestedError(refusal) => {
                let written = opened("error", number).with("error", &refusal.detail);
                self.frame("error", written)
            }
            Event::Failed(refusal) => self.failed(number, &refusal.detail),
            Event::Garbage => self.line("response.output_text.delta", GARBAGE),
            Event::Cut(at, index) => {
                let whole = self.of_item(number, *at, &Event::Delta(*at, *index)).bytes;
                let half = whole.slice(..whole.len() / 2);
                let ending: &[u8] = if self.cr_lf { b"\r\n\r\n" } else { b"\n\n" };
                Piece::new([&half, ending].concat())
            }
            Event::ItemAdded(at)
            | Event::ItemDone(at)
            | Event::SummaryPartAdded(at)
            | Event::SummaryPartDone(at)
            | Event::PartAdded(at)
            | Event::PartDone(at)
            | Event::Delta(at, _)
            | Event::Flood(at, _)
            | Event::TextDone(at)
            | Event::Annotation(at, _)
            | Event::Search(at, _) => self.of_item(number, *at, event),
        }
    }

    /// An event that speaks of an item.
    fn of_item(&self, number: u64, at: usize, event: &Event) -> Piece {
        let Some(item) = self.reply.output.items.get(at) else {
            return Piece::new(Vec::new());
        };
        let whole = |kind: &str, is_beginning: bool| {
            let written = opened(kind, number)
                .with("output_index", &at)
                .raw("item", &self.reply.item(item, is_beginning));
            self.frame(kind, written)
        };
        match event {
            Event::ItemAdded(_) => {
                whole("response.output_item.added", true).worth(tokens_of_head(item))
            }
            Event::ItemDone(_) => whole("response.output_item.done", false),
            Event::Delta(_, index) | Event::Flood(_, index) => {
                let names = Names::of(item);
                let written = about(names.delta, number, item, at);
                let written = names
                    .indexed(written)
                    .with("delta", &self.reply.token(item, *index));
                self.frame(names.delta, names.with_logprobs(written))
                    .worth(1)
            }
            Event::TextDone(_) => {
                let names = Names::of(item);
                let text = self.reply.text(item).unwrap_or_default();
                let written = about(names.done, number, item, at);
                let written = names.indexed(written).with(names.field, &text);
                self.frame(names.done, names.with_logprobs(written))
            }
            Event::Search(_, stage) => {
                let kind = format!("response.web_search_call.{stage}");
                self.frame(&kind, about(&kind, number, item, at))
            }
            Event::SummaryPartAdded(_)
            | Event::SummaryPartDone(_)
            | Event::PartAdded(_)
            | Event::PartDone(_)
            | Event::Annotation(..)
            | Event::Created
            | Event::Queued
            | Event::InProgress
            | Event::Ended
            | Event::Error(_)
            | Event::NestedError(_)
            | Event::Failed(_)
            | Event::Garbage
            | Event::Cut(..) => self.of_part(number, at, item, event),
        }
    }

    /// An event that speaks of a part of an item.
    fn of_part(&self, number: u64, at: usize, item: &Item, event: &Event) -> Piece {
        let (kind, index, field, part) = match event {
            Event::SummaryPartAdded(_) => (
                "response.reasoning_summary_part.added",
                "summary_index",
                "part",
                summary_part(""),
            ),
            Event::SummaryPartDone(_) => (
                "response.reasoning_summary_part.done",
                "summary_index",
                "part",
                summary_part(&self.reply.text(item).unwrap_or_default()),
            ),
            Event::PartAdded(_) => (
                "response.content_part.added",
                "content_index",
                "part",
                self.reply.part(item, true),
            ),
            Event::Annotation(_, number) => (
                "response.output_text.annotation.added",
                "content_index",
                "annotation",
                annotation(*number),
            ),
            // What speaks of no part never comes here.
            Event::PartDone(_)
            | Event::ItemAdded(_)
            | Event::ItemDone(_)
            | Event::Delta(..)
            | Event::Flood(..)
            | Event::TextDone(_)
            | Event::Search(..)
            | Event::Created
            | Event::Queued
            | Event::InProgress
            | Event::Ended
            | Event::Error(_)
            | Event::NestedError(_)
            | Event::Failed(_)
            | Event::Garbage
            | Event::Cut(..) => (
                "response.content_part.done",
                "content_index",
                "part",
                self.reply.part(item, false),
            ),
        };
        let mut written = about(kind, number, item, at).with(index, &0);
        if let Event::Annotation(_, number) = event {
            written = written.with("annotation_index", number);
        }
        self.frame(kind, written.raw(field, &part))
    }

    /// `response.failed` for a response that never was.
    fn failed(&self, number: u64, detail: &Detail) -> Piece {
        let mut reply = self.reply.clone();
        reply.output.outcome = Outcome::Failed(String::new());
        let error = OrderedJson::new()
            .with("code", &detail.code)
            .with("message", &detail.message)
            .done();
        let document = reply.document(Stage::Ended);
        // The place of the error is known: it is the only one the document has.
        let document = document.replacen(&crate::responses::wire_types::failure(""), &error, 1);
        let written = opened("response.failed", number).raw("response", &document);
        self.frame("response.failed", written)
    }

    fn about(&self, kind: &str, number: u64, stage: Stage) -> Piece {
        let written = opened(kind, number).raw("response", &self.reply.document(stage));
        self.frame(kind, written)
    }

    fn frame(&self, kind: &str, written: OrderedJson) -> Piece {
        self.line(kind, written.done().as_bytes())
    }

    fn line(&self, kind: &str, data: &[u8]) -> Piece {
        let (comment, end): (&[u8], &[u8]) = if self.cr_lf {
            (b": keep-alive\r\n\r\n", b"\r\n")
        } else {
            (b"", b"\n")
        };
        let kind = kind.as_bytes();
        Piece::new([comment, b"event: ", kind, end, b"data: ", data, end, end].concat())
    }
}

/// The words of the events that carry an item's text.
struct Names {
    delta: &'static str,
    done: &'static str,
    /// The field of the whole text.
    field: &'static str,
    /// The field that says which part it is.
    index: Option<&'static str>,
}

// === impl Names ===

impl Names {
    fn of(item: &Item) -> Self {
        match &item.what {
            What::Reasoning { .. } | What::Search { .. } => Self {
                delta: "response.reasoning_summary_text.delta",
                done: "response.reasoning_summary_text.done",
                field: "text",
                index: Some("summary_index"),
            },
            What::Message {
                says: Says::Refusal(_),
                ..
            } => Self {
                delta: "response.refusal.delta",
                done: "response.refusal.done",
                field: "refusal",
                index: Some("content_index"),
            },
            What::Message { .. } => Self {
                delta: "response.output_text.delta",
                done: "response.output_text.done",
                field: "text",
                index: Some("content_index"),
            },
            What::Call(call) if call.kind == CallKind::Custom => Self {
                delta: "response.custom_tool_call_input.delta",
                done: "response.custom_tool_call_input.done",
                field: "input",
                index: None,
            },
            What::Call(_) => Self {
                delta: "response.function_call_arguments.delta",
                done: "response.function_call_arguments.done",
                field: "arguments",
                index: None,
            },
        }
    }

    fn indexed(&self, written: OrderedJson) -> OrderedJson {
        match self.index {
            Some(name) => written.with(name, &0),
            None => written,
        }
    }

    fn with_logprobs(&self, written: OrderedJson) -> OrderedJson {
        if self.delta == "response.output_text.delta" {
            return written.raw("logprobs", "[]");
        }
        written
    }
}

/// Tokens that the beginning of an item stands for: reasoning that is not shown, the name of a
/// call, and a command, which has no deltas.
fn tokens_of_head(item: &Item) -> u64 {
    match &item.what {
        What::Reasoning {
            tokens,
            is_shown: false,
            ..
        } => *tokens,
        What::Reasoning { .. } | What::Search { .. } | What::Message { .. } => 0,
        What::Call(call) => {
            let name = u64::from(call.has_name);
            match call.kind {
                CallKind::Function | CallKind::Custom => name,
                CallKind::LocalShell => item.what.deltas().saturating_add(name),
            }
        }
    }
}

fn opened(kind: &str, number: u64) -> OrderedJson {
    OrderedJson::new()
        .with("type", kind)
        .with("sequence_number", &number)
}

/// The beginning of an event that speaks of an item.
fn about(kind: &str, number: u64, item: &Item, at: usize) -> OrderedJson {
    opened(kind, number)
        .with("item_id", &item.id)
        .with("output_index", &at)
}
