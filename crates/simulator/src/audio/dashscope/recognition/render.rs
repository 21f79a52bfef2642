//! What was heard, as the vendor tells of it: whole or in events, in either dialect.

use serde_json::{Value, json};

use crate::audio::dashscope::Dialect;
use crate::audio::dashscope::speech::happened;
use crate::audio::fake_transcript::Words;
use crate::fault::Fault;
use crate::fault_stage::{self, GARBAGE, Injected};
use crate::script::{Piece, Script};

pub(super) struct Renderer {
    pub(super) dialect: Dialect,
    pub(super) id: String,
    pub(super) request_id: String,
    pub(super) created: u64,
    pub(super) model: String,
    pub(super) words: Words,
    pub(super) usage: Value,
}

/// One event of a stream.
enum Event {
    Delta(String),
    Last,
    Done,
    Error,
    Garbage,
}

// === impl Renderer ===

impl Renderer {
    fn annotations(&self) -> Value {
        json!([{
            "type": "audio_info",
            "language": self.words.language.code,
            "emotion": "neutral",
        }])
    }

    pub(super) fn whole(&self) -> Value {
        self.reply_of(&self.words.text(), "stop", true)
    }

    /// An answer, or as much of one as was said until now.
    fn reply_of(&self, text: &str, finish: &str, is_last: bool) -> Value {
        let mut reply = match self.dialect {
            Dialect::Native => json!({
                "output": { "choices": [{
                    "finish_reason": finish,
                    "message": {
                        "role": "assistant",
                        "content": [{ "text": text }],
                        "annotations": self.annotations(),
                    },
                }] },
                "request_id": self.request_id,
            }),
            Dialect::Compatible => json!({
                "id": self.id,
                "object": "chat.completion",
                "created": self.created,
                "model": self.model,
                "choices": [{
                    "index": 0,
                    "finish_reason": finish,
                    "message": {
                        "role": "assistant",
                        "content": text,
                        "annotations": self.annotations(),
                    },
                }],
            }),
        };
        if let Some(fields) = reply.as_object_mut()
            && is_last
            && !self.usage.is_null()
        {
            fields.insert("usage".to_owned(), self.usage.clone());
        }
        reply
    }

    fn chunk(&self, delta: &Value, finish: Option<&str>) -> Value {
        let mut reply = json!({
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": self.created,
            "model": self.model,
            "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }],
        });
        if let Some(fields) = reply.as_object_mut()
            && finish.is_some()
            && !self.usage.is_null()
        {
            fields.insert("usage".to_owned(), self.usage.clone());
        }
        reply
    }

    pub(super) fn streamed(self, fault: Option<Fault>) -> Script {
        let pieces = self.words.pieces();
        // Natively each event has everything that was said until then.
        let mut text = String::new();
        let mut events: Vec<Event> = Vec::new();
        for piece in pieces {
            text.push_str(&piece);
            events.push(Event::Delta(match self.dialect {
                Dialect::Native => text.clone(),
                Dialect::Compatible => piece,
            }));
        }
        if !matches!(fault, Some(Fault::NoDone | Fault::TruncatedJson)) {
            events.push(Event::Last);
            if self.dialect == Dialect::Compatible {
                events.push(Event::Done);
            }
        }
        let words = self.words.count().checked_div(3).unwrap_or(0);
        let injected = Injected {
            error: Event::Error,
            garbage: Event::Garbage,
        };
        fault_stage::stream(events.into_iter(), injected, fault, move |at, event| {
            let piece = self.render(at, &event);
            match event {
                Event::Delta(_) => piece.worth(words),
                Event::Last | Event::Done | Event::Error | Event::Garbage => piece,
            }
        })
    }

    fn render(&self, at: u64, event: &Event) -> Piece {
        let line = |reply: &Value| Piece::new(format!("data: {reply}\n\n"));
        match (event, self.dialect) {
            (Event::Delta(text), Dialect::Native) => {
                happened(at, "result", 200, &self.reply_of(text, "null", false))
            }
            (Event::Delta(text), Dialect::Compatible) => {
                line(&self.chunk(&json!({ "role": "assistant", "content": text }), None))
            }
            (Event::Last, Dialect::Native) => happened(at, "result", 200, &self.whole()),
            (Event::Last, Dialect::Compatible) => {
                let delta = json!({ "content": "", "annotations": self.annotations() });
                line(&self.chunk(&delta, Some("stop")))
            }
            (Event::Done, _) => Piece::new("data: [DONE]\n\n"),
            (Event::Error, Dialect::Native) => happened(
                at,
                "error",
                500,
                &json!({
                    "code": "InternalError.Algo",
                    "message": "An internal error has occured during execution.",
                    "request_id": self.request_id,
                }),
            ),
            (Event::Error, Dialect::Compatible) => line(&json!({ "error": {
                    "message": "An internal error has occured during execution.",
                    "type": "server_error",
                    "param": null,
                    "code": "InternalError.Algo",
                } })),
            (Event::Garbage, _) => Piece::sse(GARBAGE),
        }
    }
}
