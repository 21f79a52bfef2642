//! What an answer may say, each as a value that can be compared before and after a translation.

use serde_json::{Value, json};
use trunkline_types::Bucket;
use trunkline_wire::canonical::{
    Block, BlockKind, MediaKind, Response, Signature, Source, Stop, TranslationState,
};
use trunkline_wire::{Format, read_response};

use crate::pairs::answer_probes::probes;
use crate::pairs::matrix::Cell;
use crate::pairs::translate::answered;

/// One thing that an answer may say.
pub(crate) struct AnswerFeature {
    pub(crate) name: &'static str,
    pub(crate) take: fn(&Response) -> Value,
}

const fn feature(name: &'static str, take: fn(&Response) -> Value) -> AnswerFeature {
    AnswerFeature { name, take }
}

/// All of them, in the order of the matrix.
pub(crate) const ANSWERS: &[AnswerFeature] = &[
    // Texts without anything between them are one to some formats.
    feature("text", |it| {
        let texts = list(it, |block| block.as_text().map(str::to_owned));
        let texts = texts
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str);
        let text: String = texts.collect();
        if text.is_empty() {
            Value::Null
        } else {
            json!(text)
        }
    }),
    feature("tool calls", |it| {
        list(it, |block| {
            if let BlockKind::ToolCall(call) = &block.kind {
                let arguments: Value = if call.custom {
                    json!({ "input": call.arguments })
                } else {
                    serde_json::from_str(&call.arguments).unwrap()
                };
                let id = if is_made(&call.id) { "made" } else { &call.id };
                Some(json!([id, call.tool.name, arguments]).to_string())
            } else {
                None
            }
        })
    }),
    feature("order of thoughts, text and calls", |it| {
        let kinds = list(it, |block| match &block.kind {
            BlockKind::Text(_) => Some("text".to_owned()),
            BlockKind::ToolCall(call) => Some(call.tool.name.clone()),
            BlockKind::Thinking(thinking) if !thinking.texts.is_empty() => {
                Some("thoughts".to_owned())
            }
            BlockKind::Media(_)
            | BlockKind::ToolResult(_)
            | BlockKind::Thinking(_)
            | BlockKind::Redacted(_)
            | BlockKind::Refusal(_)
            | BlockKind::Foreign(..) => None,
        });
        let mut kinds = kinds.as_array().cloned().unwrap_or_default();
        kinds.dedup();
        if kinds.len() < 2 {
            Value::Null
        } else {
            json!(kinds)
        }
    }),
    feature("custom tool calls", |it| {
        list(it, |block| {
            if let BlockKind::ToolCall(call) = &block.kind
                && call.custom
            {
                Some(call.arguments.clone())
            } else {
                None
            }
        })
    }),
    feature("thoughts: text", |it| {
        list(it, |block| {
            if let BlockKind::Thinking(thinking) = &block.kind {
                let text = thinking.texts.join("\n\n");
                (!text.is_empty()).then_some(text)
            } else {
                None
            }
        })
    }),
    feature("thoughts: seals", |it| {
        list(it, |block| {
            if let BlockKind::Thinking(_) = &block.kind {
                bare_seal(block)
            } else {
                None
            }
        })
    }),
    feature("thoughts: redacted", |it| {
        list(it, |block| {
            if let BlockKind::Redacted(_) = &block.kind {
                bare_seal(block)
            } else {
                None
            }
        })
    }),
    feature("citations", |it| {
        list(it, |block| {
            if let BlockKind::Text(text) = &block.kind
                && !text.citations.is_empty()
            {
                // What a search found is told apart from what is cited.
                let raw = text.citations.iter().map(|(_, raw)| raw);
                let raw = raw.filter(|raw| raw.get("groundingMetadata").is_none());
                let raw: String = raw.map(Value::to_string).collect();
                raw.contains("https://example.com")
                    .then(|| "cited".to_owned())
            } else {
                None
            }
        })
    }),
    feature("refusal", |it| {
        list(it, |block| {
            if let BlockKind::Refusal(words) = &block.kind {
                Some(words.clone())
            } else {
                None
            }
        })
    }),
    feature("pictures", |it| {
        list(it, |block| {
            if let BlockKind::Media(media) = &block.kind
                && media.kind == MediaKind::Image
            {
                match &media.source {
                    Source::Inline { data, .. } => Some(data.clone()),
                    Source::Link { .. } | Source::Text(_) => None,
                }
            } else {
                None
            }
        })
    }),
    feature("several answers", |it| {
        if it.choices.len() > 1 {
            json!(it.choices.len())
        } else {
            Value::Null
        }
    }),
    feature("stop: complete", |it| stop(it, &Stop::End)),
    feature("stop: length", |it| stop(it, &Stop::Length)),
    feature("stop: tools", |it| stop(it, &Stop::ToolUse)),
    feature("stop: a stop text", |it| {
        if let Some(Stop::Sequence(text)) = it.choices.first().map(|one| &one.stop) {
            json!(text)
        } else {
            Value::Null
        }
    }),
    feature("stop: filtered", |it| stop(it, &Stop::Filtered)),
    feature("stop: refused", |it| stop(it, &Stop::Refused)),
    feature("stop: paused", |it| stop(it, &Stop::Paused)),
    feature("stop: context full", |it| stop(it, &Stop::ContextFull)),
    feature("tokens: plain input", |it| tokens(it, Bucket::PlainInput)),
    feature("tokens: cache read", |it| tokens(it, Bucket::CacheRead)),
    feature("tokens: cache write, 5 minutes", |it| {
        tokens(it, Bucket::CacheWrite5m)
    }),
    feature("tokens: cache write, 1 hour", |it| {
        tokens(it, Bucket::CacheWrite1h)
    }),
    feature("tokens: image input", |it| tokens(it, Bucket::ImageInput)),
    feature("tokens: audio input", |it| tokens(it, Bucket::AudioInput)),
    feature("tokens: plain output", |it| tokens(it, Bucket::PlainOutput)),
    feature("tokens: image output", |it| tokens(it, Bucket::ImageOutput)),
    feature("tokens: audio output", |it| tokens(it, Bucket::AudioOutput)),
    feature("tokens: thoughts", |it| {
        let thoughts = it.reported.as_ref().and_then(|reported| reported.reasoning);
        thoughts
            .filter(|count| *count > 0)
            .map_or(Value::Null, |count| json!(count))
    }),
];

fn list(it: &Response, take: fn(&Block) -> Option<String>) -> Value {
    let blocks = it.choices.iter().take(1).flat_map(|one| &one.blocks);
    let all: Vec<String> = blocks.filter_map(take).collect();
    if all.is_empty() {
        Value::Null
    } else {
        json!(all)
    }
}

/// Google may leave ids out; then each reading makes its own.
fn is_made(id: &str) -> bool {
    let number = id
        .strip_prefix("call_")
        .and_then(|rest| rest.rsplit('_').next());
    number.is_some_and(|number| number.len() < 6 && number.bytes().all(|it| it.is_ascii_digit()))
}

/// A seal without our mark: callers hand it back with the mark, which names its home.
fn bare_seal(block: &Block) -> Option<String> {
    let data = &block.signature.as_ref()?.data;
    let seal = Signature::read(data, Format::OpenaiChat);
    let bare = seal.data.trim_end_matches('~');
    (!bare.is_empty()).then(|| bare.to_owned())
}

/// The reason if it is this one, and any other so that a change is seen.
fn stop(it: &Response, expected: &Stop) -> Value {
    let is = |one: &Stop| one == expected;
    let found = it
        .choices
        .first()
        .map(|one| &one.stop)
        .filter(|stop| is(stop));
    found.map_or(Value::Null, |stop| json!(format!("{stop:?}")))
}

fn tokens(it: &Response, bucket: Bucket) -> Value {
    let count = it
        .reported
        .as_ref()
        .map_or(0, |reported| reported.of(bucket));
    if count == 0 {
        Value::Null
    } else {
        json!(count)
    }
}

/// What becomes of a feature on its way to a caller; none if the upstream's format cannot say it.
pub(crate) fn answer_cell(feature: &AnswerFeature, from: Format, to: Format) -> Option<Cell> {
    let body = probes(from).into_iter().find_map(|body| {
        let body = body.to_string().into_bytes();
        let answer = read_response(from, &body).unwrap();
        let value = (feature.take)(&answer);
        (!value.is_null()).then_some((body, value))
    });
    let (body, before) = body?;
    let written = answered(from, to, &body, &TranslationState::default()).unwrap();
    let arrived = read_response(to, &written).unwrap();
    let after = (feature.take)(&arrived);
    // An answer always ends somehow: another reason is an approximation.
    let ends = feature.name.starts_with("stop");
    Some(if after == before {
        Cell::Kept
    } else if after.is_null() && !ends && !is_told_otherwise(feature, &arrived) {
        Cell::Dropped
    } else {
        Cell::Approximated
    })
}

/// Whether what is missed is there as something else: a refusal as text, a call of plain words as one of
/// a function.
fn is_told_otherwise(feature: &AnswerFeature, arrived: &Response) -> bool {
    let instead = match feature.name {
        "refusal" => "text",
        "custom tool calls" => "tool calls",
        _ => return false,
    };
    let instead = ANSWERS.iter().find(|it| it.name == instead);
    instead.is_some_and(|it| !(it.take)(arrived).is_null())
}
