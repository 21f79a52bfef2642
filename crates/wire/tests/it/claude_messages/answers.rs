//! Whole answers: what they used, what they say, and how answers of other formats are written.

use serde_json::{Value, json};
use trunkline_types::{Bucket, Usage};
use trunkline_wire::canonical::{
    Block, BlockKind, Choice, Media, MediaKind, ReportedUsage, Response, Signature, Source, Stop,
    Thinking, ToolCall, ToolName,
};
use trunkline_wire::{Format, ResponseError, read_response, scan_response, write_response};

use crate::claude_messages::support::{OWN, STREAMS, meta, normal, request, sent, target};

fn answer_of(blocks: Vec<Block>, stop: Stop) -> Response {
    Response {
        choices: vec![Choice { blocks, stop }],
        reported: Some(ReportedUsage {
            usage: Usage::unknown()
                .with(Bucket::PlainInput, 3)
                .with(Bucket::PlainOutput, 4),
            reasoning: None,
        }),
        ..Response::default()
    }
}

fn shown_as(answer: &Response, channel: Option<&str>) -> Value {
    serde_json::from_slice(&write_response(OWN, answer, &meta(channel))).unwrap()
}

fn call(id: &str, arguments: &str) -> ToolCall {
    ToolCall {
        id: id.to_owned(),
        tool: ToolName::plain("run"),
        arguments: arguments.to_owned(),
        ..ToolCall::default()
    }
}

#[test]
fn an_answer_comes_back_from_canon_as_it_was() {
    for (name, _, text) in STREAMS {
        let answer = read_response(OWN, text.as_bytes()).unwrap();
        let mut expected: Value = serde_json::from_str(text).unwrap();
        let mut repeated = shown_as(&answer, None);
        assert_eq!(repeated["id"], "msg_abc");
        assert_eq!(repeated["model"], "public");
        for value in [&mut expected, &mut repeated] {
            value["id"].take();
            value["model"].take();
            value["usage"].take();
        }
        assert_eq!(repeated, expected, "{name}");
        let reported = scan_response(OWN, text.as_bytes()).unwrap().reported;
        assert_eq!(reported, answer.reported, "{name}");
    }
}

#[test]
fn a_whole_answer_tells_its_usage_its_id_and_what_was_written() {
    let (_, _, text) = STREAMS.iter().find(|one| one.0 == "caches").unwrap();
    let whole = scan_response(OWN, text.as_bytes()).unwrap();
    let reported = whole.reported.unwrap();
    assert_eq!(reported.of(Bucket::PlainInput), 4);
    assert_eq!(reported.of(Bucket::CacheRead), 2_000);
    assert_eq!(reported.of(Bucket::CacheWrite5m), 60);
    assert_eq!(reported.of(Bucket::CacheWrite1h), 40);
    assert_eq!(reported.of(Bucket::PlainOutput), 7);
    assert_eq!(
        reported.input() + reported.output(),
        2_111,
        "the upstream's sum"
    );
    assert_eq!(whole.id, "msg_01");
    assert!(whole.written > 0);
}

#[test]
fn an_error_in_the_clothes_of_an_answer_is_one() {
    for (text, code) in [
        (
            r#"{"type":"error","error":{"type":"overloaded_error","message":"m"}}"#,
            "overloaded_error",
        ),
        (
            r#"{"content":[],"error":{"type":"api_error","message":"m"}}"#,
            "api_error",
        ),
        (
            r#"{"base_resp":{"status_code":2013,"status_msg":"m"}}"#,
            "2013",
        ),
    ] {
        for failed in [
            scan_response(OWN, text.as_bytes()).unwrap_err(),
            read_response(OWN, text.as_bytes()).unwrap_err(),
        ] {
            let ResponseError::Upstream(error) = failed else {
                panic!("{text}");
            };
            assert_eq!(error.code.as_deref(), Some(code));
            assert_eq!(error.message, "m");
        }
    }
    for garbage in ["<html>", "", "[]", "7"] {
        assert!(scan_response(OWN, garbage.as_bytes()).is_err(), "{garbage}");
        assert_eq!(
            read_response(OWN, garbage.as_bytes()),
            Err(ResponseError::Invalid),
            "{garbage}"
        );
    }
}

#[test]
fn every_reason_to_stop_has_a_word() {
    for (stop, word) in [
        (Stop::End, "end_turn"),
        (Stop::Length, "max_tokens"),
        (Stop::ToolUse, "tool_use"),
        (Stop::Sequence(Some("x".to_owned())), "stop_sequence"),
        (Stop::Filtered, "refusal"),
        (Stop::Refused, "refusal"),
        (Stop::Paused, "pause_turn"),
        (Stop::ContextFull, "model_context_window_exceeded"),
        (Stop::Other("SPII".to_owned()), "end_turn"),
    ] {
        let written = shown_as(&answer_of(Vec::new(), stop.clone()), None);
        assert_eq!(written["stop_reason"], word, "{stop:?}");
        let sequence = written["stop_sequence"].as_str();
        assert_eq!(sequence.is_some(), matches!(stop, Stop::Sequence(_)));
    }
}

#[test]
fn blocks_of_other_formats_are_written_in_the_words_there_are() {
    let picture = Media {
        kind: MediaKind::Image,
        source: Source::Text(String::new()),
        name: None,
        detail: None,
        extras: Vec::new(),
    };
    let blocks = vec![
        Block::text(""),
        Block::of(BlockKind::Refusal("No.".to_owned())),
        Block::of(BlockKind::Media(picture)),
        Block::of(BlockKind::Foreign(
            Format::Gemini,
            json!({ "executableCode": {} }),
        )),
        Block::of(BlockKind::ToolCall(call("call_1", "{\"a\":1}"))),
        Block::of(BlockKind::ToolCall(call("call_2", "{\"a\":"))),
        Block::of(BlockKind::ToolCall(ToolCall {
            custom: true,
            ..call("call_3", "plain words")
        })),
    ];
    let written = shown_as(&answer_of(blocks, Stop::ToolUse), None);
    let used = |id: &str, input: Value| json!({ "type": "tool_use", "id": id, "name": "run", "input": input });
    assert_eq!(
        written["content"],
        json!([
            { "type": "text", "text": "No." },
            used("call_1", json!({ "a": 1 })),
            used("call_2", json!({ "input": "{\"a\":" })),
            used("call_3", json!({ "input": "plain words" })),
        ])
    );
    assert_eq!(written["usage"]["input_tokens"], 3);
}

#[test]
fn a_seal_of_any_upstream_goes_out_marked_and_comes_home() {
    let thoughts = |format: Format| Block {
        signature: Some(Signature::of(format, "seal".to_owned())),
        ..Block::of(BlockKind::Thinking(Thinking {
            texts: vec!["one".to_owned(), "two".to_owned()],
            ..Thinking::default()
        }))
    };
    let sealed_call = Block {
        signature: Some(Signature::of(Format::Gemini, "on a call".to_owned())),
        ..Block::of(BlockKind::ToolCall(call("c", "{}")))
    };
    let blocks = vec![
        thoughts(Format::OpenaiResponses),
        thoughts(OWN),
        sealed_call,
    ];
    let answer = shown_as(&answer_of(blocks, Stop::ToolUse), Some("17"));
    let content = &answer["content"];
    assert_eq!(content[0]["thinking"], "one\n\ntwo");
    assert_eq!(content[0]["signature"], "tlsig1rc17xxseal");
    assert_eq!(content[1]["signature"], "tlsig1mc17xxseal");
    assert_eq!(content[3]["type"], "redacted_thinking");
    let body = json!({
        "model": "m",
        "max_tokens": 9,
        "messages": [
            { "role": "user", "content": "Hi" },
            { "role": "assistant", "content": content },
            { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "c" }] },
        ],
    });
    let conversation = request(&body.to_string()).canonical().unwrap();
    let blocks = &conversation.turns[1].blocks;
    let seal = |format: Format, data: &str| {
        Some(Signature {
            format,
            channel: Some("17".to_owned()),
            data: data.to_owned(),
        })
    };
    assert_eq!(blocks.len(), 3, "the seal is back on its call");
    assert_eq!(blocks[0].signature, seal(Format::OpenaiResponses, "seal"));
    assert_eq!(blocks[1].signature, seal(OWN, "seal"));
    assert_eq!(blocks[2].signature, seal(Format::Gemini, "on a call"));
    // Back to its own upstream goes what it sealed, and nothing else.
    let home = trunkline_wire::canonical::Target {
        channel: Some("17"),
        ..target()
    };
    let (value, written) = sent(&conversation, &home);
    let expected = json!([
        { "type": "thinking", "thinking": "one\n\ntwo", "signature": "seal" },
        { "type": "tool_use", "id": "c", "name": "run", "input": {} },
    ]);
    assert_eq!(normal(&value)["messages"][1]["content"], expected);
    assert_eq!(written.notes.all()[0].field, "thinking");
    let elsewhere = trunkline_wire::canonical::Target {
        channel: Some("18"),
        ..target()
    };
    let (value, _) = sent(&conversation, &elsewhere);
    assert_eq!(value["messages"][1]["content"][0]["type"], "tool_use");
}
