//! WebM and Matroska: durations that lie or are missing, lacing, and ends that are cut off.

use trunkline_probe::{Codec, MeasureError};

use crate::support::{file, find, hear, put, samples, truth, try_hear};

/// An element of fewer than 127 bytes.
fn element(id: &[u8], body: &[u8]) -> Vec<u8> {
    let size = u8::try_from(body.len()).expect("a small element") | 0x80;
    [id, &[size], body].concat()
}

/// A file with one track of Opus and these blocks, all sizes unknown, as a browser records it.
fn recorded(blocks: &[Vec<u8>]) -> Vec<u8> {
    let unknown = [0x01, 255, 255, 255, 255, 255, 255, 255];
    let head = b"OpusHead\x01\x01\x00\x00\x80\xBB\x00\x00\x00\x00\x00";
    let track = [
        element(&[0xD7], &[1]),
        element(&[0x83], &[2]),
        element(&[0x86], b"A_OPUS"),
        element(&[0x63, 0xA2], head),
    ];
    let mut bytes = element(&[0x1A, 0x45, 0xDF, 0xA3], &[]);
    bytes.extend([0x18, 0x53, 0x80, 0x67]);
    bytes.extend(unknown);
    bytes.extend(element(
        &[0x16, 0x54, 0xAE, 0x6B],
        &element(&[0xAE], &track.concat()),
    ));
    for block in blocks {
        bytes.extend([0x1F, 0x43, 0xB6, 0x75]);
        bytes.extend(unknown);
        bytes.extend(element(&[0xE7], &[0]));
        bytes.extend(element(&[0xA3], block));
    }
    bytes
}

/// A packet of 20 ms, padded to a size.
fn packet(size: usize) -> Vec<u8> {
    let mut packet = vec![0x78; 1];
    packet.resize(size, 0);
    packet
}

#[test]
fn the_duration_of_a_file_is_not_believed() {
    let place = find(&file("opus.webm"), &[0x44, 0x89, 0x88]) + 3;
    for lie in [0.0_f64, 1.0, 1e12, f64::NAN] {
        let mut bytes = file("opus.webm");
        put(&mut bytes, place, &lie.to_bits().to_be_bytes());
        assert_eq!(hear(&bytes).length, truth("opus.webm").length());
    }
}

#[test]
fn clusters_of_unknown_size_without_any_duration_are_counted() {
    let block = [vec![0x81, 0, 0, 0], packet(9)].concat();
    let bytes = recorded(&vec![block; 55]);
    let measured = hear(&bytes);
    assert_eq!(
        (measured.codec, measured.length.millis()),
        (Codec::Opus, 1_100)
    );
}

#[test]
fn the_packets_of_every_lacing_are_counted() {
    let joined = [packet(3), packet(300), packet(5)].concat();
    let even = [packet(4), packet(4), packet(4)].concat();
    let xiph = [vec![0x81, 0, 0, 0x02, 2, 3, 255, 45], joined.clone()].concat();
    // 3, then 297 more: 297 + 8191 in two bytes.
    let change = 297 + 8_191;
    let ebml_sizes = [
        0x83,
        0x40 | u8::try_from(change >> 8).expect("six bits"),
        u8::try_from(change & 255).expect("a byte"),
    ];
    let ebml = [vec![0x81, 0, 0, 0x06, 2], ebml_sizes.to_vec(), joined].concat();
    let evenly = [vec![0x81, 0, 0, 0x04, 2], even].concat();
    for block in [evenly, xiph, ebml] {
        let long = |block: &[u8]| {
            let mut bytes = recorded(&[]);
            let size = u16::try_from(block.len()).expect("a size") | 0x4000;
            bytes.extend([0xA3]);
            bytes.extend(size.to_be_bytes());
            bytes.extend(block);
            bytes
        };
        assert_eq!(hear(&long(&block)).length.millis(), 60, "{:x}", block[3]);
    }
}

#[test]
fn padding_is_believed_at_the_very_end_only() {
    let group = |nanos: u32| {
        let block = [vec![0x81, 0, 0, 0], packet(9)].concat();
        let discard = element(&[0x75, 0xA2], &nanos.to_be_bytes());
        element(&[0xA0], &[element(&[0xA1], &block), discard].concat())
    };
    let millis = |groups: &[Vec<u8>]| {
        let bytes = [recorded(&[]), groups.concat()].concat();
        hear(&bytes).length.millis()
    };
    assert_eq!(millis(&vec![group(10_000_000); 10]), 190);
    // A packet is 20 ms; what takes away all of it or more is a lie.
    assert_eq!(millis(&[group(0), group(20_000_000)]), 40);
    assert_eq!(millis(&[group(0), group(1_000_000_000)]), 40);
}

#[test]
fn a_recording_that_was_cut_off_has_the_blocks_that_are_there() {
    let bytes = file("opus-live.webm");
    let measured = samples(&bytes[..bytes.len() / 2], 48_000);
    assert_eq!((measured + 312) % 960, 0);
    assert!(measured > 10_000 && measured < 40_000, "{measured}");
}

#[test]
fn packets_that_are_packed_or_of_unknown_codecs_are_refused() {
    let mut bytes = file("opus-second.webm");
    let codec = find(&bytes, b"A_OPUS");
    put(&mut bytes, codec, b"A_DTS\0");
    assert_eq!(try_hear(&bytes), Err(MeasureError::TooComplex));
}

#[test]
fn a_file_without_tracks_is_broken() {
    let bytes = file("opus-second.webm");
    assert_eq!(try_hear(&bytes[..60]), Err(MeasureError::Broken));
}
