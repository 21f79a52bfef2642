//! One event of a server, read only as far as it concerns money or names.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::client_event::{characters_of, decoded, decoded_bytes, quoted};
use super::usage::{TokenCounts, TranscriptUsage};
use crate::scan_text;

/// What is longer may be sound.
const SHORT_BYTES: usize = 1_024;

/// What an event says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerEvent<'a> {
    SessionCreated,
    SessionUpdated,
    ResponseCreated {
        response: Cow<'a, str>,
    },
    ResponseDone {
        response: Cow<'a, str>,
        status: ResponseStatus,
        usage: Option<TokenCounts>,
    },
    /// Audio of so many bytes.
    Audio {
        response: Cow<'a, str>,
        bytes: u64,
    },
    /// Text of so many bytes.
    Text {
        response: Cow<'a, str>,
        bytes: u64,
    },
    /// What the user said is an item now.
    Committed {
        item: Cow<'a, str>,
    },
    Transcribed {
        item: Cow<'a, str>,
        usage: Option<TranscriptUsage>,
    },
    NotTranscribed {
        item: Cow<'a, str>,
    },
    /// The operator's limits at the vendor.
    RateLimits,
    Error {
        /// Of the client's event that it is about.
        event: Option<Cow<'a, str>>,
    },
    Other,
}

/// How a response ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResponseStatus {
    /// Completed, cancelled or incomplete: what was made is billed.
    Made,
    Failed,
}

#[derive(Deserialize)]
struct Head<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    response_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    item_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    delta: Option<&'a RawValue>,
    #[serde(borrow)]
    response: Option<Response<'a>>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<Fault<'a>>,
}

#[derive(Deserialize)]
struct Response<'a> {
    #[serde(borrow)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    status: Option<Cow<'a, str>>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Fault<'a> {
    #[serde(borrow)]
    event_id: Option<Cow<'a, str>>,
}

/// Reads an event; none if it is no JSON object with a type.
#[must_use]
pub fn read_server_event(text: &str) -> Option<ServerEvent<'_>> {
    if text.len() > SHORT_BYTES
        && let Some(audio) = read_audio(text)
    {
        return Some(audio);
    }
    let head: Head<'_> = serde_json::from_str(text).ok()?;
    let response = head.response_id.unwrap_or_default();
    let item = head.item_id.unwrap_or_default();
    Some(match head.kind.as_ref() {
        "session.created" => ServerEvent::SessionCreated,
        "session.updated" => ServerEvent::SessionUpdated,
        "response.created" => ServerEvent::ResponseCreated {
            response: head.response.and_then(|one| one.id).unwrap_or(response),
        },
        "response.done" => {
            let done = head.response;
            let (id, status, inner_usage) = match done {
                Some(done) => (done.id, done.status, done.usage),
                None => (None, None, None),
            };
            // One vendor writes it at the top of the event.
            let usage = [inner_usage, head.usage].into_iter().flatten();
            let mut usage = usage.filter_map(|usage| serde_json::from_str(usage.get()).ok());
            let is_failed = status.is_some_and(|status| status == "failed");
            ServerEvent::ResponseDone {
                response: id.unwrap_or(response),
                status: if is_failed {
                    ResponseStatus::Failed
                } else {
                    ResponseStatus::Made
                },
                usage: usage.find(TokenCounts::is_reported),
            }
        }
        "response.output_audio.delta" | "response.audio.delta" => ServerEvent::Audio {
            response,
            bytes: head.delta.map_or(0, |delta| decoded_bytes(inner(delta))),
        },
        "response.output_text.delta"
        | "response.text.delta"
        | "response.output_audio_transcript.delta"
        | "response.audio_transcript.delta"
        | "response.function_call_arguments.delta" => {
            let bytes = head.delta.map_or(0, |delta| inner(delta).len());
            ServerEvent::Text {
                response,
                bytes: u64::try_from(bytes).unwrap_or(u64::MAX),
            }
        }
        "input_audio_buffer.committed" => ServerEvent::Committed { item },
        "conversation.item.input_audio_transcription.completed" => ServerEvent::Transcribed {
            item,
            usage: head
                .usage
                .and_then(|usage| serde_json::from_str(usage.get()).ok()),
        },
        "conversation.item.input_audio_transcription.failed" => {
            ServerEvent::NotTranscribed { item }
        }
        "rate_limits.updated" => ServerEvent::RateLimits,
        "error" => ServerEvent::Error {
            event: head.error.and_then(|error| error.event_id),
        },
        _ => ServerEvent::Other,
    })
}

/// Sound, of which only the length counts: our scan passes over it many bytes at a time. None for anything else.
fn read_audio(text: &str) -> Option<ServerEvent<'_>> {
    let head = scan_text(text).ok()?;
    let text_of = |key| serde_json::from_slice::<&str>(head.value(key)?).ok();
    match text_of("type")? {
        "response.output_audio.delta" | "response.audio.delta" => Some(ServerEvent::Audio {
            response: Cow::Borrowed(text_of("response_id")?),
            bytes: decoded(characters_of(head.value("delta")?).ok()?),
        }),
        _ => None,
    }
}

/// A text without its quotes; anything else as it is written.
fn inner(value: &RawValue) -> &str {
    quoted(value).unwrap_or_else(|| value.get())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn events_that_cost_are_told_from_others() {
        let done = r#"{"type":"response.done","response":{"id":"r1","status":"cancelled","usage":{"input_tokens":3,"output_tokens":4}}}"#;
        let Some(ServerEvent::ResponseDone {
            response,
            status,
            usage,
        }) = read_server_event(done)
        else {
            panic!("{done}");
        };
        assert_eq!((response.as_ref(), status), ("r1", ResponseStatus::Made));
        assert_eq!(usage.unwrap().input_tokens, Some(3));
        for none in ["{}", r#"{"input_tokens":null}"#, "null"] {
            let text = format!(
                r#"{{"type":"response.done","response":{{"id":"r1","status":"failed","usage":{none}}}}}"#
            );
            let read = read_server_event(&text).unwrap();
            let expected = ServerEvent::ResponseDone {
                response: "r1".into(),
                status: ResponseStatus::Failed,
                usage: None,
            };
            assert_eq!(read, expected);
        }
        let audio =
            r#"{"type":"response.output_audio.delta","response_id":"r1","delta":"AAAAAAAA"}"#;
        assert_eq!(
            read_server_event(audio),
            Some(ServerEvent::Audio {
                response: "r1".into(),
                bytes: 6
            })
        );
        let long = "A".repeat(SHORT_BYTES);
        for (delta, bytes) in [(json!(long), 768), (json!([long]), 771)] {
            let event =
                json!({ "type": "response.audio.delta", "response_id": "r1", "delta": delta });
            let response = Cow::Borrowed("r1");
            let expected = ServerEvent::Audio { response, bytes };
            assert_eq!(read_server_event(&event.to_string()), Some(expected));
        }
        assert_eq!(
            read_server_event(r#"{"type":"ping"}"#),
            Some(ServerEvent::Other)
        );
        assert_eq!(read_server_event("[1]"), None);
    }
}
