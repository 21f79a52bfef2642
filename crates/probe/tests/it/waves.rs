//! Wave files, whose heads often lie: they are written before their writer knows how long they will be.

use trunkline_probe::{Codec, MeasureError, SpeechFormat};

use crate::support::{file, find, hear, put, samples, try_hear, walk, wave};

#[test]
fn a_size_of_data_that_is_a_lie_changes_nothing() {
    for claimed in [0, 0xFFFF_FFFF, 0x7FFF_FFFF, 0xFFFF_FFFE, 32_002] {
        let bytes = wave(8_000, 16_000, claimed);
        assert_eq!(samples(&bytes, 8_000), 16_000, "{claimed:x}");
        let walked = walk(SpeechFormat::Wav, &bytes, 100).map(|length| length.millis());
        assert_eq!(walked, Some(2_000), "{claimed:x}");
    }
}

#[test]
fn a_second_and_a_sample_more_are_told_apart() {
    let seconds = |count| hear(&wave(24_000, count, 0)).length.whole_seconds();
    assert_eq!([0, 1, 4_800, 24_000, 24_001].map(seconds), [1, 1, 1, 1, 2]);
    assert_eq!(hear(&wave(24_000, 0, 0)).length.nanos(), 0);
}

#[test]
fn a_file_that_was_cut_off_is_as_long_as_what_is_left() {
    let whole = wave(8_000, 8_000, 16_000);
    assert_eq!(samples(&whole[..whole.len() - 8_000], 8_000), 4_000);
    // Half a sample is none.
    assert_eq!(samples(&whole[..whole.len() - 1], 8_000), 7_999);
    assert_eq!(try_hear(&whole[..20]), Err(MeasureError::Broken));
}

#[test]
fn chunks_around_the_data_are_not_sound() {
    let mut bytes = wave(8_000, 100, 200);
    bytes.extend(b"LIST\x05\x00\x00\x00abcde\x00");
    // A second chunk of data plays behind the first.
    bytes.extend(b"data\x04\x00\x00\x00\x01\x02\x03\x04");
    let data = find(&bytes, b"data");
    let odd = b"junk\x03\x00\x00\x00abc\x00";
    bytes.splice(data..data, odd.iter().copied());
    assert_eq!(samples(&bytes, 8_000), 102);
}

#[test]
fn a_chunk_behind_the_data_that_was_cut_off_takes_nothing_from_it() {
    let mut bytes = wave(8_000, 100, 200);
    bytes.extend(b"LIST\x00\x00\x00\x40abcde");
    assert_eq!(samples(&bytes, 8_000), 100);
}

#[test]
fn the_long_size_of_rf64_is_used_and_may_lie_too() {
    let mut bytes = file("rf64.wav");
    assert_eq!(samples(&bytes, 8_000), 800);
    let sizes = find(&bytes, b"ds64") + 16;
    for lie in [0_u64, u64::MAX, 1_601] {
        put(&mut bytes, sizes, &lie.to_le_bytes());
        assert_eq!(samples(&bytes, 8_000), 800, "{lie}");
    }
}

#[test]
fn the_alignment_of_samples_does_not_make_them_fewer() {
    let mut bytes = wave(8_000, 800, 1_600);
    put(&mut bytes, 32, &[200, 0]);
    assert_eq!(samples(&bytes, 8_000), 800);
}

#[test]
fn a_coding_that_cannot_be_counted_is_refused() {
    let mut bytes = wave(8_000, 800, 1_600);
    put(&mut bytes, 20, &[0x61, 0x01]);
    assert_eq!(try_hear(&bytes), Err(MeasureError::TooComplex));
}

#[test]
fn a_format_without_a_rate_or_channels_is_broken() {
    for at in [22, 24] {
        let mut bytes = wave(256, 100, 200);
        put(&mut bytes, at, &[0, 0, 0, 0]);
        assert_eq!(try_hear(&bytes), Err(MeasureError::Broken), "{at}");
    }
}

#[test]
fn the_extensible_format_names_its_coding_further_behind() {
    let mut bytes = wave(8_000, 100, 200);
    put(&mut bytes, 20, &[0xFE, 0xFF]);
    put(&mut bytes, 16, &[40]);
    let tail = [
        22, 0, 16, 0, 4, 0, 0, 0, 1, 0, 0, 0, 0, 0, 16, 0, 128, 0, 0, 170, 0, 56, 155, 113,
    ];
    bytes.splice(36..36, tail);
    let measured = hear(&bytes);
    assert_eq!(
        measured.codec,
        Codec::Pcm {
            bits: 16,
            is_float: false
        }
    );
    assert_eq!(samples(&bytes, 8_000), 100);
}
