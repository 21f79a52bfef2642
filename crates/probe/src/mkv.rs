//! WebM and Matroska: elements in elements, blocks of packets in clusters. Blocks are counted by their
//! packets; no time stamp or duration is believed. Sizes may be unknown, as browsers write them, so the
//! way goes into the few elements that matter and past all others, and never asks where it came from.

mod blocks;
mod element;
mod track;

use crate::MeasureError;
use crate::bounded_reader::{BoundedReader, ReadBuffer};
use crate::measurement::{CountResult, longest};

use element::Element;
use track::Track;

/// Most tracks of a file.
const MAX_TRACKS: usize = 64;
/// Most elements that are read: fifty hours of Opus, each packet in a block of its own.
const MAX_ELEMENTS: u32 = 10_000_000;
/// What is read of a value or of the private data of a codec, at its start.
const VALUE_BYTES: usize = 256;

// Elements by their numbers.
const SEGMENT: u32 = 0x1853_8067;
const TRACKS: u32 = 0x1654_AE6B;
const TRACK_ENTRY: u32 = 0xAE;
const TRACK_NUMBER: u32 = 0xD7;
const TRACK_TYPE: u32 = 0x83;
const CODEC_ID: u32 = 0x86;
const CODEC_PRIVATE: u32 = 0x63A2;
const CODEC_DELAY: u32 = 0x56AA;
const AUDIO: u32 = 0xE1;
const SAMPLING_FREQUENCY: u32 = 0xB5;
const CHANNELS: u32 = 0x9F;
const BIT_DEPTH: u32 = 0x6264;
const CONTENT_ENCODINGS: u32 = 0x6D80;
const CLUSTER: u32 = 0x1F43_B675;
const SIMPLE_BLOCK: u32 = 0xA3;
const BLOCK_GROUP: u32 = 0xA0;
const BLOCK: u32 = 0xA1;
const DISCARD_PADDING: u32 = 0x75A2;

struct Walk {
    at: u64,
    buffer: ReadBuffer,
    elements: u32,
    tracks: Vec<Track>,
    /// The track of the block that was read last.
    last_block: Option<usize>,
}

/// Measures a file from its EBML header on.
pub(crate) fn measure(source: &mut BoundedReader<'_>, start: u64) -> CountResult {
    let mut walk = Walk {
        at: start,
        buffer: ReadBuffer::default(),
        elements: 0,
        tracks: Vec::new(),
        last_block: None,
    };
    while walk.step(source)? {}
    walk.finish()
}

impl Walk {
    /// Reads one element and returns whether there was one.
    fn step(&mut self, source: &mut BoundedReader<'_>) -> Result<bool, MeasureError> {
        let header = self.buffer.at(source, self.at, Element::MAX_HEADER_BYTES)?;
        if header.is_empty() {
            return Ok(false);
        }
        let Some(element) = Element::read(header) else {
            // Nothing of this kind begins so: the rest is junk, or cut off within a header.
            return Ok(false);
        };
        self.elements = self.elements.saturating_add(1);
        if self.elements > MAX_ELEMENTS {
            return Err(MeasureError::TooComplex);
        }
        let body = self.at.saturating_add(element.header_bytes);
        match element.id {
            SEGMENT | TRACKS | AUDIO | CLUSTER | BLOCK_GROUP => {
                self.at = body;
                return Ok(true);
            }
            TRACK_ENTRY => {
                if self.tracks.len() >= MAX_TRACKS {
                    return Err(MeasureError::TooComplex);
                }
                self.tracks.push(Track::default());
                self.at = body;
                return Ok(true);
            }
            SIMPLE_BLOCK | BLOCK => self.block(source, &element, body)?,
            DISCARD_PADDING => self.discard(source, &element, body)?,
            _ => self.value(source, &element, body)?,
        }
        // An unknown size of anything else: all that follows belongs to it.
        self.at = body.saturating_add(element.size.unwrap_or(u64::MAX));
        Ok(self.at < source.bytes())
    }

    fn finish(self) -> CountResult {
        if self.tracks.is_empty() {
            return Err(MeasureError::Broken);
        }
        let audio = self.tracks.iter().filter(|track| track.is_audio());
        longest(audio.map(Track::measured))
    }

    fn value(
        &mut self,
        source: &mut BoundedReader<'_>,
        element: &Element,
        body: u64,
    ) -> Result<(), MeasureError> {
        let Some(track) = self.tracks.last_mut() else {
            return Ok(());
        };
        let size = element.size.unwrap_or(0);
        let needed = usize::try_from(size)
            .unwrap_or(VALUE_BYTES)
            .min(VALUE_BYTES);
        match element.id {
            TRACK_NUMBER | TRACK_TYPE | CODEC_ID | CODEC_DELAY | SAMPLING_FREQUENCY | CHANNELS
            | BIT_DEPTH | CONTENT_ENCODINGS => {
                let bytes = self.buffer.at(source, body, needed)?;
                track.value(element.id, bytes);
            }
            CODEC_PRIVATE => {
                let bytes = self.buffer.at(source, body, needed)?;
                track.private_header(bytes);
                let end = body.saturating_add(size).min(source.bytes());
                let most = u64::try_from(crate::codecs::vorbis::TAIL_BYTES).unwrap_or(0);
                let start = body.max(end.saturating_sub(most));
                let count = usize::try_from(end.saturating_sub(start)).unwrap_or(0);
                let bytes = self.buffer.at(source, start, count)?;
                track.private_tail(bytes);
            }
            _ => {}
        }
        Ok(())
    }

    fn block(
        &mut self,
        source: &mut BoundedReader<'_>,
        element: &Element,
        body: u64,
    ) -> Result<(), MeasureError> {
        let size = element.size.ok_or(MeasureError::Broken)?;
        let end = body.saturating_add(size);
        self.last_block = None;
        // A block of which some is missing has no packet that is surely whole.
        if end > source.bytes() {
            return Ok(());
        }
        let header = self.buffer.at(source, body, blocks::MAX_HEADER_BYTES)?;
        let Some(block) = blocks::Block::read(header) else {
            return Ok(());
        };
        let index = self
            .tracks
            .iter()
            .position(|track| track.number() == block.track);
        let track = index.and_then(|index| self.tracks.get_mut(index));
        let Some(track) = track.filter(|track| track.is_audio()) else {
            return Ok(());
        };
        self.last_block = index;
        blocks::count(source, &mut self.buffer, track, &block, body, end)
    }

    /// The end that the last block declares. Only the very last one of a track is believed.
    fn discard(
        &mut self,
        source: &mut BoundedReader<'_>,
        element: &Element,
        body: u64,
    ) -> Result<(), MeasureError> {
        let size = usize::try_from(element.size.unwrap_or(0)).unwrap_or(VALUE_BYTES);
        let bytes = self.buffer.at(source, body, size.min(8))?;
        let nanos = element::number(bytes);
        let track = self.last_block.and_then(|index| self.tracks.get_mut(index));
        if let Some(track) = track {
            track.discard(nanos);
        }
        Ok(())
    }
}
