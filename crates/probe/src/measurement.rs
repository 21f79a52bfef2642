//! What is known of a file that was measured, and why one could not be.

use crate::Length;

/// Most samples that are no sound at the ends of AAC: what its encoders put before it, 2112, and a packet that
/// they fill up behind it.
pub(crate) const MAX_AAC_PRIMING: u64 = 2_112 + 1_024;

/// What was counted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Count {
    pub(crate) codec: Codec,
    pub(crate) length: Length,
    /// What of the length may be no sound, and is not declared.
    pub(crate) undeclared: Length,
}

pub(crate) type CountResult = Result<Count, MeasureError>;

/// The longest of the audio tracks of a file, if all of them could be counted.
pub(crate) fn longest(tracks: impl Iterator<Item = CountResult>) -> CountResult {
    let tracks: Vec<_> = tracks.collect::<Result<_, _>>()?;
    let longest = tracks.into_iter().rev().max_by_key(|track| track.length);
    longest.ok_or(MeasureError::NoAudioTrack)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Container {
    /// RIFF wave, RF64 and Wave64.
    Wav,
    Mp3,
    Flac,
    Ogg,
    /// ISO base media: MP4, M4A and QuickTime.
    Mp4,
    WebM,
    Adts,
}

/// How the sound of the longest track is coded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Codec {
    Pcm {
        /// Bits of a sample.
        bits: u16,
        /// Whether they are floating point numbers.
        is_float: bool,
    },
    /// A-law, µ-law, ADPCM and the like.
    OtherPcm,
    Mp3,
    Flac,
    Vorbis,
    Opus,
    Aac,
    /// Another one that could be counted.
    Other,
}

/// What is known of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measurement {
    pub container: Container,
    /// How its sound is coded.
    pub codec: Codec,
    pub length: Length,
    /// What of the length may be the delay and padding of an encoder that did not declare them.
    pub undeclared: Length,
}

// === impl Count ===

impl Count {
    /// All of the length is sound.
    pub(crate) const fn new(codec: Codec, length: Length) -> Self {
        Self {
            codec,
            length,
            undeclared: Length::ZERO,
        }
    }

    /// The same of a stream that declares no delay, which every encoder of AAC has.
    pub(crate) fn without_declared_delay(mut self, rate: Option<u32>) -> Self {
        if let Some(rate) = rate.filter(|_| self.codec == Codec::Aac) {
            self.undeclared = Length::of_samples(MAX_AAC_PRIMING, rate);
        }
        self
    }
}

// === impl Measurement ===

impl Measurement {
    /// Whole seconds as they are billed: rounded up, at least one. What may be no sound is not billed, so that a
    /// second of sound is one second in every container.
    #[must_use]
    pub fn billed_seconds(&self) -> u64 {
        self.length.saturating_sub(self.undeclared).whole_seconds()
    }
}

/// Why a file has no length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MeasureError {
    /// None of the known containers.
    #[error("the file is not audio of a known kind")]
    NotAudio,
    /// It contradicts itself, or what is needed of it is missing.
    #[error("the audio file is broken")]
    Broken,
    /// A video without sound, for one.
    #[error("there is no audio in the file")]
    NoAudioTrack,
    /// A coding whose packets cannot be counted, or more parts than are read.
    #[error("the audio in the file is put together in a way that cannot be measured")]
    TooComplex,
    /// The source could not be read.
    #[error("the audio file could not be read")]
    Io,
}
