//! A response while it is generated: which event comes next, and what it costs.

use std::collections::VecDeque;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::audio_format::AudioFormat;
use super::input_audio::assistant_tokens;
use super::item::{Item, Tokens};
use crate::fault::{Fault, RealtimeFault};
use crate::realtime_log::RealtimeUsage;
use crate::tokens::{count, tokens_of};
use crate::tone::{Speed, Spoken};
use crate::wording;

/// A response that is being generated.
#[derive(Debug)]
pub(super) struct Generation {
    pub(super) id: String,
    /// Whether it writes into the conversation.
    pub(super) is_in_conversation: bool,
    pub(super) model: String,
    pub(super) sound: Option<Sound>,
    pub(super) outputs: Vec<Output>,
    pub(super) steps: VecDeque<Step>,
    /// Words of its message, and how many were sent.
    pub(super) words: u64,
    pub(super) sent_words: u64,
    pub(super) max_tokens: Option<u64>,
    pub(super) usage: RealtimeUsage,
    pub(super) audio_millis: u64,
    pub(super) status: &'static str,
    pub(super) reason: Option<&'static str>,
    pub(super) fault: Option<Fault>,
    /// Events that were made.
    pub(super) sent: u32,
    pub(super) pace: Duration,
    pub(super) due: Instant,
    /// Nothing more comes of it, not even its end.
    pub(super) is_hung: bool,
    /// What the response object repeats of the request.
    pub(super) echo: Value,
    /// Names are those of OpenAI's beta.
    pub(super) has_beta_names: bool,
    /// Audio that belongs to a word whose transcript was sent.
    pub(super) waiting_audio: Option<(u64, u64)>,
}

/// How a response sounds; one without is text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sound {
    pub(super) format: AudioFormat,
    pub(super) speed: Speed,
}

/// An item that is generated.
#[derive(Clone, Debug)]
pub(super) struct Output {
    pub(super) item: String,
    /// The name, the id of the call and the arguments, if it is one.
    pub(super) call: Option<Call>,
    pub(super) text: String,
    pub(super) tokens: Tokens,
    pub(super) audio_millis: u64,
    pub(super) is_done: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) id: String,
    pub(super) name: String,
    /// Not yet sent, the next piece last.
    pub(super) pieces: Vec<String>,
}

/// One step; the number is that of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Created,
    RateLimits,
    ItemAdded(usize),
    ConversationAdded(usize),
    PartAdded(usize),
    Words(usize),
    AudioDone(usize),
    TextDone(usize),
    PartDone(usize),
    Arguments(usize),
    ArgumentsDone(usize),
    ItemDone(usize),
    ConversationDone(usize),
    Done,
}

/// What a step sends.
#[derive(Debug)]
pub(super) enum Emission {
    Event(Value),
    Audio(Vec<u8>),
    /// The engine words these: they show the response, the limits or the conversation.
    Created,
    RateLimits,
    ItemAdded(Item),
    ItemDone(Item),
    Done,
}

// === impl Generation ===

impl Generation {
    /// The steps of all outputs.
    pub(super) fn plan(&mut self) {
        let mut steps = vec![Step::Created, Step::RateLimits];
        for (at, output) in self.outputs.iter().enumerate() {
            steps.push(Step::ItemAdded(at));
            steps.push(Step::ConversationAdded(at));
            if output.call.is_some() {
                steps.extend([Step::Arguments(at), Step::ArgumentsDone(at)]);
            } else {
                steps.extend([Step::PartAdded(at), Step::Words(at)]);
                if self.sound.is_some() {
                    steps.push(Step::AudioDone(at));
                }
                steps.extend([Step::TextDone(at), Step::PartDone(at)]);
            }
            steps.extend([Step::ItemDone(at), Step::ConversationDone(at)]);
        }
        steps.push(Step::Done);
        let is_in_conversation = self.is_in_conversation;
        steps.retain(|step| {
            let is_of_conversation =
                matches!(step, Step::ConversationAdded(_) | Step::ConversationDone(_));
            is_in_conversation || !is_of_conversation
        });
        self.steps = steps.into();
    }

    /// Ends it before its end: what was begun is closed, what was not begun never comes.
    pub(super) fn stop(&mut self, status: &'static str, reason: Option<&'static str>) {
        self.status = status;
        self.reason = reason;
        self.waiting_audio = None;
        let waiting: Vec<Step> = self.steps.iter().copied().collect();
        let is_begun = |at: usize| !waiting.contains(&Step::ItemAdded(at));
        self.steps.retain(|step| match *step {
            Step::Created | Step::Done => true,
            Step::RateLimits | Step::Words(_) | Step::Arguments(_) => false,
            Step::ItemAdded(at)
            | Step::ConversationAdded(at)
            | Step::PartAdded(at)
            | Step::AudioDone(at)
            | Step::TextDone(at)
            | Step::PartDone(at)
            | Step::ArgumentsDone(at)
            | Step::ItemDone(at)
            | Step::ConversationDone(at) => is_begun(at),
        });
    }

    pub(super) fn is_over(&self) -> bool {
        self.steps.is_empty()
    }

    /// The next thing to send. None means that this step sends nothing.
    pub(super) fn next(&mut self) -> Option<Emission> {
        let step = *self.steps.front()?;
        if let Step::Words(at) = step {
            return self.next_word(at);
        }
        if let Step::Arguments(at) = step {
            return self.next_arguments(at);
        }
        self.steps.pop_front();
        let emission = match step {
            Step::Created => Emission::Created,
            Step::RateLimits => Emission::RateLimits,
            Step::ItemAdded(at) => self.output_item(at, "response.output_item.added")?,
            Step::ConversationAdded(at) => Emission::ItemAdded(self.item(at)?),
            Step::PartAdded(at) => self.part(at, "response.content_part.added", "")?,
            Step::Words(_) | Step::Arguments(_) => return None,
            Step::AudioDone(at) => {
                let event = json!({"type": "response.output_audio.done"});
                Emission::Event(self.placed(event, at)?)
            }
            Step::TextDone(at) => {
                let text = self.outputs.get(at)?.text.clone();
                let event = if self.sound.is_some() {
                    json!({"type": "response.output_audio_transcript.done", "transcript": text})
                } else {
                    json!({"type": "response.output_text.done", "text": text})
                };
                Emission::Event(self.placed(event, at)?)
            }
            Step::PartDone(at) => {
                let text = self.outputs.get(at)?.text.clone();
                self.part(at, "response.content_part.done", &text)?
            }
            Step::ArgumentsDone(at) => {
                let output = self.outputs.get(at)?;
                let call = output.call.as_ref()?;
                let event = json!({
                    "type": "response.function_call_arguments.done",
                    "call_id": call.id,
                    "name": call.name,
                    "arguments": output.text,
                });
                Emission::Event(self.located(event, at)?)
            }
            Step::ItemDone(at) => {
                self.outputs.get_mut(at)?.is_done = true;
                self.output_item(at, "response.output_item.done")?
            }
            Step::ConversationDone(at) => Emission::ItemDone(self.item(at)?),
            Step::Done => Emission::Done,
        };
        Some(emission)
    }

    /// The next word of a message, or the audio of the last one.
    fn next_word(&mut self, at: usize) -> Option<Emission> {
        if let Some((from, to)) = self.waiting_audio.take() {
            return self.audio(at, from, to);
        }
        let is_filtered = self.fault == Some(Fault::Realtime(RealtimeFault::Filtered))
            && self.sent_words.saturating_mul(2) >= self.words;
        if is_filtered {
            self.stop("incomplete", Some("content_filter"));
            return None;
        }
        if self.sent_words >= self.words {
            self.steps.pop_front();
            return None;
        }
        let mut word = wording::word(&self.model, self.sent_words, false);
        if self.sent_words.saturating_add(1) == self.words {
            word.truncate(word.trim_end().len());
        }
        let millis = self
            .sound
            .map_or(0, |sound| Spoken::new(&word, sound.speed).millis());
        let audio_millis = self.audio_millis.saturating_add(millis);
        let audio_tokens = assistant_tokens(audio_millis);
        let text_tokens = self.usage.output_text.saturating_add(1);
        if self.is_above_limit(text_tokens.saturating_add(audio_tokens)) {
            self.stop("incomplete", Some("max_output_tokens"));
            return None;
        }
        self.sent_words = self.sent_words.saturating_add(1);
        self.usage.output_text = text_tokens;
        let output = self.outputs.get_mut(at)?;
        output.tokens.text = output.tokens.text.saturating_add(1);
        output.text.push_str(&word);
        if self.sound.is_some() {
            self.waiting_audio = Some((self.audio_millis, audio_millis));
        }
        if let Some(Fault::GiganticFrame { bytes }) = self.fault
            && self.sent_words == 1
        {
            let words = usize::try_from(bytes / 4).unwrap_or_default();
            word = "sim ".repeat(words);
        }
        let kind = if self.sound.is_some() {
            "response.output_audio_transcript.delta"
        } else {
            "response.output_text.delta"
        };
        let event = json!({"type": kind, "delta": word});
        Some(Emission::Event(self.placed(event, at)?))
    }

    fn audio(&mut self, at: usize, from: u64, to: u64) -> Option<Emission> {
        let sound = self.sound?;
        let bytes = sound.format.tone(from, to);
        self.audio_millis = to;
        let before = self.usage.output_audio;
        self.usage.output_audio = assistant_tokens(to);
        let output = self.outputs.get_mut(at)?;
        let grown = self.usage.output_audio.saturating_sub(before);
        output.tokens.audio = output.tokens.audio.saturating_add(grown);
        output.audio_millis = to;
        if self.fault == Some(Fault::Realtime(RealtimeFault::BinaryAudio)) {
            return Some(Emission::Audio(bytes));
        }
        let delta = STANDARD.encode(bytes);
        let event = json!({"type": "response.output_audio.delta", "delta": delta});
        Some(Emission::Event(self.placed(event, at)?))
    }

    fn next_arguments(&mut self, at: usize) -> Option<Emission> {
        let tokens = self.usage.output().saturating_add(1);
        let is_above = self.is_above_limit(tokens);
        let output = self.outputs.get_mut(at)?;
        let call = output.call.as_mut()?;
        let Some(piece) = call.pieces.pop() else {
            self.steps.pop_front();
            return None;
        };
        if is_above {
            self.stop("incomplete", Some("max_output_tokens"));
            return None;
        }
        let event = json!({
            "type": "response.function_call_arguments.delta",
            "call_id": call.id,
            "delta": piece,
        });
        output.text.push_str(&piece);
        output.tokens.text = output.tokens.text.saturating_add(1);
        self.usage.output_text = self.usage.output_text.saturating_add(1);
        Some(Emission::Event(self.located(event, at)?))
    }

    fn is_above_limit(&self, tokens: u64) -> bool {
        self.max_tokens.is_some_and(|limit| tokens > limit)
    }

    /// An event with the places of its output and of its content part.
    fn placed(&self, event: Value, at: usize) -> Option<Value> {
        let mut event = self.located(event, at)?;
        event
            .as_object_mut()?
            .insert("content_index".to_owned(), json!(0));
        Some(event)
    }

    fn located(&self, mut event: Value, at: usize) -> Option<Value> {
        let fields = event.as_object_mut()?;
        fields.insert("response_id".to_owned(), json!(self.id));
        fields.insert("item_id".to_owned(), json!(self.outputs.get(at)?.item));
        fields.insert("output_index".to_owned(), json!(count(at)));
        Some(event)
    }

    fn part(&self, at: usize, kind: &str, text: &str) -> Option<Emission> {
        let part = self.content(text, "text", "audio");
        let event = json!({"type": kind, "part": part});
        Some(Emission::Event(self.placed(event, at)?))
    }

    fn output_item(&self, at: usize, kind: &str) -> Option<Emission> {
        let item = self.item(at)?.view;
        Some(Emission::Event(json!({
            "type": kind,
            "response_id": self.id,
            "output_index": count(at),
            "item": item,
        })))
    }

    fn content(&self, text: &str, text_kind: &str, audio_kind: &str) -> Value {
        match (self.sound, self.has_beta_names) {
            (Some(_), false) => json!({"type": audio_kind, "transcript": text}),
            (None, false) => json!({"type": text_kind, "text": text}),
            (Some(_), true) => json!({"type": "audio", "transcript": text}),
            (None, true) => json!({"type": "text", "text": text}),
        }
    }

    /// An output as an item, as far as it is.
    pub(super) fn item(&self, at: usize) -> Option<Item> {
        let output = self.outputs.get(at)?;
        let status = match (output.is_done, self.status) {
            (false, _) => "in_progress",
            (true, "completed") => "completed",
            (true, _) => "incomplete",
        };
        let mut view = match &output.call {
            Some(call) => json!({
                "type": "function_call",
                "name": call.name,
                "call_id": call.id,
                "arguments": output.text,
            }),
            None => {
                let is_begun = output.is_done || !output.text.is_empty();
                let content = if is_begun {
                    vec![self.content(&output.text, "output_text", "output_audio")]
                } else {
                    Vec::new()
                };
                json!({"type": "message", "role": "assistant", "content": content})
            }
        };
        let fields = view.as_object_mut()?;
        fields.insert("id".to_owned(), json!(output.item));
        fields.insert("object".to_owned(), json!("realtime.item"));
        fields.insert("status".to_owned(), json!(status));
        Some(Item {
            id: output.item.clone(),
            view,
            tokens: output.tokens,
            audio_millis: output.audio_millis,
            is_generated: true,
            text: String::new(),
        })
    }
}

// === impl Call ===

impl Call {
    pub(super) fn new(id: String, name: String, arguments: &str) -> Self {
        let mut pieces = tokens_of(arguments);
        pieces.reverse();
        Self { id, name, pieces }
    }
}
