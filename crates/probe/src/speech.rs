//! Formats of generated speech, by the words that callers use for them.

/// The rate of PCM where the vendor states none.
pub const DEFAULT_PCM_RATE: u32 = 24_000;

/// A format of generated speech.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SpeechFormat {
    Mp3,
    Opus,
    Aac,
    Flac,
    Wav,
    /// Bare samples: signed, 16 bits, little-endian, mono.
    Pcm {
        /// Samples a second.
        rate: u32,
    },
}

impl SpeechFormat {
    /// The format of a word; bare samples at [`DEFAULT_PCM_RATE`].
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "mp3" => Some(Self::Mp3),
            "opus" => Some(Self::Opus),
            "aac" => Some(Self::Aac),
            "flac" => Some(Self::Flac),
            "wav" => Some(Self::Wav),
            "pcm" => Some(Self::Pcm {
                rate: DEFAULT_PCM_RATE,
            }),
            _ => None,
        }
    }

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Mp3 => "mp3",
            Self::Opus => "opus",
            Self::Aac => "aac",
            Self::Flac => "flac",
            Self::Wav => "wav",
            Self::Pcm { .. } => "pcm",
        }
    }

    /// The content type of an answer.
    #[must_use]
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::Mp3 => "audio/mpeg",
            Self::Opus => "audio/ogg",
            Self::Aac => "audio/aac",
            Self::Flac => "audio/flac",
            Self::Wav => "audio/wav",
            Self::Pcm { .. } => "audio/pcm",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_read_back_and_has_a_content_type() {
        let types = [
            ("mp3", "audio/mpeg"),
            ("opus", "audio/ogg"),
            ("aac", "audio/aac"),
            ("flac", "audio/flac"),
            ("wav", "audio/wav"),
            ("pcm", "audio/pcm"),
        ];
        for (word, content_type) in types {
            let format = SpeechFormat::parse(word).expect("a word of the list");
            assert_eq!(
                (format.as_str(), format.content_type()),
                (word, content_type)
            );
        }
        assert_eq!(SpeechFormat::parse("MP3"), None);
        assert_eq!(
            SpeechFormat::parse("pcm"),
            Some(SpeechFormat::Pcm { rate: 24_000 })
        );
    }
}
