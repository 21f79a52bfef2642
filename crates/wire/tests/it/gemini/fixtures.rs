//! Fixture files, and the small steps that all tests take with them.

use std::path::{Path, PathBuf};

use bytes::Bytes;
use serde_json::Value;
use trunkline_types::{Money, Units};
use trunkline_wire::canonical::{Accumulator, Event, ReportedUsage};
use trunkline_wire::{
    Cost, Format, Frame, FrameKind, Frames, PathParams, Reader, Request, RequestError,
    ResponseMeta, StreamEnd,
};

pub(crate) fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/it/gemini")
        .join(name)
}

/// The files of a folder with an ending, by their names without it.
pub(crate) fn files(name: &str, stream_end: &str) -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(folder(name)).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut found: Vec<(String, Vec<u8>)> = paths
        .filter_map(|path| {
            let file = path
                .file_name()?
                .to_str()?
                .strip_suffix(stream_end)?
                .to_owned();
            (!file.contains('.')).then(|| (file, std::fs::read(&path).unwrap()))
        })
        .collect();
    found.sort();
    found
}

pub(crate) fn request(body: &[u8], stream: bool) -> Result<Request, RequestError> {
    let path = PathParams {
        model: Some("gemini-x"),
        stream,
    };
    Request::read(Format::Gemini, Bytes::copy_from_slice(body), path)
}

pub(crate) fn json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

/// The frames of a stream that comes in pieces.
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

pub(crate) struct Read {
    pub(crate) events: Vec<Event>,
    pub(crate) seen: Vec<FrameKind>,
    pub(crate) fine: bool,
}

pub(crate) fn read(frames: &[Frame]) -> Read {
    let mut reader = Reader::new(Format::Gemini);
    let mut events = Vec::new();
    let seen = frames.iter().map(|frame| reader.read(frame, &mut events));
    let seen = seen.collect();
    let fine = reader.end(&mut events);
    Read { events, seen, fine }
}

pub(crate) fn collected(events: &[Event]) -> trunkline_wire::canonical::Response {
    let mut collected = Accumulator::default();
    events.iter().for_each(|event| collected.observe(event));
    collected.answer()
}

pub(crate) fn meta(channel: Option<&str>) -> ResponseMeta {
    ResponseMeta {
        model: "public-name".to_owned(),
        id: "resp-1".to_owned(),
        created: 7,
        channel: channel.map(ToOwned::to_owned),
        ..ResponseMeta::default()
    }
}

pub(crate) fn stream_end(reported: ReportedUsage, exhausted: bool) -> StreamEnd {
    StreamEnd {
        reported,
        cost: Cost {
            total: Money::from_nanos(1_234_567),
            tier: "default".to_owned(),
            units: Units::none(),
            cache_saving: None,
            tools: Vec::new(),
        },
        exhausted,
        wants_usage: true,
    }
}
