//! What the fuzz targets share: the first bytes of an input choose formats and cuts, the rest is what
//! comes from outside. Every broken promise stops the target.

use trunkline_types::{Money, Units};
use trunkline_wire::canonical::{Event, Meter, NameRestorer, ReportedUsage, TranslationState};
use trunkline_wire::read_error;
use trunkline_wire::{
    Cost, ErrorBody, Format, FrameKind, Frames, Reader, ResponseMeta, Rewrite, StreamEnd, Tap,
    Writer,
};

/// Bytes that an answer may have beside a multiple of what came in: heads, ids and ends of a stream.
const FRAME_BYTES: usize = 16_384;
/// A piece of a few letters is a frame of a few hundred; nothing grows by more than this.
const MOST_GROWTH: usize = 256;

/// The bytes that choose, and the rest.
#[must_use]
pub fn chosen<const COUNT: usize>(data: &[u8]) -> Option<([u8; COUNT], &[u8])> {
    data.split_first_chunk().map(|(first, rest)| (*first, rest))
}

/// A format of a byte.
#[must_use]
pub fn format_of(byte: u8) -> Format {
    Format::ALL[usize::from(byte) % Format::ALL.len()]
}

/// Stops if more comes out than can be explained by what went in.
pub fn assert_bounded(what: &str, input: usize, output: usize) {
    let most = input
        .saturating_mul(MOST_GROWTH)
        .saturating_add(FRAME_BYTES);
    assert!(output <= most, "{what}: {input} bytes became {output}");
}

/// Cuts bytes into pieces: the first ends at `first`, the others have `step` bytes.
#[must_use]
pub fn cut(bytes: &[u8], first: u8, step: u8) -> Vec<&[u8]> {
    let (head, rest) = bytes.split_at(usize::from(first).min(bytes.len()));
    let mut pieces = vec![head];
    pieces.extend(rest.chunks(usize::from(step).max(1)));
    pieces
}

/// Everything that happens in a stream, and what each frame was.
#[must_use]
pub fn events_of(format: Format, pieces: &[&[u8]]) -> (Vec<Event>, Vec<FrameKind>, bool) {
    let mut reader = Reader::new(format);
    let (mut events, mut seen) = (Vec::new(), Vec::new());
    for frame in frames_of(pieces) {
        let one = reader.read(&frame, &mut events);
        // Nobody reads on from here.
        let ends = matches!(one, FrameKind::Error(_) | FrameKind::Invalid);
        seen.push(one);
        if ends {
            return (events, seen, false);
        }
    }
    let fine = reader.end(&mut events);
    (events, seen, fine)
}

/// Frames of pieces; those before a frame without an end, if there is one.
#[must_use]
pub fn frames_of(pieces: &[&[u8]]) -> Vec<trunkline_wire::Frame> {
    let mut frames = Frames::default();
    let mut found = Vec::new();
    for piece in pieces {
        frames.push(piece);
        loop {
            match frames.take() {
                Ok(Some(frame)) => found.push(frame),
                Ok(None) => break,
                Err(_) => return found,
            }
        }
    }
    found.extend(frames.rest());
    found
}

/// A stream that is passed on in its own format.
#[must_use]
pub fn passed_on(format: Format, pieces: &[&[u8]], exhausted: bool) -> Vec<u8> {
    let mut tap = Tap::new(format);
    let rewrite = Rewrite {
        model: Some("public".to_owned()),
        channel: Some("7".to_owned()),
        ..Rewrite::default()
    };
    let (mut held, mut out) = (Vec::new(), Vec::new());
    for frame in frames_of(pieces) {
        match tap.observe(&frame) {
            FrameKind::Content => out.extend_from_slice(&tap.rewrite(&frame, &rewrite)),
            FrameKind::Held | FrameKind::Last if held.len() < 32 => held.push(frame),
            FrameKind::Held | FrameKind::Last | FrameKind::Done | FrameKind::Empty => {}
            FrameKind::Error(_) | FrameKind::Invalid => return out,
        }
    }
    tap.may_end();
    let counted = tap.reported().unwrap_or_default();
    out.extend(tap.write_end(&held, &ending(counted, exhausted), "public", &rewrite));
    out
}

/// The stream that a caller of a format gets of these events.
#[must_use]
pub fn written(format: Format, events: &[Event], exhausted: bool) -> Vec<u8> {
    let mut restored = NameRestorer::new(TranslationState::default());
    let mut meter = Meter::default();
    let mut writer = Writer::new(format, shown());
    let (mut told, mut out) = (Vec::new(), Vec::new());
    for event in events {
        meter.observe(event);
        restored.pass(event.clone(), &mut told);
    }
    for event in &told {
        writer.write(event, &mut out);
    }
    let counted = meter.reported().cloned().unwrap_or_default();
    writer.finish(&ending(counted, exhausted), &mut out);
    out
}

/// What an answer is shown with.
#[must_use]
pub fn shown() -> ResponseMeta {
    ResponseMeta {
        model: "public".to_owned(),
        id: "0192".to_owned(),
        created: 1_760_000_000,
        wants_usage: true,
        channel: Some("7".to_owned()),
        request_body: None,
    }
}

/// A fault whose words come from outside.
#[must_use]
pub fn error_of(said: &[u8]) -> ErrorBody {
    let said = read_error(said);
    ErrorBody {
        status: 502,
        code: "upstream_failed".to_owned(),
        family: "upstream_error",
        message: format!("{said:?}"),
        param: None,
        request_id: "0192".to_owned(),
        retryable: true,
        doc_url: "docs/errors.md".to_owned(),
        retry_after: None,
        extras: serde_json::Map::new(),
    }
}

fn ending(counted: ReportedUsage, exhausted: bool) -> StreamEnd {
    StreamEnd {
        reported: counted,
        cost: Cost {
            total: Money::from_nanos(1_234_000),
            tier: "standard".to_owned(),
            units: Units::none(),
            cache_saving: None,
            tools: Vec::new(),
        },
        exhausted,
        wants_usage: true,
    }
}
