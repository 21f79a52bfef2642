//! Streams: the same events wherever the bytes are cut, the same answer as the whole one, and the same
//! stream when it is written again.

use trunkline_types::Bucket;
use trunkline_wire::canonical::{Accumulator, BlockKind, Event, ReportedUsage, Response};
use trunkline_wire::{FrameKind, read_response};

use crate::claude_messages::support::{
    BROKEN, OWN, STREAMS, data, meta, read, stream_end, written,
};

fn collected(events: &[Event]) -> Response {
    let mut collected = Accumulator::default();
    events.iter().for_each(|event| collected.observe(event));
    collected.answer()
}

/// Arguments are compared as JSON: a stream has the spaces that the model wrote.
fn without_spaces(mut answer: Response) -> Response {
    for block in answer.choices.iter_mut().flat_map(|one| &mut one.blocks) {
        if let BlockKind::ToolCall(call) = &mut block.kind {
            let value: serde_json::Value = serde_json::from_str(&call.arguments).unwrap();
            call.arguments = value.to_string();
        }
    }
    answer
}

#[test]
fn events_are_the_same_wherever_the_bytes_are_cut() {
    let broken = ("error_inside", BROKEN, "");
    for (name, stream, _) in STREAMS.iter().copied().chain([broken]) {
        let bytes = stream.as_bytes();
        let (whole, seen, fine) = read(&[bytes]);
        assert_eq!(fine, name != "error_inside", "{name}");
        for cut in 0..bytes.len() {
            let (before, behind) = bytes.split_at(cut);
            let cut_once = read(&[before, behind]);
            assert_eq!(cut_once.0, whole, "{name} cut at {cut}");
            assert_eq!(cut_once.1, seen, "{name} cut at {cut}");
        }
        let bytewise: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(read(&bytewise).0, whole, "{name} byte by byte");
    }
}

#[test]
fn a_stream_tells_the_same_as_the_whole_answer() {
    for (name, stream, answer) in STREAMS {
        let (events, _, _) = read(&[stream.as_bytes()]);
        let whole = read_response(OWN, answer.as_bytes()).unwrap();
        assert_eq!(
            without_spaces(collected(&events)),
            without_spaces(whole),
            "{name}"
        );
    }
}

#[test]
fn a_stream_that_is_written_again_tells_the_same() {
    for (name, stream, _) in STREAMS {
        let (events, _, _) = read(&[stream.as_bytes()]);
        let answer = collected(&events);
        let stream_end = stream_end(answer.reported.clone().unwrap(), false);
        let repeated = written(&events, meta(None), &stream_end);
        let (events_again, seen, fine) = read(&[repeated.as_bytes()]);
        assert!(fine, "{name}");
        assert!(!seen.contains(&FrameKind::Invalid), "{name}");
        let mut repeated = collected(&events_again);
        assert_eq!(repeated.id, "msg_abc");
        assert_eq!(repeated.model, "public");
        repeated.id.clone_from(&answer.id);
        repeated.model.clone_from(&answer.model);
        assert_eq!(
            without_cache_zeros(repeated),
            without_cache_zeros(answer),
            "{name}"
        );
    }
}

/// Usage that we write tells every bucket, also those that the upstream left out.
fn without_cache_zeros(mut answer: Response) -> Response {
    use trunkline_types::Usage;
    let all = [
        Bucket::PlainInput,
        Bucket::CacheRead,
        Bucket::CacheWrite5m,
        Bucket::CacheWrite1h,
        Bucket::PlainOutput,
    ];
    let reported = answer.reported.take().unwrap();
    let nonzero = all.into_iter().filter(|bucket| reported.of(*bucket) > 0);
    let usage = nonzero.fold(Usage::unknown(), |usage, bucket| {
        usage.with(bucket, reported.of(bucket))
    });
    answer.reported = Some(ReportedUsage {
        usage,
        reasoning: reported.reasoning,
    });
    answer
}

#[test]
fn a_written_stream_has_the_grammar_of_the_format() {
    for (name, stream, _) in STREAMS {
        let (events, _, _) = read(&[stream.as_bytes()]);
        let stream_end = stream_end(collected(&events).reported.unwrap(), false);
        let repeated = written(&events, meta(None), &stream_end);
        grammar(name, &repeated);
    }
}

/// One block after the other, each numbered, between the beginning and the end.
fn grammar(name: &str, stream: &str) {
    let data: Vec<_> = data(stream)
        .into_iter()
        .filter(|event| event["type"] != "ping")
        .collect();
    let kinds: Vec<&str> = data
        .iter()
        .map(|one| one["type"].as_str().unwrap())
        .collect();
    assert_eq!(kinds[0], "message_start", "{name}");
    assert_eq!(
        kinds[kinds.len() - 2..],
        ["message_delta", "message_stop"],
        "{name}"
    );
    let mut next = 0;
    let mut open = None;
    for (event, kind) in data[1..data.len() - 2].iter().zip(&kinds[1..]) {
        let index = event["index"].as_u64().unwrap();
        match *kind {
            "content_block_start" => {
                assert_eq!((open, index), (None, next), "{name}");
                open = Some(index);
                next += 1;
            }
            "content_block_delta" => assert_eq!(open, Some(index), "{name}"),
            "content_block_stop" => assert_eq!(open.take(), Some(index), "{name}"),
            other => panic!("{name}: {other} in the middle"),
        }
    }
    assert_eq!(open, None, "{name}");
    for line in stream.lines().filter(|line| line.starts_with("event: ")) {
        let kind = line.trim_start_matches("event: ");
        assert!(stream.contains(&format!("\"type\":\"{kind}\"")) || kind == "ping");
    }
}

#[test]
fn an_error_inside_a_stream_is_told_and_the_stream_may_not_end_there() {
    let (events, seen, fine) = read(&[BROKEN.as_bytes()]);
    let Some(FrameKind::Error(error)) = seen.last() else {
        panic!("{seen:?}");
    };
    assert_eq!(error.code.as_deref(), Some("overloaded_error"));
    assert_eq!(error.message, "Overloaded");
    assert!(events.contains(&Event::Error(error.clone())));
    assert!(!fine);
    assert!(matches!(events.last(), Some(Event::BlockEnd(_))), "closed");
}

#[test]
fn frames_are_held_passed_on_or_nothing() {
    let (_, stream, _) = STREAMS.iter().find(|one| one.0 == "text").unwrap();
    let (_, seen, _) = read(&[stream.as_bytes()]);
    let expected = [
        FrameKind::Content,
        FrameKind::Empty,
        FrameKind::Content,
        FrameKind::Content,
        FrameKind::Content,
        FrameKind::Content,
        FrameKind::Content,
        FrameKind::Held,
        FrameKind::Done,
    ];
    assert_eq!(seen, expected);
    for (frame, expected) in [
        (": comment\n\n", FrameKind::Empty),
        ("data: [DONE]\n\n", FrameKind::Empty),
        ("data: {\"type\":\"of_tomorrow\"}\n\n", FrameKind::Content),
        ("data: {}\n\n", FrameKind::Invalid),
        ("data: <html>\n\n", FrameKind::Invalid),
        (
            "data: {\"type\":\"content_block_start\"}\n\n",
            FrameKind::Invalid,
        ),
    ] {
        assert_eq!(read(&[frame.as_bytes()]).1, [expected], "{frame}");
    }
}

#[test]
fn usage_at_the_beginning_tells_the_input_and_not_the_output() {
    let (_, stream, _) = STREAMS.iter().find(|one| one.0 == "caches").unwrap();
    let cut = stream.find("event: message_delta").unwrap();
    let (events, _, fine) = read(&[&stream.as_bytes()[..cut]]);
    assert!(!fine, "no reason, no end");
    let mut meter = trunkline_wire::canonical::Meter::default();
    events.iter().for_each(|event| meter.observe(event));
    assert_eq!(meter.reported(), None);
    let input = meter.reported_input().unwrap();
    let buckets = [
        Bucket::PlainInput,
        Bucket::CacheRead,
        Bucket::CacheWrite5m,
        Bucket::CacheWrite1h,
    ];
    let tokens = buckets.map(|bucket| input.reported(bucket).unwrap_or(0));
    assert_eq!(tokens.iter().sum::<u64>(), 2_104);
    assert!(tokens[1] > 0, "cache reads are reported apart");
    assert_eq!(input.reported(Bucket::PlainOutput), None);
    assert!(meter.written() > 0);
    let (events, _, _) = read(&[stream.as_bytes()]);
    events.iter().for_each(|event| meter.observe(event));
    let reported = meter.reported().unwrap();
    assert_eq!((reported.input(), reported.output()), (2_104, 7));
    assert_eq!(reported.cache_writes(), 100);
}
