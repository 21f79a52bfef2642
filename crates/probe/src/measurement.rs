//! What is known of a file that was measured, and why one could not be.

use crate::Length;

/// The codec and the length of what was counted.
pub(crate) type CountResult = Result<(Codec, Length), MeasureError>;

/// The longest of the audio tracks of a file, if all of them could be counted.
pub(crate) fn longest(tracks: impl Iterator<Item = CountResult>) -> CountResult {
    let tracks: Vec<_> = tracks.collect::<Result<_, _>>()?;
    let longest = tracks.into_iter().rev().max_by_key(|(_, length)| *length);
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
    /// A film without sound, for one.
    #[error("there is no audio in the file")]
    NoAudioTrack,
    /// A coding whose packets cannot be counted, or more parts than are read.
    #[error("the audio in the file is put together in a way that cannot be measured")]
    TooComplex,
    /// The source could not be read.
    #[error("the audio file could not be read")]
    Io,
}
