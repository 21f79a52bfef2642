//! Every format is parsed to its end, by its own rules.

use super::*;
use crate::tone::Speed;

fn sound(characters: usize, format: Format, rate: u32, channels: u8, bitrate: u32) -> Sound {
    let shape = Shape {
        rate,
        channels,
        bitrate,
    };
    let text = "x".repeat(characters);
    Sound::of(Spoken::new(&text, Speed::ONE), format, shape)
}

fn number(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0, |sum, byte| (sum << 8) | u64::from(*byte))
}

#[test]
fn pieces_are_the_whole_and_their_milliseconds_its_length() {
    for format in [
        Format::Mp3,
        Format::Opus,
        Format::Aac,
        Format::Flac,
        Format::Wav,
        Format::Pcm,
    ] {
        for characters in [1, 7, 100] {
            let sound = sound(characters, format, 24_000, 1, 64_000);
            let pieces: Vec<Bytes> = sound.iter().collect();
            assert_eq!(pieces.concat(), sound.bytes(), "{format:?}");
            assert!(pieces.iter().all(|piece| !piece.is_empty()), "{format:?}");
            let millis: u64 = (0..sound.pieces()).map(|at| sound.piece_millis(at)).sum();
            assert_eq!(millis, u64::try_from(characters).unwrap() * 60);
            assert_eq!(Format::read(format.name()), Some(format));
        }
    }
}

#[test]
fn wav_and_pcm_are_exact_to_the_sample() {
    let wav = sound(10, Format::Wav, 44_100, 2, 0).bytes();
    let pcm = sound(10, Format::Pcm, 44_100, 2, 0).bytes();
    assert_eq!(pcm.len(), 26_460 * 4);
    assert_eq!(wav[44..], pcm);
    assert_eq!(wav[40..44], 105_840u32.to_le_bytes());
    assert_eq!(wav[4..8], 105_876u32.to_le_bytes());
    assert_eq!(wav[22..24], [2, 0]);
}

#[test]
fn flac_has_frames_of_4096_samples_word_for_word() {
    let flac = sound(10, Format::Flac, 24_000, 2, 0).bytes();
    assert_eq!(&flac[..8], b"fLaC\x80\0\0\x22");
    let info = number(&flac[18..26]);
    assert_eq!(
        (info >> 44, (info >> 41) & 7, (info >> 36) & 31),
        (24_000, 1, 15)
    );
    assert_eq!(info & 0xf_ffff_ffff, 14_400);
    let mut at = 42;
    let mut samples = 0;
    let mut frames = 0u8;
    while at < flac.len() {
        assert_eq!(flac[at..at + 5], [0xff, 0xf8, 0x70, 0x18, frames]);
        let block = usize::try_from(number(&flac[at + 5..at + 7])).unwrap() + 1;
        // Header, its sum, two parts of a head and samples, the sum of the frame.
        at += 8 + 2 * (1 + 2 * block) + 2;
        samples += block;
        frames += 1;
    }
    assert_eq!((at, samples, frames), (flac.len(), 14_400, 4));
}

#[test]
fn mp3_has_whole_frames_of_the_bitrate_that_was_asked_for() {
    for (rate, channels, bitrate, made) in [
        (8_000, 1, 64_000, 64_000),
        (16_000, 2, 32_000, 64_000),
        (22_050, 1, 128_000, 128_000),
        (24_000, 1, 256_000, 160_000),
        (32_000, 1, 128_000, 128_000),
        (44_100, 2, 256_000, 256_000),
        (44_100, 1, 32_000, 32_000),
    ] {
        let sound = sound(100, Format::Mp3, rate, channels, bitrate);
        assert_eq!(sound.bits_per_second(), made);
        let bytes = sound.bytes();
        let frame = if rate < 32_000 { 576 } else { 1_152 };
        let samples = u64::from(rate) * 6;
        let frames = samples.div_ceil(frame);
        let expected = frames * frame / 8 * made / u64::from(rate);
        assert_eq!(u64::try_from(bytes.len()).unwrap(), expected);
        let info = crate::audio::audio_sniff::AudioInfo::of(&bytes);
        assert_eq!(info.millis, frames * frame * 1_000 / u64::from(rate));
    }
}

#[test]
fn ogg_pages_follow_each_other_and_the_last_tells_the_end() {
    let bytes = sound(10, Format::Opus, 48_000, 1, 0).bytes();
    let mut at = 0;
    let mut seen = Vec::new();
    while at < bytes.len() {
        assert_eq!(&bytes[at..at + 5], b"OggS\0");
        let granule = u64::from_le_bytes(bytes[at + 6..at + 14].try_into().unwrap());
        let number = u32::from_le_bytes(bytes[at + 18..at + 22].try_into().unwrap());
        assert_eq!(usize::try_from(number).unwrap(), seen.len());
        seen.push((bytes[at + 5], granule));
        let count = usize::from(bytes[at + 26]);
        let lacing = &bytes[at + 27..at + 27 + count];
        let inside: usize = lacing.iter().map(|length| usize::from(*length)).sum();
        at += 27 + count + inside;
    }
    assert_eq!(at, bytes.len());
    // 600 ms are 28,800 samples; 312 more are dropped at the start.
    assert_eq!(seen.first(), Some(&(0b010, 0)));
    assert_eq!(seen.last(), Some(&(0b100, 29_112)));
    assert_eq!(seen.get(2), Some(&(0, 9_600)));
}
