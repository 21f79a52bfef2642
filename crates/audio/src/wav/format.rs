//! How the samples of a wave file lie, and how many there are in so many bytes.

use crate::fields::Fields;
use crate::frames::Frames;
use crate::pending::Step;
use crate::{Codec, Length, Unheard};

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
    laid: Laid,
}

/// How they lie.
#[derive(Debug)]
enum Laid {
    /// One after the other, so many bytes for one sample of all channels.
    Even(u64),
    /// In blocks of so many bytes, each with a head that holds the first samples, then half a byte for
    /// each sample of each channel.
    Blocks {
        block_bytes: u64,
        head_bytes: u64,
        head_samples: u64,
        channels: u64,
    },
    /// Frames of MPEG audio.
    Frames(Frames),
    /// In a way that nobody here can count.
    Unknown,
}

impl Format {
    pub(super) fn read(body: &[u8]) -> Option<Self> {
        let mut fields = Fields::new(body);
        let tag = fields.u16_le()?;
        let channels = u64::from(fields.u16_le()?);
        let rate = fields.u32_le()?;
        fields.skip(4)?;
        let align = u64::from(fields.u16_le()?);
        let bits = fields.u16_le().unwrap_or(0);
        let tag = if tag == TAG_EXTENSIBLE {
            // Behind the count of what follows, the bits in use and the places of the speakers.
            fields.skip(8)?;
            fields.u16_le()?
        } else {
            tag
        };
        if rate == 0 || channels == 0 {
            return None;
        }
        let (codec, laid) = laid(tag, channels, align, bits);
        Some(Self { rate, codec, laid })
    }

    pub(super) const fn has_to_be_looked_at(&self) -> bool {
        match self.laid {
            Laid::Frames(_) => true,
            Laid::Even(_) | Laid::Blocks { .. } | Laid::Unknown => false,
        }
    }

    pub(super) fn step(&mut self, bytes: &[u8]) -> Step {
        match &mut self.laid {
            Laid::Frames(frames) => frames.step(bytes),
            Laid::Even(_) | Laid::Blocks { .. } | Laid::Unknown => {
                Step::Pass(u64::try_from(bytes.len()).unwrap_or(u64::MAX))
            }
        }
    }

    /// A chunk of data ends behind these bytes.
    pub(super) fn end(&mut self, rest: &[u8]) {
        match &mut self.laid {
            Laid::Frames(frames) => frames.end(rest),
            Laid::Even(_) | Laid::Blocks { .. } | Laid::Unknown => {}
        }
    }

    /// What so many bytes of data are, the rest of which has not been looked at.
    pub(super) fn heard(&self, bytes: u64, rest: &[u8]) -> Result<(Codec, Length), Unheard> {
        let samples = match self.laid {
            Laid::Even(sample_bytes) => bytes.checked_div(sample_bytes).unwrap_or(0),
            Laid::Blocks {
                block_bytes,
                head_bytes,
                head_samples,
                channels,
            } => {
                let in_block = |bytes: u64| match bytes.checked_sub(head_bytes) {
                    Some(halves) => halves
                        .saturating_mul(2)
                        .checked_div(channels)
                        .unwrap_or(0)
                        .saturating_add(head_samples),
                    None => 0,
                };
                let blocks = bytes.checked_div(block_bytes).unwrap_or(0);
                let last = bytes.checked_rem(block_bytes).unwrap_or(0);
                blocks
                    .saturating_mul(in_block(block_bytes))
                    .saturating_add(in_block(last))
            }
            Laid::Frames(frames) => return frames.ended(rest),
            Laid::Unknown => return Err(Unheard::TooComplex),
        };
        Ok((self.codec, Length::of_samples(samples, self.rate)))
    }
}

fn laid(tag: u16, channels: u64, align: u64, bits: u16) -> (Codec, Laid) {
    let even = |sample_bytes: u64| Laid::Even(sample_bytes.saturating_mul(channels));
    match tag {
        TAG_PCM | TAG_FLOAT => {
            let codec = Codec::Pcm {
                bits,
                is_float: tag == TAG_FLOAT,
            };
            // The bits say what a decoder takes for a sample; the alignment is a mere claim.
            match u64::from(bits).div_ceil(8) {
                0 => (codec, Laid::Unknown),
                sample_bytes => (codec, even(sample_bytes)),
            }
        }
        TAG_A_LAW | TAG_MU_LAW => (Codec::OtherPcm, even(1)),
        TAG_MS_ADPCM | TAG_IMA_ADPCM => {
            let (head, head_samples) = if tag == TAG_MS_ADPCM { (7, 2) } else { (4, 1) };
            let head_bytes = channels.saturating_mul(head);
            let laid = Laid::Blocks {
                block_bytes: align,
                head_bytes,
                head_samples,
                channels,
            };
            let laid = if align > head_bytes {
                laid
            } else {
                Laid::Unknown
            };
            (Codec::OtherPcm, laid)
        }
        TAG_MP2 | TAG_MP3 => (Codec::Mp3, Laid::Frames(Frames::mpeg())),
        _ => (Codec::Other, Laid::Unknown),
    }
}
