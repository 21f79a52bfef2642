//! FLAC in its simplest form: samples word for word, in frames with both checksums.

use super::Sound;
use crate::tone;

pub(super) const BLOCK: u64 = 4_096;
const BLOCK_BYTES: [u8; 2] = [0x10, 0x00];
/// Metadata: the last block, of the kind that describes the stream, 34 bytes long.
const STREAM_INFO: [u8; 4] = [0x80, 0, 0, 34];
/// Frames of a fixed size; the size in the header's end, the rate as the stream's.
const SYNC: [u8; 3] = [0xff, 0xf8, 0x70];
/// Sixteen bits a sample, in the header of a frame.
const SIXTEEN_BITS: u8 = 0b1000;
/// A part of a frame whose samples are word for word.
const VERBATIM: u8 = 0b10;
const CRC8_POLYNOMIAL: u8 = 0x07;
const CRC16_POLYNOMIAL: u16 = 0x8005;

pub(super) fn piece(sound: Sound, index: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    if index == 0 {
        bytes.extend(b"fLaC");
        bytes.extend(STREAM_INFO);
        bytes.extend(stream_info(sound));
    }
    let (first, last) = sound.span(index, BLOCK);
    if first < last {
        bytes.extend(frame(sound, index, first, last));
    }
    bytes
}

/// Sizes of blocks, sizes of frames (not told), rate, channels, bits, samples, digest (not told).
fn stream_info(sound: Sound) -> Vec<u8> {
    let mut bytes = [BLOCK_BYTES, BLOCK_BYTES].concat();
    bytes.extend([0; 6]);
    let rate = u64::from(sound.rate) << 44;
    let channels = u64::from(sound.channels.saturating_sub(1)) << 41;
    let bits = 15 << 36;
    let samples = sound.samples & ((1 << 36) - 1);
    bytes.extend((rate | channels | bits | samples).to_be_bytes());
    bytes.extend([0; 16]);
    bytes
}

fn frame(sound: Sound, index: u64, first: u64, last: u64) -> Vec<u8> {
    let mut bytes = SYNC.to_vec();
    bytes.push((sound.channels.saturating_sub(1) << 4) | SIXTEEN_BITS);
    bytes.extend(numbered(index));
    let block = last.saturating_sub(first).saturating_sub(1);
    bytes.extend(u16::try_from(block).unwrap_or(u16::MAX).to_be_bytes());
    bytes.push(crc8(&bytes));
    // Every channel sounds the same.
    let mut channel = vec![VERBATIM];
    let samples = tone::samples(first, last, sound.rate);
    channel.extend(samples.flat_map(i16::to_be_bytes));
    bytes.extend(channel.repeat(sound.channels.into()));
    bytes.extend(crc16(&bytes).to_be_bytes());
    bytes
}

/// A number as the format writes it, which is as UTF-8 writes a character.
fn numbered(index: u64) -> Vec<u8> {
    // A tone of hours is far below the first number that is no character.
    let number = u32::try_from(index).ok().and_then(char::from_u32);
    number.unwrap_or('\0').to_string().into_bytes()
}

fn crc8(bytes: &[u8]) -> u8 {
    bytes.iter().fold(0, |sum, byte| {
        (0..8).fold(sum ^ byte, |sum: u8, _| {
            let carry = if sum & 0x80 == 0 { 0 } else { CRC8_POLYNOMIAL };
            (sum << 1) ^ carry
        })
    })
}

fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |sum, byte| {
        (0..8).fold(sum ^ (u16::from(*byte) << 8), |sum: u16, _| {
            let carry = if sum & 0x8000 == 0 {
                0
            } else {
                CRC16_POLYNOMIAL
            };
            (sum << 1) ^ carry
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksums_are_those_of_the_published_check_word() {
        assert_eq!(crc8(b"123456789"), 0xf4);
        assert_eq!(crc16(b"123456789"), 0xfee8);
    }
}
