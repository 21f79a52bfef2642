//! The way of a conversation through the crate, as the gateway goes it: a request into another format,
//! an answer or a stream back to the caller.

use serde_json::{Map, Value};
use trunkline_types::{Money, Units};
use trunkline_wire::canonical::{
    Conversation, Event, Meter, NameRestorer, ReportedUsage, Target, TranslationState, Written,
};
use trunkline_wire::{
    Cost, ErrorBody, Format, Frame, FrameKind, Frames, Reader, ResponseError, ResponseMeta,
    Rewrite, StreamEnd, Tap, Writer, error_frame, read_response, rewrite_response, write_request,
    write_response,
};

/// The channel of every call here.
pub(crate) const CHANNEL: &str = "7";
/// Frames of an upstream that wait for the end at most.
const MAX_HELD: usize = 32;

/// Writes a conversation for an upstream of a format.
pub(crate) fn sent(to: Format, conversation: &Conversation) -> Written {
    let target = Target {
        model: "upstream-model",
        // Anthropic wants a length always.
        max_output: conversation
            .max_output
            .or((to == Format::ClaudeMessages).then_some(32_000)),
        // As its caller expects of it.
        thinks_by_effort: conversation.reasoning.effort.is_some(),
        channel: None,
        ..Target::default()
    };
    write_request(to, conversation, &target)
}

/// What the caller of a format gets for a whole answer.
pub(crate) fn answered(
    from: Format,
    to: Format,
    body: &[u8],
    state: &TranslationState,
) -> Result<Vec<u8>, ResponseError> {
    if from == to {
        trunkline_wire::scan_response(from, body)?;
        let renamed = rewrite_response(from, body, &rewrite());
        return Ok(renamed.map_or_else(|| body.to_vec(), |bytes| bytes.to_vec()));
    }
    let answer = state.restore(read_response(from, body)?);
    Ok(write_response(to, &answer, &meta(to)))
}

/// What the caller of a format gets for a stream, whatever pieces it comes in.
pub(crate) fn streamed(
    from: Format,
    to: Format,
    pieces: &[&[u8]],
    state: &TranslationState,
) -> Vec<u8> {
    if from == to {
        passed_on(from, pieces)
    } else {
        translated(from, to, pieces, state)
    }
}

/// Cuts pieces into frames.
pub(crate) fn frames(pieces: &[&[u8]]) -> Vec<Frame> {
    let mut frames = Frames::default();
    let mut found = Vec::new();
    for piece in pieces {
        frames.push(piece);
        while let Some(frame) = frames.take().unwrap() {
            found.push(frame);
        }
    }
    found.extend(frames.rest());
    found
}

/// What happens in a stream, and whether it came to its end.
pub(crate) fn events(from: Format, pieces: &[&[u8]]) -> (Vec<Event>, bool) {
    let mut reader = Reader::new(from);
    let mut events = Vec::new();
    for frame in frames(pieces) {
        match reader.read(&frame, &mut events) {
            FrameKind::Error(_) => return (events, false),
            FrameKind::Invalid => panic!("{}: {frame:?}", from.as_str()),
            FrameKind::Content
            | FrameKind::Held
            | FrameKind::Last
            | FrameKind::Done
            | FrameKind::Empty => {}
        }
    }
    let fine = reader.end(&mut events);
    (events, fine)
}

fn translated(from: Format, to: Format, pieces: &[&[u8]], state: &TranslationState) -> Vec<u8> {
    let (events, fine) = events(from, pieces);
    let mut restored = NameRestorer::new(state.clone());
    let mut meter = Meter::default();
    let mut writer = Writer::new(to, meta(to));
    let (mut produced, mut out) = (Vec::new(), Vec::new());
    for event in events {
        meter.observe(&event);
        restored.pass(event, &mut produced);
    }
    for event in &produced {
        writer.write(event, &mut out);
    }
    if fine {
        let reported = meter.reported().cloned().unwrap_or_default();
        writer.finish(&stream_end(reported), &mut out);
    } else {
        out.extend(error_frame(to, &sample()));
    }
    out
}

fn passed_on(format: Format, pieces: &[&[u8]]) -> Vec<u8> {
    let mut tap = Tap::new(format);
    let (mut held, mut out) = (Vec::new(), Vec::new());
    for frame in frames(pieces) {
        match tap.observe(&frame) {
            FrameKind::Content => out.extend_from_slice(&tap.rewrite(&frame, &rewrite())),
            FrameKind::Held | FrameKind::Last => held.push(frame),
            FrameKind::Done | FrameKind::Empty => {}
            FrameKind::Error(_) => {
                out.extend(error_frame(format, &sample()));
                return out;
            }
            FrameKind::Invalid => panic!("{}: {frame:?}", format.as_str()),
        }
    }
    assert!(held.len() <= MAX_HELD);
    assert!(tap.may_end(), "{}", format.as_str());
    let reported = tap.reported().unwrap_or_default();
    out.extend(tap.write_end(&held, &stream_end(reported), "public/model", &rewrite()));
    out
}

/// What an answer is shown with. Responses repeat what was asked.
pub(crate) fn meta(to: Format) -> ResponseMeta {
    let request_body = || {
        let mut request_body = Map::new();
        request_body.insert("temperature".to_owned(), Value::from(0.5));
        request_body
    };
    ResponseMeta {
        model: "public/model".to_owned(),
        id: "0192f0c1a2b3".to_owned(),
        created: 1_760_000_000,
        wants_usage: true,
        channel: Some(CHANNEL.to_owned()),
        request_body: (to == Format::OpenaiResponses).then(request_body),
    }
}

fn rewrite() -> Rewrite {
    Rewrite {
        model: Some("public/model".to_owned()),
        id: Some("resp_0192f0c1a2b3".to_owned()),
        previous: None,
        channel: Some(CHANNEL.to_owned()),
    }
}

fn stream_end(reported: ReportedUsage) -> StreamEnd {
    StreamEnd {
        reported,
        cost: Cost {
            total: Money::from_nanos(1_234_000),
            tier: "standard".to_owned(),
            units: Units::none(),
            cache_saving: None,
            tools: Vec::new(),
        },
        exhausted: false,
        wants_usage: true,
    }
}

fn sample() -> ErrorBody {
    ErrorBody {
        status: 502,
        code: "upstream_failed".to_owned(),
        family: "upstream_error",
        message: "the upstream broke off".to_owned(),
        param: None,
        request_id: "0192".to_owned(),
        retryable: true,
        doc_url: "docs/errors.md#upstream_failed".to_owned(),
        retry_after: None,
        extras: Map::new(),
    }
}

/// Whether committed files are to be written anew.
#[expect(
    clippy::disallowed_methods,
    reason = "a test that writes its own snapshots when told to"
)]
pub(crate) fn is_updating() -> bool {
    std::env::var_os("UPDATE").is_some_and(|it| it == "1")
}
