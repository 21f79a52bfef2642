//! Files of two gigabytes that claim anything: they cost little time, and no byte is read twice.

use std::time::{Duration, Instant};

use trunkline_probe::{MeasureError, Measurement, measure};

use crate::sparse::Sparse;
use crate::support::{file, wave};

/// Far above what each of them takes, far below what a naive reader would.
const MAX_TIME: Duration = Duration::from_secs(60);

/// Measures a file of two gigabytes and says how much of it was read.
fn hear_sparse(head: &[u8], repeated: &[u8]) -> (Result<Measurement, MeasureError>, u64) {
    let mut sparse = Sparse::new(head, repeated);
    let bytes = sparse.bytes;
    let start = Instant::now();
    let measured = measure(&mut sparse, bytes);
    assert!(start.elapsed() < MAX_TIME, "{:?}", start.elapsed());
    assert!(
        sparse.read <= bytes + bytes / 8,
        "{} bytes were read",
        sparse.read
    );
    (measured, sparse.read)
}

/// A box of a size that is a claim.
fn claim(name: &[u8; 4], size: u32, body: &[u8]) -> Vec<u8> {
    [size.to_be_bytes().as_slice(), name, body].concat()
}

#[test]
fn two_gigabytes_of_zeros_are_no_audio() {
    let (measured, read) = hear_sparse(&[], &[0]);
    assert_eq!(measured, Err(MeasureError::NotAudio));
    assert!(read < 2 << 20, "{read}");
}

#[test]
fn two_gigabytes_of_bits_that_are_set_are_no_audio() {
    let (measured, read) = hear_sparse(&[], &[0xFF]);
    assert_eq!(measured, Err(MeasureError::NotAudio));
    assert!(read < 2 << 20, "{read}");
}

#[test]
fn two_gigabytes_of_tiny_boxes_are_too_complex() {
    let (measured, _) = hear_sparse(b"\0\0\0\x10ftypisom\0\0\0\0", b"\0\0\0\x08free");
    assert_eq!(measured, Err(MeasureError::TooComplex));
}

#[test]
fn two_gigabytes_of_tiny_elements_are_too_complex() {
    let (measured, _) = hear_sparse(
        b"\x1A\x45\xDF\xA3\x80\x18\x53\x80\x67\x01\xFF\xFF\xFF\xFF\xFF\xFF\xFF",
        b"\xEC\x80",
    );
    assert_eq!(measured, Err(MeasureError::TooComplex));
}

#[test]
fn boxes_that_never_stop_opening_are_too_complex() {
    let (measured, _) = hear_sparse(b"\0\0\0\x10ftypisom\0\0\0\0", b"\x7F\xFF\xFF\xFFmoov");
    assert_eq!(measured, Err(MeasureError::TooComplex));
}

#[test]
fn a_long_wave_file_is_measured_without_being_read() {
    let (measured, read) = hear_sparse(&wave(8_000, 0, 0), &[0]);
    let seconds = measured.expect("a wave file").length.whole_seconds();
    assert_eq!(seconds, ((2 << 30) - 44_u64).div_ceil(16_000));
    assert!(read < 1 << 20, "{read}");
}

#[test]
fn zeros_behind_a_sound_are_read_once_and_add_nothing() {
    for name in ["no-table-cbr.mp3", "second.opus", "tone.flac"] {
        let (measured, _) = hear_sparse(&file(name), &[0]);
        let length = measured.expect("a sound").length;
        assert_eq!(length, crate::support::truth(name).length(), "{name}");
    }
}

#[test]
fn tables_that_claim_billions_of_packets_end_quickly() {
    let entry = file("end.m4a");
    let start = crate::support::find(&entry, b"stsd") - 4;
    let size = usize::from(u16::from_be_bytes([entry[start + 2], entry[start + 3]]));
    let description = &entry[start..start + size];
    let sound = claim(b"hdlr", 32, b"\0\0\0\0\0\0\0\0soun\0\0\0\0\0\0\0\0\0\0\0\0");
    let many = u32::MAX.to_be_bytes();
    let runs = claim(
        b"stsc",
        28,
        &[&[0; 4][..], &[0, 0, 0, 1], &[0, 0, 0, 1], &many, &[0; 4]].concat(),
    );
    // Every packet has this size, there are four billion of them, and of chunks as well.
    for packet_bytes in [0_u32, 1, 1 << 30] {
        let sizes = claim(
            b"stsz",
            20,
            &[&[0; 4][..], &packet_bytes.to_be_bytes(), &many].concat(),
        );
        let chunks = claim(b"stco", 0x7000_0000, &[&[0; 4][..], &many].concat());
        let tables = [description, &sound, &runs, &sizes, &chunks].concat();
        let head = [
            claim(b"ftyp", 8, &[]),
            claim(b"moov", 0x7800_0000, &[]),
            claim(b"trak", 0x7700_0000, &[]),
        ];
        let (measured, _) = hear_sparse(&[head.concat(), tables].concat(), &[0]);
        // Two of the large ones fit into the file, so two are counted.
        let millis = measured.map_or(0, |measured| measured.length.millis());
        assert!(millis <= 128, "{packet_bytes}: {millis}");
    }
}

#[test]
fn a_file_that_is_shorter_than_it_was_said_to_be_ends_where_it_ends() {
    let bytes = wave(8_000, 8_000, 16_000);
    let measured = measure(std::io::Cursor::new(&bytes), 1 << 40).expect("a wave file");
    assert_eq!(measured.length.millis(), 1_000);
    let mp3 = file("no-table.mp3");
    let measured = measure(std::io::Cursor::new(&mp3), 1 << 40).expect("a sound");
    assert_eq!(
        measured.length,
        crate::support::truth("no-table.mp3").length()
    );
}

#[test]
fn nothing_beyond_the_given_size_is_read() {
    let bytes = wave(8_000, 8_000, 16_000);
    let measured = measure(std::io::Cursor::new(&bytes), 44 + 8_000).expect("a wave file");
    assert_eq!(measured.length.millis(), 500);
}

/// A source that breaks after its first bytes.
struct Broken(bool);

impl std::io::Read for Broken {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.0 {
            return Err(std::io::Error::other("gone"));
        }
        self.0 = true;
        let head = b"fLaC\x80\0\0\x22";
        buffer[..head.len()].copy_from_slice(head);
        Ok(head.len())
    }
}

impl std::io::Seek for Broken {
    fn seek(&mut self, _: std::io::SeekFrom) -> std::io::Result<u64> {
        Ok(0)
    }
}

#[test]
fn a_source_that_cannot_be_read_says_so() {
    assert_eq!(measure(Broken(false), 1_000), Err(MeasureError::Io));
}
