//! How the samples of a wave file lie, and how many there are in so many bytes.

use crate::adts_mpeg::Frames;
use crate::byte_reader::ByteReader;
use crate::measurement::{Count, CountResult};
use crate::step::Step;
use crate::{Codec, Length, MeasureError};

const TAG_PCM: u16 = 1;
const TAG_MS_ADPCM: u16 = 2;
const TAG_FLOAT: u16 = 3;
const TAG_A_LAW: u16 = 6;
const TAG_MU_LAW: u16 = 7;
const TAG_IMA_ADPCM: u16 = 0x11;
const TAG_MP2: u16 = 0x50;
const TAG_MP3: u16 = 0x55;
const TAG_EXTENSIBLE: u16 = 0xFFFE;

/// The format of the samples.
#[derive(Debug)]
pub(super) struct Format {
    rate: u32,
    codec: Codec,
    layout: Layout,
}

#[derive(Debug)]
enum Layout {
    /// One after the other, so many bytes for one sample of all channels.
    Interleaved(u64),
    /// In blocks of so many bytes, each with a header that holds the first samples, then half a byte for
    /// each sample of each channel.
    Adpcm {
        block_bytes: u64,
        header_bytes: u64,
        header_samples: u64,
        channels: u64,
    },
    Frames(Frames),
    /// In a way that cannot be counted.
    Unknown,
}

impl Format {
    pub(super) fn read(body: &[u8]) -> Option<Self> {
        let mut reader = ByteReader::new(body);
        let tag = reader.u16_le()?;
        let channels = u64::from(reader.u16_le()?);
        let rate = reader.u32_le()?;
        reader.skip(4)?;
        let align = u64::from(reader.u16_le()?);
        let bits = reader.u16_le().unwrap_or(0);
        let tag = if tag == TAG_EXTENSIBLE {
            // Behind the count of what follows, the bits in use and the places of the speakers.
            reader.skip(8)?;
            reader.u16_le()?
        } else {
            tag
        };
        if rate == 0 || channels == 0 {
            return None;
        }
        let (codec, layout) = layout(tag, channels, align, bits);
        Some(Self {
            rate,
            codec,
            layout,
        })
    }

    pub(super) const fn is_framed(&self) -> bool {
        match self.layout {
            Layout::Frames(_) => true,
            Layout::Interleaved(_) | Layout::Adpcm { .. } | Layout::Unknown => false,
        }
    }

    pub(super) fn step(&mut self, bytes: &[u8]) -> Step {
        match &mut self.layout {
            Layout::Frames(frames) => frames.step(bytes),
            Layout::Interleaved(_) | Layout::Adpcm { .. } | Layout::Unknown => {
                Step::consume(bytes.len())
            }
        }
    }

    /// A chunk of data ends behind these bytes.
    pub(super) fn end(&mut self, rest: &[u8]) {
        match &mut self.layout {
            Layout::Frames(frames) => frames.end(rest),
            Layout::Interleaved(_) | Layout::Adpcm { .. } | Layout::Unknown => {}
        }
    }

    /// What so many bytes of data are, the rest of which has not been read.
    pub(super) fn measured(&self, bytes: u64, rest: &[u8]) -> CountResult {
        let samples = match self.layout {
            Layout::Interleaved(sample_bytes) => bytes.checked_div(sample_bytes).unwrap_or(0),
            Layout::Adpcm {
                block_bytes,
                header_bytes,
                header_samples,
                channels,
            } => {
                let in_block = |bytes: u64| match bytes.checked_sub(header_bytes) {
                    Some(halves) => halves
                        .saturating_mul(2)
                        .checked_div(channels)
                        .unwrap_or(0)
                        .saturating_add(header_samples),
                    None => 0,
                };
                let blocks = bytes.checked_div(block_bytes).unwrap_or(0);
                let last = bytes.checked_rem(block_bytes).unwrap_or(0);
                blocks
                    .saturating_mul(in_block(block_bytes))
                    .saturating_add(in_block(last))
            }
            Layout::Frames(frames) => return frames.finish(rest),
            Layout::Unknown => return Err(MeasureError::TooComplex),
        };
        Ok(Count::new(
            self.codec,
            Length::of_samples(samples, self.rate),
        ))
    }
}

fn layout(tag: u16, channels: u64, align: u64, bits: u16) -> (Codec, Layout) {
    let even = |sample_bytes: u64| Layout::Interleaved(sample_bytes.saturating_mul(channels));
    match tag {
        TAG_PCM | TAG_FLOAT => {
            let codec = Codec::Pcm {
                bits,
                is_float: tag == TAG_FLOAT,
            };
            // A decoder takes the bits for a sample; the alignment is a mere claim.
            match u64::from(bits).div_ceil(8) {
                0 => (codec, Layout::Unknown),
                sample_bytes => (codec, even(sample_bytes)),
            }
        }
        TAG_A_LAW | TAG_MU_LAW => (Codec::OtherPcm, even(1)),
        TAG_MS_ADPCM | TAG_IMA_ADPCM => {
            let (header, header_samples) = if tag == TAG_MS_ADPCM { (7, 2) } else { (4, 1) };
            let header_bytes = channels.saturating_mul(header);
            let layout = Layout::Adpcm {
                block_bytes: align,
                header_bytes,
                header_samples,
                channels,
            };
            let layout = if align > header_bytes {
                layout
            } else {
                Layout::Unknown
            };
            (Codec::OtherPcm, layout)
        }
        TAG_MP2 | TAG_MP3 => (Codec::Mp3, Layout::Frames(Frames::mpeg())),
        _ => (Codec::Other, Layout::Unknown),
    }
}
