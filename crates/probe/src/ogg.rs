//! Ogg: pages of several streams, made of packets. A packet is counted by its own bytes; where a page
//! says that the sound is at (its granule) only shortens the last packet. Chained streams, one behind
//! the other, add up; streams side by side are tracks, of which the longest counts.

mod track;

use crate::byte_reader::ByteReader;
use crate::measurement::{Count, CountResult};
use crate::step::Step;
use crate::{Codec, Length, MeasureError};

use track::Track;

/// The header of a page, before the list of its segments.
const PAGE_HEADER_BYTES: usize = 27;
const MAGIC: &[u8; 4] = b"OggS";
const IS_CONTINUED: u8 = 1;
const IS_FIRST: u8 = 2;
const IS_LAST: u8 = 4;
/// A page on which no packet ends.
const NO_GRANULE: u64 = u64::MAX;
const MAX_TRACKS: usize = 16;
/// A segment that is followed by more of its packet.
const FULL_SEGMENT: u8 = 255;

#[derive(Debug, Default)]
pub(crate) struct Ogg {
    has_page: bool,
    /// Sound of the links that have ended.
    before: Length,
    codec: Option<Codec>,
    tracks: Vec<Track>,
    /// The link has more than the first pages of its streams.
    has_begun: bool,
    page: Option<Page>,
}

/// A page whose body is being read.
#[derive(Debug)]
struct Page {
    serial: u32,
    granule: u64,
    is_last: bool,
    /// The sizes of its segments, and how many of them are done.
    segments: Vec<u8>,
    done: usize,
}

impl Ogg {
    pub(crate) fn step(&mut self, bytes: &[u8]) -> Step {
        if self.page.is_some() {
            return self.body(bytes);
        }
        let mut reader = ByteReader::new(bytes);
        let Some(magic) = reader.bytes::<4>() else {
            return Step::NeedMore;
        };
        if &magic != MAGIC {
            let next = memchr::memchr(b'O', bytes.get(1..).unwrap_or_default());
            let junk = next.map_or(bytes.len(), |next| next.saturating_add(1));
            return Step::consume(junk);
        }
        let Some((page, flags)) = Page::read(reader) else {
            return Step::NeedMore;
        };
        let header = PAGE_HEADER_BYTES.saturating_add(page.segments.len());
        self.has_page = true;
        self.begin(page, flags);
        Step::consume(header)
    }

    pub(crate) fn finish(&self) -> CountResult {
        if !self.has_page {
            return Err(MeasureError::NotAudio);
        }
        let (last_codec, last) = self.link();
        let codec = self
            .codec
            .or(last_codec)
            .ok_or(MeasureError::NoAudioTrack)?;
        Ok(Count::new(codec, self.before.saturating_add(last)))
    }

    fn begin(&mut self, page: Page, flags: u8) {
        if flags & IS_FIRST == 0 {
            self.has_begun = true;
        } else if self.has_begun {
            // A first page behind others: the next link of the chain.
            let (codec, length) = self.link();
            self.codec = self.codec.or(codec);
            self.before = self.before.saturating_add(length);
            self.tracks.clear();
            self.has_begun = false;
        }
        if flags & IS_FIRST != 0 && self.tracks.len() < MAX_TRACKS {
            self.tracks.push(Track::new(page.serial));
        }
        let is_continued = flags & IS_CONTINUED != 0;
        if let Some(track) = self.track(page.serial) {
            track.begin_page(is_continued);
        }
        if page.segments.is_empty() {
            self.end_page(&page);
        } else {
            self.page = Some(page);
        }
    }

    /// Reads as many segments as are there.
    fn body(&mut self, bytes: &[u8]) -> Step {
        let Some(mut page) = self.page.take() else {
            return Step::NeedMore;
        };
        let mut at = 0_usize;
        let mut track = self.track(page.serial);
        while let Some(size) = page.segments.get(page.done).copied() {
            let end = at.saturating_add(usize::from(size));
            let Some(segment) = bytes.get(at..end) else {
                break;
            };
            if let Some(track) = &mut track {
                track.segment(segment, size < FULL_SEGMENT);
            }
            at = end;
            page.done = page.done.saturating_add(1);
        }
        if page.done < page.segments.len() {
            self.page = Some(page);
        } else {
            self.end_page(&page);
        }
        match at {
            // Nothing but empty segments: the next bytes are a new page, or more of this one.
            0 if self.page.is_none() => self.step(bytes),
            0 => Step::NeedMore,
            _ => Step::consume(at),
        }
    }

    fn end_page(&mut self, page: &Page) {
        let granule = (page.granule != NO_GRANULE).then_some(page.granule);
        if let Some(track) = self.track(page.serial) {
            track.end_page(granule, page.is_last);
        }
    }

    fn track(&mut self, serial: u32) -> Option<&mut Track> {
        // The newest first: a number may come back in a later stream.
        self.tracks
            .iter_mut()
            .rev()
            .find(|track| track.serial() == serial)
    }

    /// The longest track of the current link.
    fn link(&self) -> (Option<Codec>, Length) {
        let measured = self.tracks.iter().filter_map(Track::measured);
        match measured.max_by_key(|(_, length)| *length) {
            Some((codec, length)) => (Some(codec), length),
            None => (None, Length::ZERO),
        }
    }
}

impl Page {
    /// The page and its flags, from behind its name.
    fn read(mut reader: ByteReader<'_>) -> Option<(Self, u8)> {
        reader.skip(1)?;
        let flags = reader.u8()?;
        let granule = reader.u64_le()?;
        let serial = reader.u32_le()?;
        reader.skip(8)?;
        let count = usize::from(reader.u8()?);
        let segments = reader.rest().get(..count)?.to_vec();
        let page = Self {
            serial,
            granule,
            is_last: flags & IS_LAST != 0,
            segments,
            done: 0,
        };
        Some((page, flags))
    }
}
