//! Dispatches to the format's module. A new format is a new module and an arm here.

use bytes::Bytes;
use serde_json::Value;
use trunkline_types::Usage;

use crate::canonical::{Conversation, Event, Meter, ReportedUsage, Response, Target, Written};
use crate::{
    ErrorBody, Format, Frame, FrameKind, ResponseError, ResponseFacts, ResponseMeta,
    ResponseSummary, Rewrite, StreamEnd, claude_messages, gemini, openai_chat, openai_responses,
};

/// Reads a stream of a format.
#[derive(Debug)]
pub enum Reader {
    OpenaiChat(Box<openai_chat::Reader>),
    ClaudeMessages(Box<claude_messages::Reader>),
    OpenaiResponses(Box<openai_responses::Reader>),
    Gemini(Box<gemini::Reader>),
}

/// Writes a stream of a format.
#[derive(Debug)]
pub enum Writer {
    OpenaiChat(Box<openai_chat::Writer>),
    ClaudeMessages(Box<claude_messages::Writer>),
    OpenaiResponses(Box<openai_responses::Writer>),
    Gemini(Box<gemini::Writer>),
}

/// Follows a stream that is passed on in its own format.
#[derive(Debug)]
pub enum Tap {
    /// Chat's own, which reads less than all.
    Chat(Box<openai_chat::Tap>),
    /// A reader, whose events are only counted.
    Read(Reader, Meter, Vec<Event>),
}

#[must_use]
pub fn write_request(format: Format, conversation: &Conversation, target: &Target<'_>) -> Written {
    let mut written = match format {
        Format::OpenaiChat => openai_chat::request_from_canonical(conversation, target),
        Format::ClaudeMessages => claude_messages::request_from_canonical(conversation, target),
        Format::OpenaiResponses => openai_responses::request_from_canonical(conversation, target),
        Format::Gemini => gemini::request_from_canonical(conversation, target),
    };
    written.notes = written.notes.for_caller(conversation);
    written
}

/// Looks at a whole response for what it used.
pub fn scan_response(format: Format, body: &[u8]) -> Result<ResponseSummary, ResponseError> {
    match format {
        Format::OpenaiChat => openai_chat::scan_response(body),
        Format::ClaudeMessages => claude_messages::scan_response(body),
        Format::OpenaiResponses => openai_responses::scan_response(body),
        Format::Gemini => gemini::scan_response(body),
    }
}

/// A whole response with the names that the caller knows, in its own format; none if it needs none.
#[must_use]
pub fn rewrite_response(format: Format, body: &[u8], rewrite: &Rewrite) -> Option<Bytes> {
    match format {
        Format::OpenaiChat => openai_chat::rewrite_response(body, rewrite),
        Format::ClaudeMessages => claude_messages::rewrite_response(body, rewrite),
        Format::OpenaiResponses => openai_responses::rewrite_response(body, rewrite),
        Format::Gemini => gemini::rewrite_response(body, rewrite),
    }
}

pub fn read_response(format: Format, body: &[u8]) -> Result<Response, ResponseError> {
    match format {
        Format::OpenaiChat => openai_chat::response_to_canonical(body),
        Format::ClaudeMessages => claude_messages::response_to_canonical(body),
        Format::OpenaiResponses => openai_responses::response_to_canonical(body),
        Format::Gemini => gemini::response_to_canonical(body),
    }
}

#[must_use]
pub fn write_response(format: Format, answer: &Response, meta: &ResponseMeta) -> Vec<u8> {
    match format {
        Format::OpenaiChat => openai_chat::response_from_canonical(answer, meta),
        Format::ClaudeMessages => claude_messages::response_from_canonical(answer, meta),
        Format::OpenaiResponses => openai_responses::response_from_canonical(answer, meta),
        Format::Gemini => gemini::response_from_canonical(answer, meta),
    }
}

#[must_use]
pub fn error_body(format: Format, body: &ErrorBody) -> Value {
    match format {
        Format::OpenaiChat | Format::OpenaiResponses => openai_chat::error_body(body),
        Format::ClaudeMessages => claude_messages::error_body(body),
        Format::Gemini => gemini::error_body(body),
    }
}

/// An error inside a stream that has begun.
#[must_use]
pub fn error_frame(format: Format, body: &ErrorBody) -> Vec<u8> {
    match format {
        Format::OpenaiChat => openai_chat::error_frame(body),
        Format::ClaudeMessages => claude_messages::error_frame(body),
        Format::OpenaiResponses => openai_responses::error_frame(body),
        Format::Gemini => gemini::error_frame(body),
    }
}

/// A heartbeat inside a stream.
#[must_use]
pub const fn heartbeat(format: Format) -> &'static [u8] {
    match format {
        Format::OpenaiChat => openai_chat::HEARTBEAT,
        Format::ClaudeMessages => claude_messages::HEARTBEAT,
        Format::OpenaiResponses => openai_responses::HEARTBEAT,
        Format::Gemini => gemini::HEARTBEAT,
    }
}

// === impl Reader ===

impl Reader {
    /// For a stream of a format.
    #[must_use]
    pub fn new(format: Format) -> Self {
        match format {
            Format::OpenaiChat => Self::OpenaiChat(Box::default()),
            Format::ClaudeMessages => Self::ClaudeMessages(Box::default()),
            Format::OpenaiResponses => Self::OpenaiResponses(Box::default()),
            Format::Gemini => Self::Gemini(Box::default()),
        }
    }

    /// Reads one frame: its kind for a relay, and its events.
    pub fn read(&mut self, frame: &Frame, events: &mut Vec<Event>) -> FrameKind {
        match self {
            Self::OpenaiChat(reader) => reader.read(frame, events),
            Self::ClaudeMessages(reader) => reader.read(frame, events),
            Self::OpenaiResponses(reader) => reader.read(frame, events),
            Self::Gemini(reader) => reader.read(frame, events),
        }
    }

    /// The stream has ended: closes what is open. False if it may not end here.
    pub fn end(&mut self, events: &mut Vec<Event>) -> bool {
        match self {
            Self::OpenaiChat(reader) => reader.end(events),
            Self::ClaudeMessages(reader) => reader.end(events),
            Self::OpenaiResponses(reader) => reader.end(events),
            Self::Gemini(reader) => reader.end(events),
        }
    }

    /// A frame with the names that the caller knows.
    #[must_use]
    pub fn rewrite(&self, frame: &Frame, rewrite: &Rewrite) -> Bytes {
        match self {
            Self::OpenaiChat(_) => openai_chat::rewrite_frame(frame, rewrite),
            Self::ClaudeMessages(_) => claude_messages::rewrite_frame(frame, rewrite),
            Self::OpenaiResponses(_) => openai_responses::rewrite_frame(frame, rewrite),
            Self::Gemini(_) => gemini::rewrite_frame(frame, rewrite),
        }
    }

    /// The end of a stream that was passed on: what was held, with what it cost.
    pub fn write_end(
        &mut self,
        held: &[Frame],
        stream_end: &StreamEnd,
        rewrite: &Rewrite,
    ) -> Vec<u8> {
        match self {
            Self::OpenaiChat(reader) => reader.write_end(held, stream_end, rewrite),
            Self::ClaudeMessages(reader) => reader.write_end(held, stream_end, rewrite),
            Self::OpenaiResponses(reader) => reader.write_end(held, stream_end, rewrite),
            Self::Gemini(reader) => reader.write_end(held, stream_end, rewrite),
        }
    }
}

// === impl Writer ===

impl Writer {
    #[must_use]
    pub fn new(format: Format, meta: ResponseMeta) -> Self {
        match format {
            Format::OpenaiChat => Self::OpenaiChat(Box::new(openai_chat::Writer::new(meta))),
            Format::ClaudeMessages => {
                Self::ClaudeMessages(Box::new(claude_messages::Writer::new(meta)))
            }
            Format::OpenaiResponses => {
                Self::OpenaiResponses(Box::new(openai_responses::Writer::new(meta)))
            }
            Format::Gemini => Self::Gemini(Box::new(gemini::Writer::new(meta))),
        }
    }

    /// Writes one event. What belongs to the end waits for [`Writer::finish`].
    pub fn write(&mut self, event: &Event, out: &mut Vec<u8>) {
        match self {
            Self::OpenaiChat(writer) => writer.write(event, out),
            Self::ClaudeMessages(writer) => writer.write(event, out),
            Self::OpenaiResponses(writer) => writer.write(event, out),
            Self::Gemini(writer) => writer.write(event, out),
        }
    }

    /// Writes the end, now that the charge is durable.
    pub fn finish(&mut self, stream_end: &StreamEnd, out: &mut Vec<u8>) {
        match self {
            Self::OpenaiChat(writer) => writer.finish(stream_end, out),
            Self::ClaudeMessages(writer) => writer.finish(stream_end, out),
            Self::OpenaiResponses(writer) => writer.finish(stream_end, out),
            Self::Gemini(writer) => writer.finish(stream_end, out),
        }
    }
}

// === impl Tap ===

impl Tap {
    /// For a stream that is passed on.
    #[must_use]
    pub fn new(format: Format) -> Self {
        match format {
            Format::OpenaiChat => Self::Chat(Box::default()),
            Format::ClaudeMessages | Format::OpenaiResponses | Format::Gemini => {
                Self::Read(Reader::new(format), Meter::default(), Vec::new())
            }
        }
    }

    pub fn observe(&mut self, frame: &Frame) -> FrameKind {
        match self {
            Self::Chat(tap) => tap.observe(frame),
            Self::Read(reader, meter, events) => {
                events.clear();
                let seen = reader.read(frame, events);
                events.iter().for_each(|event| meter.observe(event));
                seen
            }
        }
    }

    /// Whether the stream may end here without another word.
    pub fn may_end(&mut self) -> bool {
        match self {
            Self::Chat(tap) => tap.finished(),
            Self::Read(reader, meter, events) => {
                events.clear();
                let fine = reader.end(events);
                events.iter().for_each(|event| meter.observe(event));
                fine
            }
        }
    }

    /// A frame with the names that the caller knows.
    #[must_use]
    pub fn rewrite(&self, frame: &Frame, rewrite: &Rewrite) -> Bytes {
        match self {
            Self::Chat(_) => openai_chat::rewrite_frame(frame, rewrite),
            Self::Read(reader, _, _) => reader.rewrite(frame, rewrite),
        }
    }

    /// The end: what was held, with what it cost.
    pub fn write_end(
        &mut self,
        held: &[Frame],
        stream_end: &StreamEnd,
        model: &str,
        rewrite: &Rewrite,
    ) -> Vec<u8> {
        match self {
            Self::Chat(tap) => tap.write_end(held, stream_end, model),
            Self::Read(reader, _, _) => reader.write_end(held, stream_end, rewrite),
        }
    }

    /// What the upstream reported, if it reported input and output.
    #[must_use]
    pub fn reported(&self) -> Option<ReportedUsage> {
        match self {
            Self::Chat(tap) => tap.reported(),
            Self::Read(_, meter, _) => meter.reported().cloned(),
        }
    }

    /// The input in its buckets, where the upstream reported it.
    #[must_use]
    pub fn reported_input(&self) -> Option<Usage> {
        match self {
            Self::Chat(tap) => tap.reported_input(),
            Self::Read(_, meter, _) => meter.reported_input(),
        }
    }

    /// Output tokens counted by us.
    #[must_use]
    pub fn written(&self) -> u64 {
        match self {
            Self::Chat(tap) => tap.written(),
            Self::Read(_, meter, _) => meter.written(),
        }
    }

    /// The same, in the caller's favour.
    #[must_use]
    pub fn least_written(&self) -> u64 {
        match self {
            Self::Chat(tap) => tap.least_written(),
            Self::Read(_, meter, _) => meter.least_written(),
        }
    }

    /// Whether the upstream has said why it stopped.
    #[must_use]
    pub fn finished(&self) -> bool {
        match self {
            Self::Chat(tap) => tap.finished(),
            Self::Read(_, meter, _) => meter.finished(),
        }
    }

    /// The upstream's id of the response; empty until it is known.
    #[must_use]
    pub fn id(&self) -> &str {
        match self {
            Self::Chat(tap) => tap.id(),
            Self::Read(_, meter, _) => meter.id(),
        }
    }

    /// What the response says about itself, for traces.
    #[must_use]
    pub fn facts(&self) -> ResponseFacts {
        match self {
            Self::Chat(tap) => ResponseFacts {
                model: tap.model().to_owned(),
                finishes: tap.finishes().to_vec(),
            },
            Self::Read(_, meter, _) => meter.facts(),
        }
    }
}
