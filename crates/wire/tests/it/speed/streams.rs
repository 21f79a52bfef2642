//! Streams of every format into every other, and the tap on those that are passed on.

use bytes::Bytes;
use trunkline_wire::canonical::{Event, Meter, NameRestorer, TranslationState};
use trunkline_wire::{Format, Frames, Reader, Rewrite, Tap, Writer};

use crate::speed::clock::{cost_of, pairs};
use crate::speed::samples::{PIECES, call, meta, stream, stream_end, words};

/// As the gateway has it.
const WRITTEN_BYTES: usize = 512;

/// Read, counted and written anew, as the gateway does it.
fn translated(from: Format, to: Format, pieces: &[Bytes]) -> Vec<u8> {
    let mut frames = Frames::default();
    let mut reader = Reader::new(from);
    let mut restored = NameRestorer::new(TranslationState::default());
    let mut meter = Meter::default();
    let mut writer = Writer::new(to, meta());
    let (mut read, mut events) = (Vec::new(), Vec::new());
    let mut sent = Vec::new();
    for piece in pieces {
        frames.push(piece);
        while let Some(frame) = frames.take().unwrap() {
            let mut out = Vec::with_capacity(WRITTEN_BYTES);
            reader.read(&frame, &mut read);
            for event in read.drain(..) {
                meter.observe(&event);
                restored.pass(event, &mut events);
            }
            for event in events.drain(..) {
                writer.write(&event, &mut out);
            }
            sent.push(Bytes::from(out));
        }
    }
    assert!(reader.end(&mut read), "{} is not whole", from.as_str());
    for event in read {
        meter.observe(&event);
        restored.pass(event, &mut events);
    }
    let mut out = Vec::new();
    events
        .iter()
        .for_each(|event: &Event| writer.write(event, &mut out));
    writer.finish(&stream_end(), &mut out);
    assert!(meter.written() > 0);
    sent.push(Bytes::from(out));
    sent.concat()
}

/// Looked at and passed on.
fn passed(format: Format, pieces: &[Bytes]) -> Vec<u8> {
    let mut frames = Frames::default();
    let mut tap = Tap::new(format);
    let rewrite = Rewrite {
        channel: Some("7".to_owned()),
        ..Rewrite::default()
    };
    let mut sent = Vec::new();
    for piece in pieces {
        frames.push(piece);
        while let Some(frame) = frames.take().unwrap() {
            tap.observe(&frame);
            sent.push(if format == Format::OpenaiChat {
                frame.raw.clone()
            } else {
                tap.rewrite(&frame, &rewrite)
            });
        }
    }
    assert!(tap.written() > 0);
    sent.concat()
}

fn one(from: Format, to: Format, pieces: &[Bytes]) -> Vec<u8> {
    if from == to {
        passed(from, pieces)
    } else {
        translated(from, to, pieces)
    }
}

/// The bytes of each event, as an upstream writes them.
fn cut(stream: &[u8]) -> Vec<Bytes> {
    let mut frames = Frames::default();
    frames.push(stream);
    std::iter::from_fn(|| frames.take().unwrap())
        .map(|frame| frame.raw)
        .collect()
}

fn measured(name: &str, answer: &[Event]) {
    let title = format!("stream of {name}: CPU-ns for each of its {PIECES} pieces");
    let costs = pairs(&title, "upstream \\ caller", |from, to| {
        let pieces = cut(&stream(from, answer));
        let out = String::from_utf8(one(from, to, &pieces)).unwrap();
        let last = format!(" token{}", PIECES - 2);
        let lost = format!("{} to {}: {out}", from.as_str(), to.as_str());
        assert!(out.contains(&last), "{lost}");
        cost_of(|| drop(one(from, to, &pieces))) / f64::from(PIECES)
    });
    assert!(costs.iter().all(|(_, _, nanos)| *nanos > 0.0));
}

#[test]
#[ignore = "a measurement: `just translation-speed`"]
fn what_a_piece_of_a_stream_costs() {
    measured("words", &words());
    measured("a call", &call());
}
