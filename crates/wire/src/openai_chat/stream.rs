//! The tap on a stream: reads what passes, changes nothing. It knows usage wherever a vendor puts it,
//! counts what was written in case nobody tells, and knows the end.

use std::borrow::Cow;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use trunkline_terms::{Bucket, Money, Units, Usage};

use super::error::{BaseResponse, UpstreamError, read_error};
use super::response::{RawUsage, estimated_tokens};
use super::told::{MAX_FINISHES, cut_model, finish_word};
use crate::{Edit, Frame, patch, scan};

/// What a frame is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// A piece of the answer.
    Piece,
    /// Usage and nothing else: it is for us, and for callers who asked.
    UsageOnly,
    /// The end.
    Done,
    /// A comment, or an event without data.
    Nothing,
    /// The upstream says that it failed.
    Failed(UpstreamError),
    /// Not what the format allows.
    Garbage,
}

impl Seen {
    /// What the upstream says about its failure.
    #[must_use]
    pub const fn said(&self) -> Option<&UpstreamError> {
        match self {
            Self::Failed(said) => Some(said),
            Self::Piece | Self::UsageOnly | Self::Done | Self::Nothing | Self::Garbage => None,
        }
    }
}

/// What a call cost, and why.
#[derive(Debug, Clone)]
pub struct Cost {
    /// What was charged.
    pub total: Money,
    /// The price tier.
    pub tier: String,
    /// What was billed.
    pub units: Units,
}

/// Follows one stream.
#[derive(Debug, Default)]
pub struct Tap {
    usage: RawUsage,
    ascii_written: u64,
    wide_written: u64,
    finished: bool,
    finishes: Vec<&'static str>,
    head: Option<Head>,
}

#[derive(Debug, Clone)]
struct Head {
    id: String,
    model: String,
    created: i64,
}

#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow, default)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    model: Option<Cow<'a, str>>,
    #[serde(default)]
    created: Option<i64>,
    #[serde(borrow, default)]
    choices: Option<Vec<Choice<'a>>>,
    #[serde(default)]
    usage: Option<RawUsage>,
    /// Where Groq puts usage that nobody asked for.
    #[serde(default)]
    x_groq: Option<GroqPart>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
    #[serde(default)]
    base_resp: Option<BaseResponse>,
}

#[derive(Deserialize)]
struct GroqPart {
    #[serde(default)]
    usage: Option<RawUsage>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow, default)]
    delta: Option<Delta<'a>>,
    #[serde(borrow, default)]
    finish_reason: Option<Cow<'a, str>>,
    /// Where Moonshot puts it.
    #[serde(default)]
    usage: Option<RawUsage>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow, default)]
    content: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    reasoning_content: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    refusal: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    tool_calls: Option<&'a RawValue>,
}

// === impl Tap ===

impl Tap {
    /// Reads one frame.
    pub fn see(&mut self, frame: &Frame) -> Seen {
        let Some(data) = &frame.data else {
            return without_data(&frame.raw);
        };
        if data.as_ref() == b"[DONE]" {
            return Seen::Done;
        }
        let Ok(chunk) = serde_json::from_slice::<Chunk<'_>>(data) else {
            return Seen::Garbage;
        };
        if chunk.error.is_some() || chunk.base_resp.is_some_and(|base| base.failed()) {
            return Seen::Failed(read_error(data));
        }
        let told = chunk.usage.is_some();
        let groq = chunk.x_groq.and_then(|part| part.usage);
        if let Some(usage) = chunk.usage.or(groq) {
            self.usage.merge(usage);
        }
        if self.head.is_none() {
            self.head = Some(Head {
                id: chunk.id.unwrap_or_default().into_owned(),
                model: cut_model(&chunk.model.unwrap_or_default()),
                created: chunk.created.unwrap_or(0),
            });
        }
        let choices = chunk.choices.unwrap_or_default();
        if choices.is_empty() {
            return if told { Seen::UsageOnly } else { Seen::Piece };
        }
        choices.iter().for_each(|choice| self.count(choice));
        Seen::Piece
    }

    fn count(&mut self, choice: &Choice<'_>) {
        if let Some(reason) = &choice.finish_reason {
            self.finished = true;
            if self.finishes.len() < MAX_FINISHES {
                self.finishes.push(finish_word(reason));
            }
        }
        if let Some(usage) = choice.usage {
            self.usage.merge(usage);
        }
        let Some(delta) = &choice.delta else {
            return;
        };
        let texts = [&delta.content, &delta.reasoning_content, &delta.refusal];
        let texts = texts.into_iter().flatten().map(AsRef::as_ref);
        for text in texts.chain(delta.tool_calls.map(RawValue::get)) {
            let wide = text.chars().filter(|letter| !letter.is_ascii()).count();
            let ascii = text.bytes().filter(u8::is_ascii).count();
            let more = |sum: u64, count: usize| {
                sum.saturating_add(u64::try_from(count).unwrap_or(u64::MAX))
            };
            self.ascii_written = more(self.ascii_written, ascii);
            self.wide_written = more(self.wide_written, wide);
        }
    }

    /// The model that the upstream says it is; empty if it does not.
    #[must_use]
    pub fn model(&self) -> &str {
        self.head.as_ref().map_or("", |head| head.model.as_str())
    }

    /// Why each choice ended, in the words of the format.
    #[must_use]
    pub fn finishes(&self) -> &[&'static str] {
        &self.finishes
    }

    /// Whether a choice said why it ended.
    #[must_use]
    pub const fn finished(&self) -> bool {
        self.finished
    }

    /// Usage as far as the upstream told it; none if it told of no output.
    #[must_use]
    pub fn told(&self) -> Option<Usage> {
        self.usage.usage()
    }

    /// Output tokens counted by us.
    #[must_use]
    pub const fn written(&self) -> u64 {
        estimated_tokens(self.ascii_written, self.wide_written)
    }

    /// Input tokens, where the upstream told them without telling the output.
    #[must_use]
    pub const fn told_input(&self) -> Option<u64> {
        self.usage.prompt_tokens
    }

    /// The frame with usage for a caller who asked for it: the upstream's own if it sent one, else one
    /// of ours, and in either what the call cost.
    #[must_use]
    pub fn usage_frame(
        &self,
        theirs: Option<&Frame>,
        model: &str,
        usage: &Usage,
        cost: &Cost,
    ) -> Bytes {
        let theirs = theirs.and_then(|frame| with_cost(frame.data.as_ref()?, model, cost));
        theirs.unwrap_or_else(|| {
            let head = self.head.as_ref();
            let told = |bucket: Bucket| usage.told(bucket).unwrap_or(0);
            let cached = told(Bucket::CacheRead);
            let prompt = [Bucket::PlainInput, Bucket::CacheRead, Bucket::AudioInput];
            let prompt = prompt
                .into_iter()
                .fold(0_u64, |sum, bucket| sum.saturating_add(told(bucket)));
            let completion = told(Bucket::PlainOutput).saturating_add(told(Bucket::AudioOutput));
            let chunk = serde_json::json!({
                "id": head.map_or("", |head| head.id.as_str()),
                "object": "chat.completion.chunk",
                "created": head.map_or(0, |head| head.created),
                "model": model,
                "choices": [],
                "usage": {
                    "prompt_tokens": prompt,
                    "completion_tokens": completion,
                    "total_tokens": prompt.saturating_add(completion),
                    "prompt_tokens_details": { "cached_tokens": cached },
                },
            });
            let plain = chunk.to_string();
            let priced = with_cost(plain.as_bytes(), model, cost);
            priced.unwrap_or_else(|| Frame::of_data(plain.as_bytes()).raw)
        })
    }

    /// The frame that ends an answer for want of money, as if it had reached its length.
    #[must_use]
    pub fn length_frame(&self, model: &str) -> Bytes {
        let (id, created) = self
            .head
            .as_ref()
            .map_or(("", 0), |head| (head.id.as_str(), head.created));
        length_frame(id, created, model)
    }
}

/// Comments and fields without data say nothing. Anything else is no stream at all, such as an error
/// document where a stream was asked for.
fn without_data(raw: &[u8]) -> Seen {
    let mut lines = raw.split(|byte| *byte == b'\n' || *byte == b'\r');
    let known: [&[u8]; 5] = [b":", b"event", b"id", b"retry", b"data"];
    let is_known =
        |line: &[u8]| line.is_empty() || known.iter().any(|field| line.starts_with(field));
    if lines.all(is_known) {
        Seen::Nothing
    } else if raw.trim_ascii_start().starts_with(b"{") {
        // A document where a stream was asked for; it may say why.
        Seen::Failed(read_error(raw))
    } else {
        Seen::Garbage
    }
}

fn with_cost(data: &[u8], model: &str, cost: &Cost) -> Option<Bytes> {
    let object = scan(data).ok()?;
    let usage = scan(object.value("usage")?).ok()?;
    // A number of JSON, written digit by digit: no float comes near it.
    let details = serde_json::json!({ "tier": cost.tier, "units": cost.units });
    let usage = patch(
        &usage,
        &[
            Edit::Set("cost", cost.total.to_string().into_bytes()),
            Edit::Set("cost_details", details.to_string().into_bytes()),
        ],
    );
    let model = serde_json::to_vec(model).ok()?;
    let edits = [Edit::Set("usage", usage), Edit::Set("model", model)];
    Some(Frame::of_data(&patch(&object, &edits)).raw)
}

/// A last chunk with `finish_reason` `length`.
#[must_use]
pub fn length_frame(id: &str, created: i64, model: &str) -> Bytes {
    let chunk = serde_json::json!({
        "id": id,
        "object": "chat.completion.chunk",
        "created": created,
        "model": model,
        "choices": [{ "index": 0, "delta": {}, "finish_reason": "length" }],
    });
    Frame::of_data(chunk.to_string().as_bytes()).raw
}

/// The frame with its model called by another name, and all else as it was.
pub(super) fn renamed(frame: &Frame, model: &str) -> Option<Bytes> {
    let data = frame.data.as_ref()?;
    let object = scan(data).ok()?;
    object.member("model")?;
    let name = serde_json::to_vec(model).ok()?;
    let patched = patch(&object, &[Edit::Set("model", name)]);
    Some(Frame::of_data(&patched).raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn see(tap: &mut Tap, data: &str) -> Seen {
        tap.see(&Frame::of_data(data.as_bytes()))
    }

    #[test]
    fn usage_is_found_wherever_it_stands_and_the_last_word_wins_field_by_field() {
        let mut tap = Tap::default();
        let piece = r#"{"id":"c","created":7,"choices":[{"index":0,"delta":{"content":"hello wörld"},"finish_reason":null}],"usage":null}"#;
        assert_eq!(see(&mut tap, piece), Seen::Piece);
        assert_eq!(tap.told(), None);
        assert!(!tap.finished());
        let split = r#"{"choices":[],"usage":{"prompt_tokens":10,"prompt_tokens_details":{"cached_tokens":4}}}"#;
        assert_eq!(see(&mut tap, split), Seen::UsageOnly);
        assert_eq!(tap.told(), None, "no output told yet");
        assert_eq!(tap.told_input(), Some(10));
        let last = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"completion_tokens":5}}"#;
        assert_eq!(see(&mut tap, last), Seen::Piece);
        assert!(tap.finished());
        assert_eq!(tap.finishes(), ["stop"]);
        let usage = tap.told().unwrap();
        assert_eq!(usage.told(Bucket::PlainInput), Some(6));
        assert_eq!(usage.told(Bucket::CacheRead), Some(4));
        assert_eq!(usage.told(Bucket::PlainOutput), Some(5));
        assert_eq!(see(&mut tap, "[DONE]"), Seen::Done);
        let end = String::from_utf8(tap.length_frame("m").to_vec()).unwrap();
        assert!(end.contains(r#""id":"c""#) && end.contains(r#""finish_reason":"length""#));
    }

    #[test]
    fn usage_inside_a_choice_or_beside_it_counts() {
        let usage = r#""usage":{"prompt_tokens":19,"completion_tokens":13,"total_tokens":32}"#;
        for chunk in [
            format!(r#"{{"choices":[{{"index":0,"delta":{{}},"finish_reason":"stop",{usage}}}]}}"#),
            format!(
                r#"{{"choices":[{{"index":0,"delta":{{}},"finish_reason":"stop"}}],"x_groq":{{"id":"r",{usage}}}}}"#
            ),
        ] {
            let mut tap = Tap::default();
            assert_eq!(see(&mut tap, &chunk), Seen::Piece, "{chunk}");
            let told = tap.told().unwrap();
            assert_eq!(told.told(Bucket::PlainInput), Some(19), "{chunk}");
            assert_eq!(told.told(Bucket::PlainOutput), Some(13), "{chunk}");
        }
    }

    #[test]
    fn what_is_no_piece_of_an_answer_is_told_apart() {
        let mut tap = Tap::default();
        assert_eq!(see(&mut tap, "{\"choices\":[{"), Seen::Garbage);
        assert_eq!(see(&mut tap, "<html>"), Seen::Garbage);
        let error = r#"{"error":{"message":"overloaded","type":"server_error","code":null}}"#;
        assert!(matches!(see(&mut tap, error), Seen::Failed(_)));
        let comment = Frame {
            raw: Bytes::from_static(b": ping\n\n"),
            event: None,
            data: None,
        };
        assert_eq!(tap.see(&comment), Seen::Nothing);
        for (raw, seen) in [
            ("event: ping\r\nid: 7\r\n\r\n", Seen::Nothing),
            (
                "{\"error\":{\"message\":\"no stream\"}}",
                Seen::Failed(UpstreamError {
                    message: "no stream".to_owned(),
                    ..UpstreamError::default()
                }),
            ),
            (": fine\n<html>\n\n", Seen::Garbage),
        ] {
            let frame = Frame {
                raw: Bytes::from_static(raw.as_bytes()),
                event: None,
                data: None,
            };
            assert_eq!(tap.see(&frame), seen, "{raw}");
        }
    }

    #[test]
    fn output_is_counted_when_nobody_tells() {
        let mut tap = Tap::default();
        let piece = |text: &str| {
            let text = serde_json::to_string(text).unwrap();
            format!(r#"{{"choices":[{{"index":0,"delta":{{"content":{text}}}}}]}}"#)
        };
        assert_eq!(tap.written(), 0);
        see(&mut tap, &piece("abcd efgh"));
        assert_eq!(tap.written(), 3);
        see(&mut tap, &piece("你好"));
        assert_eq!(tap.written(), 5);
        let call = r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}}]}"#;
        see(&mut tap, call);
        assert!(tap.written() > 10);
    }

    #[test]
    fn absurd_usage_is_as_good_as_none() {
        let mut tap = Tap::default();
        see(
            &mut tap,
            r#"{"choices":[],"usage":{"prompt_tokens":-5,"completion_tokens":1.5}}"#,
        );
        assert_eq!(tap.told(), None);
        see(
            &mut tap,
            r#"{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4,"prompt_tokens_details":{"cached_tokens":9}}}"#,
        );
        let usage = tap.told().unwrap();
        assert_eq!(usage.told(Bucket::PlainInput), Some(0));
        assert_eq!(
            usage.told(Bucket::CacheRead),
            Some(3),
            "no more was read than there was"
        );
    }
}
