//! Streams of this format: read at every cut, written again, passed through, ended.

use serde_json::{Value, json};
use trunkline_wire::canonical::{Block, BlockDelta, BlockKind, Event, Response, Stop};
use trunkline_wire::{
    Format, Frame, FrameKind, Reader, Rewrite, StreamEnd, Tap, Writer, gemini, read_response,
    rewrite_response, scan_response, write_response,
};

use crate::gemini::fixtures::{collected, files, frames, json as parsed, meta, read, stream_end};

fn stream(name: &str) -> Vec<u8> {
    let found = files("streams", ".sse");
    let found = found.into_iter().find(|(known, _)| known == name);
    found.unwrap().1
}

fn reported(events: &[Event]) -> trunkline_wire::canonical::ReportedUsage {
    collected(events).reported.unwrap_or_default()
}

#[test]
fn a_stream_is_the_same_wherever_the_network_cut_it() {
    let fixtures = files("streams", ".sse");
    assert!(fixtures.len() >= 10, "{} fixtures", fixtures.len());
    for (name, bytes) in fixtures {
        let whole = read(&frames(&[&bytes]));
        assert!(!whole.events.is_empty(), "{name}");
        for cut in 0..=bytes.len() {
            let (one, two) = bytes.split_at(cut);
            let cut_up = read(&frames(&[one, two]));
            assert_eq!(cut_up.events, whole.events, "{name} cut at {cut}");
            assert_eq!(cut_up.seen, whole.seen, "{name} cut at {cut}");
        }
    }
}

#[test]
fn a_stream_tells_what_the_whole_answer_tells() {
    let whole = files("streams", ".json");
    assert!(whole.len() >= 12, "{} fixtures", whole.len());
    for (name, body) in whole {
        let streamed = read(&frames(&[&stream(&name)]));
        assert!(streamed.fine, "{name} ends as it may");
        let answer = read_response(Format::Gemini, &body).unwrap();
        assert_eq!(collected(&streamed.events), answer, "{name}");
        let seen = scan_response(Format::Gemini, &body).unwrap();
        assert_eq!(seen.reported, answer.reported, "{name}");
        assert_eq!(seen.id, "resp-1", "{name}");
    }
}

/// What does not come from the upstream's own names.
fn without_names(mut answer: Response) -> Response {
    answer.model.clear();
    answer
}

#[test]
fn a_stream_read_and_written_is_an_equal_stream() {
    for (name, bytes) in files("streams", ".sse") {
        if matches!(name.as_str(), "error" | "cut") {
            continue;
        }
        let first = read(&frames(&[&bytes]));
        let mut writer = Writer::new(Format::Gemini, meta(None));
        let mut out = Vec::new();
        first
            .events
            .iter()
            .for_each(|event| writer.write(event, &mut out));
        assert!(
            !out.windows(12).any(|bytes| bytes == b"finishReason"),
            "{name}: the end waits"
        );
        writer.finish(&stream_end(reported(&first.events), false), &mut out);
        let second = read(&frames(&[&out]));
        assert!(second.fine, "{name}");
        let expected = without_names(collected(&first.events));
        assert_eq!(without_names(collected(&second.events)), expected, "{name}");
        for frame in frames(&[&out]) {
            assert!(
                frame.raw.starts_with(b"data: {") && frame.raw.ends_with(b"}\n\n"),
                "{name}"
            );
            let chunk = parsed(frame.data.as_ref().unwrap());
            assert_eq!(chunk["modelVersion"], "public-name", "{name}");
            assert_eq!(chunk["responseId"], "resp-1", "{name}");
        }
    }
}

#[test]
fn a_whole_answer_read_and_written_is_an_equal_answer() {
    for (name, body) in files("streams", ".json") {
        let answer = read_response(Format::Gemini, &body).unwrap();
        let written = write_response(Format::Gemini, &answer, &meta(None));
        let repeated = read_response(Format::Gemini, &written).unwrap();
        assert_eq!(without_names(repeated), without_names(answer), "{name}");
    }
}

#[test]
fn calls_thoughts_and_stops_are_read_as_what_they_are() {
    let answer = |name: &str| collected(&read(&frames(&[&stream(name)])).events);
    let parallel = answer("parallel");
    let mut ids = Vec::new();
    for block in &parallel.choices[0].blocks {
        if let BlockKind::ToolCall(call) = &block.kind {
            ids.push(call.id.as_str());
        }
    }
    assert_eq!(ids, ["call_resp-1_0", "call_resp-1_1", "call_resp-1_2"]);
    assert_eq!(parallel.choices[0].stop, Stop::ToolUse);
    let tool = answer("tool");
    let BlockKind::ToolCall(call) = &tool.choices[0].blocks[0].kind else {
        panic!("a call");
    };
    assert_eq!(call.id, "fc-9");
    let seal = |block: &Block| block.signature.as_ref().map(|seal| seal.data.clone());
    assert_eq!(
        seal(&tool.choices[0].blocks[0]).as_deref(),
        Some("c2VhbA==")
    );
    let thinking = answer("thinking");
    assert!(
        matches!(&thinking.choices[0].blocks[0].kind, BlockKind::Thinking(thoughts) if thoughts.texts == ["**Plan**\nthen do"])
    );
    assert_eq!(
        seal(&thinking.choices[0].blocks[1]).as_deref(),
        Some("c2lnbg==")
    );
    assert_eq!(thinking.reported.unwrap().reasoning, Some(9));
    for (name, stop) in [
        ("length", Stop::Length),
        ("safety", Stop::Filtered),
        ("blocked", Stop::Filtered),
        (
            "malformed",
            Stop::Other("MALFORMED_FUNCTION_CALL".to_owned()),
        ),
        ("text", Stop::End),
    ] {
        assert_eq!(answer(name).choices[0].stop, stop, "{name}");
    }
    assert_eq!(answer("blocked").choices[0].blocks, []);
    let citations = answer("citations");
    let BlockKind::Text(words) = &citations.choices[0].blocks[0].kind else {
        panic!("words");
    };
    assert_eq!(words.citations.len(), 2);
    let choices = answer("two_choices").choices;
    assert_eq!(choices[1].blocks[0].as_text(), Some("xyz"));
}

#[test]
fn the_end_waits_for_the_charge_and_says_what_it_cost() {
    for (name, bytes) in files("streams", ".sse") {
        if matches!(name.as_str(), "error" | "cut") {
            continue;
        }
        let mut tap = Tap::new(Format::Gemini);
        let (mut passed, mut held) = (Vec::new(), Vec::new());
        let rewrite = Rewrite {
            model: Some("public-name".to_owned()),
            ..Rewrite::default()
        };
        for frame in frames(&[&bytes]) {
            match tap.observe(&frame) {
                FrameKind::Content => passed.extend_from_slice(&tap.rewrite(&frame, &rewrite)),
                FrameKind::Held => held.push(frame),
                FrameKind::Empty => {}
                other @ (FrameKind::Last
                | FrameKind::Done
                | FrameKind::Error(_)
                | FrameKind::Invalid) => {
                    panic!("{name}: {other:?}")
                }
            }
        }
        assert!(tap.may_end(), "{name}");
        assert_eq!(held.len(), 1, "{name}");
        let reported = tap.reported().unwrap();
        let last = tap.write_end(&held, &stream_end(reported, false), "public-name", &rewrite);
        passed.extend_from_slice(&last);
        let read = read(&frames(&[&passed]));
        assert_eq!(read.seen.last(), Some(&FrameKind::Held), "{name}");
        let chunk = parsed(frames(&[&last])[0].data.as_ref().unwrap());
        assert_eq!(
            chunk["usageMetadata"]["cost"].to_string(),
            "0.001234567",
            "{name}"
        );
        assert_eq!(
            chunk["usageMetadata"]["cost_details"]["tier"], "default",
            "{name}"
        );
        let upstream = parsed(held[0].data.as_ref().unwrap());
        let total = &upstream["usageMetadata"]["totalTokenCount"];
        assert_eq!(&chunk["usageMetadata"]["totalTokenCount"], total, "{name}");
        assert_eq!(chunk["modelVersion"], "public-name", "{name}");
        assert!(
            !passed.contains(&b'#') && !passed.windows(2).any(|two| two == b"\n:"),
            "{name}"
        );
    }
}

// covers: D-2-53
#[test]
fn a_stream_whose_money_runs_out_ends_at_its_length() {
    let bytes = stream("two_choices");
    let all = frames(&[&bytes]);
    let mut reader = Reader::new(Format::Gemini);
    let mut events = Vec::new();
    reader.read(&all[0], &mut events);
    let spent = reported(&events);
    let out = reader.write_end(&[], &stream_end(spent.clone(), true), &Rewrite::default());
    let last = parsed(frames(&[&out])[0].data.as_ref().unwrap());
    let reasons: Vec<&Value> = last["candidates"]
        .as_array()
        .unwrap()
        .iter()
        .map(|candidate| &candidate["finishReason"])
        .collect();
    assert_eq!(reasons, ["MAX_TOKENS", "MAX_TOKENS"], "both are open");
    assert_eq!(last["usageMetadata"]["promptTokenCount"], 5);
    assert_eq!(last["modelVersion"], "gemini-upstream");
    let mut writer = Writer::new(Format::Gemini, meta(None));
    let mut out = Vec::new();
    let call = read(&frames(&[&stream("tool")])).events;
    call.iter()
        .take(3)
        .for_each(|event| writer.write(event, &mut out));
    writer.finish(&stream_end(spent, true), &mut out);
    let frames = frames(&[&out]);
    assert_eq!(frames.len(), 1, "half a call is none");
    let last = parsed(frames[0].data.as_ref().unwrap());
    assert_eq!(last["candidates"][0]["finishReason"], "MAX_TOKENS");
}

#[test]
fn a_stream_that_breaks_off_or_fails_is_told_apart_from_one_that_ended() {
    let cut = read(&frames(&[&stream("cut")]));
    assert!(!cut.fine);
    assert!(cut.seen.iter().all(|seen| *seen == FrameKind::Content));
    let closed = cut
        .events
        .iter()
        .filter(|event| matches!(event, Event::BlockEnd(_)));
    assert_eq!(closed.count(), 1, "what is open is closed");
    let failed = read(&frames(&[&stream("error")]));
    let Some(FrameKind::Error(error)) = failed.seen.last() else {
        panic!("it failed");
    };
    assert_eq!(error.code.as_deref(), Some("UNAVAILABLE"));
    assert_eq!(error.message, "The model is overloaded.");
    assert!(matches!(failed.events.last(), Some(Event::BlockEnd(_))));
    let listed = frames(&[b"data: [{\"error\":{\"code\":429,\"message\":\"slow\",\"status\":\"RESOURCE_EXHAUSTED\"}}]\n\n"]);
    assert!(matches!(read(&listed).seen[0], FrameKind::Error(_)));
    let document = frames(&[b"{\"error\":{\"code\":400,\"message\":\"bad\"}}"]);
    assert!(matches!(read(&document).seen[0], FrameKind::Error(_)));
    assert_eq!(
        read(&frames(&[b"data: <html>\n\n"])).seen,
        [FrameKind::Invalid]
    );
    assert!(!read(&[]).fine, "nothing is no answer");
    let beat = frames(&[gemini::HEARTBEAT]);
    assert_eq!(read(&beat).seen, [FrameKind::Empty]);
    assert_eq!(read(&beat).events, [Event::Ping]);
}

#[test]
fn seals_are_marked_where_they_are_seals_and_nothing_else_changes() {
    let rewrite = Rewrite {
        channel: Some("7".to_owned()),
        ..Rewrite::default()
    };
    let whole = files("streams", ".json");
    for (name, body) in &whole {
        let Some(marked) = rewrite_response(Format::Gemini, body, &rewrite) else {
            assert!(
                !String::from_utf8_lossy(body).contains("thoughtSignature\": \""),
                "{name}"
            );
            continue;
        };
        let text = String::from_utf8(marked.to_vec()).unwrap();
        let answer = read_response(Format::Gemini, text.as_bytes()).unwrap();
        let blocks = answer.choices.iter().flat_map(|choice| &choice.blocks);
        // Thoughts without one have an empty seal, which only says whose they are.
        let seals = blocks.filter_map(|block| block.signature.as_ref());
        let seals: Vec<_> = seals.filter(|seal| !seal.data.is_empty()).collect();
        assert!(!seals.is_empty(), "{name}");
        for seal in seals {
            assert_eq!(seal.channel.as_deref(), Some("7"), "{name}");
            assert!(seal.belongs_to(Format::Gemini, Some("7")), "{name}");
        }
        let bare = text.replace("tlsig1gb7xxx", "");
        assert_eq!(parsed(bare.as_bytes()), parsed(body), "{name}");
    }
    let (_, tool) = whole.iter().find(|(name, _)| name == "tool").unwrap();
    let marked = parsed(&rewrite_response(Format::Gemini, tool, &rewrite).unwrap());
    let call = &marked["candidates"][0]["content"]["parts"][0];
    assert_eq!(
        call["functionCall"]["args"]["thoughtSignature"],
        "not a seal"
    );
    assert_eq!(call["thoughtSignature"], "tlsig1gb7xxxc2VhbA==");
    let plain = Frame::of_data(br#"{ "candidates" : [ {"content":{"parts":[{"text":"a"}]}} ] }"#);
    let reader = Reader::new(Format::Gemini);
    assert_eq!(
        reader.rewrite(&plain, &rewrite),
        plain.raw,
        "no byte changes"
    );
    let named = Rewrite {
        model: Some("mine".to_owned()),
        ..Rewrite::default()
    };
    let frame = Frame::of_data(br#"{ "modelVersion" : "x", "z": 1.50 }"#);
    assert_eq!(
        reader.rewrite(&frame, &named).as_ref(),
        b"data: { \"modelVersion\" : \"mine\", \"z\": 1.50 }\n\n"
    );
}

#[test]
fn seals_of_others_travel_through_this_format_and_come_home() {
    let seal = trunkline_wire::canonical::Signature {
        channel: Some("3".to_owned()),
        ..trunkline_wire::canonical::Signature::of(Format::ClaudeMessages, "c2xk".to_owned())
    };
    let at = trunkline_wire::canonical::BlockIndex::default();
    let events = [
        Event::BlockStart(
            at,
            trunkline_wire::canonical::BlockStart::Thinking(None, false),
        ),
        Event::BlockDelta(at, BlockDelta::Text("hm".to_owned())),
        Event::BlockDelta(at, BlockDelta::Text("hm".to_owned())),
        Event::BlockDelta(at, BlockDelta::Signature(seal.clone())),
        Event::BlockEnd(at),
        Event::Stop(0, Stop::End),
    ];
    let mut writer = Writer::new(Format::Gemini, meta(Some("9")));
    let mut out = Vec::new();
    events
        .iter()
        .for_each(|event| writer.write(event, &mut out));
    let text = String::from_utf8(out.clone()).unwrap();
    assert!(text.contains("tlsig1mb3xxxc2xk"), "{text}");
    let back = collected(&read(&frames(&[&out])).events);
    assert_eq!(back.choices[0].blocks[0].signature, Some(seal.clone()));
    let parts: Vec<Value> = frames(&[&out])
        .iter()
        .map(|frame| parsed(frame.data.as_ref().unwrap()))
        .map(|chunk| chunk["candidates"][0]["content"]["parts"][0].clone())
        .collect();
    let body = json!({ "contents": [{ "role": "model", "parts": parts }] });
    let request = crate::gemini::fixtures::request(body.to_string().as_bytes(), false).unwrap();
    let turn = &request.canonical().unwrap().turns[0];
    assert_eq!(turn.blocks.len(), 1, "the pieces are one again");
    assert!(
        matches!(&turn.blocks[0].kind, BlockKind::Thinking(thoughts) if thoughts.texts == ["hmhm"])
    );
    assert_eq!(turn.blocks[0].signature, Some(seal));
}

#[test]
fn odd_orders_of_events_are_written_without_a_stumble() {
    use trunkline_wire::canonical::{BlockIndex, BlockStart, ToolCall, ToolName};
    let at = |block| BlockIndex { choice: 0, block };
    let call = ToolCall {
        id: "x".to_owned(),
        tool: ToolName::plain("f"),
        ..ToolCall::default()
    };
    let events = [
        Event::BlockDelta(at(9), BlockDelta::Text("nowhere".to_owned())),
        Event::BlockStart(at(0), BlockStart::ToolCall(call.clone())),
        Event::BlockDelta(at(0), BlockDelta::Text("not for calls".to_owned())),
        Event::BlockDelta(at(0), BlockDelta::Arguments("{\"a\":".to_owned())),
        Event::BlockDelta(at(0), BlockDelta::Arguments("1}".to_owned())),
        Event::Stop(0, Stop::ToolUse),
        Event::BlockEnd(at(0)),
        Event::BlockDelta(at(0), BlockDelta::Arguments("late".to_owned())),
        Event::BlockStart(
            at(1),
            BlockStart::Foreign(Format::ClaudeMessages, json!({})),
        ),
        Event::BlockStart(at(1), BlockStart::ToolCall(call)),
    ];
    let mut writer = Writer::new(Format::Gemini, meta(None));
    let mut out = Vec::new();
    events
        .iter()
        .for_each(|event| writer.write(event, &mut out));
    let none: StreamEnd = stream_end(trunkline_wire::canonical::ReportedUsage::default(), false);
    writer.finish(&none, &mut out);
    let parts: Vec<Value> = frames(&[&out])
        .iter()
        .map(|frame| {
            parsed(frame.data.as_ref().unwrap())["candidates"][0]["content"]["parts"][0].clone()
        })
        .collect();
    assert_eq!(
        parts,
        [
            json!({ "functionCall": { "id": "x", "name": "f", "args": { "a": 1 } } }),
            json!({ "functionCall": { "id": "x", "name": "f", "args": {} } }),
            json!({ "text": "" }),
        ]
    );
}
