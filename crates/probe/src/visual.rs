//! The length of a video and the size of an image, from as few bytes of the file as possible. A
//! [`Probe`] does no I/O: it asks for byte ranges, is given bytes, and ends with a [`MediaInfo`] or a
//! [`ProbeError`]. The ranges only move forward, so a file on a server without range requests can be
//! read from its start.
//!
//! The length is what a player plays: sample tables, fragments and edit lists, not the claim in the
//! movie's header. Of a fragmented movie two claims are believed, since the alternative is to read all
//! of it: the duration with all fragments (`mehd`), and an index (`sidx`). Steps, bytes, boxes and depth
//! are bounded, and no input makes it panic.
//!
//! How to drive it. `fetch` is given a range and returns the bytes it got, which may be fewer (none: the
//! file ends there) or, from a server without ranges, begin earlier; and the length of the file if the
//! server sent it:
//!
//! ```
//! use trunkline_probe::visual::{MediaInfo, Need, Probe, ProbeError, Step};
//!
//! struct Fetched {
//!     start: u64,
//!     bytes: Vec<u8>,
//!     total: Option<u64>,
//! }
//!
//! fn measure(mut fetch: impl FnMut(Need) -> Fetched) -> Result<MediaInfo, ProbeError> {
//!     let mut probe = Probe::new(None);
//!     loop {
//!         match probe.step() {
//!             Step::Done(info) => return Ok(info),
//!             Step::Failed(error) => return Err(error),
//!             Step::Need(need) => {
//!                 let fetched = fetch(need);
//!                 if let Some(total) = fetched.total {
//!                     probe.set_total(total);
//!                 }
//!                 probe.push(fetched.start, &fetched.bytes);
//!             }
//!         }
//!     }
//! }
//!
//! let gif = b"GIF89a\x40\x01\xf0\x00\x00\x00\x00".to_vec();
//! let info = measure(|need| {
//!     let start = usize::try_from(need.start).unwrap();
//!     let end = gif.len().min(start + usize::try_from(need.length).unwrap());
//!     Fetched { start: need.start, bytes: gif[start..end].to_vec(), total: Some(13) }
//! });
//! assert_eq!(info.unwrap().size.unwrap().width, 320);
//! ```

pub(crate) mod byte_window;
mod image_headers;
mod jpeg;

use crate::mp4::video::VideoReader;
use byte_window::{ByteWindow, Pause};
use jpeg::Jpeg;

/// Most bytes that are taken in all: what a measurement may cost.
pub const MAX_BYTES: u64 = 64_000_000;
/// Most requests for bytes.
pub const MAX_STEPS: u32 = 16_384;
/// Most bytes that are needed at one time: a table of half a million entries.
pub const MAX_NEED_BYTES: u64 = 4 << 20;
/// Most boxes and segments that are read.
pub const MAX_BOXES: u32 = 100_000;
pub const MAX_DEPTH: usize = crate::mp4::MAX_DEPTH;
pub const MAX_TRACKS: usize = 128;
pub const MAX_EDITS: usize = 4096;
/// A longer length is a broken file: a hundred hours.
pub const MAX_LENGTH_MS: u64 = 360_000_000;

#[derive(Debug)]
pub struct Probe {
    window: ByteWindow,
    state: State,
    steps: u32,
    outcome: Option<Result<MediaInfo, ProbeError>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Bytes, to be given by [`Probe::push`].
    Need(Need),
    Done(MediaInfo),
    Failed(ProbeError),
}

/// A part of the file that is needed. Fewer bytes are welcome, at least one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Need {
    /// The first byte.
    pub start: u64,
    /// How many; at most [`MAX_NEED_BYTES`].
    pub length: u64,
}

/// What is known of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MediaInfo {
    /// The format by its first bytes and its brand.
    pub format: Format,
    /// The major brand of a file made of boxes, such as `isom`; none if it has none.
    pub brand: Option<[u8; 4]>,
    /// How long it plays, rounded half up to milliseconds; none for an image.
    pub length_ms: Option<u64>,
    /// The longest track as if nothing were cut by its edit list. A caller that bills a video whose list
    /// hides most of it takes the larger of the two. The same as the length where fragments were not
    /// counted.
    pub unedited_ms: Option<u64>,
    /// Width and height as shown; none for audio alone.
    pub size: Option<Size>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    pub width: u32,
    pub height: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// ISO base media: MP4 and the like.
    Mp4,
    Mov,
    Png,
    Jpeg,
    WebP,
    Gif,
    Bmp,
    /// HEIC and AVIF: images in boxes.
    Heif,
}

/// Why a file cannot be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ProbeError {
    /// None of the known formats.
    #[error("the file is not of a kind that can be measured")]
    UnknownFormat,
    #[error("the file is broken")]
    Malformed,
    #[error("the file ends before its end")]
    Truncated,
    #[error("there is no movie in the file")]
    NoMovie,
    /// A movie without a track that plays.
    #[error("there is nothing in the file that has a length")]
    NoLength,
    /// An image without a size.
    #[error("there is no size in the file")]
    NoSize,
    /// A compressed header, as old QuickTime could have.
    #[error("the header of the movie is compressed")]
    Compressed,
    /// More than [`MAX_LENGTH_MS`].
    #[error("the movie claims to be longer than a hundred hours")]
    TooLong,
    /// More than [`MAX_BYTES`], or a table above [`MAX_NEED_BYTES`].
    #[error("too much of the file would have to be read")]
    TooLarge,
    /// More than [`MAX_STEPS`], [`MAX_BOXES`], [`MAX_DEPTH`], [`MAX_TRACKS`] or [`MAX_EDITS`].
    #[error("the file has too many parts")]
    TooManyParts,
}

#[derive(Debug)]
enum State {
    Start,
    Jpeg(Jpeg),
    Mp4(Box<VideoReader>),
}

// === impl Probe ===

impl Probe {
    /// A new measurement; the length of the file is a help where it is known.
    #[must_use]
    pub fn new(total: Option<u64>) -> Self {
        Self {
            window: ByteWindow::new(total),
            state: State::Start,
            steps: 0,
            outcome: None,
        }
    }

    /// The length of the file became known.
    pub const fn set_total(&mut self, total: u64) {
        self.window.set_total(total);
    }

    /// Bytes of the file from `start`. They may begin before the requested range, which is how a
    /// file is read from its start, and go on behind it, up to [`MAX_NEED_BYTES`]. Those that do not reach
    /// it are ignored. No bytes at its start mean that the file ends there.
    pub fn push(&mut self, start: u64, bytes: &[u8]) {
        self.window.push(start, bytes);
    }

    /// Reads on as far as the bytes allow.
    pub fn step(&mut self) -> Step {
        if self.outcome.is_none() {
            match self.run() {
                Ok(info) => self.outcome = Some(Ok(info)),
                Err(Pause::Stop(error)) => self.outcome = Some(Err(error)),
                Err(Pause::Need(demand)) => {
                    self.steps = self.steps.saturating_add(1);
                    if self.steps > MAX_STEPS {
                        self.outcome = Some(Err(ProbeError::TooManyParts));
                    } else if self.window.taken() >= MAX_BYTES {
                        self.outcome = Some(Err(ProbeError::TooLarge));
                    } else {
                        return Step::Need(self.window.want(demand));
                    }
                }
            }
        }
        match self.outcome {
            Some(Ok(info)) => Step::Done(info),
            Some(Err(error)) => Step::Failed(error),
            None => Step::Failed(ProbeError::Malformed),
        }
    }

    fn run(&mut self) -> Result<MediaInfo, Pause> {
        if matches!(self.state, State::Start) {
            let first = self.window.read(0, image_headers::SNIFF_BYTES)?;
            match image_headers::kind_of(first).ok_or(ProbeError::UnknownFormat)? {
                image_headers::Kind::Header(format) => {
                    return image_headers::measure(format, &self.window);
                }
                image_headers::Kind::Jpeg => self.state = State::Jpeg(Jpeg::default()),
                image_headers::Kind::Mp4 => self.state = State::Mp4(Box::default()),
            }
        }
        match &mut self.state {
            State::Jpeg(jpeg) => jpeg.run(&self.window),
            State::Mp4(reader) => reader.run(&self.window),
            State::Start => Err(Pause::Stop(ProbeError::UnknownFormat)),
        }
    }
}

// === impl Size ===

impl Size {
    /// None: a side is zero.
    pub(crate) fn new(width: u32, height: u32) -> Option<Self> {
        (width > 0 && height > 0).then_some(Self { width, height })
    }

    pub(crate) const fn rotated(self) -> Self {
        Self {
            width: self.height,
            height: self.width,
        }
    }

    pub(crate) fn area(self) -> u64 {
        u64::from(self.width).saturating_mul(u64::from(self.height))
    }
}

// === impl MediaInfo ===

impl MediaInfo {
    pub(crate) const fn image(format: Format, brand: Option<[u8; 4]>, size: Size) -> Self {
        Self {
            format,
            brand,
            length_ms: None,
            unedited_ms: None,
            size: Some(size),
        }
    }
}
