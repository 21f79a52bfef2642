//! The tap on a relayed stream: reads frames, changes nothing. It finds usage wherever a vendor puts it,
//! estimates output in case none is reported, and finds the end.

use std::borrow::Cow;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use trunkline_types::{Defect, Usage};

use super::response_out::usage_of;
use super::response_scan::RawUsage;
use crate::borrowed_str::borrowed_str;
use crate::canonical::ReportedUsage;
use crate::response_facts::{MAX_FINISHES, cut_model, finish_word};
use crate::token_estimate::TextCounter;
use crate::upstream_error::{BaseResponse, read_error};
use crate::{
    Cost, Edit, Frame, FrameKind, Rewrite, StreamEnd, cost_comment, patch, priced, scan,
    without_data,
};

#[derive(Debug, Default)]
pub struct Tap {
    usage: RawUsage,
    text: TextCounter,
    /// Calls of tools, with the JSON around them and without.
    raw_calls: TextCounter,
    calls: TextCounter,
    finished: bool,
    finishes: Vec<&'static str>,
    head: Option<Head>,
}

#[derive(Debug, Clone)]
pub(super) struct Head {
    pub(super) id: String,
    pub(super) model: String,
    pub(super) created: i64,
}

#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow, default, deserialize_with = "borrowed_str")]
    id: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "borrowed_str")]
    model: Option<Cow<'a, str>>,
    #[serde(default)]
    created: Option<i64>,
    #[serde(borrow, default)]
    choices: Option<Vec<Choice<'a>>>,
    #[serde(default)]
    usage: Option<RawUsage>,
    /// Where Groq reports usage without `include_usage`.
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
    /// Where completions of a prompt have their words.
    #[serde(borrow, default, deserialize_with = "borrowed_str")]
    text: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "borrowed_str")]
    finish_reason: Option<Cow<'a, str>>,
    #[serde(default)]
    usage: Option<RawUsage>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow, default, deserialize_with = "borrowed_str")]
    content: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "borrowed_str")]
    reasoning_content: Option<Cow<'a, str>>,
    /// The same at Cerebras, Groq and others.
    #[serde(borrow, default, deserialize_with = "borrowed_str")]
    reasoning: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "borrowed_str")]
    refusal: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    tool_calls: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct CallDelta<'a> {
    #[serde(borrow, default)]
    function: Option<FunctionDelta<'a>>,
}

#[derive(Deserialize)]
struct FunctionDelta<'a> {
    #[serde(borrow, default, deserialize_with = "borrowed_str")]
    name: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "borrowed_str")]
    arguments: Option<Cow<'a, str>>,
}

// === impl Tap ===

impl Tap {
    pub fn observe(&mut self, frame: &Frame) -> FrameKind {
        let Some(data) = &frame.data else {
            return without_data(&frame.raw);
        };
        if data.as_ref() == b"[DONE]" {
            return FrameKind::Done;
        }
        let Ok(chunk) = serde_json::from_slice::<Chunk<'_>>(data) else {
            return FrameKind::Invalid;
        };
        if chunk.error.is_some() || chunk.base_resp.is_some_and(|base| base.failed()) {
            return FrameKind::Error(read_error(data));
        }
        let has_usage = chunk.usage.is_some();
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
            return if has_usage {
                FrameKind::Held
            } else {
                FrameKind::Content
            };
        }
        choices.iter().for_each(|choice| self.count(choice));
        FrameKind::Content
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
        if let Some(text) = &choice.text {
            self.text.add(text);
        }
        let Some(delta) = &choice.delta else {
            return;
        };
        let reasoning = delta.reasoning_content.as_ref();
        let reasoning = reasoning.or(delta.reasoning.as_ref());
        let texts = [delta.content.as_ref(), reasoning, delta.refusal.as_ref()];
        let texts = texts.into_iter().flatten().map(AsRef::as_ref);
        texts.for_each(|text| self.text.add(text));
        if let Some(calls) = delta.tool_calls.map(RawValue::get) {
            self.raw_calls.add(calls);
            self.count_calls(calls);
        }
    }

    fn count_calls(&mut self, calls: &str) {
        let calls: Vec<CallDelta<'_>> = serde_json::from_str(calls).unwrap_or_default();
        let functions = calls.iter().filter_map(|call| call.function.as_ref());
        let texts = functions.flat_map(|function| [&function.name, &function.arguments]);
        texts.flatten().for_each(|text| self.calls.add(text));
    }

    /// The model that the upstream says it is; empty if it does not.
    #[must_use]
    pub fn model(&self) -> &str {
        self.head.as_ref().map_or("", |head| head.model.as_str())
    }

    /// The upstream's id of the response; empty until it is known.
    #[must_use]
    pub fn id(&self) -> &str {
        self.head.as_ref().map_or("", |head| head.id.as_str())
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

    /// Usage as far as the upstream reported it; none if it reported no output.
    #[must_use]
    pub fn reported(&self) -> Option<ReportedUsage> {
        self.usage.reported()
    }

    /// Output tokens counted by us.
    #[must_use]
    pub const fn written(&self) -> u64 {
        self.text.plus(self.raw_calls).tokens()
    }

    /// The same, in the caller's favour.
    #[must_use]
    pub const fn least_written(&self) -> u64 {
        self.text.plus(self.calls).least_tokens()
    }

    /// The input in its buckets, where the upstream reported it without reporting the output.
    #[must_use]
    pub fn reported_input(&self) -> Option<Usage> {
        self.usage.input()
    }

    /// Everything after the last piece, now that the charge is durable.
    #[must_use]
    pub fn write_end(&self, held: &[Frame], stream_end: &StreamEnd, model: &str) -> Vec<u8> {
        write_end(self.head.as_ref(), held, stream_end, model)
    }
}

/// Everything after the last piece of a stream with this head.
pub(super) fn write_end(
    head: Option<&Head>,
    held: &[Frame],
    stream_end: &StreamEnd,
    model: &str,
) -> Vec<u8> {
    let mut last = Vec::new();
    let (id, created) = head.map_or(("", 0), |head| (head.id.as_str(), head.created));
    if stream_end.exhausted {
        last.extend_from_slice(&length_frame(id, created, model));
    }
    if stream_end.wants_usage {
        // The upstream's own frame if it sent one, else one of ours, and in either what it cost. Several
        // each tell a part, and none of them is shown as all of it.
        let theirs = match held {
            [only] => only.data.as_ref(),
            [] | [_, ..] => None,
        };
        let theirs = theirs.and_then(|data| with_cost(data, model, &stream_end.cost));
        let frame = theirs.or_else(|| {
            let chunk = serde_json::json!({
                "id": id,
                "object": "chat.completion.chunk",
                "created": created,
                "model": model,
                "choices": [],
                "usage": usage_of(&stream_end.reported),
            });
            with_cost(chunk.to_string().as_bytes(), model, &stream_end.cost)
        });
        last.extend_from_slice(&frame.unwrap_or_default());
    }
    last.extend_from_slice(cost_comment(&stream_end.cost).as_bytes());
    let done = if Defect::WrongStreamTerminator.is_on() {
        b"data: [STOP]\n\n"
    } else {
        b"data: [DONE]\n\n"
    };
    last.extend_from_slice(done);
    last
}

fn with_cost(data: &[u8], model: &str, cost: &Cost) -> Option<Bytes> {
    let object = scan(data).ok()?;
    let usage = priced(object.value("usage")?, cost)?;
    let model = serde_json::to_vec(model).ok()?;
    let edits = [Edit::Set("usage", usage), Edit::Set("model", model)];
    Some(Frame::of_data(&patch(&object, &edits)).raw)
}

/// A last chunk with `finish_reason` `length`.
fn length_frame(id: &str, created: i64, model: &str) -> Bytes {
    let chunk = serde_json::json!({
        "id": id,
        "object": "chat.completion.chunk",
        "created": created,
        "model": model,
        "choices": [{ "index": 0, "delta": {}, "finish_reason": "length" }],
    });
    Frame::of_data(chunk.to_string().as_bytes()).raw
}

/// A frame with its model called by the caller's name for it, and all else as it was.
#[must_use]
pub fn rewrite_frame(frame: &Frame, rewrite: &Rewrite) -> Bytes {
    let renamed = rewrite
        .model
        .as_ref()
        .and_then(|model| renamed(frame, model));
    renamed.unwrap_or_else(|| frame.raw.clone())
}

fn renamed(frame: &Frame, model: &str) -> Option<Bytes> {
    let data = frame.data.as_ref()?;
    let object = scan(data).ok()?;
    object.member("model")?;
    let name = serde_json::to_vec(model).ok()?;
    let patched = patch(&object, &[Edit::Set("model", name)]);
    Some(Frame::of_data(&patched).raw)
}

#[cfg(test)]
mod tests {
    use trunkline_types::Bucket;

    use super::*;
    use crate::UpstreamError;

    fn observe(tap: &mut Tap, data: &str) -> FrameKind {
        tap.observe(&Frame::of_data(data.as_bytes()))
    }

    #[test]
    fn usage_is_found_in_any_event_and_the_last_value_of_a_field_wins() {
        let mut tap = Tap::default();
        let piece = r#"{"id":"c","created":7,"choices":[{"index":0,"delta":{"content":"hello wörld"},"finish_reason":null}],"usage":null}"#;
        assert_eq!(observe(&mut tap, piece), FrameKind::Content);
        assert_eq!(tap.reported(), None);
        assert!(!tap.finished());
        let split = r#"{"choices":[],"usage":{"prompt_tokens":10,"prompt_tokens_details":{"cached_tokens":4}}}"#;
        assert_eq!(observe(&mut tap, split), FrameKind::Held);
        assert_eq!(tap.reported(), None, "no output told yet");
        let input = tap.reported_input().unwrap();
        let buckets = [Bucket::PlainInput, Bucket::CacheRead, Bucket::PlainOutput];
        assert_eq!(
            buckets.map(|it| input.reported(it)),
            [Some(6), Some(4), None]
        );
        let last = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"completion_tokens":5}}"#;
        assert_eq!(observe(&mut tap, last), FrameKind::Content);
        assert!(tap.finished());
        assert_eq!(tap.finishes(), ["stop"]);
        let usage = tap.reported().unwrap().usage;
        assert_eq!(usage.reported(Bucket::PlainInput), Some(6));
        assert_eq!(usage.reported(Bucket::CacheRead), Some(4));
        assert_eq!(usage.reported(Bucket::PlainOutput), Some(5));
        assert_eq!(observe(&mut tap, "[DONE]"), FrameKind::Done);
        let head = tap.head.as_ref().unwrap();
        let end = length_frame(&head.id, head.created, "m");
        let end = String::from_utf8(end.to_vec()).unwrap();
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
            assert_eq!(observe(&mut tap, &chunk), FrameKind::Content, "{chunk}");
            let reported = tap.reported().unwrap().usage;
            assert_eq!(reported.reported(Bucket::PlainInput), Some(19), "{chunk}");
            assert_eq!(reported.reported(Bucket::PlainOutput), Some(13), "{chunk}");
        }
    }

    #[test]
    fn what_is_no_piece_of_an_answer_is_told_apart() {
        let mut tap = Tap::default();
        assert_eq!(observe(&mut tap, "{\"choices\":[{"), FrameKind::Invalid);
        assert_eq!(observe(&mut tap, "<html>"), FrameKind::Invalid);
        let error = r#"{"error":{"message":"overloaded","type":"server_error","code":null}}"#;
        assert!(matches!(observe(&mut tap, error), FrameKind::Error(_)));
        let comment = Frame {
            raw: Bytes::from_static(b": ping\n\n"),
            event: None,
            data: None,
        };
        assert_eq!(tap.observe(&comment), FrameKind::Empty);
        for (raw, seen) in [
            ("event: ping\r\nid: 7\r\n\r\n", FrameKind::Empty),
            (
                "{\"error\":{\"message\":\"no stream\"}}",
                FrameKind::Error(UpstreamError {
                    message: "no stream".to_owned(),
                    ..UpstreamError::default()
                }),
            ),
            (": fine\n<html>\n\n", FrameKind::Invalid),
        ] {
            let frame = Frame {
                raw: Bytes::from_static(raw.as_bytes()),
                event: None,
                data: None,
            };
            assert_eq!(tap.observe(&frame), seen, "{raw}");
        }
    }

    #[test]
    fn output_is_counted_if_the_upstream_reports_no_usage() {
        let mut tap = Tap::default();
        let piece = |text: &str| {
            let text = serde_json::to_string(text).unwrap();
            format!(r#"{{"choices":[{{"index":0,"delta":{{"content":{text}}}}}]}}"#)
        };
        assert_eq!(tap.written(), 0);
        observe(&mut tap, &piece("abcd efgh"));
        assert_eq!(tap.written(), 3);
        observe(&mut tap, &piece("你好"));
        assert_eq!(tap.written(), 5);
        assert_eq!(tap.least_written(), 2, "as many as there were pieces");
        let call = r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}}]}"#;
        observe(&mut tap, call);
        assert!(tap.written() > 10);
        assert_eq!(
            tap.least_written(),
            3,
            "what is around a call is not written"
        );
    }

    #[test]
    fn absurd_usage_is_as_good_as_none() {
        let mut tap = Tap::default();
        observe(
            &mut tap,
            r#"{"choices":[],"usage":{"prompt_tokens":-5,"completion_tokens":1.5}}"#,
        );
        assert_eq!(tap.reported(), None);
        observe(
            &mut tap,
            r#"{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4,"prompt_tokens_details":{"cached_tokens":9}}}"#,
        );
        let usage = tap.reported().unwrap().usage;
        assert_eq!(usage.reported(Bucket::PlainInput), Some(0));
        assert_eq!(
            usage.reported(Bucket::CacheRead),
            Some(3),
            "no more was read than there was"
        );
    }
}
