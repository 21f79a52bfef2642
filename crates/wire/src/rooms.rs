//! Which format's room does what. Adding a format is adding a room and an arm here.

use bytes::Bytes;
use serde_json::Value;

use crate::canon::{Answer, Conversation, Counted, Event, Meter, Target, Written};
use crate::openai_chat::Told;
use crate::{
    AnswerError, Ending, Format, Frame, Rewrite, Seen, Shown, Trouble, Whole, claude_messages,
    gemini, openai_chat, openai_responses,
};

/// Reads a stream of a format.
#[derive(Debug)]
pub enum Reader {
    /// Chat completions.
    OpenaiChat(Box<openai_chat::Reader>),
    /// Anthropic messages.
    ClaudeMessages(Box<claude_messages::Reader>),
    /// Responses.
    OpenaiResponses(Box<openai_responses::Reader>),
    /// generateContent.
    Gemini(Box<gemini::Reader>),
}

/// Writes a stream of a format.
#[derive(Debug)]
pub enum Writer {
    /// Chat completions.
    OpenaiChat(Box<openai_chat::Writer>),
    /// Anthropic messages.
    ClaudeMessages(Box<claude_messages::Writer>),
    /// Responses.
    OpenaiResponses(Box<openai_responses::Writer>),
    /// generateContent.
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

/// Writes a conversation in a format.
#[must_use]
pub fn write_request(format: Format, conversation: &Conversation, target: &Target<'_>) -> Written {
    let mut written = match format {
        Format::OpenaiChat => openai_chat::request_from_canon(conversation, target),
        Format::ClaudeMessages => claude_messages::request_from_canon(conversation, target),
        Format::OpenaiResponses => openai_responses::request_from_canon(conversation, target),
        Format::Gemini => gemini::request_from_canon(conversation, target),
    };
    written.notes = written.notes.told_to(conversation);
    written
}

/// Looks at a whole answer for what it used.
pub fn read_whole(format: Format, body: &[u8]) -> Result<Whole, AnswerError> {
    match format {
        Format::OpenaiChat => openai_chat::read_whole(body),
        Format::ClaudeMessages => claude_messages::read_whole(body),
        Format::OpenaiResponses => openai_responses::read_whole(body),
        Format::Gemini => gemini::read_whole(body),
    }
}

/// A whole answer with the names that the caller knows, in its own format; none if it needs none.
#[must_use]
pub fn rewrite_whole(format: Format, body: &[u8], rewrite: &Rewrite) -> Option<Bytes> {
    match format {
        Format::OpenaiChat => openai_chat::rewrite_whole(body, rewrite),
        Format::ClaudeMessages => claude_messages::rewrite_whole(body, rewrite),
        Format::OpenaiResponses => openai_responses::rewrite_whole(body, rewrite),
        Format::Gemini => gemini::rewrite_whole(body, rewrite),
    }
}

/// Reads a whole answer.
pub fn read_answer(format: Format, body: &[u8]) -> Result<Answer, AnswerError> {
    match format {
        Format::OpenaiChat => openai_chat::answer_to_canon(body),
        Format::ClaudeMessages => claude_messages::answer_to_canon(body),
        Format::OpenaiResponses => openai_responses::answer_to_canon(body),
        Format::Gemini => gemini::answer_to_canon(body),
    }
}

/// Writes a whole answer.
#[must_use]
pub fn write_answer(format: Format, answer: &Answer, shown: &Shown) -> Vec<u8> {
    match format {
        Format::OpenaiChat => openai_chat::answer_from_canon(answer, shown),
        Format::ClaudeMessages => claude_messages::answer_from_canon(answer, shown),
        Format::OpenaiResponses => openai_responses::answer_from_canon(answer, shown),
        Format::Gemini => gemini::answer_from_canon(answer, shown),
    }
}

/// An error as a format has it.
#[must_use]
pub fn error_body(format: Format, trouble: &Trouble) -> Value {
    match format {
        Format::OpenaiChat | Format::OpenaiResponses => openai_chat::error_body(trouble),
        Format::ClaudeMessages => claude_messages::error_body(trouble),
        Format::Gemini => gemini::error_body(trouble),
    }
}

/// An error inside a stream that has begun.
#[must_use]
pub fn error_frame(format: Format, trouble: &Trouble) -> Vec<u8> {
    match format {
        Format::OpenaiChat => openai_chat::error_frame(trouble),
        Format::ClaudeMessages => claude_messages::error_frame(trouble),
        Format::OpenaiResponses => openai_responses::error_frame(trouble),
        Format::Gemini => gemini::error_frame(trouble),
    }
}

/// A sign of life inside a stream.
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

    /// Reads one frame: what it is to whoever passes it on, and what happens in it.
    pub fn read(&mut self, frame: &Frame, events: &mut Vec<Event>) -> Seen {
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

    /// The last words of a stream that was passed on: what was held, with what it cost.
    pub fn goodbye(&mut self, held: &[Frame], ending: &Ending, rewrite: &Rewrite) -> Vec<u8> {
        match self {
            Self::OpenaiChat(reader) => reader.goodbye(held, ending, rewrite),
            Self::ClaudeMessages(reader) => reader.goodbye(held, ending, rewrite),
            Self::OpenaiResponses(reader) => reader.goodbye(held, ending, rewrite),
            Self::Gemini(reader) => reader.goodbye(held, ending, rewrite),
        }
    }
}

// === impl Writer ===

impl Writer {
    /// For an answer in a format.
    #[must_use]
    pub fn new(format: Format, shown: Shown) -> Self {
        match format {
            Format::OpenaiChat => Self::OpenaiChat(Box::new(openai_chat::Writer::new(shown))),
            Format::ClaudeMessages => {
                Self::ClaudeMessages(Box::new(claude_messages::Writer::new(shown)))
            }
            Format::OpenaiResponses => {
                Self::OpenaiResponses(Box::new(openai_responses::Writer::new(shown)))
            }
            Format::Gemini => Self::Gemini(Box::new(gemini::Writer::new(shown))),
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
    pub fn finish(&mut self, ending: &Ending, out: &mut Vec<u8>) {
        match self {
            Self::OpenaiChat(writer) => writer.finish(ending, out),
            Self::ClaudeMessages(writer) => writer.finish(ending, out),
            Self::OpenaiResponses(writer) => writer.finish(ending, out),
            Self::Gemini(writer) => writer.finish(ending, out),
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

    /// Reads one frame.
    pub fn see(&mut self, frame: &Frame) -> Seen {
        match self {
            Self::Chat(tap) => tap.see(frame),
            Self::Read(reader, meter, events) => {
                events.clear();
                let seen = reader.read(frame, events);
                events.iter().for_each(|event| meter.see(event));
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
                events.iter().for_each(|event| meter.see(event));
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

    /// The last words: what was held, with what it cost.
    pub fn goodbye(
        &mut self,
        held: &[Frame],
        ending: &Ending,
        model: &str,
        rewrite: &Rewrite,
    ) -> Vec<u8> {
        match self {
            Self::Chat(tap) => tap.goodbye(held, ending, model),
            Self::Read(reader, _, _) => reader.goodbye(held, ending, rewrite),
        }
    }

    /// What the upstream told, if it told of input and output.
    #[must_use]
    pub fn told(&self) -> Option<Counted> {
        match self {
            Self::Chat(tap) => tap.told(),
            Self::Read(_, meter, _) => meter.told().cloned(),
        }
    }

    /// Input tokens, where the upstream told them.
    #[must_use]
    pub fn told_input(&self) -> Option<u64> {
        match self {
            Self::Chat(tap) => tap.told_input(),
            Self::Read(_, meter, _) => meter.told_input(),
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

    /// The upstream's id of the answer; empty until it is known.
    #[must_use]
    pub fn id(&self) -> &str {
        match self {
            Self::Chat(tap) => tap.id(),
            Self::Read(_, meter, _) => meter.id(),
        }
    }

    /// What the answer says about itself, for traces.
    #[must_use]
    pub fn about(&self) -> Told {
        match self {
            Self::Chat(tap) => Told {
                model: tap.model().to_owned(),
                finishes: tap.finishes().to_vec(),
            },
            Self::Read(_, meter, _) => meter.about(),
        }
    }
}
