//! Nothing that an upstream or a caller sends stops the process.

use bytes::Bytes;
use proptest::prelude::*;
use serde_json::{Value, json};
use trunkline_wire::canonical::{
    BlockDelta, BlockIndex, BlockStart, Event, Stop, Target, ToolCall,
};
use trunkline_wire::{
    Frame, PathParams, Reader, Request, Rewrite, Writer, read_response, rewrite_response,
    scan_response, write_request, write_response,
};

use crate::openai_responses::shared::{FORMAT, events, fixtures, meta, stream_end};

fn json_value() -> impl Strategy<Value = Value> {
    let word = prop_oneof![
        Just("message"),
        Just("reasoning"),
        Just("function_call"),
        Just("custom_tool_call"),
        Just("function_call_output"),
        Just("input_text"),
        Just("output_text"),
        Just("refusal"),
        Just("input_image"),
        Just("namespace"),
        Just("function"),
        Just("user"),
        Just("assistant"),
        Just("x"),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        word.prop_map(Value::from),
        ".{0,6}".prop_map(Value::from),
    ];
    let key = prop_oneof![
        Just("type"),
        Just("role"),
        Just("content"),
        Just("output"),
        Just("call_id"),
        Just("name"),
        Just("id"),
        Just("text"),
        Just("summary"),
        Just("encrypted_content"),
        Just("arguments"),
        Just("input"),
        Just("tools"),
        Just("image_url"),
        Just("response"),
        Just("item"),
        Just("part"),
        Just("delta"),
        Just("output_index"),
        Just("usage"),
        Just("annotations"),
        Just("status"),
        Just("error"),
    ];
    leaf.prop_recursive(4, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::Array),
            prop::collection::vec((key.clone(), inner), 0..6).prop_map(|members| {
                Value::Object(
                    members
                        .into_iter()
                        .map(|(key, value)| (key.to_owned(), value))
                        .collect(),
                )
            }),
        ]
    })
}

fn event() -> impl Strategy<Value = Event> {
    let at = (0_u32..2, 0_u32..4).prop_map(|(choice, block)| BlockIndex { choice, block });
    let opening = prop_oneof![
        Just(BlockStart::Text),
        Just(BlockStart::Refusal),
        any::<bool>().prop_map(|summary| BlockStart::Thinking(None, summary)),
        any::<bool>().prop_map(|custom| BlockStart::ToolCall(ToolCall {
            custom,
            ..ToolCall::default()
        })),
        json_value().prop_map(|raw| BlockStart::Foreign(FORMAT, raw)),
    ];
    let piece = prop_oneof![
        ".{0,4}".prop_map(BlockDelta::Text),
        ".{0,4}".prop_map(BlockDelta::Arguments),
        Just(BlockDelta::NextPart),
        json_value().prop_map(|raw| BlockDelta::Citation(FORMAT, raw)),
    ];
    prop_oneof![
        (at.clone(), opening).prop_map(|(at, opening)| Event::BlockStart(at, opening)),
        (at.clone(), piece).prop_map(|(at, piece)| Event::BlockDelta(at, piece)),
        at.prop_map(Event::BlockEnd),
        Just(Event::Stop(0, Stop::End)),
        Just(Event::Ping),
    ]
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_harm(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let frame = Frame::of_data(&bytes);
        let mut reader = Reader::new(FORMAT);
        let mut events = Vec::new();
        reader.read(&frame, &mut events);
        reader.end(&mut events);
        reader.write_end(&[frame], &stream_end(false), &Rewrite::default());
        let _ = (scan_response(FORMAT, &bytes).is_ok(), read_response(FORMAT, &bytes).is_ok());
        prop_assert_eq!(rewrite_response(FORMAT, &bytes, &Rewrite::default()), None);
    }

    #[test]
    fn any_frames_of_the_grammar_are_read_without_harm(
        kinds in prop::collection::vec((0_usize..40, json_value(), json_value(), 0_u64..3), 0..12),
    ) {
        let known: Vec<String> = fixtures("streams", "sse").iter()
            .flat_map(|(_, bytes)| crate::openai_responses::shared::data(&bytes.iter().copied().filter(|byte| *byte != b'\r').collect::<Vec<u8>>()
                .split(|byte| *byte == b'\n').filter(|line| line.starts_with(b"data: {"))
                .flat_map(|line| [line, b"\n\n"].concat()).collect::<Vec<u8>>()))
            .filter_map(|frame| Some(frame.get("type")?.as_str()?.to_owned())).collect();
        let mut reader = Reader::new(FORMAT);
        let mut written = Vec::new();
        let mut writer = Writer::new(FORMAT, meta(json!({})));
        let mut out = Vec::new();
        for (kind, one, other, index) in kinds {
            let kind = &known[kind * 7 % known.len()];
            let frame = json!({ "type": kind, "output_index": index, "content_index": index, "item": one, "part": other,
                "delta": "x", "response": other, "text": "y", "arguments": "{}", "annotation": one });
            reader.read(&Frame::of_data(frame.to_string().as_bytes()), &mut written);
        }
        reader.end(&mut written);
        written.iter().for_each(|event| writer.write(event, &mut out));
        writer.finish(&stream_end(true), &mut out);
        reader.write_end(&[], &stream_end(true), &Rewrite::default());
        prop_assert!(events(&[&out]).2, "what is written is a whole stream");
    }

    #[test]
    fn any_order_of_events_is_written_as_a_stream_that_can_be_read(
        list in prop::collection::vec(event(), 0..40),
        exhausted in any::<bool>(),
    ) {
        let mut writer = Writer::new(FORMAT, meta(json!({})));
        let mut out = Vec::new();
        list.iter().for_each(|event| writer.write(event, &mut out));
        writer.finish(&stream_end(exhausted), &mut out);
        let (_, seen, fine) = events(&[&out]);
        prop_assert!(fine);
        prop_assert!(!seen.contains(&trunkline_wire::FrameKind::Invalid));
    }

    #[test]
    fn any_request_is_taken_or_refused(input in json_value(), tools in json_value(), choice in json_value()) {
        let body = json!({ "model": "m", "input": [input], "tools": [tools], "tool_choice": choice });
        let body = Bytes::from(body.to_string());
        if let Ok(request) = Request::read(FORMAT, body, PathParams::default()) {
            let conversation = request.canonical().unwrap();
            let written = write_request(FORMAT, &conversation, &Target::default());
            prop_assert!(serde_json::from_slice::<Value>(&written.body).is_ok());
        }
    }

    #[test]
    fn any_answer_is_taken_or_not(output in prop::collection::vec(json_value(), 0..4), usage in json_value()) {
        let body = json!({ "id": "r", "output": output, "usage": usage }).to_string();
        if let Ok(answer) = read_response(FORMAT, body.as_bytes()) {
            let written = write_response(FORMAT, &answer, &meta(json!({})));
            prop_assert!(read_response(FORMAT, &written).is_ok());
        }
    }
}
