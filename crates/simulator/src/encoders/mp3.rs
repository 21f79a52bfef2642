//! MP3 from one encoded frame for each rate (`audio/make`). A frame of a higher bitrate is the same
//! frame with free bytes behind its data, which a decoder skips.

use super::Sound;

const FRAMES_PER_PIECE: u64 = 8;
/// Kilobits a second by the header's index, from 1, of rates above 24 kilohertz and of the others.
const FAST: [u32; 14] = [
    32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320,
];
const SLOW: [u32; 14] = [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160];
/// What the stored frames were encoded with, for each channel.
const STORED_KILOBITS: u32 = 32;
const LOWEST_FAST_RATE: u32 = 32_000;
/// In the third byte of a header.
const PADDING_BIT: u8 = 0b10;

pub(super) fn samples_per_piece(rate: u32) -> u64 {
    samples_per_frame(rate).saturating_mul(FRAMES_PER_PIECE)
}

/// The bitrate that is made: at least what the stored frame needs, at most what the rate allows.
pub(super) fn bitrate(sound: Sound) -> u32 {
    kilobits(sound).1.saturating_mul(1_000)
}

pub(super) fn piece(sound: Sound, index: u64) -> Vec<u8> {
    let frames = sound.samples.div_ceil(samples_per_frame(sound.rate));
    let first = index.saturating_mul(FRAMES_PER_PIECE).min(frames);
    let last = first.saturating_add(FRAMES_PER_PIECE).min(frames);
    (first..last).flat_map(|at| frame(sound, at)).collect()
}

fn samples_per_frame(rate: u32) -> u64 {
    if rate < LOWEST_FAST_RATE { 576 } else { 1_152 }
}

/// The header's index and the kilobits that it means.
fn kilobits(sound: Sound) -> (u8, u32) {
    let table = if sound.rate < LOWEST_FAST_RATE {
        SLOW
    } else {
        FAST
    };
    let least = STORED_KILOBITS.saturating_mul(sound.channels.into());
    let requested = (sound.bitrate / 1_000).max(least);
    let fitting = (1..)
        .zip(table)
        .find(|(_, kilobits)| *kilobits >= requested);
    fitting.unwrap_or((14, table.last().copied().unwrap_or(requested)))
}

fn frame(sound: Sound, at: u64) -> Vec<u8> {
    let (index, kilobits) = kilobits(sound);
    let rate = u64::from(sound.rate);
    let per_second = (samples_per_frame(sound.rate) / 8)
        .saturating_mul(kilobits.into())
        .saturating_mul(1_000);
    // Where a frame is no whole number of bytes, some have one more, so that the sum is right.
    let until = |at: u64| at.saturating_mul(per_second).checked_div(rate).unwrap_or(0);
    let length = until(at.saturating_add(1)).saturating_sub(until(at));
    let is_padded = length > until(1);
    let mut bytes = stored(sound.rate, sound.channels).to_vec();
    if let Some(byte) = bytes.get_mut(2) {
        let rate_bits = *byte & 0b1101;
        let padding = if is_padded { PADDING_BIT } else { 0 };
        *byte = (index << 4) | rate_bits | padding;
    }
    bytes.resize(usize::try_from(length).unwrap_or_default(), 0);
    bytes
}

/// Of a rate that was not encoded the nearest, which no vendor's closed list allows.
fn stored(rate: u32, channels: u8) -> &'static [u8] {
    let is_mono = channels == 1;
    match (rate, is_mono) {
        (8_000, true) => include_bytes!("../../audio/mp3_8000_1.bin"),
        (8_000, false) => include_bytes!("../../audio/mp3_8000_2.bin"),
        (16_000, true) => include_bytes!("../../audio/mp3_16000_1.bin"),
        (16_000, false) => include_bytes!("../../audio/mp3_16000_2.bin"),
        (22_050, true) => include_bytes!("../../audio/mp3_22050_1.bin"),
        (22_050, false) => include_bytes!("../../audio/mp3_22050_2.bin"),
        (24_000, true) => include_bytes!("../../audio/mp3_24000_1.bin"),
        (24_000, false) => include_bytes!("../../audio/mp3_24000_2.bin"),
        (44_100, true) => include_bytes!("../../audio/mp3_44100_1.bin"),
        (44_100, false) => include_bytes!("../../audio/mp3_44100_2.bin"),
        (_, true) => include_bytes!("../../audio/mp3_32000_1.bin"),
        (_, false) => include_bytes!("../../audio/mp3_32000_2.bin"),
    }
}
