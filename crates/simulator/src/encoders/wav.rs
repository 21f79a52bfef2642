//! The header of a WAV file, forty-four bytes.

use super::Sound;

const BYTES_PER_SAMPLE: u32 = 2;
/// What stands behind the length of the whole and before the samples.
const HEADER_REST: u32 = 36;
const FORMAT_BYTES: u32 = 16;
const PLAIN: u16 = 1;
const BITS: u16 = 16;

pub(super) fn header(sound: Sound) -> Vec<u8> {
    let block = BYTES_PER_SAMPLE.saturating_mul(sound.channels.into());
    let data = u32::try_from(sound.samples).unwrap_or(u32::MAX);
    let data = data.saturating_mul(block);
    let mut bytes = Vec::new();
    bytes.extend(b"RIFF");
    bytes.extend(data.saturating_add(HEADER_REST).to_le_bytes());
    bytes.extend(b"WAVEfmt ");
    bytes.extend(FORMAT_BYTES.to_le_bytes());
    bytes.extend(PLAIN.to_le_bytes());
    bytes.extend(u16::from(sound.channels).to_le_bytes());
    bytes.extend(sound.rate.to_le_bytes());
    bytes.extend(sound.rate.saturating_mul(block).to_le_bytes());
    bytes.extend(u16::try_from(block).unwrap_or_default().to_le_bytes());
    bytes.extend(BITS.to_le_bytes());
    bytes.extend(b"data");
    bytes.extend(data.to_le_bytes());
    bytes
}
