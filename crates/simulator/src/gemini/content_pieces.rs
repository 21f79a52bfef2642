//! The pieces of an answer: numbered words, documents that fit a schema, and calls of functions.

use serde_json::Value;

use crate::schema;
use crate::tokens::{count, tokens_of};
use crate::tool_calls::{self, Called};
use crate::wording;

use super::config::Format;
use super::request::GenerateRequest;
use super::schema::Service;
use super::signature;
use super::tools::{Calling, Function};

/// A piece and the tokens it is worth.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ContentPiece {
    pub(super) part: Part,
    pub(super) tokens: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Part {
    Thought(String),
    Text(String),
    Call {
        id: Option<String>,
        name: String,
        args: Value,
        signature: Option<String>,
    },
}

/// The words of this answer; some faults want characters of two bytes.
pub(super) struct Words<'a> {
    pub(super) model: &'a str,
    pub(super) has_accents: bool,
}

/// What one candidate says, thoughts aside.
#[derive(Default)]
pub(super) struct Content {
    pub(super) pieces: Vec<ContentPiece>,
    pub(super) spoken: u64,
    pub(super) is_cut: bool,
}

/// Most frames of one candidate; a longer answer has more words in each.
pub(super) const MAX_FRAMES: u64 = 4096;

// === impl Content ===

impl Content {
    /// Signs what a thinking model says without a call.
    pub(super) fn end_signature(&self, thinks: bool) -> Option<String> {
        let mut text = String::new();
        for item in &self.pieces {
            match &item.part {
                Part::Text(piece) => text.push_str(piece),
                Part::Thought(_) => {}
                // A call carries its own.
                Part::Call { .. } => return None,
            }
        }
        thinks.then(|| signature::of_text(&text))
    }

    /// The pieces, with thoughts before them.
    pub(super) fn behind(self, mut thoughts: Vec<ContentPiece>) -> Vec<ContentPiece> {
        thoughts.extend(self.pieces);
        thoughts
    }
}

// === impl Words ===

impl Words<'_> {
    pub(super) fn content(
        &self,
        request: &GenerateRequest,
        id: &str,
        remaining: u64,
        service: Service,
    ) -> Content {
        let called = called(request);
        if !called.is_empty() {
            let ids = request.directives.gemini.ids;
            let has_ids = ids.unwrap_or(service == Service::Gemini);
            return said_calls(&called, request.thinks, has_ids.then_some(id), remaining);
        }
        let directives = &request.directives;
        if let Some(requested) = directives.refusal_tokens {
            return self.text(requested, remaining);
        }
        let mut tokens = match &request.config.format {
            Format::Text => {
                let requested = directives
                    .tokens
                    .unwrap_or_else(|| wording::length(self.model, directives.words));
                return self.text(requested, remaining);
            }
            Format::Json => tokens_of("{\n  \"answer\": \"sim\"\n}"),
            Format::Schema(schema) => tokens_of(&schema::document(schema)),
            Format::Word(word) => vec![word.clone()],
        };
        let remaining = usize::try_from(remaining).unwrap_or(usize::MAX);
        let is_cut = tokens.len() > remaining;
        tokens.truncate(remaining);
        Content {
            spoken: count(tokens.len()),
            pieces: grouped(tokens, Part::Text),
            is_cut,
        }
    }

    /// So many words, as far as the limit allows.
    fn text(&self, requested: u64, remaining: u64) -> Content {
        let words = requested.min(remaining);
        Content {
            pieces: grouped(self.words(words), Part::Text),
            spoken: words,
            is_cut: requested > remaining,
        }
    }

    pub(super) fn thoughts(&self, words: u64) -> Vec<ContentPiece> {
        grouped(self.words(words), Part::Thought)
    }

    fn words(&self, words: u64) -> Vec<String> {
        (0..words)
            .map(|index| wording::word(self.model, index, self.has_accents))
            .collect()
    }
}

/// The calls, whole or not at all: what the limit cuts is dropped with all behind it.
fn said_calls(
    called: &[Called<'_, Function>],
    is_signed: bool,
    id: Option<&str>,
    remaining: u64,
) -> Content {
    let mut content = Content::default();
    for (index, call) in called.iter().enumerate() {
        let function = call.tool;
        let text = call.arguments(function.parameters.as_ref());
        // The name is a token of its own.
        let tokens = count(tokens_of(&text).len()).saturating_add(1);
        let spoken = content.spoken.saturating_add(tokens);
        if spoken > remaining {
            content.is_cut = true;
            break;
        }
        content.spoken = spoken;
        let args = serde_json::from_str(&text).unwrap_or(Value::Null);
        // Of calls that are made at once only the first is signed.
        let signature =
            (is_signed && index == 0).then(|| signature::of_call(&function.name, &args));
        content.pieces.push(ContentPiece {
            part: Part::Call {
                id: id.map(|id| format!("{}-{index}", id.get(..8).unwrap_or(id))),
                name: function.name.clone(),
                args,
                signature,
            },
            tokens,
        });
    }
    content
}

/// The functions to call. Those a prompt names are not called again once their results came, or a
/// client that loops over calls would never end.
fn called(request: &GenerateRequest) -> Vec<Called<'_, Function>> {
    let directives = &request.directives;
    if directives.refusal_tokens.is_some() {
        return Vec::new();
    }
    let find = |name: &str| request.functions.iter().find(|one| one.name == name);
    let requested = || tool_calls::requested(&directives.calls, find);
    let steps = directives.gemini.steps.unwrap_or(1);
    match &request.calling {
        Calling::Never => Vec::new(),
        Calling::Must(allowed) => {
            let mut calls = requested();
            calls.retain(|call| allowed.contains(&call.tool.name));
            let first = allowed.first().and_then(|name| find(name));
            tool_calls::or_made_up(calls, first)
        }
        Calling::Free if request.ends_with_result && request.results >= steps => Vec::new(),
        Calling::Free => requested(),
    }
}

/// One word in a piece, or more if there would be too many pieces.
fn grouped(tokens: Vec<String>, part: fn(String) -> Part) -> Vec<ContentPiece> {
    let each = count(tokens.len()).div_ceil(MAX_FRAMES).max(1);
    let each = usize::try_from(each).unwrap_or(usize::MAX);
    let groups = tokens.chunks(each);
    groups
        .map(|group| ContentPiece {
            part: part(group.concat()),
            tokens: count(group.len()),
        })
        .collect()
}
