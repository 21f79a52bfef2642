//! Media in a request: what each part is and what was measured of it, without keeping it. How many tokens
//! that is depends on the model's vendor.

use std::io::Cursor;

use trunkline_probe::visual::{Format, MediaInfo, Probe, Step};

use crate::base64::decode;

/// Parts that are kept apart; a request with more is taken for a document, which may fill the window.
const MAX_PARTS: usize = 10_000;
/// Decoded bytes that the size of an image is looked for in at first.
const HEAD_BYTES: usize = 256 << 10;
/// Frames of a video a second that a request may ask for.
const MAX_FRAMES_PER_SECOND: u64 = 24;

/// What stands in a request besides text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Media {
    /// Bytes of the body that are media and no text.
    pub bytes: u64,
    /// Bytes of what is said, as it is read: no escapes, no spaces between values.
    pub text_bytes: u64,
    pub parts: Vec<MediaPart>,
}

/// One part that is not text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MediaPart {
    pub kind: MediaKind,
    /// Its bytes in the body, encoded; zero behind a link.
    pub bytes: u64,
}

/// What a part is. What is behind a link, and what cannot be measured, has no size and no length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MediaKind {
    Image(Option<Pixels>),
    Audio {
        length_ms: Option<u64>,
    },
    Video {
        length_ms: Option<u64>,
        /// Frames that are looked at in each second, as far as the request says so.
        frames_per_second: Option<u64>,
    },
    /// A file whose text the vendor's reader alone sees, or a part of a kind that is not known.
    Document,
}

/// The size of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pixels {
    pub width: u32,
    pub height: u32,
}

/// Where a part's bytes are.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Source<'a> {
    /// In the body, as base64.
    Inline(&'a str),
    /// Behind a link of so many bytes, which are no text.
    Link(u64),
}

impl Media {
    pub(crate) const fn add_text(&mut self, bytes: u64) {
        self.text_bytes = self.text_bytes.saturating_add(bytes);
    }

    pub(crate) fn add_image(&mut self, source: Source<'_>) {
        let size = source.encoded().and_then(image_size);
        self.add(MediaKind::Image(size), source);
    }

    pub(crate) fn add_audio(&mut self, source: Source<'_>) {
        let length_ms = source.encoded().and_then(audio_length);
        self.add(MediaKind::Audio { length_ms }, source);
    }

    pub(crate) fn add_video(&mut self, source: Source<'_>, frames_per_second: Option<u64>) {
        let length_ms = source.encoded().and_then(video_length);
        let frames_per_second =
            frames_per_second.map(|frames| frames.clamp(1, MAX_FRAMES_PER_SECOND));
        let kind = MediaKind::Video {
            length_ms,
            frames_per_second,
        };
        self.add(kind, source);
    }

    pub(crate) fn add_document(&mut self, source: Source<'_>) {
        self.add(MediaKind::Document, source);
    }

    /// A file by its media type. Text is counted where it stands, as text.
    pub(crate) fn add_file(&mut self, mime: &str, source: Source<'_>, frames: Option<u64>) {
        let mime = mime.trim().to_ascii_lowercase();
        match mime.split('/').next().unwrap_or_default() {
            "image" => self.add_image(source),
            "audio" => self.add_audio(source),
            "video" => self.add_video(source, frames),
            "text" if source.encoded().is_some_and(is_plain) => {}
            _ if mime == "application/json" && source.encoded().is_some_and(is_plain) => {}
            _ => self.add_document(source),
        }
    }

    /// The data of a file: a data URL, or base64 alone.
    pub(crate) fn add_data(&mut self, data: &str) {
        match data_url(data) {
            Some((mime, encoded)) => self.add_file(mime, Source::Inline(encoded), None),
            None => self.add_document(Source::Inline(data)),
        }
    }

    fn add(&mut self, kind: MediaKind, source: Source<'_>) {
        self.bytes = self.bytes.saturating_add(source.length());
        let bytes = source.encoded().map_or(0, length_of);
        if self.parts.len() < MAX_PARTS {
            self.parts.push(MediaPart { kind, bytes });
        } else if let Some(last) = self.parts.last_mut() {
            last.kind = MediaKind::Document;
        }
    }
}

impl<'a> Source<'a> {
    /// An address: the bytes themselves, or where they are.
    pub(crate) fn of_url(url: &'a str) -> Self {
        match data_url(url) {
            Some((_, encoded)) => Self::Inline(encoded),
            None => Self::Link(length_of(url)),
        }
    }

    const fn encoded(self) -> Option<&'a str> {
        match self {
            Self::Inline(encoded) => Some(encoded),
            Self::Link(_) => None,
        }
    }

    fn length(self) -> u64 {
        match self {
            Self::Inline(encoded) => length_of(encoded),
            Self::Link(bytes) => bytes,
        }
    }
}

/// The media type of a data URL and its base64; none of anything else.
pub(crate) fn data_url(url: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = url.split_once(':')?;
    let (head, encoded) = rest.split_once(',')?;
    let mime = head.strip_suffix(";base64")?;
    scheme
        .eq_ignore_ascii_case("data")
        .then_some((mime, encoded))
}

/// Whole frames a second; what is no whole number is at most the largest that may be asked for.
pub(crate) fn frames_of(fps: Option<&serde_json::Number>) -> Option<u64> {
    fps.map(|fps| fps.as_u64().unwrap_or(u64::MAX))
}

/// Whether bytes that are called text begin as no compressed file does, whatever reads them.
fn is_plain(encoded: &str) -> bool {
    const PACKED: [&[u8]; 3] = [b"%PDF", b"PK", b"\x1f\x8b"];
    let head = decode(encoded, 1024);
    head.is_some_and(|head| {
        let mut packed = PACKED.iter();
        !packed.any(|mark| memchr::memmem::find(&head, mark).is_some())
    })
}

fn length_of(text: &str) -> u64 {
    u64::try_from(text.len()).unwrap_or(u64::MAX)
}

/// The size of a still image whose header is what its decoders go by. A GIF's frames and the images of a
/// HEIF file have sizes of their own, so these have none.
fn image_size(encoded: &str) -> Option<Pixels> {
    let info = visual(encoded)?;
    let is_still = match info.format {
        Format::Png | Format::Jpeg | Format::WebP | Format::Bmp => true,
        Format::Gif | Format::Heif | Format::Mp4 | Format::Mov => false,
    };
    let size = info.size.filter(|_| is_still)?;
    Some(Pixels {
        width: size.width,
        height: size.height,
    })
}

/// The longest that a video can play, whatever its edit list hides.
fn video_length(encoded: &str) -> Option<u64> {
    let info = visual(encoded)?;
    let lengths = [info.length_ms, info.unedited_ms];
    lengths.into_iter().flatten().max()
}

fn audio_length(encoded: &str) -> Option<u64> {
    let bytes = decode(encoded, usize::MAX)?;
    let length = u64::try_from(bytes.len()).ok()?;
    let measured = trunkline_probe::measure(Cursor::new(&bytes), length).ok()?;
    Some(measured.length.millis().saturating_add(1))
}

/// Measures an image or a video, from its first bytes where these are enough.
fn visual(encoded: &str) -> Option<MediaInfo> {
    let head = decode(encoded, HEAD_BYTES)?;
    let is_whole = head.len() < HEAD_BYTES;
    match probe(&head, is_whole) {
        Probed::Done(info) => Some(info),
        Probed::Failed => None,
        Probed::Short => match probe(&decode(encoded, usize::MAX)?, true) {
            Probed::Done(info) => Some(info),
            Probed::Failed | Probed::Short => None,
        },
    }
}

enum Probed {
    Done(MediaInfo),
    /// More of the file is needed.
    Short,
    Failed,
}

fn probe(bytes: &[u8], is_whole: bool) -> Probed {
    let total = u64::try_from(bytes.len()).ok().filter(|_| is_whole);
    let mut probe = Probe::new(total);
    loop {
        let need = match probe.step() {
            Step::Done(info) => return Probed::Done(info),
            Step::Failed(_) => return Probed::Failed,
            Step::Need(need) => need,
        };
        let start = usize::try_from(need.start).unwrap_or(usize::MAX);
        let rest = bytes.get(start..).unwrap_or_default();
        if rest.is_empty() && !is_whole {
            return Probed::Short;
        }
        let length = usize::try_from(need.length).unwrap_or(usize::MAX);
        probe.push(need.start, rest.get(..length).unwrap_or(rest));
    }
}

#[cfg(test)]
#[path = "media_tests.rs"]
mod tests;
