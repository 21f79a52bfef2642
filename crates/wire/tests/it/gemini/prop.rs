//! Bytes of any kind: nothing stops, and what is written can be read.

use proptest::prelude::*;
use serde_json::{Value, json};
use trunkline_wire::canonical::{ReportedUsage, Target};
use trunkline_wire::{
    Format, Frame, Reader, Rewrite, Writer, gemini, read_response, rewrite_response, scan_response,
    write_request,
};

use crate::gemini::fixtures::{frames, meta, request, stream_end};

/// JSON with the words of this format in it.
fn value() -> impl Strategy<Value = Value> {
    let words = prop::sample::select(vec![
        "text",
        "thought",
        "thoughtSignature",
        "functionCall",
        "functionResponse",
        "name",
        "id",
        "args",
        "parts",
        "content",
        "candidates",
        "index",
        "finishReason",
        "usageMetadata",
        "promptTokenCount",
        "candidatesTokenCount",
        "totalTokenCount",
        "inlineData",
        "mimeType",
        "data",
        "fileData",
        "fileUri",
        "contents",
        "role",
        "tools",
        "functionDeclarations",
        "generationConfig",
        "generation_config",
        "thinkingConfig",
        "systemInstruction",
        "toolConfig",
        "mode",
        "error",
        "response",
        "modality",
        "promptTokensDetails",
        "citationMetadata",
        "citations",
        "promptFeedback",
        "blockReason",
        "_",
        "a_b",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        words.clone().prop_map(Value::from),
        Just(json!("STOP")),
        Just(json!("")),
        Just(json!("https://example.com/x")),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::vec((words.clone(), inner), 0..6).prop_map(|members| {
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

fn all_of_it(bytes: &[u8]) {
    let _read = scan_response(Format::Gemini, bytes);
    let _answer = read_response(Format::Gemini, bytes);
    let rewrite = Rewrite {
        model: Some("m".to_owned()),
        channel: Some("7".to_owned()),
        ..Rewrite::default()
    };
    let _changed = rewrite_response(Format::Gemini, bytes, &rewrite);
    let _home = gemini::restore_signatures(bytes, Some("7"));
    let _count = (gemini::count_request(bytes), gemini::read_count(bytes));
    if let Ok(request) = request(bytes, true)
        && let Ok(conversation) = request.canonical()
    {
        let written = write_request(Format::Gemini, &conversation, &Target::default());
        assert!(serde_json::from_slice::<Value>(&written.body).is_ok());
    }
}

fn stream_of_it(all: &[Frame]) {
    let mut reader = Reader::new(Format::Gemini);
    let mut writer = Writer::new(Format::Gemini, meta(Some("7")));
    let (mut events, mut out) = (Vec::new(), Vec::new());
    for frame in all {
        let _seen = reader.read(frame, &mut events);
        let _frame = reader.rewrite(frame, &Rewrite::default());
    }
    let _fine = reader.end(&mut events);
    events
        .iter()
        .for_each(|event| writer.write(event, &mut out));
    writer.finish(&stream_end(ReportedUsage::default(), false), &mut out);
    let last = reader.write_end(
        all,
        &stream_end(ReportedUsage::default(), false),
        &Rewrite::default(),
    );
    assert!(!last.is_empty());
    for frame in frames(&[&out]) {
        let data = frame.data.expect("every frame has data");
        assert!(serde_json::from_slice::<Value>(&data).is_ok());
    }
    let mut array = gemini::ArrayFrames::default();
    let mut body = Vec::new();
    array.write(&out, &mut body);
    array.finish(&mut body);
    assert!(serde_json::from_slice::<Vec<Value>>(&body).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_json_is_read_or_refused(value in value()) {
        let bytes = value.to_string().into_bytes();
        all_of_it(&bytes);
        stream_of_it(&[Frame::of_data(&bytes)]);
    }

    #[test]
    fn any_parts_are_read_and_written(parts in prop::collection::vec(value(), 0..5), role in "user|model|function|x") {
        let body = json!({ "contents": [{ "role": role, "parts": parts }] });
        all_of_it(body.to_string().as_bytes());
        let chunk = json!({ "candidates": [{ "content": { "parts": parts }, "finishReason": "STOP" }] });
        all_of_it(chunk.to_string().as_bytes());
        stream_of_it(&[Frame::of_data(chunk.to_string().as_bytes())]);
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        all_of_it(&bytes);
        stream_of_it(&frames(&[&bytes]));
    }
}
