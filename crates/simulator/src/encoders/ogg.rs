//! Opus in Ogg from one encoded packet (`audio/make`): two pages of headers, then pages of ten packets.
//! The last granule says where the sound ends, so it is exact to the sample.

pub(super) const RATE: u32 = 48_000;
const SAMPLES_PER_PACKET: u64 = 960;
const PACKETS_PER_PAGE: u64 = 10;
/// Samples that a decoder drops at the start.
const PRE_SKIP: u16 = 312;
const SERIAL: u32 = 0x0053_494d;
/// Pages before the first of sound.
const HEADER_PAGES: u64 = 2;
const FIRST_PAGE: u8 = 0b010;
const LAST_PAGE: u8 = 0b100;
const CRC_POLYNOMIAL: u32 = 0x04c1_1db7;
/// Where the checksum stands in a page.
const CRC_PLACE: std::ops::Range<usize> = 22..26;
/// A packet's length is written in steps of this, and one that is shorter.
const LACING: usize = 255;
static PACKET: &[u8] = include_bytes!("../../audio/opus.bin");

pub(super) fn pages(samples: u64) -> u64 {
    packets(samples).div_ceil(PACKETS_PER_PAGE).max(1)
}

pub(super) fn piece(samples: u64, index: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    if index == 0 {
        bytes.extend(page(0, 0, FIRST_PAGE, &[&head()]));
        bytes.extend(page(1, 0, 0, &[&tags()]));
    }
    let all = packets(samples);
    let first = index.saturating_mul(PACKETS_PER_PAGE).min(all);
    let last = first.saturating_add(PACKETS_PER_PAGE).min(all);
    let count = usize::try_from(last.saturating_sub(first)).unwrap_or_default();
    let is_last = last == all;
    let granule = if is_last {
        samples.saturating_add(PRE_SKIP.into())
    } else {
        last.saturating_mul(SAMPLES_PER_PACKET)
    };
    let flag = if is_last { LAST_PAGE } else { 0 };
    let number = index.saturating_add(HEADER_PAGES);
    bytes.extend(page(number, granule, flag, &vec![PACKET; count]));
    bytes
}

fn packets(samples: u64) -> u64 {
    samples
        .saturating_add(PRE_SKIP.into())
        .div_ceil(SAMPLES_PER_PACKET)
}

fn head() -> Vec<u8> {
    let mut bytes = b"OpusHead\x01\x01".to_vec();
    bytes.extend(PRE_SKIP.to_le_bytes());
    bytes.extend(RATE.to_le_bytes());
    bytes.extend([0, 0, 0]);
    bytes
}

fn tags() -> Vec<u8> {
    let vendor = b"simulator";
    let mut bytes = b"OpusTags".to_vec();
    bytes.extend(u32::try_from(vendor.len()).unwrap_or(0).to_le_bytes());
    bytes.extend(vendor);
    bytes.extend([0; 4]);
    bytes
}

fn page(number: u64, granule: u64, flag: u8, packets: &[&[u8]]) -> Vec<u8> {
    let mut lacing = Vec::new();
    for packet in packets {
        lacing.extend(vec![255; packet.len() / LACING]);
        lacing.push(u8::try_from(packet.len() % LACING).unwrap_or(0));
    }
    let mut bytes = b"OggS\0".to_vec();
    bytes.push(flag);
    bytes.extend(granule.to_le_bytes());
    bytes.extend(SERIAL.to_le_bytes());
    bytes.extend(u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes());
    bytes.extend([0; 4]);
    bytes.push(u8::try_from(lacing.len()).unwrap_or(u8::MAX));
    bytes.extend(lacing);
    bytes.extend(packets.concat());
    let sum = crc(&bytes).to_le_bytes();
    if let Some(place) = bytes.get_mut(CRC_PLACE) {
        place.copy_from_slice(&sum);
    }
    bytes
}

fn crc(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |sum, byte| {
        (0..8).fold(sum ^ (u32::from(*byte) << 24), |sum: u32, _| {
            let carry = if sum & 0x8000_0000 == 0 {
                0
            } else {
                CRC_POLYNOMIAL
            };
            (sum << 1) ^ carry
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_the_published_check_word() {
        assert_eq!(crc(b"123456789"), 0x89a1_897f);
    }
}
