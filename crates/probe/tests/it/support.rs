//! The corpus, and ways to change its files.

use std::io::Cursor;

use trunkline_probe::{Length, MeasureError, Measurement, SpeechFormat, StreamMeter, measure};

/// A line of the truth.
#[derive(Debug, Clone)]
pub(crate) struct Truth {
    pub(crate) file: String,
    pub(crate) rate: u32,
    pub(crate) samples: u64,
    pub(crate) decoded: u64,
    pub(crate) meant: u64,
}

impl Truth {
    pub(crate) fn length(&self) -> Length {
        Length::of_samples(self.samples, self.rate)
    }
}

pub(crate) fn truths() -> Vec<Truth> {
    let table = include_str!("../corpus/truth.tsv");
    let line = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        let number = |at: usize| fields[at].parse::<u64>().expect("a number");
        Truth {
            file: fields[0].to_owned(),
            rate: u32::try_from(number(1)).expect("a rate"),
            samples: number(2),
            decoded: number(3),
            meant: number(4),
        }
    };
    table.lines().map(line).collect()
}

pub(crate) fn truth(file: &str) -> Truth {
    let found = truths().into_iter().find(|truth| truth.file == file);
    found.unwrap_or_else(|| panic!("{file} is in the truth"))
}

pub(crate) fn file(name: &str) -> Vec<u8> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus/");
    std::fs::read(format!("{folder}{name}")).unwrap_or_else(|error| panic!("{name}: {error}"))
}

pub(crate) fn try_hear(bytes: &[u8]) -> Result<Measurement, MeasureError> {
    measure(
        Cursor::new(bytes),
        u64::try_from(bytes.len()).expect("a size"),
    )
}

pub(crate) fn hear(bytes: &[u8]) -> Measurement {
    try_hear(bytes).unwrap_or_else(|reason| panic!("it was not heard: {reason}"))
}

/// The length of bytes in samples of a rate, which must be whole ones.
pub(crate) fn samples(bytes: &[u8], rate: u32) -> u64 {
    let length = hear(bytes).length;
    let nanos = u128::from(length.nanos()) * u128::from(rate);
    let samples = u64::try_from(nanos / 1_000_000_000).expect("a count");
    assert_eq!(Length::of_samples(samples, rate), length, "whole samples");
    samples
}

/// The length of bytes that pass in pieces of a size.
pub(crate) fn walk(format: SpeechFormat, bytes: &[u8], piece: usize) -> Option<Length> {
    let mut meter = StreamMeter::new(format);
    for piece in bytes.chunks(piece.max(1)) {
        meter.push(piece);
    }
    meter.length()
}

/// Where bytes first stand in others.
pub(crate) fn find(bytes: &[u8], needle: &[u8]) -> usize {
    let found = bytes
        .windows(needle.len())
        .position(|window| window == needle);
    found.unwrap_or_else(|| panic!("{} is there", String::from_utf8_lossy(needle)))
}

/// Every place where bytes stand in others.
pub(crate) fn find_all(bytes: &[u8], needle: &[u8]) -> Vec<usize> {
    let windows = bytes.windows(needle.len()).enumerate();
    windows
        .filter(|(_, window)| *window == needle)
        .map(|(at, _)| at)
        .collect()
}

pub(crate) fn put(bytes: &mut [u8], at: usize, new: &[u8]) {
    bytes[at..at + new.len()].copy_from_slice(new);
}

/// A wave file of one channel with 16 bits, with a size of data that may be a lie.
pub(crate) fn wave(rate: u32, samples: usize, claimed: u32) -> Vec<u8> {
    let mut bytes = b"RIFF\xFF\xFF\xFF\xFFWAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00".to_vec();
    bytes.extend(rate.to_le_bytes());
    bytes.extend((rate * 2).to_le_bytes());
    bytes.extend([2, 0, 16, 0]);
    bytes.extend(b"data");
    bytes.extend(claimed.to_le_bytes());
    bytes.extend(vec![7; samples * 2]);
    bytes
}
