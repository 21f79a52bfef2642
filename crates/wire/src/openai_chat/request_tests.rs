//! Requests: what is read, what is refused, what is changed on the way out.

use bytes::Bytes;

use super::*;
use crate::openai_chat::TABLE;
use crate::{CapName, Format, MediaKind, PathParams, Treatment};

fn read(text: &str) -> Result<Request, RequestError> {
    let body = Bytes::copy_from_slice(text.as_bytes());
    Request::read(Format::OpenaiChat, body, PathParams::default())
}

fn refused(text: &str) -> (String, Option<String>) {
    let refusal = read(text).unwrap_err();
    (refusal.code.to_owned(), refusal.param)
}

fn with(extra: &str) -> String {
    format!(r#"{{"model":"m","messages":[{{"role":"user","content":"hi"}}]{extra}}}"#)
}

#[test]
fn a_request_is_read() {
    let request = read(&with(
        r#","stream":true,"stream_options":{"include_usage":true},"max_tokens":7,"n":2,"reasoning_effort":"low""#,
    ))
    .unwrap();
    assert_eq!(request.facts.model, "m");
    assert!(request.facts.stream && request.facts.wants_usage);
    assert_eq!(request.facts.max_output, Some(7));
    assert_eq!(request.facts.cap_field, Some(MAX_TOKENS));
    assert_eq!(request.facts.choices, 2);
    assert_eq!(request.facts.effort.as_deref(), Some("low"));
    let plain = read(&with("")).unwrap();
    assert!(!plain.facts.stream && !plain.facts.wants_usage && plain.facts.max_output.is_none());
    assert_eq!(plain.facts.choices, 1);
}

#[test]
fn bad_fields_are_named() {
    let invalid = |param: &str| ("invalid_request".to_owned(), Some(param.to_owned()));
    assert_eq!(refused("{}"), invalid("model"));
    assert_eq!(refused(r#"{"model":""}"#), invalid("model"));
    assert_eq!(refused(r#"{"model":3}"#), invalid("model"));
    assert_eq!(refused(r#"{"model":"m"}"#), invalid("messages"));
    assert_eq!(
        refused(r#"{"model":"m","messages":[]}"#),
        invalid("messages")
    );
    assert_eq!(
        refused(r#"{"model":"m","messages":[{}]}"#),
        invalid("messages[0].role")
    );
    let message = |text: &str| format!(r#"{{"model":"m","messages":[{text}]}}"#);
    for silent in [
        r#"{"role":"user"}"#,
        r#"{"role":"user","content":null}"#,
        r#"{"role":"assistant"}"#,
    ] {
        assert_eq!(
            refused(&message(silent)),
            invalid("messages[0].content"),
            "{silent}"
        );
    }
    for fine in [
        r#"{"role":"assistant","tool_calls":[{}]}"#,
        r#"{"role":"assistant","content":null,"tool_calls":[{}]}"#,
    ] {
        assert!(read(&message(fine)).is_ok(), "{fine}");
    }
    assert_eq!(
        refused(&with(r#","temperature":"hot""#)),
        invalid("temperature")
    );
    assert_eq!(refused(&with(r#","top_p":[]"#)), invalid("top_p"));
    assert_eq!(
        refused(&with(r#","max_tokens":1.5"#)),
        invalid("max_tokens")
    );
    assert_eq!(refused(&with(r#","stream":"yes""#)), invalid("stream"));
    assert_eq!(refused(&with(r#","n":0"#)), invalid("n"));
    assert_eq!(refused(&with(r#","n":17"#)), invalid("n"));
    assert_eq!(refused(&with(r#","max_tokens":0"#)), invalid("max_tokens"));
    assert_eq!(refused(&with(r#","max_tokens":-1"#)), invalid("max_tokens"));
    assert_eq!(
        refused(&with(r#","max_tokens":1,"max_completion_tokens":1"#)),
        invalid("max_tokens")
    );
    assert_eq!(refused(&with(r#","model":"again""#)), invalid("model"));
    assert_eq!(refused("not json").0, "invalid_request");
}

#[test]
fn every_field_of_the_cost_table_is_priced_bounded_or_refused() {
    for (field, treatment) in TABLE.costs {
        let text = with(&format!(r#","{field}":{{"x":1}}"#));
        let null = with(&format!(r#","{field}":null"#));
        match treatment {
            Treatment::Priced | Treatment::Bounded => {}
            Treatment::Tier => {
                let request = read(&with(&format!(r#","{field}":"priority""#))).unwrap();
                assert_eq!(request.at(field).unwrap(), "priority", "the record decides");
            }
            Treatment::Only(allowed, _) => {
                assert_eq!(refused(&text).1.as_deref(), Some(*field));
                for word in *allowed {
                    assert!(read(&with(&format!(r#","{field}":"{word}""#))).is_ok());
                    assert!(read(&with(&format!(r#","{field}":["{word}"]"#))).is_ok());
                }
                assert!(read(&null).is_ok());
            }
            Treatment::Refused(_) => {
                assert_eq!(refused(&text).1.as_deref(), Some(*field));
                assert!(read(&null).is_ok());
            }
            Treatment::Reference(_) => {
                assert_eq!(refused(&text).0, "reference_not_supported", "{field}");
                assert!(read(&null).is_ok());
            }
        }
    }
    let file = r#"{"model":"m","messages":[{"role":"user","content":[{"type":"file","file":{"file_id":"f"}}]}]}"#;
    assert_eq!(refused(file).0, "reference_not_supported");
}

#[test]
fn priced_fields_raise_the_bound_by_their_bytes_and_media_are_no_text() {
    let tokens = |text: &str| read(text).unwrap().text_most;
    let plain = tokens(&with(""));
    for field in ["tools", "functions", "response_format", "prediction"] {
        let more = format!(r#","{field}":"{}""#, "x".repeat(100));
        assert_eq!(tokens(&with(&more)), plain + 102, "{field}");
    }
    assert_eq!(
        tokens(&with(r#","user":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxx""#)),
        plain
    );
    let wide = tokens(&with("").replace("hi", &"你".repeat(100)));
    assert_eq!(wide, plain + 300 - 2);
    let part = |part: &str| {
        let text = format!(r#"{{"model":"m","messages":[{{"role":"user","content":[{part}]}}]}}"#);
        let request = read(&text).unwrap();
        let kinds: Vec<MediaKind> = request.facts.media.parts.iter().map(|it| it.kind).collect();
        (request.text_most, kinds)
    };
    let picture = |bytes: usize| {
        let data = "A".repeat(bytes);
        part(&format!(
            r#"{{"type":"image_url","image_url":{{"url":"data:image/png;base64,{data}"}}}}"#
        ))
    };
    assert_eq!(picture(100), picture(100_000));
    assert_eq!(picture(100).1, [MediaKind::Image(None)]);
    let linked =
        |kind: &str, value: &str| part(&format!(r#"{{"type":"{kind}","{kind}":{value}}}"#)).1;
    let video = |frames_per_second| MediaKind::Video {
        length_ms: None,
        frames_per_second,
    };
    let url = r#"{"url":"https://example.com/a"}"#;
    assert_eq!(linked("video_url", url), [video(None)]);
    assert_eq!(linked("video", r#""https://example.com/a""#), [video(None)]);
    let frames = linked("video", r#"["https://a.example","https://b.example"]"#);
    assert_eq!(frames, [MediaKind::Image(None); 2]);
    let fast = part(&format!(
        r#"{{"type":"video_url","video_url":{url},"fps":4}}"#
    ));
    assert_eq!(fast.1, [video(Some(4))]);
    let audio = MediaKind::Audio { length_ms: None };
    let far = r#"{"data":"https://example.com/a.mp3"}"#;
    assert_eq!(linked("input_audio", far), [audio]);
    let pdf = r#"{"file_data":"data:application/pdf;base64,JVBERi0"}"#;
    assert_eq!(linked("file", pdf), [MediaKind::Document]);
    let unknown = linked("document_url", r#""https://example.com/a.pdf""#);
    assert_eq!(unknown, [MediaKind::Document], "a vendor may read it");
    assert_eq!(part(r#"{"type":"text","text":"x"}"#).1, []);
}

#[test]
fn only_named_fields_change_on_the_way_out() {
    let out = |text: &str, out: Outgoing<'_>| {
        String::from_utf8(read(text).unwrap().outgoing(&out).to_vec()).unwrap()
    };
    let same = Outgoing {
        model: "m",
        ..Outgoing::default()
    };
    let text = with(r#", "z" : 1e3,"x":{"stream":false}"#);
    assert_eq!(out(&text, same.clone()), text);
    let renamed = Outgoing {
        model: "vendor/m",
        ..Outgoing::default()
    };
    assert_eq!(
        out(&text, renamed),
        text.replacen("\"m\"", "\"vendor/m\"", 1)
    );
    let streaming = with(r#","stream":true"#);
    assert_eq!(
        out(&streaming, same.clone()),
        with(r#","stream":true,"stream_options":{"include_usage":true}"#)
    );
    let options = with(r#","stream":true,"stream_options":{"a":1}"#);
    assert_eq!(
        out(&options, same.clone()),
        with(r#","stream":true,"stream_options":{"a":1,"include_usage":true}"#)
    );
    let request = with(r#","stream":true,"stream_options":{"include_usage":true}"#);
    assert_eq!(out(&request, same.clone()), request);
    let without = Outgoing {
        no_stream_options: true,
        ..same.clone()
    };
    assert_eq!(out(&request, without), streaming);
    let capped = Outgoing {
        max_output: Some(50),
        ..same.clone()
    };
    assert_eq!(
        out(&with(""), capped.clone()),
        with(r#","max_completion_tokens":50"#)
    );
    assert_eq!(
        out(&with(r#","max_tokens":90"#), capped),
        with(r#","max_tokens":50"#)
    );
    let older = Outgoing {
        max_output: Some(50),
        cap_name: CapName::MaxTokens,
        ..same.clone()
    };
    assert_eq!(
        out(&with(r#","max_completion_tokens":50"#), older),
        with(r#","max_tokens":50"#)
    );
    let newer = Outgoing {
        max_output: Some(90),
        cap_name: CapName::MaxCompletionTokens,
        ..same.clone()
    };
    assert_eq!(
        out(&with(r#","max_tokens":90"#), newer),
        with(r#","max_completion_tokens":90"#)
    );
    let names = ["reasoning_effort".to_owned(), "not_there".to_owned()];
    let no_effort = Outgoing {
        without: &names,
        ..same.clone()
    };
    assert_eq!(
        out(&with(r#","reasoning_effort":"low""#), no_effort),
        with("")
    );
    let written = [("service_tier".to_owned(), r#""default""#.to_owned())];
    let outgoing = Outgoing {
        with: &written,
        ..same
    };
    let explicit = with(r#","service_tier":"default""#);
    assert_eq!(out(&with(""), outgoing.clone()), explicit);
    assert_eq!(out(&with(r#","service_tier":"auto""#), outgoing), explicit);
}

#[test]
fn a_field_is_found_by_its_dotted_path() {
    let request = read(&with(r#","metadata":{"a":{"b":7},"none":null}"#)).unwrap();
    assert_eq!(request.at("metadata.a.b").unwrap(), 7);
    assert_eq!(request.at("metadata.a.c"), None);
    assert_eq!(request.at("metadata.none"), None, "null is nothing");
    assert_eq!(request.at("other"), None);
    assert_eq!(
        request.field("metadata").unwrap(),
        br#"{"a":{"b":7},"none":null}"#
    );
    let names: Vec<&str> = request.fields().collect();
    assert_eq!(names, ["model", "messages", "metadata"]);
}
