//! Audio that decodes: the tone in one of six formats, made piece by piece as it is sent. WAV, PCM and
//! FLAC are exact to the sample, Opus too (by its last granule); MP3 and AAC are rounded up to frames.

mod aac;
mod flac;
mod mp3;
mod ogg;
mod wav;

use bytes::Bytes;

use crate::tone::{self, Spoken};

/// What audio is wrapped in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Mp3,
    Opus,
    Aac,
    Flac,
    Wav,
    Pcm,
}

/// How a tone is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) rate: u32,
    /// One or two.
    pub(crate) channels: u8,
    /// Of MP3 alone.
    pub(crate) bitrate: u32,
}

/// A tone of a length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sound {
    pub(crate) format: Format,
    pub(crate) rate: u32,
    /// One or two.
    pub(crate) channels: u8,
    /// Of MP3 alone.
    pub(crate) bitrate: u32,
    pub(crate) samples: u64,
    pub(crate) millis: u64,
}

/// Pieces of samples, five a second.
const PIECES_PER_SECOND: u32 = 5;
const BITS_PER_SAMPLE: u64 = 16;

// === impl Format ===

impl Format {
    pub(crate) fn read(word: &str) -> Option<Self> {
        match word {
            "mp3" => Some(Self::Mp3),
            "opus" => Some(Self::Opus),
            "aac" => Some(Self::Aac),
            "flac" => Some(Self::Flac),
            "wav" => Some(Self::Wav),
            "pcm" => Some(Self::Pcm),
            _ => None,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Mp3 => "mp3",
            Self::Opus => "opus",
            Self::Aac => "aac",
            Self::Flac => "flac",
            Self::Wav => "wav",
            Self::Pcm => "pcm",
        }
    }

    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Self::Mp3 => "audio/mpeg",
            Self::Opus => "audio/ogg",
            Self::Aac => "audio/aac",
            Self::Flac => "audio/flac",
            Self::Wav => "audio/wav",
            Self::Pcm => "audio/pcm",
        }
    }
}

// === impl Sound ===

impl Sound {
    /// The tone of a text. Opus and AAC are made at one rate, 48 and 24 kilohertz, in one channel.
    pub(crate) fn of(spoken: Spoken, format: Format, shape: Shape) -> Self {
        let (rate, channels) = match format {
            Format::Opus => (ogg::RATE, 1),
            Format::Aac => (aac::RATE, 1),
            Format::Mp3 | Format::Flac | Format::Wav | Format::Pcm => (shape.rate, shape.channels),
        };
        Self {
            format,
            rate,
            channels,
            bitrate: shape.bitrate,
            samples: spoken.samples(rate),
            millis: spoken.millis(),
        }
    }

    /// How many pieces it is sent in; at least one, which may be a header alone.
    pub(crate) fn pieces(self) -> u64 {
        let per_piece = match self.format {
            Format::Mp3 => mp3::samples_per_piece(self.rate),
            Format::Opus => return ogg::pages(self.samples),
            Format::Aac => aac::SAMPLES_PER_PIECE,
            Format::Flac => flac::BLOCK,
            Format::Wav | Format::Pcm => self.samples_per_piece(),
        };
        self.samples.div_ceil(per_piece.max(1)).max(1)
    }

    /// The bytes of a piece.
    pub(crate) fn piece(self, index: u64) -> Vec<u8> {
        match self.format {
            Format::Mp3 => mp3::piece(self, index),
            Format::Opus => ogg::piece(self.samples, index),
            Format::Aac => aac::piece(self.samples, index),
            Format::Flac => flac::piece(self, index),
            Format::Wav => {
                let mut bytes = if index == 0 {
                    wav::header(self)
                } else {
                    Vec::new()
                };
                bytes.extend(self.plain(index));
                bytes
            }
            Format::Pcm => self.plain(index),
        }
    }

    /// The milliseconds of a piece; all of them together are those of the sound.
    pub(crate) fn piece_millis(self, index: u64) -> u64 {
        let until = |index: u64| {
            let share = self.millis.saturating_mul(index);
            share.checked_div(self.pieces()).unwrap_or(0)
        };
        until(index.saturating_add(1)).saturating_sub(until(index))
    }

    pub(crate) fn bytes(self) -> Vec<u8> {
        (0..self.pieces())
            .flat_map(|index| self.piece(index))
            .collect()
    }

    /// All of it, cut as it is sent.
    pub(crate) fn iter(self) -> impl Iterator<Item = Bytes> + Send {
        (0..self.pieces()).map(move |index| Bytes::from(self.piece(index)))
    }

    pub(crate) fn bits_per_second(self) -> u64 {
        match self.format {
            Format::Mp3 => mp3::bitrate(self).into(),
            Format::Opus | Format::Aac | Format::Flac | Format::Wav | Format::Pcm => {
                let per_channel = u64::from(self.rate).saturating_mul(BITS_PER_SAMPLE);
                per_channel.saturating_mul(self.channels.into())
            }
        }
    }

    fn samples_per_piece(self) -> u64 {
        u64::from(self.rate / PIECES_PER_SECOND)
    }

    /// Samples as they are, the lower byte first.
    fn plain(self, index: u64) -> Vec<u8> {
        let (first, last) = self.span(index, self.samples_per_piece());
        let mut bytes = Vec::new();
        for sample in tone::samples(first, last, self.rate) {
            for _ in 0..self.channels {
                bytes.extend(sample.to_le_bytes());
            }
        }
        bytes
    }

    /// The samples of a piece: the first, and the one behind the last.
    fn span(self, index: u64, per_piece: u64) -> (u64, u64) {
        let first = index.saturating_mul(per_piece).min(self.samples);
        (first, first.saturating_add(per_piece).min(self.samples))
    }
}

#[cfg(test)]
mod tests;
