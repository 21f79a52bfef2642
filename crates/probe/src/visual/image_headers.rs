//! The format of a file by its first bytes, and images with a size at a fixed place: PNG, GIF, BMP, WebP.

use super::byte_window::{ByteWindow, Pause};
use super::{Format, MediaInfo, ProbeError, Size};
use crate::byte_reader::ByteReader;

/// Bytes that identify a format.
pub(super) const SNIFF_BYTES: u64 = 12;

/// Boxes that an MP4 file can begin with. Old QuickTime files have no `ftyp`.
const FIRST_BOXES: [&[u8; 4]; 8] = [
    b"ftyp", b"styp", b"moov", b"mdat", b"wide", b"free", b"skip", b"pnot",
];

/// How a file is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// An image with its size at a fixed place.
    Header(Header),
    Jpeg,
    Mp4,
}

/// Formats with the size at a fixed place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Header {
    Png,
    Gif,
    Bmp,
    WebP,
}

pub(super) fn kind_of(first: &[u8]) -> Option<Kind> {
    if first.starts_with(b"\x89PNG\r\n\x1a\n") {
        return Some(Kind::Header(Header::Png));
    }
    if first.starts_with(b"\xff\xd8\xff") {
        return Some(Kind::Jpeg);
    }
    if first.starts_with(b"GIF87a") || first.starts_with(b"GIF89a") {
        return Some(Kind::Header(Header::Gif));
    }
    let second = first.get(4..8)?;
    if FIRST_BOXES.iter().any(|name| name.as_slice() == second) {
        return Some(Kind::Mp4);
    }
    if first.starts_with(b"RIFF") && first.get(8..12) == Some(b"WEBP") {
        return Some(Kind::Header(Header::WebP));
    }
    first
        .starts_with(b"BM")
        .then_some(Kind::Header(Header::Bmp))
}

pub(super) fn measure(header: Header, window: &ByteWindow) -> Result<MediaInfo, Pause> {
    let read = |length: u64| window.read(0, length).map(ByteReader::new);
    let malformed = ProbeError::Malformed;
    let (format, sides) = match header {
        Header::Png => (Format::Png, png(read(24)?).ok_or(malformed)?),
        Header::Gif => (Format::Gif, gif(read(10)?).ok_or(malformed)?),
        // Two bytes are a weak mark; with an unknown header it is some other file.
        Header::Bmp => (
            Format::Bmp,
            bmp(read(26)?).ok_or(ProbeError::UnknownFormat)?,
        ),
        Header::WebP => (Format::WebP, webp(read(30)?).ok_or(malformed)?),
    };
    let size = Size::new(sides.0, sides.1).ok_or(ProbeError::NoSize)?;
    Ok(MediaInfo::image(format, None, size))
}

fn png(mut reader: ByteReader<'_>) -> Option<(u32, u32)> {
    reader.skip(12)?;
    let is_header = &reader.bytes()? == b"IHDR";
    let sides = (reader.u32()?, reader.u32()?);
    // The format's own limit; above it is no size.
    let is_beyond = sides.0.max(sides.1) > i32::MAX.unsigned_abs();
    is_header.then_some(if is_beyond { (0, 0) } else { sides })
}

fn gif(mut reader: ByteReader<'_>) -> Option<(u32, u32)> {
    reader.skip(6)?;
    short_sides(reader)
}

fn bmp(mut reader: ByteReader<'_>) -> Option<(u32, u32)> {
    reader.skip(14)?;
    match reader.u32_le()? {
        12 => short_sides(reader),
        16 | 40 | 52 | 56 | 64 | 108 | 124 => {
            let width = reader.u32_le()?.cast_signed();
            // A negative height says that lines stand from top to bottom.
            let height = reader.u32_le()?.cast_signed().unsigned_abs();
            Some((u32::try_from(width).unwrap_or(0), height))
        }
        _ => None,
    }
}

fn webp(mut reader: ByteReader<'_>) -> Option<(u32, u32)> {
    /// Sides of the two plain kinds have so many bits.
    const SIDE: u32 = 0x3fff;
    reader.skip(12)?;
    let kind: [u8; 4] = reader.bytes()?;
    reader.skip(4)?;
    match &kind {
        b"VP8 " => {
            let first = reader.u8()?;
            reader.skip(2)?;
            // Only a key frame has a size, and an image is one.
            let is_key_frame = first & 1 == 0 && reader.bytes()? == [0x9d, 0x01, 0x2a];
            let (width, height) = short_sides(reader)?;
            is_key_frame.then_some((width & SIDE, height & SIDE))
        }
        b"VP8L" => {
            let is_signed = reader.u8()? == 0x2f;
            let bits = reader.u32_le()?;
            let side = |bits: u32| (bits & SIDE).saturating_add(1);
            is_signed.then_some((side(bits), side(bits >> 14)))
        }
        b"VP8X" => {
            reader.skip(4)?;
            let mut side = || -> Option<u32> {
                let [low, middle, high] = reader.bytes()?;
                Some(u32::from_le_bytes([low, middle, high, 0]).saturating_add(1))
            };
            Some((side()?, side()?))
        }
        _ => None,
    }
}

/// Width and height of 16 bits each, the lowest byte first.
fn short_sides(mut reader: ByteReader<'_>) -> Option<(u32, u32)> {
    Some((reader.u16_le()?.into(), reader.u16_le()?.into()))
}
