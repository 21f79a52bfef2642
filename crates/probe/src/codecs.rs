//! The number of samples in a packet of a codec. Nothing here decodes sound: the length of a packet
//! stands in its first bytes.

pub(crate) mod aac;
pub(crate) mod ac3;
pub(crate) mod bits;
pub(crate) mod flac;
mod float_rate;
pub(crate) mod mpeg;
pub(crate) mod opus;
pub(crate) mod vorbis;

pub(crate) use float_rate::float_rate;

use crate::bounded_reader::{BoundedReader, ReadBuffer};
use crate::byte_reader::ByteReader;
use crate::length::Sum;
use crate::{Codec, Length, MeasureError};

/// The most bytes of a packet that are read.
pub(crate) const HEADER_BYTES: usize = 128;

/// More than encoders of ALAC put into a packet, by far.
const MAX_ALAC_SAMPLES: u64 = 65_536;

/// How packets of a track are counted.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Coding {
    Opus,
    Vorbis(vorbis::Vorbis),
    /// With the rate that holds where a frame does not declare its own.
    Flac(u32),
    /// MPEG audio, each packet one frame.
    Mpeg,
    /// AC-3 and its enhanced kind.
    Ac3,
    /// So many samples in a packet that does not declare another number.
    Alac {
        samples: u64,
        rate: u32,
    },
    /// Every packet holds so many samples.
    Fixed {
        samples: u64,
        rate: u32,
        codec: Codec,
    },
    /// Bare samples of all channels, each so many bytes.
    Raw {
        sample_bytes: u64,
        rate: u32,
        codec: Codec,
    },
}

/// Packets of one track, counted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counter {
    coding: Coding,
    sum: Sum,
    /// Samples of the last packet.
    last: u64,
}

impl Coding {
    pub(crate) const fn codec(&self) -> Codec {
        match self {
            Self::Opus => Codec::Opus,
            Self::Vorbis(_) => Codec::Vorbis,
            Self::Flac(_) => Codec::Flac,
            Self::Mpeg => Codec::Mp3,
            Self::Ac3 | Self::Alac { .. } => Codec::Other,
            Self::Fixed { codec, .. } | Self::Raw { codec, .. } => *codec,
        }
    }

    /// Whether it takes the first bytes of a packet to count it.
    pub(crate) const fn needs_packet_bytes(&self) -> bool {
        match self {
            Self::Opus
            | Self::Vorbis(_)
            | Self::Flac(_)
            | Self::Mpeg
            | Self::Ac3
            | Self::Alac { .. } => true,
            Self::Fixed { .. } | Self::Raw { .. } => false,
        }
    }

    /// ALAC, by its magic cookie.
    pub(crate) fn alac(cookie: &[u8]) -> Option<Self> {
        let mut reader = ByteReader::new(cookie);
        let samples = u64::from(reader.u32()?);
        reader.skip(16)?;
        let rate = reader.u32()?;
        let is_possible = (1..=MAX_ALAC_SAMPLES).contains(&samples) && rate > 0;
        is_possible.then_some(Self::Alac { samples, rate })
    }
}

impl Counter {
    pub(crate) fn new(coding: Coding) -> Self {
        Self {
            coding,
            sum: Sum::default(),
            last: 0,
        }
    }

    pub(crate) const fn coding(&self) -> &Coding {
        &self.coding
    }

    /// Counts a packet by its first bytes and its size, and returns how many samples it holds. A packet
    /// that makes no sense to a decoder makes no sound.
    pub(crate) fn packet(&mut self, header: &[u8], size: u64) -> u64 {
        let counted = match &mut self.coding {
            Coding::Opus => opus::samples(header).map(|samples| (samples, opus::RATE)),
            Coding::Vorbis(vorbis) => vorbis.samples(header).map(|count| (count, vorbis.rate())),
            Coding::Flac(rate) => flac::Frame::read(header)
                .found()
                .map(|frame| (frame.samples, frame.rate.unwrap_or(*rate))),
            Coding::Mpeg => mpeg::Frame::mpeg(header).map(|frame| (frame.samples, frame.rate)),
            Coding::Ac3 => ac3::rate(header).map(|rate| (ac3::PACKET_SAMPLES, rate)),
            Coding::Alac { samples, rate } => Some((
                alac_samples(header).unwrap_or(*samples).min(*samples),
                *rate,
            )),
            Coding::Fixed { samples, rate, .. } => Some((*samples, *rate)),
            Coding::Raw {
                sample_bytes, rate, ..
            } => size.checked_div(*sample_bytes).map(|count| (count, *rate)),
        };
        let (samples, rate) = counted.unwrap_or((0, 0));
        if samples > 0 {
            self.sum.add(samples, rate);
        }
        self.last = samples;
        samples
    }

    /// The same for a packet that lies in a file. An empty one counts nothing.
    pub(crate) fn packet_at(
        &mut self,
        source: &mut BoundedReader<'_>,
        buffer: &mut ReadBuffer,
        at: u64,
        size: u64,
    ) -> Result<(), MeasureError> {
        if size == 0 {
            return Ok(());
        }
        let needed = usize::try_from(size)
            .unwrap_or(HEADER_BYTES)
            .min(HEADER_BYTES);
        let header = if self.coding.needs_packet_bytes() {
            buffer.at(source, at, needed)?
        } else {
            &[]
        };
        self.packet(header, size);
        Ok(())
    }

    /// Counts many packets whose bytes are not needed.
    pub(crate) fn packets(&mut self, count: u64, bytes: u64) {
        match self.coding {
            Coding::Fixed { samples, rate, .. } => {
                self.sum.add(samples.saturating_mul(count), rate);
                self.last = samples;
            }
            Coding::Raw {
                sample_bytes, rate, ..
            } => {
                let samples = bytes.checked_div(sample_bytes).unwrap_or(0);
                self.sum.add(samples, rate);
                self.last = 0;
            }
            Coding::Opus
            | Coding::Vorbis(_)
            | Coding::Flac(_)
            | Coding::Mpeg
            | Coding::Ac3
            | Coding::Alac { .. } => {}
        }
    }

    /// Samples of the last packet.
    pub(crate) const fn last(&self) -> u64 {
        self.last
    }

    /// The rate of the samples, none before the first of them.
    pub(crate) fn rate(&self) -> Option<u32> {
        self.sum.rate()
    }

    /// The length less so many samples, which are no sound.
    pub(crate) fn length_without(&self, samples: u64) -> Length {
        let mut sum = self.sum;
        sum.take(samples);
        sum.length()
    }
}

/// The number of samples in a packet of ALAC that is not full, as the last one of a file.
fn alac_samples(header: &[u8]) -> Option<u64> {
    let mut bits = bits::Bits::new(header);
    // The kind of element, its number, and unused bits.
    bits.take(19)?;
    let is_partial = bits.bit()?;
    bits.take(3)?;
    is_partial.then(|| bits.take(32).map(u64::from))?
}
