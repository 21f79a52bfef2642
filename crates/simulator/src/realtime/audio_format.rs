//! Formats of audio in events: how long a piece is, where it is loud, and the tone that stands for a voice.

use serde_json::Value;

use super::vendor::Vendor;
use crate::tokens::count;
use crate::tone;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AudioFormat {
    /// 16 bits, little endian, one channel.
    Pcm {
        rate: u32,
    },
    Ulaw,
    Alaw,
}

const DEFAULT_RATE: u32 = 24_000;
const TELEPHONE_RATE: u32 = 8_000;
/// Rates that other vendors than OpenAI take.
const RATES: [u32; 6] = [8_000, 16_000, 22_050, 24_000, 32_000, 44_100];
/// A loud sample of either sign, in both telephone formats.
const LOUD: u8 = 0x10;
const SIGN: u8 = 0x80;
const WAV_HEADER_BYTES: usize = 44;

// === impl AudioFormat ===

impl AudioFormat {
    pub(super) const DEFAULT: Self = Self::Pcm { rate: DEFAULT_RATE };

    /// The format that a session names; none if it is unknown.
    pub(super) fn read(value: &Value, vendor: Vendor) -> Option<Self> {
        let is_openai = matches!(vendor, Vendor::OpenAi | Vendor::Azure);
        let name = value.as_str().or_else(|| value.get("type")?.as_str())?;
        let rate = value.get("rate").or_else(|| value.get("sample_rate"));
        let rate = match rate {
            None => DEFAULT_RATE,
            Some(rate) => u32::try_from(rate.as_u64()?).ok()?,
        };
        match name {
            "audio/pcm" | "pcm" | "pcm16" if is_openai => {
                (rate == DEFAULT_RATE).then_some(Self::DEFAULT)
            }
            "audio/pcm" | "pcm" | "pcm16" | "pcm24" | "wav" | "wav24" | "wav48" => {
                RATES.contains(&rate).then_some(Self::Pcm { rate })
            }
            "audio/pcmu" | "g711_ulaw" => Some(Self::Ulaw),
            "audio/pcma" | "g711_alaw" => Some(Self::Alaw),
            _ => None,
        }
    }

    pub(super) fn rate(self) -> u32 {
        match self {
            Self::Pcm { rate } => rate,
            Self::Ulaw | Self::Alaw => TELEPHONE_RATE,
        }
    }

    fn sample_bytes(self) -> usize {
        match self {
            Self::Pcm { .. } => 2,
            Self::Ulaw | Self::Alaw => 1,
        }
    }

    /// The samples of a piece without the header that some vendors want before each.
    pub(super) fn payload(bytes: &[u8]) -> &[u8] {
        if bytes.starts_with(b"RIFF") {
            return bytes.get(WAV_HEADER_BYTES..).unwrap_or_default();
        }
        bytes
    }

    pub(super) fn samples(self, bytes: &[u8]) -> u64 {
        count(bytes.len().checked_div(self.sample_bytes()).unwrap_or(0))
    }

    /// The bytes of so many samples.
    pub(super) fn bytes_of(self, samples: usize) -> usize {
        samples.saturating_mul(self.sample_bytes())
    }

    pub(super) fn millis(self, samples: u64) -> u64 {
        let thousandths = samples.saturating_mul(1_000);
        thousandths.checked_div(self.rate().into()).unwrap_or(0)
    }

    pub(super) fn samples_in(self, millis: u64) -> u64 {
        millis.saturating_mul(self.rate().into()) / 1_000
    }

    /// Whether any sample is at least so loud.
    pub(super) fn is_loud(self, bytes: &[u8], amplitude: u16) -> bool {
        match self {
            Self::Pcm { .. } => bytes
                .chunks_exact(2)
                .filter_map(|pair| <[u8; 2]>::try_from(pair).ok())
                .any(|pair| i16::from_le_bytes(pair).unsigned_abs() >= amplitude),
            // The quiet steps of these formats: zero, and a hiss of a few steps around it.
            Self::Ulaw => bytes.iter().any(|byte| byte & !SIGN < 0x70),
            Self::Alaw => bytes.iter().any(|byte| (byte ^ 0x55) & !SIGN > 0x0f),
        }
    }

    /// The tone from one millisecond to another.
    pub(super) fn tone(self, from_millis: u64, to_millis: u64) -> Vec<u8> {
        let (from, to) = (self.samples_in(from_millis), self.samples_in(to_millis));
        let samples = tone::samples(from, to, self.rate());
        match self {
            Self::Pcm { .. } => samples.flat_map(i16::to_le_bytes).collect(),
            Self::Ulaw | Self::Alaw => {
                let loud = |sample: i16| if sample < 0 { LOUD } else { LOUD | SIGN };
                samples.map(loud).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tone_is_loud_and_silence_is_not_in_every_format() {
        let silences = [
            (AudioFormat::DEFAULT, vec![0; 480]),
            (AudioFormat::Ulaw, vec![0xff; 80]),
            (AudioFormat::Alaw, vec![0xd5; 80]),
        ];
        for (format, silence) in silences {
            assert!(!format.is_loud(&silence, 100), "{format:?}");
            assert_eq!(format.millis(format.samples(&silence)), 10);
            let tone = format.tone(0, 50);
            assert!(format.is_loud(&tone, 100), "{format:?}");
            assert_eq!(format.millis(format.samples(&tone)), 50);
        }
    }
}
