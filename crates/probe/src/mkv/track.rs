//! One track: its settings, and its packets counted.

use crate::codecs::{Coding, Counter, aac, flac, float_rate, mpeg, opus, vorbis};
use crate::measurement::{Count, CountResult};
use crate::{Codec, Length, MeasureError};

use super::element::number;

const TYPE_AUDIO: u64 = 2;
const SECOND_NANOS: u128 = 1_000_000_000;
/// Most samples at the start that a file may call the delay of its encoder; Opus declares its own.
const MAX_DELAY: u64 = 2_112 + 1_024;

#[derive(Debug, Default)]
pub(super) struct Track {
    number: u64,
    kind: u64,
    codec_id: Vec<u8>,
    private_header: Vec<u8>,
    private_tail: Vec<u8>,
    delay_nanos: u64,
    rate: u32,
    channels: u64,
    bits: u64,
    /// Its packets are packed or encrypted, so their first bytes are unreadable.
    is_wrapped: bool,
    counter: Option<Counter>,
    has_begun: bool,
    /// Padding that the last block declares at its end.
    discard_nanos: u64,
}

impl Track {
    pub(super) const fn number(&self) -> u64 {
        self.number
    }

    pub(super) const fn is_audio(&self) -> bool {
        self.kind == TYPE_AUDIO
    }

    pub(super) fn value(&mut self, id: u32, bytes: &[u8]) {
        match id {
            super::TRACK_NUMBER => self.number = number(bytes),
            super::TRACK_TYPE => self.kind = number(bytes),
            super::CODEC_ID => self.codec_id = bytes.to_vec(),
            super::CODEC_DELAY => self.delay_nanos = number(bytes),
            super::SAMPLING_FREQUENCY => self.rate = float_rate(bytes).unwrap_or(0),
            super::CHANNELS => self.channels = number(bytes),
            super::BIT_DEPTH => self.bits = number(bytes),
            super::CONTENT_ENCODINGS => self.is_wrapped = true,
            _ => {}
        }
    }

    pub(super) fn private_header(&mut self, bytes: &[u8]) {
        self.private_header = bytes.to_vec();
    }

    pub(super) fn private_tail(&mut self, bytes: &[u8]) {
        self.private_tail = bytes.to_vec();
    }

    /// The counter of its packets, none if they cannot be counted. It is made at the first block, when
    /// everything about the track has been read.
    pub(super) fn counter(&mut self) -> Option<&mut Counter> {
        if !self.has_begun {
            self.has_begun = true;
            self.counter = self.coding().map(Counter::new);
        }
        self.discard_nanos = 0;
        self.counter.as_mut()
    }

    pub(super) const fn discard(&mut self, nanos: u64) {
        self.discard_nanos = nanos;
    }

    pub(super) fn measured(&self) -> CountResult {
        let coding = self.coding().ok_or(MeasureError::TooComplex)?;
        let Some(counter) = &self.counter else {
            return Ok(Count::new(coding.codec(), Length::ZERO));
        };
        let rate = counter.rate().unwrap_or(0);
        let start = match opus::pre_skip(&self.private_header) {
            Some(pre_skip) => pre_skip,
            None => samples(self.delay_nanos, rate)
                .filter(|count| *count <= MAX_DELAY)
                .unwrap_or(0),
        };
        let end = samples(self.discard_nanos, rate);
        let end = end.filter(|count| *count < counter.last()).unwrap_or(0);
        let length = counter.length_without(start.saturating_add(end));
        let count = Count::new(coding.codec(), length);
        Ok(match start {
            0 => count.without_declared_delay(counter.rate()),
            _ => count,
        })
    }

    fn coding(&self) -> Option<Coding> {
        let has_rate = |rate: u32| (rate > 0).then_some(rate);
        match self.codec_id.as_slice() {
            _ if self.is_wrapped => None,
            b"A_OPUS" | b"A_OPUS/EXPERIMENTAL" => Some(Coding::Opus),
            b"A_VORBIS" => {
                let start = memchr::memmem::find(&self.private_header, b"\x01vorbis")?;
                let identity = vorbis::Identity::read(self.private_header.get(start..)?)?;
                vorbis::Vorbis::new(identity, &self.private_tail).map(Coding::Vorbis)
            }
            b"A_FLAC" => {
                // The magic and the header of the first block.
                let info = self.private_header.strip_prefix(b"fLaC")?.get(4..)?;
                flac::stream_rate(info).map(Coding::Flac)
            }
            b"A_AC3" | b"A_EAC3" => Some(Coding::Ac3),
            b"A_ALAC" => Coding::alac(&self.private_header),
            b"A_MPEG/L1" | b"A_MPEG/L2" | b"A_MPEG/L3" => Some(Coding::Mpeg),
            b"A_AAC" => aac::coding(&self.private_header),
            codec if codec.starts_with(b"A_AAC/") => Some(Coding::Fixed {
                samples: mpeg::AAC_SAMPLES,
                rate: has_rate(self.rate)?,
                codec: Codec::Aac,
            }),
            b"A_PCM/INT/LIT" | b"A_PCM/INT/BIG" => self.bare(false),
            b"A_PCM/FLOAT/IEEE" => self.bare(true),
            _ => None,
        }
    }

    fn bare(&self, is_float: bool) -> Option<Coding> {
        let bits = u16::try_from(self.bits).ok()?;
        // A file without a number of channels has one.
        let sample_bytes = self.bits.div_ceil(8).checked_mul(self.channels.max(1))?;
        (sample_bytes > 0 && self.rate > 0).then_some(Coding::Raw {
            sample_bytes,
            rate: self.rate,
            codec: Codec::Pcm { bits, is_float },
        })
    }
}

fn samples(nanos: u64, rate: u32) -> Option<u64> {
    let samples = u128::from(nanos).checked_mul(u128::from(rate))?;
    // Half up: a file writes whole nanoseconds, or tens of them.
    let half = SECOND_NANOS.div_euclid(2);
    u64::try_from(samples.checked_add(half)?.div_euclid(SECOND_NANOS)).ok()
}
