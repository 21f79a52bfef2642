//! What the tests of this format share.

use std::path::{Path, PathBuf};

use serde_json::Value;
use trunkline_types::{Bucket, Money, Units, Usage};
use trunkline_wire::canonical::{Event, ReportedUsage};
use trunkline_wire::{Cost, Format, Frame, FrameKind, Frames, Reader, ResponseMeta, StreamEnd};

pub(crate) const FORMAT: Format = Format::OpenaiResponses;

/// Fixtures of a folder that end so, with their names.
pub(crate) fn fixtures(folder: &str, stream_end: &str) -> Vec<(String, Vec<u8>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = root.join("tests/it/openai_responses").join(folder);
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|found| found == stream_end))
        .collect();
    paths.sort();
    let read = |path: &PathBuf| {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        (name, std::fs::read(path).unwrap())
    };
    paths.iter().map(read).collect()
}

pub(crate) fn fixture(folder: &str, name: &str, stream_end: &str) -> Vec<u8> {
    let all = fixtures(folder, stream_end);
    let found = all.into_iter().find(|(known, _)| known == name);
    found.unwrap_or_else(|| panic!("no fixture {name}")).1
}

/// The frames of pieces of a stream.
pub(crate) fn frames(pieces: &[&[u8]]) -> Vec<Frame> {
    let mut cutter = Frames::default();
    let mut found = Vec::new();
    for piece in pieces {
        cutter.push(piece);
        while let Some(frame) = cutter.take().unwrap() {
            found.push(frame);
        }
    }
    found.extend(cutter.rest());
    found
}

/// What happens in a stream, and what its frames are.
pub(crate) fn events(pieces: &[&[u8]]) -> (Vec<Event>, Vec<FrameKind>, bool) {
    let mut reader = Reader::new(FORMAT);
    let mut events = Vec::new();
    let seen = frames(pieces)
        .iter()
        .map(|frame| reader.read(frame, &mut events))
        .collect();
    let fine = reader.end(&mut events);
    (events, seen, fine)
}

/// The JSON of the frames of a stream that was written.
pub(crate) fn data(bytes: &[u8]) -> Vec<Value> {
    let found = frames(&[bytes]);
    let with_data = found.iter().filter_map(|frame| frame.data.as_ref());
    with_data
        .map(|data| serde_json::from_slice(data).unwrap())
        .collect()
}

pub(crate) fn stream_end(exhausted: bool) -> StreamEnd {
    let usage = Usage::unknown()
        .with(Bucket::PlainInput, 7)
        .with(Bucket::CacheRead, 3)
        .with(Bucket::PlainOutput, 5);
    StreamEnd {
        reported: ReportedUsage {
            usage,
            reasoning: Some(2),
        },
        cost: Cost {
            total: Money::from_nanos(123_456_789_012_345_678),
            tier: "standard".to_owned(),
            units: Units::none(),
            cache_saving: None,
            tools: Vec::new(),
        },
        exhausted,
        wants_usage: false,
    }
}

pub(crate) fn meta(request_body: Value) -> ResponseMeta {
    ResponseMeta {
        model: "public".to_owned(),
        id: "abc".to_owned(),
        created: 1_762_000_001,
        wants_usage: false,
        channel: Some("7".to_owned()),
        request_body: request_body.as_object().cloned(),
    }
}
