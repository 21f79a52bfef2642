//! Whatever comes, nothing stops: arbitrary bytes, arbitrary JSON, events in any order.

use bytes::Bytes;
use proptest::prelude::*;
use serde_json::{Value, json};
use trunkline_wire::canonical::{
    BlockDelta, BlockIndex, BlockStart, Event, ReportedUsage, Signature, Stop, ToolCall, ToolName,
};
use trunkline_wire::{
    Format, PathParams, Request, Rewrite, Tap, read_response, rewrite_response, scan_response,
    write_request, write_response,
};

use crate::claude_messages::support::{OWN, data, frames, meta, read, stream_end, target, written};

/// Words that the format knows, so that random JSON reaches further than the first look.
fn word() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "type",
        "text",
        "role",
        "content",
        "user",
        "assistant",
        "system",
        "thinking",
        "signature",
        "data",
        "source",
        "base64",
        "image",
        "document",
        "tool_use",
        "tool_result",
        "id",
        "name",
        "input",
        "message",
        "delta",
        "index",
        "content_block",
        "usage",
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "input_tokens",
        "text_delta",
        "redacted_thinking",
        "stop_reason",
        "tools",
        "messages",
        "cache_control",
        "tool_choice",
        "output_config",
        "metadata",
        "server_tool_use",
        "url",
        "input_json_delta",
        "partial_json",
        "signature_delta",
        "citations",
        "error",
        "é",
    ])
    .prop_map(ToOwned::to_owned)
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0_u32..4).prop_map(Value::from),
        word().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 48, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(word(), inner, 0..7)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn any_event() -> impl Strategy<Value = Event> {
    let at = (0_u32..2, 0_u32..4).prop_map(|(choice, block)| BlockIndex { choice, block });
    let seal = || Signature::of(Format::Gemini, "s".to_owned());
    let call = |custom: bool| ToolCall {
        id: "c".to_owned(),
        tool: ToolName::plain("t"),
        custom,
        arguments: "{}".to_owned(),
        item: None,
    };
    let opening = prop::sample::select(vec![
        BlockStart::Text,
        BlockStart::Thinking(None, true),
        BlockStart::Redacted(None, seal()),
        BlockStart::ToolCall(call(false)),
        BlockStart::ToolCall(call(true)),
        BlockStart::Refusal,
        BlockStart::Foreign(
            OWN,
            json!({ "type": "server_tool_use", "input": { "a": 1 } }),
        ),
        BlockStart::Foreign(Format::Gemini, json!({})),
    ]);
    let piece = prop::sample::select(vec![
        BlockDelta::Text("words".to_owned()),
        BlockDelta::NextPart,
        BlockDelta::Arguments("{\"a\"".to_owned()),
        BlockDelta::Citation(OWN, json!({ "type": "char_location" })),
        BlockDelta::Signature(seal()),
    ]);
    prop_oneof![
        (at.clone(), opening).prop_map(|(at, opening)| Event::BlockStart(at, opening)),
        (at.clone(), piece).prop_map(|(at, piece)| Event::BlockDelta(at, piece)),
        at.prop_map(Event::BlockEnd),
        Just(Event::Stop(0, Stop::ToolUse)),
        Just(Event::Ping),
        Just(Event::Usage(ReportedUsage::default())),
    ]
}

fn everything_is_read(bytes: &[u8]) {
    let rewrite = Rewrite {
        model: Some("public".to_owned()),
        channel: Some("17".to_owned()),
        ..Rewrite::default()
    };
    drop(scan_response(OWN, bytes));
    drop(rewrite_response(OWN, bytes, &rewrite));
    if let Ok(answer) = read_response(OWN, bytes) {
        let repeated = write_response(OWN, &answer, &meta(None));
        read_response(OWN, &repeated).unwrap();
    }
    let body = Bytes::copy_from_slice(bytes);
    if let Ok(request) = Request::read(OWN, body, PathParams::default())
        && let Ok(conversation) = request.canonical()
    {
        let written = write_request(OWN, &conversation, &target());
        assert!(serde_json::from_slice::<Value>(&written.body).is_ok());
    }
    let mut tap = Tap::new(OWN);
    for frame in frames(&[bytes]) {
        tap.observe(&frame);
        drop(tap.rewrite(&frame, &rewrite));
    }
    tap.may_end();
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes_stop_nothing(bytes: Vec<u8>) {
        everything_is_read(&bytes);
    }

    #[test]
    fn arbitrary_json_stops_nothing(value in any_json()) {
        everything_is_read(value.to_string().as_bytes());
        let message = json!({ "model": "m", "messages": [{ "role": "user", "content": [value] }] });
        everything_is_read(message.to_string().as_bytes());
    }

    #[test]
    fn arbitrary_frames_stop_nothing(values in prop::collection::vec((word(), any_json()), 0..12)) {
        let mut stream = String::new();
        for (event, value) in values {
            stream.push_str(&format!("event: {event}\ndata: {value}\n\n"));
        }
        let (events, _, _) = read(&[stream.as_bytes()]);
        let repeated = written(&events, meta(Some("17")), &stream_end(ReportedUsage::default(), false));
        prop_assert!(read(&[repeated.as_bytes()]).2);
    }

    #[test]
    fn events_in_any_order_are_written_by_the_grammar(events in prop::collection::vec(any_event(), 0..40)) {
        let out = written(&events, meta(None), &stream_end(ReportedUsage::default(), false));
        let mut open = None;
        let mut next = 0;
        for event in data(&out) {
            match event["type"].as_str().unwrap() {
                "content_block_start" => {
                    prop_assert_eq!((open, event["index"].as_u64()), (None, Some(next)));
                    open = Some(next);
                    next += 1;
                }
                "content_block_delta" => prop_assert_eq!(event["index"].as_u64(), open),
                "content_block_stop" => prop_assert_eq!(event["index"].as_u64(), open.take()),
                _ => {}
            }
        }
        prop_assert_eq!(open, None);
        let is_ended = out.ends_with("event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n");
        prop_assert!(is_ended);
    }
}
