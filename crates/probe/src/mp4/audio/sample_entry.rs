//! The description of a track's packets (`stsd`): which codec, and how it counts.

use crate::Codec;
use crate::byte_reader::{ByteReader, count_of};
use crate::codecs::{Coding, aac, flac, float_rate};
use crate::mp4::box_walk::BoxHeader;

/// What stands before the boxes in a description, by its version.
const PLAIN_BYTES: usize = 36;
const FIRST_BYTES: usize = 52;
const SECOND_BYTES: usize = 72;
/// Kinds of objects in a descriptor.
const OBJECT_AAC: [u8; 4] = [0x40, 0x66, 0x67, 0x68];
const OBJECT_MPEG: [u8; 2] = [0x69, 0x6B];
/// Descriptors, and the longest list of them.
const TAG_STREAM: u8 = 3;
const TAG_CONFIG: u8 = 4;
const TAG_SPECIFIC: u8 = 5;
const MAX_INNER: usize = 32;
/// A flag of the second version: samples are floating point numbers.
const IS_FLOAT: u32 = 1;

pub(super) struct SampleEntry {
    pub(super) coding: Coding,
    pub(super) pre_skip: u64,
}

/// Uncompressed samples as a description has them.
struct Pcm {
    channels: u64,
    bits: u16,
    rate: u32,
    is_float: bool,
}

impl SampleEntry {
    /// The first description, if its packets can be counted.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        // Version, flags and how many there are.
        let bytes = bytes.get(8..)?;
        let mut reader = ByteReader::new(bytes);
        let size = usize::try_from(reader.u32()?).ok()?;
        let name = reader.bytes::<4>()?;
        let entry = bytes.get(..size).unwrap_or(bytes);
        reader.skip(8)?;
        let version = reader.u16()?;
        reader.skip(6)?;
        let (channels, bits) = (reader.u16()?, reader.u16()?);
        reader.skip(4)?;
        let rate = reader.u32()?.wrapping_shr(16);
        let mut pcm = Pcm {
            channels: u64::from(channels),
            bits,
            rate,
            is_float: false,
        };
        let inner = match version {
            1 => FIRST_BYTES,
            2 => {
                pcm.read_second(reader)?;
                SECOND_BYTES
            }
            _ => PLAIN_BYTES,
        };
        let inner = entry.get(inner..).unwrap_or_default();
        let mut pre_skip = 0;
        let coding = match &name {
            b"mp4a" => descriptor(find(inner, b"esds").or_else(|| {
                let inner = find(inner, b"wave")?;
                find(inner, b"esds")
            })?)?,
            b".mp3" => Coding::Mpeg,
            b"ac-3" | b"ec-3" => Coding::Ac3,
            b"Opus" => {
                let mut reader = ByteReader::new(find(inner, b"dOps")?);
                reader.skip(2)?;
                pre_skip = u64::from(reader.u16()?);
                Coding::Opus
            }
            b"fLaC" => Coding::Flac(flac::stream_rate(find(inner, b"dfLa")?.get(8..)?)?),
            b"alac" => {
                let cookie = find(inner, b"alac").or_else(|| find(find(inner, b"wave")?, b"alac"));
                Coding::alac(cookie?.get(4..)?)?
            }
            name => pcm.coding(name)?,
        };
        Some(Self { coding, pre_skip })
    }
}

impl Pcm {
    /// The longer description of newer QuickTime.
    fn read_second(&mut self, mut reader: ByteReader<'_>) -> Option<()> {
        reader.skip(4)?;
        self.rate = float_rate(&reader.bytes::<8>()?)?;
        self.channels = u64::from(reader.u32()?);
        reader.skip(4)?;
        self.bits = u16::try_from(reader.u32()?).ok()?;
        self.is_float = reader.u32()? & IS_FLOAT != 0;
        Some(())
    }

    fn coding(&self, name: &[u8; 4]) -> Option<Coding> {
        let codec = |bits: u16, is_float: bool| (u64::from(bits), Codec::Pcm { bits, is_float });
        let (bits, codec) = match name {
            b"sowt" | b"twos" | b"raw " | b"NONE" => codec(self.bits, false),
            b"in24" => codec(24, false),
            b"in32" => codec(32, false),
            b"fl32" => codec(32, true),
            b"fl64" => codec(64, true),
            b"lpcm" => codec(self.bits, self.is_float),
            b"ipcm" => codec(self.bits, false),
            b"fpcm" => codec(self.bits, true),
            b"alaw" | b"ulaw" => (8, Codec::OtherPcm),
            _ => return None,
        };
        let sample_bytes = bits.div_ceil(8).saturating_mul(self.channels);
        (sample_bytes > 0 && self.rate > 0).then_some(Coding::Raw {
            sample_bytes,
            rate: self.rate,
            codec,
        })
    }
}

/// The body of a box among others.
fn find<'a>(bytes: &'a [u8], name: &[u8; 4]) -> Option<&'a [u8]> {
    let limit = count_of(bytes);
    let mut at = 0;
    for _ in 0..MAX_INNER {
        let rest = bytes.get(usize::try_from(at).ok()?..)?;
        let header = BoxHeader::read(rest, at)?;
        let end = header.end.unwrap_or(limit).min(limit);
        if &header.name == name {
            return bytes.get(usize::try_from(header.body).ok()?..usize::try_from(end).ok()?);
        }
        at = end;
    }
    None
}

/// The coding in an `esds`, which is made of descriptors.
fn descriptor(body: &[u8]) -> Option<Coding> {
    let mut reader = ByteReader::new(body.get(4..)?);
    open(&mut reader, TAG_STREAM)?;
    reader.skip(2)?;
    let flags = reader.u8()?;
    for (flag, bytes) in [(0x80, 2), (0x20, 2)] {
        if flags & flag != 0 {
            reader.skip(bytes)?;
        }
    }
    if flags & 0x40 != 0 {
        let length = reader.u8()?;
        reader.skip(usize::from(length))?;
    }
    open(&mut reader, TAG_CONFIG)?;
    let object = reader.u8()?;
    if OBJECT_MPEG.contains(&object) {
        return Some(Coding::Mpeg);
    }
    if !OBJECT_AAC.contains(&object) {
        return None;
    }
    reader.skip(12)?;
    open(&mut reader, TAG_SPECIFIC)?;
    aac::coding(reader.rest())
}

/// Goes past the header of a descriptor: its tag and a length of up to four bytes.
fn open(reader: &mut ByteReader<'_>, tag: u8) -> Option<()> {
    if reader.u8()? != tag {
        return None;
    }
    for _ in 0..4 {
        if reader.u8()? & 0x80 == 0 {
            return Some(());
        }
    }
    Some(())
}
