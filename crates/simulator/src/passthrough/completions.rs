//! Completions of plain text, as they were before chat: streamed and whole.

use serde_json::{Value, json};

use crate::fault::Fault;
use crate::fault_stage::{self, GARBAGE, Injected};
use crate::ordered_json::{OrderedJson, list};
use crate::refusal::Refusal;
use crate::request::Object;
use crate::request::fields::{self, missing};
use crate::script::{Piece, Script};
use crate::wording;

use super::embeddings::read_inputs;
use super::{Job, ReportedTokens, Wants, read_directives, read_model};

/// What is said, the same in every choice.
pub(super) struct Text {
    choices: u64,
    words: u64,
    is_cut: bool,
    /// The prompts, if they are to be said first.
    echo: Option<Vec<String>>,
    asks_usage: bool,
}

pub(super) struct Renderer {
    pub(super) id: String,
    pub(super) created: u64,
    pub(super) model: String,
    pub(super) reported: ReportedTokens,
    pub(super) text: Text,
    pub(super) fault: Option<Fault>,
}

/// One frame of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Frame {
    Token { choice: u64, index: u64 },
    Finish { choice: u64 },
    Usage,
    Done,
    Error,
    Garbage,
    Cut { choice: u64, index: u64 },
}

/// The vendor's own bounds and defaults.
const DEFAULT_MAX_TOKENS: u64 = 16;
/// Most choices of all prompts together, so that lists cannot multiply without end.
const MAX_ALL_CHOICES: u64 = 4096;
/// Most words of one answer.
const MAX_WORDS: u64 = 100_000;

pub(super) fn read(body: &Object) -> Result<Job, Refusal> {
    fields::check("completions", body)?;
    let model = read_model(body)?;
    if !body.contains_key("prompt") {
        return Err(missing("prompt"));
    }
    let (prompts, prompt_tokens) = read_inputs(body.get("prompt"))?;
    let number = |name: &str| body.get(name).and_then(Value::as_u64);
    let each = number("n").unwrap_or(1);
    let choices = crate::tokens::count(prompts.len()).saturating_mul(each);
    if choices > MAX_ALL_CHOICES {
        let message = format!("Invalid 'n': more than {MAX_ALL_CHOICES} choices in all.");
        return Err(Refusal::invalid("n", None, message));
    }
    let stream = body.get("stream") == Some(&Value::Bool(true));
    let options = body.get("stream_options").filter(|value| !value.is_null());
    if options.is_some() && !stream {
        let message =
            "The 'stream_options' parameter is only allowed when 'stream' is enabled.".to_owned();
        return Err(Refusal::invalid("stream_options", None, message));
    }
    let include_usage = options.and_then(|options| options.get("include_usage"));
    let directives = read_directives(prompts.last().map_or("", String::as_str))?;
    let limit = number("max_tokens").unwrap_or(DEFAULT_MAX_TOKENS);
    let limit = limit.min(MAX_WORDS.checked_div(choices).unwrap_or(MAX_WORDS));
    let requested = directives
        .tokens
        .unwrap_or_else(|| wording::length(model, directives.words));
    let words = requested.min(limit);
    let wants_echo = body.get("echo") == Some(&Value::Bool(true));
    Ok(Job {
        model: model.to_owned(),
        stream,
        directives,
        prompt_tokens,
        completion_tokens: words.saturating_mul(choices),
        wants: Wants::Text(Text {
            choices,
            words,
            is_cut: requested > limit,
            echo: wants_echo.then_some(prompts),
            asks_usage: include_usage == Some(&Value::Bool(true)),
        }),
    })
}

// === impl Text ===

impl Text {
    /// The prompt a choice belongs to, if it is to be said first.
    fn said_first(&self, choice: u64) -> &str {
        let Some(prompts) = &self.echo else {
            return "";
        };
        let each = self
            .choices
            .checked_div(crate::tokens::count(prompts.len()))
            .unwrap_or(1);
        let at = choice.checked_div(each).unwrap_or_default();
        let at = usize::try_from(at).unwrap_or_default();
        prompts.get(at).map_or("", String::as_str)
    }
}

// === impl Renderer ===

impl Renderer {
    pub(super) fn document(&self) -> String {
        let reason = self.reason();
        let choices: Vec<String> = (0..self.text.choices)
            .map(|choice| {
                let words: String = (0..self.text.words).map(|index| self.word(index)).collect();
                let text = format!("{}{words}", self.text.said_first(choice));
                shape(choice, &text, reason)
            })
            .collect();
        self.head(&choices)
            .maybe("usage", self.usage().as_ref())
            .done()
    }

    pub(super) fn streamed(self) -> Script {
        let mut frames = Vec::new();
        for index in 0..self.text.words {
            frames.extend((0..self.text.choices).map(|choice| Frame::Token { choice, index }));
        }
        if self.fault == Some(Fault::TruncatedJson) {
            if let Some(Frame::Token { choice, index }) = frames.pop() {
                frames.push(Frame::Cut { choice, index });
            }
        } else {
            if self.fault != Some(Fault::NoFinishReason) {
                frames.extend((0..self.text.choices).map(|choice| Frame::Finish { choice }));
            }
            if self.text.asks_usage && self.reported.is_some() {
                frames.push(Frame::Usage);
            }
            if self.fault != Some(Fault::NoDone) {
                frames.push(Frame::Done);
            }
        }
        let injected = Injected {
            error: Frame::Error,
            garbage: Frame::Garbage,
        };
        let (frames, fault) = (frames.into_iter(), self.fault);
        fault_stage::stream(frames, injected, fault, move |_, frame| self.render(frame))
    }

    fn render(&self, frame: Frame) -> Piece {
        match frame {
            Frame::Token { choice, index } => self.token(choice, index).worth(1),
            Frame::Finish { choice } => {
                let choices = [shape(choice, "", self.reason())];
                self.chunk(&choices, None)
            }
            Frame::Usage => {
                let piece = self.chunk(&[], self.usage());
                match self.reported {
                    Some((prompt, completion)) => piece.reporting(prompt, completion),
                    None => piece,
                }
            }
            Frame::Done => self.line(b"[DONE]"),
            Frame::Error => self.line(Refusal::after_ok().body().as_bytes()),
            Frame::Garbage => self.line(GARBAGE),
            Frame::Cut { choice, index } => {
                let whole = self.token(choice, index).bytes;
                let half = whole.slice(..whole.len() / 2);
                Piece::new([&half[..], b"\n\n"].concat())
            }
        }
    }

    fn token(&self, choice: u64, index: u64) -> Piece {
        let first = if index == 0 {
            self.text.said_first(choice)
        } else {
            ""
        };
        let text = format!("{first}{}", self.word(index));
        self.chunk(&[shape(choice, &text, None)], None)
    }

    fn chunk(&self, choices: &[String], usage: Option<Value>) -> Piece {
        let usage = self.text.asks_usage.then_some(usage);
        let written = self.head(choices).maybe("usage", usage.as_ref());
        self.line(written.done().as_bytes())
    }

    fn head(&self, choices: &[String]) -> OrderedJson {
        OrderedJson::new()
            .with("id", &self.id)
            .with("object", "text_completion")
            .with("created", &self.created)
            .with("model", &self.model)
            .raw("choices", &list(choices))
            .with("system_fingerprint", "fp_simulator")
    }

    fn usage(&self) -> Option<Value> {
        self.reported.map(|(prompt, completion)| {
            json!({
                "prompt_tokens": prompt,
                "completion_tokens": completion,
                "total_tokens": prompt.saturating_add(completion),
            })
        })
    }

    fn reason(&self) -> Option<&'static str> {
        let reason = if self.text.is_cut { "length" } else { "stop" };
        (self.fault != Some(Fault::NoFinishReason)).then_some(reason)
    }

    fn word(&self, index: u64) -> String {
        let accents = matches!(self.fault, Some(Fault::SplitBytes { .. }));
        wording::word(&self.model, index, accents)
    }

    fn line(&self, data: &[u8]) -> Piece {
        let (before, after): (&[u8], &[u8]) = if self.fault == Some(Fault::CrLf) {
            (b": keep-alive\r\n\r\ndata: ", b"\r\n\r\n")
        } else {
            (b"data: ", b"\n\n")
        };
        Piece::new([before, data, after].concat())
    }
}

fn shape(choice: u64, text: &str, finish_reason: Option<&str>) -> String {
    OrderedJson::new()
        .with("text", text)
        .with("index", &choice)
        .raw("logprobs", "null")
        .with("finish_reason", &finish_reason)
        .done()
}
