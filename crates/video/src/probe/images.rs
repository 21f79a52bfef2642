//! What a file is by its first bytes, and the pictures whose size stands there: PNG, GIF, BMP, WebP.

use super::fields::Fields;
use super::window::{Pause, Window};
use super::{Format, Measured, Reason, Size};

/// Bytes that tell what a file is.
pub(super) const SNIFF_BYTES: u64 = 12;

/// Names that a file made of boxes begins with. Old QuickTime files have no `ftyp`.
const FIRST_BOXES: [&[u8; 4]; 8] = [
    b"ftyp", b"styp", b"moov", b"mdat", b"wide", b"free", b"skip", b"pnot",
];

/// How a file is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Its size stands at a fixed place.
    Header(Header),
    Jpeg,
    Boxes,
}

/// Formats with the size at a fixed place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Header {
    Png,
    Gif,
    Bmp,
    WebP,
}

pub(super) fn kind_of(head: &[u8]) -> Option<Kind> {
    if head.starts_with(b"\x89PNG\r\n\x1a\n") {
        return Some(Kind::Header(Header::Png));
    }
    if head.starts_with(b"\xff\xd8\xff") {
        return Some(Kind::Jpeg);
    }
    if head.starts_with(b"GIF87a") || head.starts_with(b"GIF89a") {
        return Some(Kind::Header(Header::Gif));
    }
    let second = head.get(4..8)?;
    if FIRST_BOXES.iter().any(|name| name.as_slice() == second) {
        return Some(Kind::Boxes);
    }
    if head.starts_with(b"RIFF") && head.get(8..12) == Some(b"WEBP") {
        return Some(Kind::Header(Header::WebP));
    }
    head.starts_with(b"BM").then_some(Kind::Header(Header::Bmp))
}

pub(super) fn measure(header: Header, window: &Window) -> Result<Measured, Pause> {
    let (format, size) = match header {
        Header::Png => (Format::Png, png(window.read(0, 24)?)?),
        Header::Gif => (Format::Gif, gif(window.read(0, 10)?)?),
        Header::Bmp => (Format::Bmp, bmp(window.read(0, 26)?)?),
        Header::WebP => (Format::WebP, webp(window.read(0, 30)?)?),
    };
    let size = size.ok_or(Reason::NoSize)?;
    Ok(Measured::picture(format, None, size))
}

fn png(bytes: &[u8]) -> Result<Option<Size>, Reason> {
    let mut fields = Fields::new(bytes);
    fields.skip(12)?;
    if fields.bytes()? != *b"IHDR" {
        return Err(Reason::Malformed);
    }
    let (width, height) = (fields.u32()?, fields.u32()?);
    // The format's own limit; above it is no size.
    let most = i32::MAX.unsigned_abs();
    Ok(Size::new(width, height).filter(|_| width <= most && height <= most))
}

fn gif(bytes: &[u8]) -> Result<Option<Size>, Reason> {
    let mut fields = Fields::new(bytes);
    fields.skip(6)?;
    let width = u16::from_le_bytes(fields.bytes()?);
    let height = u16::from_le_bytes(fields.bytes()?);
    Ok(Size::new(width.into(), height.into()))
}

fn bmp(bytes: &[u8]) -> Result<Option<Size>, Reason> {
    let mut fields = Fields::new(bytes);
    fields.skip(14)?;
    match u32::from_le_bytes(fields.bytes()?) {
        12 => {
            let width = u16::from_le_bytes(fields.bytes()?);
            let height = u16::from_le_bytes(fields.bytes()?);
            Ok(Size::new(width.into(), height.into()))
        }
        16 | 40 | 52 | 56 | 64 | 108 | 124 => {
            let width = i32::from_le_bytes(fields.bytes()?);
            // A negative height says that lines stand from top to bottom.
            let height = i32::from_le_bytes(fields.bytes()?).unsigned_abs();
            Ok(u32::try_from(width)
                .ok()
                .and_then(|width| Size::new(width, height)))
        }
        // Two letters are a weak mark; with another header it is some other file.
        _ => Err(Reason::NotKnown),
    }
}

fn webp(bytes: &[u8]) -> Result<Option<Size>, Reason> {
    /// Sides of the two plain kinds have so many bits.
    const SIDE: u32 = 0x3fff;
    let mut fields = Fields::new(bytes);
    fields.skip(12)?;
    let kind: [u8; 4] = fields.bytes()?;
    fields.skip(4)?;
    match &kind {
        b"VP8 " => {
            let first = fields.u8()?;
            fields.skip(2)?;
            // Only a key frame has a size, and a picture is one.
            if first & 1 != 0 || fields.bytes()? != [0x9d, 0x01, 0x2a] {
                return Err(Reason::Malformed);
            }
            let width = u16::from_le_bytes(fields.bytes()?);
            let height = u16::from_le_bytes(fields.bytes()?);
            Ok(Size::new(u32::from(width) & SIDE, u32::from(height) & SIDE))
        }
        b"VP8L" => {
            if fields.u8()? != 0x2f {
                return Err(Reason::Malformed);
            }
            let bits = u32::from_le_bytes(fields.bytes()?);
            let side = |bits: u32| (bits & SIDE).saturating_add(1);
            Ok(Size::new(side(bits), side(bits >> 14)))
        }
        b"VP8X" => {
            fields.skip(4)?;
            let mut side = || -> Result<u32, Reason> {
                let [low, middle, high] = fields.bytes()?;
                Ok(u32::from_le_bytes([low, middle, high, 0]).saturating_add(1))
            };
            let (width, height) = (side()?, side()?);
            Ok(Size::new(width, height))
        }
        _ => Err(Reason::Malformed),
    }
}
