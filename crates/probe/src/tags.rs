//! Tags that stand before the sound and may be large: ID3v2 with its pictures, and APE.

use crate::byte_reader::{ByteReader, count_of};

const ID3_HEADER_BYTES: u64 = 10;
const APE_HEADER_BYTES: u64 = 32;
/// The flag of ID3 for a copy of its header at its end.
const HAS_FOOT: u8 = 0x10;

/// What stands at the start of these bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tag {
    No,
    NeedMore,
    /// One of so many bytes.
    Yes(u64),
}

impl Tag {
    pub(crate) fn at(bytes: &[u8]) -> Self {
        let id3 = read(bytes, b"ID3", ID3_HEADER_BYTES, id3_bytes);
        if id3 != Self::No {
            return id3;
        }
        read(bytes, b"APETAGEX", APE_HEADER_BYTES, ape_bytes)
    }
}

/// Whether one of the tags that stand behind the sound begins here, and whether these bytes are enough to say so.
pub(crate) fn end_tag(bytes: &[u8]) -> EndTag {
    let names: [&[u8]; 4] = [b"TAG", b"ID3", b"APETAGEX", b"LYRICSBEGIN"];
    if names.iter().any(|name| bytes.starts_with(name)) {
        EndTag::Yes
    } else if names.iter().any(|name| name.starts_with(bytes)) {
        EndTag::NeedMore
    } else {
        EndTag::No
    }
}

/// What stands behind the sound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EndTag {
    No,
    NeedMore,
    Yes,
}

fn read(bytes: &[u8], name: &[u8], header: u64, size: fn(ByteReader<'_>) -> Option<u64>) -> Tag {
    let there = bytes.len().min(name.len());
    if bytes.get(..there) != name.get(..there) {
        return Tag::No;
    }
    if count_of(bytes) < header {
        return Tag::NeedMore;
    }
    size(ByteReader::new(bytes)).map_or(Tag::No, Tag::Yes)
}

fn id3_bytes(mut reader: ByteReader<'_>) -> Option<u64> {
    reader.skip(5)?;
    let flags = reader.u8()?;
    let mut size = 0_u64;
    for byte in reader.bytes::<4>()? {
        if byte & 0x80 != 0 {
            return None;
        }
        size = size.wrapping_shl(7) | u64::from(byte);
    }
    let foot = if flags & HAS_FOOT == 0 {
        0
    } else {
        ID3_HEADER_BYTES
    };
    Some(size.saturating_add(ID3_HEADER_BYTES).saturating_add(foot))
}

fn ape_bytes(mut reader: ByteReader<'_>) -> Option<u64> {
    reader.skip(12)?;
    Some(u64::from(reader.u32_le()?).saturating_add(APE_HEADER_BYTES))
}
