//! What a file is, by its first bytes behind tags and zeros.

use crate::adts_mpeg::Frames;
use crate::bounded_reader::{BoundedReader, ReadBuffer};
use crate::tags::Tag;
use crate::wav::WIDE_MAGIC;
use crate::{Container, MeasureError};

/// Most tags before the sound.
const MAX_TAGS: u32 = 16;
/// Most zeros before the sound, and most other junk before frames that have no magic.
const MAX_ZEROS: u64 = 1 << 20;
const MAX_JUNK_BYTES: usize = 64 << 10;
/// The first bytes that identify a file.
const MAGIC_BYTES: usize = 40;
/// Boxes that a file can begin with.
const BOXES: [&[u8]; 10] = [
    b"ftyp", b"moov", b"mdat", b"free", b"skip", b"wide", b"pnot", b"moof", b"styp", b"uuid",
];

/// What the file is, and where it begins.
pub(crate) fn sniff(source: &mut BoundedReader<'_>) -> Result<(Container, u64), MeasureError> {
    let start = first_byte(source)?;
    let mut buffer = ReadBuffer::default();
    let header = buffer.at(source, start, MAGIC_BYTES)?;
    let name = header.get(8..12);
    let container = match header {
        [b'R', b'I', b'F', b'F', ..]
        | [b'R', b'F', b'6', b'4', ..]
        | [b'B', b'W', b'6', b'4', ..]
            if name == Some(b"WAVE") =>
        {
            Container::Wav
        }
        header if header.starts_with(&WIDE_MAGIC) => Container::Wav,
        [b'f', b'L', b'a', b'C', ..] => Container::Flac,
        [b'O', b'g', b'g', b'S', ..] => Container::Ogg,
        [0x1A, 0x45, 0xDF, 0xA3, ..] => Container::WebM,
        header if header.get(4..8).is_some_and(|name| BOXES.contains(&name)) => Container::Mp4,
        _ => return frames(source, start),
    };
    Ok((container, start))
}

/// The first byte that is neither part of a tag nor zero.
fn first_byte(source: &mut BoundedReader<'_>) -> Result<u64, MeasureError> {
    let mut buffer = ReadBuffer::default();
    let mut at = 0_u64;
    let (mut tags, mut zeros) = (0_u32, 0_u64);
    loop {
        let header = buffer.at(source, at, MAGIC_BYTES)?;
        if header.is_empty() || tags > MAX_TAGS || zeros > MAX_ZEROS {
            return Err(MeasureError::NotAudio);
        }
        if let Tag::Yes(length) = Tag::at(header) {
            tags = tags.saturating_add(1);
            at = at.saturating_add(length);
            continue;
        }
        // The size of a first box is seldom more than 24 bits, and begins with a zero as well.
        let is_box = header.get(4..8).is_some_and(|name| BOXES.contains(&name));
        let count = header.iter().take_while(|byte| **byte == 0).count();
        if is_box || count == 0 {
            return Ok(at);
        }
        // The last zeros may be the size of a box: they are read again, one by one.
        let skipped = if count == header.len() { count } else { 1 };
        let skipped = u64::try_from(skipped).unwrap_or(1);
        zeros = zeros.saturating_add(skipped);
        at = at.saturating_add(skipped);
    }
}

/// Where frames begin that have no magic before them.
fn frames(source: &mut BoundedReader<'_>, start: u64) -> Result<(Container, u64), MeasureError> {
    let mut junk = vec![0; MAX_JUNK_BYTES];
    let count = source.read_at(start, &mut junk)?;
    let bytes = junk.get(..count).unwrap_or_default();
    let kinds = [
        (Container::Mp3, Frames::mpeg()),
        (Container::Adts, Frames::adts()),
    ];
    for at in memchr::memchr_iter(0xFF, bytes) {
        let rest = bytes.get(at..).unwrap_or_default();
        for (container, frames) in kinds {
            if frames.begin_at(rest, at == 0) {
                let at = u64::try_from(at).unwrap_or(u64::MAX);
                return Ok((container, start.saturating_add(at)));
            }
        }
    }
    Err(MeasureError::NotAudio)
}
