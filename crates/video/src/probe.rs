//! How long a video is and how large a picture, from as few bytes of the file as will do. It reads
//! nothing itself: it says which bytes it needs, is given some, and in the end says what it knows or
//! why it does not. What it asks for only ever moves forward, so a server that knows no parts can be
//! read from the start.
//!
//! The length is what a player plays: sample tables, fragments and edit lists, not the claim in the
//! movie's header. Of a movie in fragments two claims are believed, since the alternative is to read
//! all of it: the length with all fragments (`mehd`), and an index (`sidx`). It is bounded in steps,
//! bytes, boxes and depth, and no input makes it panic.
//!
//! The way to drive it, over anything that hands out parts of a file. `fetch` is told a start and a
//! length and gives the bytes it got, which may be fewer (none: there is nothing there) or, from a
//! server that knows no parts, begin earlier; and the whole length if it was told:
//!
//! ```
//! use trunkline_video::probe::{Measured, Need, Probe, Reason, Step};
//!
//! struct Fetched {
//!     start: u64,
//!     bytes: Vec<u8>,
//!     total: Option<u64>,
//! }
//!
//! fn measure(mut fetch: impl FnMut(Need) -> Fetched) -> Result<Measured, Reason> {
//!     let mut probe = Probe::new(None);
//!     loop {
//!         match probe.step() {
//!             Step::Known(measured) => return Ok(measured),
//!             Step::Unknown(reason) => return Err(reason),
//!             Step::Need(need) => {
//!                 let fetched = fetch(need);
//!                 if let Some(total) = fetched.total {
//!                     probe.learn_total(total);
//!                 }
//!                 probe.give(fetched.start, &fetched.bytes);
//!             }
//!         }
//!     }
//! }
//!
//! let gif = b"GIF89a\x40\x01\xf0\x00\x00\x00\x00".to_vec();
//! let measured = measure(|need| {
//!     let start = usize::try_from(need.start).unwrap();
//!     let end = gif.len().min(start + usize::try_from(need.length).unwrap());
//!     Fetched { start: need.start, bytes: gif[start..end].to_vec(), total: Some(13) }
//! });
//! assert_eq!(measured.unwrap().size.unwrap().width, 320);
//! ```

mod boxes;
mod fields;
mod fragments;
mod images;
mod jpeg;
mod leaves;
mod movie;
mod window;

use boxes::Walk;
use jpeg::Jpeg;
use window::{Pause, Window};

/// Most bytes that are taken in all: what a measurement may cost.
pub const MAX_BYTES: u64 = 64_000_000;
/// Most times that bytes are asked for.
pub const MAX_STEPS: u32 = 16_384;
/// Most bytes that are needed at one time: a table of half a million entries.
pub const MAX_NEED_BYTES: u64 = 4 << 20;
/// Most boxes and segments that are looked at.
pub const MAX_BOXES: u32 = 100_000;
/// Boxes inside boxes.
pub const MAX_DEPTH: usize = 8;
/// Tracks of a movie.
pub const MAX_TRACKS: usize = 128;
/// Edits of a track.
pub const MAX_EDITS: usize = 4096;
/// A longer length is a broken file: a hundred hours.
pub const MAX_LENGTH_MS: u64 = 360_000_000;

/// A measurement under way.
#[derive(Debug)]
pub struct Probe {
    window: Window,
    state: State,
    steps: u32,
    outcome: Option<Result<Measured, Reason>>,
}

/// What comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Bytes, to be given by [`Probe::give`].
    Need(Need),
    /// It is measured.
    Known(Measured),
    /// It cannot be measured.
    Unknown(Reason),
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
pub struct Measured {
    /// What kind of file it is.
    pub format: Format,
    /// The major brand of a file made of boxes, such as `isom`; none if it has none.
    pub brand: Option<[u8; 4]>,
    /// How long it plays, rounded half up to milliseconds; none for a picture.
    pub length_ms: Option<u64>,
    /// The longest track as if nothing were cut by its edit list. Who fears a list that hides most of
    /// a video takes the larger of the two. The same as the length where fragments were not counted.
    pub unedited_ms: Option<u64>,
    /// Width and height as shown; none for sound alone.
    pub size: Option<Size>,
}

/// Width and height.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// From left to right.
    pub width: u32,
    /// From top to bottom.
    pub height: u32,
}

/// Kinds of files that are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// ISO base media: MP4 and its kin.
    Mp4,
    /// QuickTime.
    Mov,
    /// PNG.
    Png,
    /// JPEG.
    Jpeg,
    /// WebP.
    WebP,
    /// GIF.
    Gif,
    /// BMP.
    Bmp,
    /// HEIC and AVIF: pictures in boxes.
    Heif,
}

/// Why a file cannot be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// None of the known formats.
    #[error("the file is not of a kind that can be measured")]
    NotKnown,
    /// It contradicts itself.
    #[error("the file is broken")]
    Malformed,
    /// It ends too early.
    #[error("the file ends before its end")]
    Truncated,
    /// No movie in it.
    #[error("there is no movie in the file")]
    NoMovie,
    /// A movie without a track that plays.
    #[error("there is nothing in the file that has a length")]
    NoLength,
    /// A picture without a size.
    #[error("there is no size in the file")]
    NoSize,
    /// A header that is packed, as old QuickTime could.
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
    Boxes(Box<Walk>),
}

// === impl Probe ===

impl Probe {
    /// A new measurement; the length of the file is a help where it is known.
    #[must_use]
    pub fn new(total: Option<u64>) -> Self {
        Self {
            window: Window::new(total),
            state: State::Start,
            steps: 0,
            outcome: None,
        }
    }

    /// The length of the file became known.
    pub const fn learn_total(&mut self, total: u64) {
        self.window.learn_total(total);
    }

    /// Bytes of the file from there. They may begin before the place that was asked for, which is how
    /// a file is read from its start, and go on behind it, up to [`MAX_NEED_BYTES`]. Those that do not
    /// reach that place are passed over. No bytes at that place say that the file ends there.
    pub fn give(&mut self, start: u64, bytes: &[u8]) {
        self.window.give(start, bytes);
    }

    /// Goes as far as the bytes allow.
    pub fn step(&mut self) -> Step {
        if self.outcome.is_none() {
            match self.run() {
                Ok(measured) => self.outcome = Some(Ok(measured)),
                Err(Pause::Stop(reason)) => self.outcome = Some(Err(reason)),
                Err(Pause::Need(wanted)) => {
                    self.steps = self.steps.saturating_add(1);
                    if self.steps > MAX_STEPS {
                        self.outcome = Some(Err(Reason::TooManyParts));
                    } else if self.window.taken() >= MAX_BYTES {
                        self.outcome = Some(Err(Reason::TooLarge));
                    } else {
                        return Step::Need(self.window.want(wanted));
                    }
                }
            }
        }
        match self.outcome {
            Some(Ok(measured)) => Step::Known(measured),
            Some(Err(reason)) => Step::Unknown(reason),
            None => Step::Unknown(Reason::Malformed),
        }
    }

    fn run(&mut self) -> Result<Measured, Pause> {
        if matches!(self.state, State::Start) {
            let head = self.window.read(0, images::SNIFF_BYTES)?;
            match images::kind_of(head).ok_or(Reason::NotKnown)? {
                images::Kind::Header(format) => return images::measure(format, &self.window),
                images::Kind::Jpeg => self.state = State::Jpeg(Jpeg::default()),
                images::Kind::Boxes => self.state = State::Boxes(Box::default()),
            }
        }
        match &mut self.state {
            State::Jpeg(jpeg) => jpeg.run(&self.window),
            State::Boxes(walk) => walk.run(&self.window),
            State::Start => Err(Pause::Stop(Reason::NotKnown)),
        }
    }
}

// === impl Size ===

impl Size {
    /// A size that is one: neither side is nothing.
    fn new(width: u32, height: u32) -> Option<Self> {
        (width > 0 && height > 0).then_some(Self { width, height })
    }

    const fn turned(self) -> Self {
        Self {
            width: self.height,
            height: self.width,
        }
    }

    fn area(self) -> u64 {
        u64::from(self.width).saturating_mul(u64::from(self.height))
    }
}

// === impl Measured ===

impl Measured {
    const fn picture(format: Format, brand: Option<[u8; 4]>, size: Size) -> Self {
        Self {
            format,
            brand,
            length_ms: None,
            unedited_ms: None,
            size: Some(size),
        }
    }
}
