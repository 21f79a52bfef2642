//! Assembles the stream of an upstream to the whole response that it would have sent. Each format has its own
//! file, `assemble`; what a format's stream does not carry is not requested this way.

use bytes::Bytes;
use serde_json::{Map, Value};

use crate::{
    Edit, Ending, Format, Frame, claude_messages, gemini, json_bytes, openai_chat,
    openai_responses, patch, scan,
};

/// One response while its stream is read.
#[derive(Debug)]
pub struct Assembler {
    response: Assembly,
    /// Bytes that may still come; none if there were more.
    left: Option<usize>,
}

#[derive(Debug)]
enum Assembly {
    OpenaiChat(openai_chat::Assembly),
    ClaudeMessages(claude_messages::Assembly),
    OpenaiResponses(Box<openai_responses::Assembly>),
    Gemini(gemini::Assembly),
}

/// The request for a whole response as one for its stream; none where the stream would not carry all of it.
#[must_use]
pub fn streamed_request(format: Format, body: &[u8]) -> Option<Bytes> {
    let object = scan(body).ok()?;
    let is_carried = match format {
        Format::OpenaiChat => openai_chat::is_streamable(&object),
        Format::Gemini => gemini::is_streamable(&object),
        Format::ClaudeMessages | Format::OpenaiResponses => true,
    };
    let mut edits = Vec::new();
    match format {
        Format::OpenaiChat => {
            edits.push(Edit::Set("stream", b"true".to_vec()));
            let options = br#"{"include_usage":true}"#.to_vec();
            edits.push(Edit::Set("stream_options", options));
        }
        Format::ClaudeMessages | Format::OpenaiResponses => {
            edits.push(Edit::Set("stream", b"true".to_vec()));
        }
        // Its path says it.
        Format::Gemini => {}
    }
    is_carried.then(|| Bytes::from(patch(&object, &edits)))
}

impl Assembler {
    /// For a stream of a format, of so many bytes at most.
    #[must_use]
    pub fn new(format: Format, most: usize) -> Self {
        let response = match format {
            Format::OpenaiChat => Assembly::OpenaiChat(openai_chat::Assembly::default()),
            Format::ClaudeMessages => {
                Assembly::ClaudeMessages(claude_messages::Assembly::default())
            }
            Format::OpenaiResponses => Assembly::OpenaiResponses(Box::default()),
            Format::Gemini => Assembly::Gemini(gemini::Assembly::default()),
        };
        Self {
            response,
            left: Some(most),
        }
    }

    /// Takes a frame in. One that is no piece of a response changes nothing.
    pub fn push(&mut self, frame: &Frame) {
        let Some(data) = &frame.data else {
            return;
        };
        self.left = self.left.and_then(|left| left.checked_sub(data.len()));
        if self.left.is_none() {
            return;
        }
        let read = || serde_json::from_slice::<Map<String, Value>>(data).ok();
        match &mut self.response {
            Assembly::OpenaiChat(response) => read().into_iter().for_each(|it| response.push(it)),
            Assembly::ClaudeMessages(response) => {
                read().into_iter().for_each(|it| response.push(it));
            }
            Assembly::OpenaiResponses(response) => response.push(frame),
            Assembly::Gemini(response) => read().into_iter().for_each(|it| response.push(it)),
        }
    }

    /// Whether there were more bytes than there may be; then there is no response.
    #[must_use]
    pub const fn is_overfull(&self) -> bool {
        self.left.is_none()
    }

    /// The whole response; none if there is none.
    #[must_use]
    pub fn finish(self, ending: Ending) -> Option<Bytes> {
        self.left?;
        let response = match self.response {
            Assembly::OpenaiChat(response) => response.finish(ending)?,
            Assembly::ClaudeMessages(response) => response.finish(ending)?,
            // As the upstream repeats it, byte for byte.
            Assembly::OpenaiResponses(response) => return response.finish(ending),
            Assembly::Gemini(response) => response.finish(ending)?,
        };
        Some(Bytes::from(json_bytes(&Value::Object(response))))
    }
}
