//! Listening to a file as it comes: its hash, its size, what it is wrapped in and how long it sounds.
//! Nothing of it is held but its ends, since gigabytes are sent.

use aws_lc_rs::digest::{Context, SHA256};

use super::frames::Frames;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Container {
    Wav,
    Mp3,
    Aac,
    Flac,
    Ogg,
    Mp4,
    Webm,
    /// None that is known.
    Unknown,
}

/// A file that was heard to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AudioInfo {
    pub(crate) sha256: [u8; 32],
    pub(crate) bytes: u64,
    pub(crate) container: Container,
    pub(crate) millis: u64,
}

pub(crate) struct UploadMeter {
    /// OrderedJson in assembler: gigabytes go through it in tests that are built without optimising.
    hash: Context,
    bytes: u64,
    head: Vec<u8>,
    tail: Vec<u8>,
    frames: Frames,
}

/// How much of the beginning is held, for headers.
const HEAD_BYTES: usize = 64 * 1024;
/// How much of the end is held, for the last page of an Ogg stream or the index of an MP4.
const TAIL_BYTES: usize = 64 * 1024;
/// Bytes of a second where nothing tells how long it is.
const UNTOLD_BYTES_PER_SECOND: u64 = 16_000;
const OPUS_RATE: u64 = 48_000;

// === impl UploadMeter ===

impl UploadMeter {
    pub(crate) fn new() -> Self {
        Self {
            hash: Context::new(&SHA256),
            bytes: 0,
            head: Vec::new(),
            tail: Vec::new(),
            frames: Frames::default(),
        }
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.hash.update(bytes);
        self.bytes = self.bytes.saturating_add(crate::tokens::count(bytes.len()));
        let remaining = HEAD_BYTES.saturating_sub(self.head.len());
        self.head.extend(bytes.iter().take(remaining));
        let kept = bytes.len().min(TAIL_BYTES);
        let new = bytes.get(bytes.len().saturating_sub(kept)..);
        let spare = TAIL_BYTES.saturating_sub(kept);
        let old = self.tail.len().saturating_sub(spare);
        self.tail.drain(..old);
        self.tail.extend(new.unwrap_or_default());
        self.frames.walk(bytes);
    }

    pub(crate) fn done(self) -> AudioInfo {
        let container = container(&self.head);
        let millis = match container {
            Container::Wav => wav(&self.head, self.bytes),
            Container::Mp3 | Container::Aac => self.frames.millis(),
            Container::Flac => flac(&self.head),
            Container::Ogg => ogg(&self.head, &self.tail),
            Container::Mp4 => mp4(&self.head).or_else(|| mp4(&self.tail)),
            Container::Webm | Container::Unknown => None,
        };
        let guessed = self.bytes.saturating_mul(1_000) / UNTOLD_BYTES_PER_SECOND;
        AudioInfo {
            sha256: digest(self.hash),
            bytes: self.bytes,
            container,
            millis: millis.unwrap_or(guessed),
        }
    }
}

// === impl AudioInfo ===

impl AudioInfo {
    /// All of it at once.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let mut ear = UploadMeter::new();
        ear.update(bytes);
        ear.done()
    }

    /// Seconds, rounded up as they are billed.
    pub(crate) fn seconds(&self) -> u64 {
        self.millis.div_ceil(1_000)
    }
}

/// What a hash comes to.
pub(super) fn digest(hash: Context) -> [u8; 32] {
    // SHA-256 has this length.
    hash.finish().as_ref().try_into().unwrap_or_default()
}

fn container(head: &[u8]) -> Container {
    match head {
        [
            b'R',
            b'I',
            b'F',
            b'F',
            _,
            _,
            _,
            _,
            b'W',
            b'A',
            b'V',
            b'E',
            ..,
        ] => Container::Wav,
        [b'f', b'L', b'a', b'C', ..] => Container::Flac,
        [b'O', b'g', b'g', b'S', ..] => Container::Ogg,
        [b'I', b'D', b'3', ..] => Container::Mp3,
        [0x1a, 0x45, 0xdf, 0xa3, ..] => Container::Webm,
        [_, _, _, _, b'f', b't', b'y', b'p', ..] => Container::Mp4,
        // The two bits of a layer are zero in AAC.
        [0xff, second, ..] if second & 0xf6 == 0xf0 => Container::Aac,
        [0xff, second, ..] if second & 0xe0 == 0xe0 => Container::Mp3,
        _ => Container::Unknown,
    }
}

/// Of the chunk of samples, what is there of it, by the bytes of a second.
fn wav(head: &[u8], bytes: u64) -> Option<u64> {
    let mut at = 12usize;
    let mut per_second = None;
    loop {
        let name = head.get(at..at.checked_add(4)?)?;
        let size = little(head, at.checked_add(4)?)?;
        let inside = at.checked_add(8)?;
        if name == b"fmt " {
            per_second = Some(little(head, inside.checked_add(8)?)?);
        }
        if name == b"data" {
            let there = bytes.saturating_sub(crate::tokens::count(inside));
            // A stream whose length was not known when it began says zero or the largest number.
            let size = if size == 0 { there } else { size.min(there) };
            return size.saturating_mul(1_000).checked_div(per_second?);
        }
        let padded = size.checked_add(size & 1)?;
        at = inside.checked_add(usize::try_from(padded).ok()?)?;
    }
}

fn flac(head: &[u8]) -> Option<u64> {
    let info = head.get(18..26)?;
    let bits = u64::from_be_bytes(info.try_into().ok()?);
    let rate = bits >> 44;
    let samples = bits & ((1 << 36) - 1);
    samples.saturating_mul(1_000).checked_div(rate)
}

/// The granule of the last page, less what a decoder drops.
fn ogg(head: &[u8], tail: &[u8]) -> Option<u64> {
    let last = memchr::memmem::rfind(tail, b"OggS")?;
    let granule = tail.get(last.checked_add(6)?..last.checked_add(14)?)?;
    let granule = u64::from_le_bytes(granule.try_into().ok()?);
    if let Some(at) = memchr::memmem::find(head, b"OpusHead") {
        let skip = head.get(at.checked_add(10)?..at.checked_add(12)?)?;
        let skip = u16::from_le_bytes(skip.try_into().ok()?);
        let samples = granule.saturating_sub(skip.into());
        return Some(samples.saturating_mul(1_000) / OPUS_RATE);
    }
    let at = memchr::memmem::find(head, b"\x01vorbis")?;
    let rate = little(head, at.checked_add(12)?)?;
    granule.saturating_mul(1_000).checked_div(rate)
}

/// The header of the movie, in its first version, the usual one.
fn mp4(bytes: &[u8]) -> Option<u64> {
    let at = memchr::memmem::find(bytes, b"mvhd")?;
    let number = |from: usize| -> Option<u64> {
        let word = bytes.get(at.checked_add(from)?..at.checked_add(from)?.checked_add(4)?)?;
        Some(u32::from_be_bytes(word.try_into().ok()?).into())
    };
    number(20)?.saturating_mul(1_000).checked_div(number(16)?)
}

fn little(bytes: &[u8], at: usize) -> Option<u64> {
    let word = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(word.try_into().ok()?).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoders::{Format, Shape, Sound};
    use crate::tone::{Speed, Spoken};

    #[test]
    fn the_length_of_what_is_said_is_heard_in_every_format() {
        let spoken = Spoken::new(&"x".repeat(50), Speed::ONE);
        for (format, container, millis) in [
            (Format::Wav, Container::Wav, 3_000),
            (Format::Flac, Container::Flac, 3_000),
            (Format::Opus, Container::Ogg, 3_000),
            (Format::Mp3, Container::Mp3, 3_000),
            // 70.3 frames of 1024 samples are 71.
            (Format::Aac, Container::Aac, 3_029),
        ] {
            let shape = Shape {
                rate: 24_000,
                channels: 1,
                bitrate: 64_000,
            };
            let bytes = Sound::of(spoken, format, shape).bytes();
            let mut ear = UploadMeter::new();
            for piece in bytes.chunks(777) {
                ear.update(piece);
            }
            let info = ear.done();
            assert_eq!((info.container, info.millis), (container, millis));
            assert_eq!(info, AudioInfo::of(&bytes));
            assert_eq!(info.bytes, u64::try_from(bytes.len()).unwrap());
        }
    }

    #[test]
    fn what_is_no_audio_is_measured_by_its_bytes() {
        let info = AudioInfo::of(&[7; 32_000]);
        assert_eq!(info.container, Container::Unknown);
        assert_eq!((info.millis, info.seconds()), (2_000, 2));
    }
}
