//! Containers that can be read from front to back without ever looking back.

use crate::adts_mpeg::Frames;
use crate::byte_reader::count_of;
use crate::flac::Flac;
use crate::measurement::{Count, CountResult};
use crate::ogg::Ogg;
use crate::step::Step;
use crate::wav::Wav;
use crate::{Codec, Length, MeasureError};

/// One of them, under way.
#[derive(Debug)]
pub(crate) enum Stream {
    Wav(Box<Wav>),
    Frames(Box<Frames>),
    Flac(Box<Flac>),
    Ogg(Box<Ogg>),
    Pcm(Pcm),
}

/// Bare samples of 16 bits, one channel.
#[derive(Debug)]
pub(crate) struct Pcm {
    rate: u32,
    bytes: u64,
}

impl Stream {
    pub(crate) fn step(&mut self, bytes: &[u8]) -> Step {
        match self {
            Self::Wav(wav) => wav.step(bytes),
            Self::Frames(frames) => frames.step(bytes),
            Self::Flac(flac) => flac.step(bytes),
            Self::Ogg(ogg) => ogg.step(bytes),
            Self::Pcm(pcm) => pcm.step(bytes),
        }
    }

    /// What is known if nothing follows these bytes, of a stream that still owes some.
    pub(crate) fn finish(&self, rest: &[u8], to_skip: u64) -> CountResult {
        match self {
            Self::Wav(wav) => wav.finish(rest, to_skip),
            Self::Frames(frames) => frames.finish(rest),
            Self::Flac(flac) => flac.finish(rest),
            Self::Ogg(ogg) => ogg.finish(),
            Self::Pcm(pcm) => pcm.finish(),
        }
    }
}

impl Pcm {
    const SAMPLE_BYTES: u64 = 2;

    pub(crate) const fn new(rate: u32) -> Self {
        Self { rate, bytes: 0 }
    }

    fn step(&mut self, bytes: &[u8]) -> Step {
        self.bytes = self.bytes.saturating_add(count_of(bytes));
        Step::consume(bytes.len())
    }

    fn finish(&self) -> CountResult {
        if self.bytes == 0 {
            return Err(MeasureError::NotAudio);
        }
        let codec = Codec::Pcm {
            bits: 16,
            is_float: false,
        };
        let samples = self.bytes.div_euclid(Self::SAMPLE_BYTES);
        Ok(Count::new(codec, Length::of_samples(samples, self.rate)))
    }
}
