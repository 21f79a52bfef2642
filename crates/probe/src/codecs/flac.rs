//! FLAC: the header of a frame says how many samples it has, and proves itself by a checksum.

use crate::byte_reader::ByteReader;

/// The checksum of a header.
static CHECKSUM: crc::Crc<u8> = crc::Crc::<u8>::new(&crc::CRC_8_SMBUS);
/// The longest header of a frame.
pub(crate) const MAX_HEADER_BYTES: usize = 16;

/// The header of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) samples: u64,
    /// None: that of the stream.
    pub(crate) rate: Option<u32>,
    /// Which frame it is, or which its first sample is.
    pub(crate) number: u64,
    pub(crate) counts_samples: bool,
    /// Rate, channels and bits as they were written; they hardly ever change.
    pub(crate) shape: [u8; 2],
}

/// What bytes are.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Found {
    No,
    NeedMore,
    Yes(Frame),
}

impl Found {
    pub(crate) const fn found(self) -> Option<Frame> {
        match self {
            Self::Yes(frame) => Some(frame),
            Self::No | Self::NeedMore => None,
        }
    }
}

impl Frame {
    /// Whether a frame begins here.
    pub(crate) fn read(bytes: &[u8]) -> Found {
        let mut reader = ByteReader::new(bytes);
        match Self::parse(&mut reader) {
            // With all bytes that a header can have, none is missing: it is wrong.
            None if bytes.len() < MAX_HEADER_BYTES && !is_wrong_early(bytes) => Found::NeedMore,
            None => Found::No,
            Some(frame) => {
                let header = bytes.len().saturating_sub(reader.rest().len());
                match bytes.get(header) {
                    None => Found::NeedMore,
                    Some(sum)
                        if *sum == CHECKSUM.checksum(bytes.get(..header).unwrap_or_default()) =>
                    {
                        Found::Yes(frame)
                    }
                    Some(_) => Found::No,
                }
            }
        }
    }

    fn parse(reader: &mut ByteReader<'_>) -> Option<Self> {
        let [first, second, sizes, shape] = reader.bytes()?;
        if first != 0xFF || second & 0xFE != 0xF8 || !is_shape(shape) {
            return None;
        }
        let number = coded_number(reader)?;
        let size_code = u32::from(sizes >> 4);
        let samples = match size_code {
            0 => return None,
            1 => 192,
            2..=5 => 576_u64.checked_shl(size_code.saturating_sub(2))?,
            6 => u64::from(reader.u8()?).saturating_add(1),
            7 => u64::from(reader.u16()?).saturating_add(1),
            _ => 256_u64.checked_shl(size_code.saturating_sub(8))?,
        };
        let rate = match sizes & 0x0F {
            0 => None,
            12 => Some(u32::from(reader.u8()?).saturating_mul(1_000)),
            13 => Some(u32::from(reader.u16()?)),
            14 => Some(u32::from(reader.u16()?).saturating_mul(10)),
            code => Some(usual_rate(code)?),
        };
        Some(Self {
            samples,
            rate: rate.filter(|rate| *rate > 0),
            number,
            counts_samples: second & 1 == 1,
            shape: [sizes & 0x0F, shape],
        })
    }
}

/// Bytes that are wrong however they go on.
fn is_wrong_early(bytes: &[u8]) -> bool {
    let is_wrong =
        |at: usize, is_right: fn(u8) -> bool| bytes.get(at).is_some_and(|byte| !is_right(*byte));
    is_wrong(0, |byte| byte == 0xFF)
        || is_wrong(1, |byte| byte & 0xFE == 0xF8)
        || is_wrong(2, |byte| byte >> 4 != 0 && byte & 0x0F != 15)
        || is_wrong(3, is_shape)
}

/// Whether channels and bits are such as exist, and the bit behind them is zero.
const fn is_shape(byte: u8) -> bool {
    byte >> 4 <= 10 && byte & 0x0E != 0x06 && byte & 1 == 0
}

const fn usual_rate(code: u8) -> Option<u32> {
    Some(match code {
        1 => 88_200,
        2 => 176_400,
        3 => 192_000,
        4 => 8_000,
        5 => 16_000,
        6 => 22_050,
        7 => 24_000,
        8 => 32_000,
        9 => 44_100,
        10 => 48_000,
        11 => 96_000,
        _ => return None,
    })
}

/// A number as UTF-8 writes one, up to 36 bits.
fn coded_number(reader: &mut ByteReader<'_>) -> Option<u64> {
    let first = reader.u8()?;
    let ones = first.leading_ones();
    if ones == 1 || ones > 7 {
        return None;
    }
    let mask = 0x7F_u8.checked_shr(ones).unwrap_or(0);
    let mut number = u64::from(first & mask);
    for _ in 1..ones {
        let next = reader.u8()?;
        if next & 0xC0 != 0x80 {
            return None;
        }
        number = number.wrapping_shl(6) | u64::from(next & 0x3F);
    }
    Some(number)
}

/// The rate of a stream, by the body of its first block of metadata.
pub(crate) fn stream_rate(info: &[u8]) -> Option<u32> {
    let mut reader = ByteReader::new(info);
    reader.skip(10)?;
    let rate = reader.u32()?.wrapping_shr(12);
    (rate > 0).then_some(rate)
}
