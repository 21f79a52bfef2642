//! Streams and answers that are passed on in their own format: what changes, and how they end.

use serde_json::Value;
use trunkline_types::Bucket;
use trunkline_wire::canonical::ReportedUsage;
use trunkline_wire::{FrameKind, Rewrite, Tap, heartbeat, rewrite_response};

use crate::claude_messages::support::{BROKEN, OWN, STREAMS, data, frames, read, stream_end};

fn renamed(channel: Option<&str>) -> Rewrite {
    Rewrite {
        model: Some("public".to_owned()),
        channel: channel.map(ToOwned::to_owned),
        ..Rewrite::default()
    }
}

fn stream_of(name: &str) -> &'static str {
    let (_, stream, _) = STREAMS.iter().find(|one| one.0 == name).unwrap();
    stream
}

/// Passes a stream on as the gateway does, up to some frame.
fn passed(stream: &str, most: usize, exhausted: bool, rewrite: &Rewrite) -> String {
    let mut tap = Tap::new(OWN);
    let mut out = Vec::new();
    let mut held = Vec::new();
    for frame in frames(&[stream.as_bytes()]).iter().take(most) {
        match tap.observe(frame) {
            FrameKind::Content | FrameKind::Empty => {
                out.extend_from_slice(&tap.rewrite(frame, rewrite))
            }
            FrameKind::Held => held.push(frame.clone()),
            FrameKind::Done => {}
            other @ (FrameKind::Last | FrameKind::Error(_) | FrameKind::Invalid) => {
                panic!("{other:?}")
            }
        }
    }
    let reported = tap.reported().unwrap_or_default();
    let stream_end = stream_end(reported, exhausted);
    out.extend_from_slice(&tap.write_end(&held, &stream_end, "public", rewrite));
    String::from_utf8(out).unwrap()
}

#[test]
fn a_stream_is_passed_on_with_its_model_renamed_and_its_cost_told() {
    for (name, stream, _) in STREAMS {
        let out = passed(stream, usize::MAX, false, &renamed(None));
        let mut before = data(stream);
        let mut after = data(&out);
        assert_eq!(after[0]["message"]["model"], "public", "{name}");
        before[0]["message"]["model"].take();
        after[0]["message"]["model"].take();
        let place = after.len() - 2;
        let usage = after[place]["usage"].as_object_mut().unwrap();
        assert_eq!(
            usage.remove("cost").unwrap().to_string(),
            "0.001234",
            "{name}"
        );
        assert_eq!(usage.remove("cost_details").unwrap()["tier"], "standard");
        assert_eq!(after, before, "{name}");
        let comment = out.find(": trunkline-cost-usd=0.001234\n\n").unwrap();
        let last = out.find("event: message_stop").unwrap();
        assert!(comment < last && out.find("event: message_delta").unwrap() < comment);
    }
}

#[test]
fn bytes_that_need_no_change_stay_as_they_are() {
    let stream = stream_of("text");
    let out = passed(stream, usize::MAX, false, &Rewrite::default());
    let end = stream.find("event: message_delta").unwrap();
    assert_eq!(&out[..end], &stream[..end]);
    for (name, _, answer) in STREAMS {
        let same = rewrite_response(OWN, answer.as_bytes(), &Rewrite::default());
        assert_eq!(same, None, "{name}");
        let renamed = rewrite_response(OWN, answer.as_bytes(), &renamed(None)).unwrap();
        let expected = answer.replacen("\"claude-up\"", "\"public\"", 1);
        assert_eq!(renamed, expected.as_bytes(), "{name}");
    }
}

#[test]
fn seals_are_marked_with_their_channel_and_only_seals() {
    for name in ["thinking", "thinking_omitted", "redacted_thinking"] {
        let out = passed(stream_of(name), usize::MAX, false, &renamed(Some("17")));
        for event in data(&out) {
            let seals = [
                event.pointer("/delta/signature"),
                event.pointer("/content_block/data"),
            ];
            for seal in seals.into_iter().flatten() {
                let seal = seal.as_str().unwrap();
                assert!(seal.starts_with("tlsig1mc17xxE"), "{seal}");
            }
        }
        assert!(out.contains("tlsig1mc17xx"), "{name}");
    }
    let odd = r#"{"type":"message","model":"public", "content":[ {"type":"tool_use","id":"t","name":"n","input":{"signature":"s","type":"thinking","data":"d"}} ,
        {"type":"thinking" ,"thinking":"signature","signature":"real"},{"type":"text","text":"redacted_thinking"}]}"#;
    let marked = rewrite_response(OWN, odd.as_bytes(), &renamed(Some("17"))).unwrap();
    let expected = odd.replace("\"real\"", "\"tlsig1mc17xxreal\"");
    assert_eq!(marked, expected.as_bytes(), "every other byte stays");
    let delta = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"signature\\\":\"}}\n\n";
    let frame = &frames(&[delta.as_bytes()])[0];
    let tap = Tap::new(OWN);
    assert_eq!(tap.rewrite(frame, &renamed(Some("17"))), delta.as_bytes());
}

// covers: D-2-51
#[test]
fn a_stream_whose_money_runs_out_ends_as_one_that_reached_its_length() {
    for (name, stream, _) in STREAMS {
        let count = frames(&[stream.as_bytes()]).len();
        for most in 0..count - 2 {
            let out = passed(stream, most, true, &renamed(None));
            let (events, seen, fine) = read(&[out.as_bytes()]);
            assert!(fine, "{name} after {most}");
            assert!(!seen.contains(&FrameKind::Invalid), "{name} after {most}");
            let data = data(&out);
            let end = &data[data.len() - 2];
            assert_eq!(
                end["delta"]["stop_reason"], "max_tokens",
                "{name} after {most}"
            );
            assert!(end["usage"]["cost"].is_number());
            let count = |kind: &str| {
                let is_kind = |event: &&Value| event["type"] == kind;
                data.iter().filter(is_kind).count()
            };
            assert_eq!(count("message_start"), 1);
            assert_eq!(count("content_block_start"), count("content_block_stop"));
            assert!(!events.is_empty());
        }
    }
}

#[test]
fn an_upstream_that_says_nothing_of_usage_is_given_ours() {
    let stream = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\"}}\n\nevent: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\n";
    let out = passed(stream, usize::MAX, false, &Rewrite::default());
    let data = data(&out);
    assert_eq!(data[1]["usage"]["output_tokens"], 0);
    assert!(data[1]["usage"]["cost"].is_number());
    assert_eq!(data[2]["type"], "message_stop");
    let without_end = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{}}\n\n";
    let out = passed(without_end, usize::MAX, false, &Rewrite::default());
    assert!(out.contains("\"stop_reason\":\"end_turn\""));
}

#[test]
fn a_tap_counts_the_output_if_the_upstream_reports_no_usage() {
    let mut tap = Tap::new(OWN);
    for frame in &frames(&[BROKEN.as_bytes()]) {
        tap.observe(frame);
    }
    assert_eq!(tap.reported(), None::<ReportedUsage>);
    let input = tap.reported_input().unwrap();
    assert_eq!(input.reported(Bucket::PlainInput), Some(9));
    assert_eq!((tap.written(), tap.id()), (1, "msg_01"));
    assert!(!tap.may_end());
}

#[test]
fn a_sign_of_life_is_a_ping_that_we_read_as_nothing() {
    let (_, seen, _) = read(&[heartbeat(OWN)]);
    assert_eq!(seen, [FrameKind::Empty]);
}
