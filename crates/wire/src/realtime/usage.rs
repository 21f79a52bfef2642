//! Usage as realtime events report it, in disjoint buckets. Every field is optional: what is absent was not reported.

use serde::Deserialize;
use serde_json::Number;
use trunkline_types::{Bucket, Usage};

/// Tokens of one response, by kind.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub struct TokenCounts {
    pub input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
    // Some vendors write the plural.
    #[serde(default, alias = "input_tokens_details")]
    input_token_details: Option<InputDetails>,
    #[serde(default, alias = "output_tokens_details")]
    output_token_details: Option<OutputDetails>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
struct InputDetails {
    text_tokens: Option<u64>,
    audio_tokens: Option<u64>,
    image_tokens: Option<u64>,
    cached_tokens: Option<u64>,
    cached_tokens_details: Option<CachedDetails>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
struct CachedDetails {
    text_tokens: Option<u64>,
    audio_tokens: Option<u64>,
    image_tokens: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
struct OutputDetails {
    text_tokens: Option<u64>,
    audio_tokens: Option<u64>,
}

/// Usage of one transcription, in tokens or in seconds.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub struct TranscriptUsage {
    #[serde(flatten)]
    tokens: TokenCounts,
    seconds: Option<Number>,
}

/// A part and what of it came from a cache.
struct Part {
    fresh: u64,
    cached: u64,
}

// === impl TokenCounts ===

impl TokenCounts {
    /// Whether it reports anything; an empty block is no report.
    #[must_use]
    pub const fn is_reported(&self) -> bool {
        self.input_tokens.is_some() || self.output_tokens.is_some()
    }

    /// Whether it reports that nothing was used.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.input_tokens.unwrap_or(0) == 0 && self.output_tokens.unwrap_or(0) == 0
    }

    /// The buckets. Tokens whose kind is not reported are audio where the session speaks, else text.
    #[must_use]
    pub fn usage(&self, speaks: bool) -> Usage {
        let (input_kind, output_kind) = if speaks {
            (Bucket::AudioInput, Bucket::AudioOutput)
        } else {
            (Bucket::PlainInput, Bucket::PlainOutput)
        };
        let mut usage = Usage::unknown();
        let mut put = |bucket: Bucket, more: u64| {
            let sum = usage.reported(bucket).unwrap_or(0).saturating_add(more);
            usage = std::mem::take(&mut usage).with(bucket, sum);
        };
        let input = self.input_token_details.clone().unwrap_or_default();
        let [text, audio, image] = input.parts();
        let parts = [&text, &audio, &image];
        let known = parts.iter().fold(0_u64, |sum, part| {
            sum.saturating_add(part.fresh).saturating_add(part.cached)
        });
        put(Bucket::PlainInput, text.fresh);
        put(Bucket::AudioInput, audio.fresh);
        put(Bucket::ImageInput, image.fresh);
        put(Bucket::CacheRead, text.cached.saturating_add(image.cached));
        put(Bucket::CachedAudio, audio.cached);
        let rest = self.input_tokens.unwrap_or(known).saturating_sub(known);
        put(input_kind, rest);
        let output = self.output_token_details.unwrap_or_default();
        let (text, audio) = (
            output.text_tokens.unwrap_or(0),
            output.audio_tokens.unwrap_or(0),
        );
        put(Bucket::PlainOutput, text);
        put(Bucket::AudioOutput, audio);
        let known = text.saturating_add(audio);
        let rest = self.output_tokens.unwrap_or(known).saturating_sub(known);
        put(output_kind, rest);
        usage
    }
}

// === impl InputDetails ===

impl InputDetails {
    /// Text, audio and images. Cached tokens whose kind is not reported are text first, then audio.
    fn parts(&self) -> [Part; 3] {
        let cached = self.cached_tokens_details.unwrap_or_default();
        let kinds = [cached.text_tokens, cached.audio_tokens, cached.image_tokens];
        let named = kinds
            .iter()
            .flatten()
            .fold(0_u64, |sum, kind| sum.saturating_add(*kind));
        let mut untold = self.cached_tokens.unwrap_or(named).saturating_sub(named);
        let all = [self.text_tokens, self.audio_tokens, self.image_tokens];
        let mut parts = all.into_iter().zip(kinds).map(|(all, cached)| {
            let all = all.unwrap_or(0);
            let cached = cached.unwrap_or(0).min(all);
            let more = untold.min(all.saturating_sub(cached));
            untold = untold.saturating_sub(more);
            let cached = cached.saturating_add(more);
            Part {
                fresh: all.saturating_sub(cached),
                cached,
            }
        });
        let mut next = || {
            parts.next().unwrap_or(Part {
                fresh: 0,
                cached: 0,
            })
        };
        [next(), next(), next()]
    }
}

// === impl TranscriptUsage ===

impl TranscriptUsage {
    /// The buckets, of an input that we measured as so many seconds; none if it reports nothing.
    #[must_use]
    pub fn usage(&self, measured_seconds: u64) -> Option<Usage> {
        let seconds = self.seconds.as_ref().and_then(whole_seconds);
        if !self.tokens.is_reported() && seconds.is_none() {
            return None;
        }
        let usage = if self.tokens.is_reported() {
            let mut usage = self.tokens.usage(true);
            // What is written down is text.
            let written = usage.reported(Bucket::AudioOutput).unwrap_or(0);
            let text = usage.reported(Bucket::PlainOutput).unwrap_or(0);
            usage = usage
                .with(Bucket::AudioOutput, 0)
                .with(Bucket::PlainOutput, text.saturating_add(written));
            usage
        } else {
            Usage::unknown()
        };
        Some(usage.with(Bucket::AudioSeconds, seconds.unwrap_or(measured_seconds)))
    }
}

/// A part of a second counts as one. By its digits: no float touches what is charged.
fn whole_seconds(seconds: &Number) -> Option<u64> {
    let text = seconds.to_string();
    let (whole, part) = text.split_once('.').unwrap_or((&text, ""));
    let whole: u64 = whole.parse().ok()?;
    let is_part = part.bytes().any(|digit| digit != b'0');
    whole.checked_add(u64::from(is_part))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn buckets(usage: &Usage) -> [u64; 6] {
        [
            Bucket::PlainInput,
            Bucket::AudioInput,
            Bucket::ImageInput,
            Bucket::CacheRead,
            Bucket::PlainOutput,
            Bucket::AudioOutput,
        ]
        .map(|bucket| usage.reported(bucket).unwrap_or(0))
    }

    fn read(value: serde_json::Value) -> TokenCounts {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn the_vendors_example_is_split_by_kind_and_by_cache() {
        let counts = read(json!({
            "total_tokens": 253, "input_tokens": 132, "output_tokens": 121,
            "input_token_details": {
                "text_tokens": 119, "audio_tokens": 13, "image_tokens": 0, "cached_tokens": 64,
                "cached_tokens_details": { "text_tokens": 64, "audio_tokens": 0, "image_tokens": 0 },
            },
            "output_token_details": { "text_tokens": 30, "audio_tokens": 91 },
        }));
        assert_eq!(buckets(&counts.usage(true)), [55, 13, 0, 64, 30, 91]);
    }

    #[test]
    fn cached_audio_is_told_from_cached_text() {
        let counts = read(json!({
            "input_tokens": 300, "output_tokens": 9,
            "input_token_details": {
                "text_tokens": 100, "audio_tokens": 200, "cached_tokens": 160,
                "cached_tokens_details": { "text_tokens": 60, "audio_tokens": 100 },
            },
            "output_token_details": { "text_tokens": 9 },
        }));
        let usage = counts.usage(true);
        assert_eq!(buckets(&usage), [40, 100, 0, 60, 9, 0]);
        assert_eq!(usage.reported(Bucket::CachedAudio), Some(100));
    }

    #[test]
    fn plural_keys_missing_parts_and_an_empty_block_are_read() {
        let counts = read(json!({
            "input_tokens": 12_938, "output_tokens": 351,
            "input_tokens_details": { "text_tokens": 12_840, "audio_tokens": 98 },
            "output_tokens_details": { "text_tokens": 85, "audio_tokens": 266 },
        }));
        assert_eq!(buckets(&counts.usage(true)), [12_840, 98, 0, 0, 85, 266]);
        let bare = read(json!({ "input_tokens": 7, "output_tokens": 5 }));
        assert_eq!(buckets(&bare.usage(true)), [0, 7, 0, 0, 0, 5]);
        assert_eq!(buckets(&bare.usage(false)), [7, 0, 0, 0, 5, 0]);
        assert!(!read(json!({})).is_reported());
        let zero = read(json!({ "input_tokens": 0, "output_tokens": 0 }));
        assert!(zero.is_reported() && zero.is_zero());
    }

    #[test]
    fn a_transcription_is_used_in_tokens_or_in_seconds() {
        let tokens: TranscriptUsage = serde_json::from_value(json!({
            "type": "tokens", "total_tokens": 22, "input_tokens": 13,
            "input_token_details": { "text_tokens": 0, "audio_tokens": 13 }, "output_tokens": 9,
        }))
        .unwrap();
        let usage = tokens.usage(2).unwrap();
        assert_eq!(buckets(&usage), [0, 13, 0, 0, 9, 0]);
        assert_eq!(usage.reported(Bucket::AudioSeconds), Some(2));
        let seconds: TranscriptUsage =
            serde_json::from_value(json!({ "type": "duration", "seconds": 3.2 })).unwrap();
        let usage = seconds.usage(9).unwrap();
        assert_eq!(usage.reported(Bucket::AudioSeconds), Some(4));
        let nothing: TranscriptUsage = serde_json::from_value(json!({})).unwrap();
        assert_eq!(nothing.usage(9), None);
    }
}
