//! Streams: read wherever the network cuts them, equal to the whole answer, written again, passed on.

use serde_json::{Value, json};
use trunkline_wire::canonical::{Accumulator, BlockKind, Event, Stop};
use trunkline_wire::{
    Frame, FrameKind, Reader, Rewrite, Tap, Writer, read_response, rewrite_response, scan_response,
    write_response,
};

use crate::openai_responses::shared::{
    FORMAT, data, events, fixture, fixtures, frames, meta, stream_end,
};

fn collected(events: &[Event]) -> trunkline_wire::canonical::Response {
    let mut collected = Accumulator::default();
    events.iter().for_each(|event| collected.observe(event));
    collected.answer()
}

#[test]
fn a_stream_says_the_same_wherever_its_bytes_are_cut() {
    let all = fixtures("streams", "sse");
    assert!(all.len() >= 10, "{} streams", all.len());
    for (name, bytes) in all {
        // A cut touches the frame it is in and the one behind it, so two at a time are enough.
        for pair in frames(&[&bytes]).windows(2) {
            let two = [pair[0].raw.as_ref(), pair[1].raw.as_ref()].concat();
            for cut in 0..two.len() {
                let (left, right) = two.split_at(cut);
                assert!(frames(&[left, right]) == pair, "{name} cut at {cut}");
            }
        }
        let (happened, _, _) = events(&[&bytes]);
        for size in 1..40 {
            let pieces: Vec<&[u8]> = bytes.chunks(size).collect();
            assert_eq!(events(&pieces).0, happened, "{name} in pieces of {size}");
        }
    }
}

#[test]
fn a_stream_collects_to_the_whole_answer() {
    for (name, whole) in fixtures("streams", "json") {
        let stream = fixture("streams", &name, "sse");
        let (events, seen, fine) = events(&[&stream]);
        assert!(fine, "{name}");
        assert_eq!(
            collected(&events),
            read_response(FORMAT, &whole).unwrap(),
            "{name}"
        );
        let last = seen.iter().filter(|seen| **seen == FrameKind::Last).count();
        assert_eq!(last, 1, "{name}");
        let reported = scan_response(FORMAT, &whole).unwrap();
        assert_eq!(reported.id, "resp_68a1", "{name}");
        assert_eq!(reported.reported, collected(&events).reported, "{name}");
        assert!(reported.written > 0, "{name}");
    }
}

#[test]
fn events_keep_the_order_that_writers_trust() {
    for (name, bytes) in fixtures("streams", "sse") {
        let (events, _, _) = events(&[&bytes]);
        let mut open = std::collections::BTreeSet::new();
        let mut highest = None;
        for (place, event) in events.iter().enumerate() {
            match event {
                Event::Start { .. } => assert_eq!(place, 0, "{name}"),
                Event::BlockStart(at, _) => {
                    assert!(highest < Some(*at), "{name}: numbers rise");
                    highest = Some(*at);
                    open.insert(*at);
                }
                Event::BlockDelta(at, _) => assert!(open.contains(at), "{name}"),
                Event::BlockEnd(at) => assert!(open.remove(at), "{name}"),
                Event::Stop(..) => assert!(open.is_empty(), "{name}"),
                Event::Usage(_) | Event::Error(_) | Event::Ping => {}
            }
        }
        assert!(open.is_empty(), "{name}");
    }
}

fn rewritten(events: &[Event], exhausted: bool) -> Vec<u8> {
    let mut writer = Writer::new(FORMAT, meta(json!({})));
    let mut out = Vec::new();
    events
        .iter()
        .for_each(|event| writer.write(event, &mut out));
    writer.finish(&stream_end(exhausted), &mut out);
    out
}

/// What does not come from the upstream: names, and seals that say where they belong.
fn without_names(
    mut answer: trunkline_wire::canonical::Response,
) -> trunkline_wire::canonical::Response {
    answer.id.clear();
    answer.model.clear();
    answer.created = None;
    answer.reported = None;
    for block in answer.choices.iter_mut().flat_map(|one| &mut one.blocks) {
        if let Some(seal) = &mut block.signature {
            seal.channel = None;
        }
        match &mut block.kind {
            BlockKind::ToolCall(call) => call.item = None,
            BlockKind::Thinking(thinking) => thinking.item = None,
            BlockKind::Redacted(redacted) => redacted.item = None,
            BlockKind::Foreign(_, raw) => raw["id"] = Value::Null,
            BlockKind::Text(_)
            | BlockKind::Media(_)
            | BlockKind::ToolResult(_)
            | BlockKind::Refusal(_) => {}
        }
    }
    answer
}

#[test]
fn a_stream_that_is_read_and_written_tells_the_same() {
    for (name, whole) in fixtures("streams", "json") {
        let (read, _, _) = events(&[&fixture("streams", &name, "sse")]);
        let out = rewritten(&read, false);
        let (repeated, _, fine) = events(&[&out]);
        assert!(fine, "{name}");
        let (first, second) = (collected(&read), collected(&repeated));
        assert_eq!(
            without_names(second.clone()),
            without_names(first),
            "{name}"
        );
        let last = data(&out).pop().unwrap();
        let response = last["response"].to_string();
        let complete = read_response(FORMAT, response.as_bytes()).unwrap();
        assert_eq!(complete, second, "{name}: the end repeats everything");
        let answer = read_response(FORMAT, &whole).unwrap();
        let written = write_response(FORMAT, &answer, &meta(json!({})));
        let written = read_response(FORMAT, &written).unwrap();
        assert_eq!(
            without_names(written),
            without_names(second),
            "{name}: whole answers too"
        );
    }
}

/// The checks that OpenAI's JavaScript SDK makes while it puts a response together, and throws at.
fn check_as_the_sdk(frames: &[Value], name: &str) {
    let mut output: Vec<Value> = Vec::new();
    for (number, frame) in frames.iter().enumerate() {
        assert_eq!(frame["sequence_number"], number, "{name}");
        let kind = frame["type"].as_str().unwrap();
        let index = usize::try_from(frame["output_index"].as_u64().unwrap_or(0)).unwrap();
        if kind == "response.output_item.added" {
            assert_eq!(index, output.len(), "{name}: items are appended");
            let id = frame["item"]["id"].as_str().unwrap();
            assert!(
                output.iter().all(|item| item["id"] != id),
                "{name}: ids are single"
            );
            output.push(frame["item"].clone());
            continue;
        }
        if let Some(id) = frame.get("item_id") {
            assert_eq!(*id, output[index]["id"], "{name} {kind}");
        }
        let list = |key: &str, place: &str| {
            let at = usize::try_from(frame[place].as_u64().unwrap()).unwrap();
            (
                output[index][key].as_array().cloned().unwrap_or_default(),
                at,
            )
        };
        match kind {
            "response.content_part.added" => {
                let (mut parts, at) = list("content", "content_index");
                assert_eq!(at, parts.len(), "{name}");
                let thought = frame["part"]["type"] == "reasoning_text";
                assert_eq!(thought, output[index]["type"] == "reasoning", "{name}");
                parts.push(frame["part"].clone());
                output[index]["content"] = Value::Array(parts);
            }
            "response.reasoning_summary_part.added" => {
                let (mut parts, at) = list("summary", "summary_index");
                assert_eq!(at, parts.len(), "{name}");
                parts.push(frame["part"].clone());
                output[index]["summary"] = Value::Array(parts);
            }
            "response.output_text.delta"
            | "response.reasoning_text.delta"
            | "response.refusal.delta" => {
                let (parts, at) = list("content", "content_index");
                assert!(at < parts.len(), "{name}");
            }
            "response.output_item.done" => {
                for key in ["id", "type", "call_id"] {
                    assert_eq!(
                        frame["item"].get(key),
                        output[index].get(key),
                        "{name} {key}"
                    );
                }
                output[index] = frame["item"].clone();
            }
            "response.completed" | "response.incomplete" => {
                assert_eq!(
                    frame["response"]["output"],
                    Value::Array(output.clone()),
                    "{name}"
                );
            }
            _ => {}
        }
    }
}

#[test]
fn what_is_written_passes_the_checks_of_the_sdks() {
    for (name, bytes) in fixtures("streams", "sse") {
        let (read, _, _) = events(&[&bytes]);
        for exhausted in [false, true] {
            let out = data(&rewritten(&read, exhausted));
            check_as_the_sdk(&out, &name);
            assert_eq!(out[0]["type"], "response.created", "{name}");
            assert_eq!(out[1]["type"], "response.in_progress", "{name}");
            let last = out.last().unwrap();
            let cut = exhausted || ["length", "filtered"].contains(&name.as_str());
            let kind = if cut {
                "response.incomplete"
            } else {
                "response.completed"
            };
            assert_eq!(last["type"], kind, "{name}");
            if exhausted {
                let reason = &last["response"]["incomplete_details"]["reason"];
                assert_eq!(reason, "max_output_tokens", "{name}");
            }
            assert_eq!(last["response"]["usage"]["input_tokens"], 10, "{name}");
            assert_eq!(last["response"]["id"], "resp_abc", "{name}");
        }
    }
}

#[test]
fn a_stream_cut_off_anywhere_for_want_of_money_is_closed_properly() {
    for (name, bytes) in fixtures("streams", "sse") {
        let all = frames(&[&bytes]);
        for cut in 0..all.len() {
            let mut reader = Reader::new(FORMAT);
            let mut passed = Vec::new();
            let mut events = Vec::new();
            for frame in &all[..cut] {
                if reader.read(frame, &mut events) == FrameKind::Content {
                    passed.extend_from_slice(&frame.raw);
                }
            }
            passed.extend(reader.write_end(&[], &stream_end(true), &Rewrite::default()));
            let out = data(&passed);
            let last = out.last().unwrap();
            assert_eq!(last["type"], "response.incomplete", "{name} {cut}");
            let reason = &last["response"]["incomplete_details"]["reason"];
            assert_eq!(reason, "max_output_tokens", "{name} {cut}");
            let count = |kind: &str| out.iter().filter(|frame| frame["type"] == kind).count();
            if !["imitator", "bare"].contains(&name.as_str()) {
                let added = count("response.output_item.added");
                assert_eq!(added, count("response.output_item.done"), "{name} {cut}");
                assert_eq!(
                    count("response.content_part.added"),
                    count("response.content_part.done"),
                    "{name} {cut}"
                );
                let numbers: Vec<_> = out
                    .iter()
                    .map(|frame| frame["sequence_number"].clone())
                    .collect();
                let unbroken: Vec<_> = (0..out.len()).map(|number| json!(number)).collect();
                assert_eq!(numbers, unbroken, "{name} {cut}");
            }
        }
    }
}

#[test]
fn what_passes_on_ends_with_its_cost_and_the_callers_names() {
    let rewrite = Rewrite {
        model: Some("public".to_owned()),
        id: Some("resp_sealed".to_owned()),
        previous: Some("resp_before".to_owned()),
        channel: Some("7".to_owned()),
    };
    for (name, whole) in fixtures("streams", "json") {
        let mut tap = Tap::new(FORMAT);
        let (mut out, mut held) = (Vec::new(), Vec::new());
        for frame in frames(&[&fixture("streams", &name, "sse")]) {
            match tap.observe(&frame) {
                FrameKind::Content => out.extend_from_slice(&tap.rewrite(&frame, &rewrite)),
                FrameKind::Last => held.push(frame),
                FrameKind::Empty | FrameKind::Done => {}
                odd @ (FrameKind::Held | FrameKind::Error(_) | FrameKind::Invalid) => {
                    panic!("{name}: {odd:?}")
                }
            }
        }
        assert!(tap.may_end(), "{name}");
        assert_eq!(tap.id(), "resp_68a1", "{name}");
        out.extend(tap.write_end(&held, &stream_end(false), "public", &rewrite));
        let text = String::from_utf8(out.clone()).unwrap();
        let comment = text
            .find(": trunkline-cost-usd=123456789.012345678\n\n")
            .unwrap();
        assert!(
            text[comment..].contains("\"response."),
            "{name}: before the end"
        );
        assert!(
            text.contains(r#""cost":123456789.012345678"#),
            "{name}: every digit"
        );
        for frame in data(&out).iter().filter_map(|frame| frame.get("response")) {
            assert_eq!(frame["id"], "resp_sealed", "{name}");
            assert_eq!(frame["model"], "public", "{name}");
            assert_eq!(
                frame["previous_response_id"],
                Value::Null,
                "{name}: there was none"
            );
        }
        let seals = text.matches("tlsig1rb7xxx").count();
        assert_eq!(seals > 0, text.contains("encrypted_content"), "{name}");
        let body = rewrite_response(FORMAT, &whole, &rewrite).unwrap();
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body["id"], "resp_sealed", "{name}");
        let bare = body.to_string().contains(r#""encrypted_content":"gAAA"#);
        assert!(!bare, "{name}");
    }
}

#[test]
fn bytes_that_need_no_change_stay_as_they_are() {
    let reader = Reader::new(FORMAT);
    for (name, bytes) in fixtures("streams", "sse") {
        for frame in frames(&[&bytes]) {
            let same = reader.rewrite(&frame, &Rewrite::default());
            assert_eq!(same, frame.raw, "{name}");
        }
    }
    let call = r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","arguments":"{\"encrypted_content\":\"x\"}","encrypted_content":"x"}}"#;
    let frame = Frame::of_data(call.as_bytes());
    let rewrite = Rewrite {
        channel: Some("7".to_owned()),
        ..Rewrite::default()
    };
    assert_eq!(
        reader.rewrite(&frame, &rewrite),
        frame.raw,
        "no seal of thoughts"
    );
    let spaced = b"{ \"id\":\"a\" , \"previous_response_id\": \"up\",  \"output\":[ ] }";
    let rewrite = Rewrite {
        previous: Some("mine".to_owned()),
        ..Rewrite::default()
    };
    let out = rewrite_response(FORMAT, spaced, &rewrite).unwrap();
    assert_eq!(
        out,
        &b"{ \"id\":\"a\" , \"previous_response_id\": \"mine\",  \"output\":[ ] }"[..]
    );
}

#[test]
fn failures_are_told_with_their_code() {
    let (_, seen, fine) = events(&[&fixture("streams", "failed", "sse")]);
    assert!(!fine);
    let error = seen.iter().find_map(FrameKind::error).unwrap();
    assert_eq!(error.code.as_deref(), Some("previous_response_not_found"));
    let (events, seen, fine) = events(&[&fixture("streams", "error", "sse")]);
    assert!(!fine);
    assert_eq!(
        seen.iter()
            .find_map(FrameKind::error)
            .unwrap()
            .code
            .as_deref(),
        Some("server_error")
    );
    assert!(matches!(events.last(), Some(Event::Error(_))));
    let failed = br#"{"id":"resp_1","status":"failed","error":{"code":"rate_limit_exceeded","message":"slow"},"output":[]}"#;
    for error in [
        read_response(FORMAT, failed).unwrap_err(),
        scan_response(FORMAT, failed).unwrap_err(),
    ] {
        let trunkline_wire::ResponseError::Upstream(error) = error else {
            panic!("a failure");
        };
        assert_eq!(error.code.as_deref(), Some("rate_limit_exceeded"));
    }
    assert!(scan_response(FORMAT, b"<html>").is_err());
    assert!(scan_response(FORMAT, br#"{"error":{"message":"no"}}"#).is_err());
}

#[test]
fn why_it_stopped_is_told_by_what_stands_in_it() {
    for (name, stop) in [
        ("text", Stop::End),
        ("tool", Stop::ToolUse),
        ("custom_tool", Stop::ToolUse),
        ("refusal", Stop::Refused),
        ("length", Stop::Length),
        ("filtered", Stop::Filtered),
    ] {
        let answer = read_response(FORMAT, &fixture("streams", name, "json")).unwrap();
        assert_eq!(answer.choices[0].stop, stop, "{name}");
    }
}
