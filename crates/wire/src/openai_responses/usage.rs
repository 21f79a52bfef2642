//! What was used: as the format writes it, and in disjoint buckets.

use serde::Deserialize;
use serde_json::{Value, json};
use trunkline_types::{Bucket, Usage};

use crate::cache_writes::CacheWriteNames;
use crate::canonical::ReportedUsage;
use crate::serde_helpers::count;

/// Usage as the format writes it. What is not a whole number from zero on was not reported.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub(super) struct RawUsage {
    #[serde(default, deserialize_with = "count")]
    input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    output_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    total_tokens: Option<u64>,
    #[serde(default)]
    input_tokens_details: Option<InputDetails>,
    #[serde(default)]
    output_tokens_details: Option<OutputDetails>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
struct InputDetails {
    #[serde(default, deserialize_with = "count")]
    cached_tokens: Option<u64>,
    #[serde(flatten)]
    cache_writes: CacheWriteNames,
    #[serde(default, deserialize_with = "count")]
    audio_tokens: Option<u64>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
struct OutputDetails {
    #[serde(default, deserialize_with = "count")]
    reasoning_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    audio_tokens: Option<u64>,
}

impl RawUsage {
    /// Disjoint buckets, and the thoughts among them; none unless input and output were reported. The
    /// input of this format includes what was read from caches and written to them.
    pub(super) fn reported(&self) -> Option<ReportedUsage> {
        let input = self.input_tokens?;
        let output = self.output_tokens?;
        let output = output.saturating_add(self.reasoning_beside(input, output));
        let details = self.input_tokens_details.unwrap_or_default();
        let spoken = self.output_tokens_details.unwrap_or_default();
        let writes = details.cache_writes.writes();
        let mut left = input;
        let mut usage = Usage::unknown();
        for (bucket, tokens) in [
            (Bucket::CacheRead, details.cached_tokens),
            (
                Bucket::CacheWrite5m,
                writes.map(|(five_minutes, _)| five_minutes),
            ),
            (Bucket::CacheWrite1h, writes.map(|(_, hour)| hour)),
            (Bucket::AudioInput, details.audio_tokens),
        ] {
            let tokens = tokens.unwrap_or(0).min(left);
            left = left.saturating_sub(tokens);
            if tokens > 0 {
                usage = usage.with(bucket, tokens);
            }
        }
        let sound = spoken.audio_tokens.unwrap_or(0).min(output);
        if sound > 0 {
            usage = usage.with(Bucket::AudioOutput, sound);
        }
        Some(ReportedUsage {
            usage: usage
                .with(Bucket::PlainInput, left)
                .with(Bucket::PlainOutput, output.saturating_sub(sound)),
            reasoning: spoken.reasoning_tokens,
        })
    }

    /// Thoughts that stand beside the output, as some vendors count them: only their sum shows it.
    fn reasoning_beside(&self, input: u64, output: u64) -> u64 {
        let details = self.output_tokens_details;
        let reasoning = details.and_then(|details| details.reasoning_tokens);
        let counted = input.saturating_add(output);
        let rest = self.total_tokens.map(|total| total.saturating_sub(counted));
        match (reasoning, rest) {
            (Some(reasoning), Some(rest)) if reasoning == rest => reasoning,
            (Some(_) | None, Some(_) | None) => 0,
        }
    }
}

/// What was used, as the format writes it.
pub(crate) fn write_usage(reported: &ReportedUsage) -> Value {
    let (input, output) = (reported.input(), reported.output());
    json!({
        "input_tokens": input,
        "input_tokens_details": {
            "cached_tokens": reported.of(Bucket::CacheRead),
            "cache_write_tokens": reported.cache_writes(),
        },
        "output_tokens": output,
        "output_tokens_details": { "reasoning_tokens": reported.reasoning.unwrap_or(0) },
        "total_tokens": input.saturating_add(output),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buckets(usage: &str) -> Option<[u64; 5]> {
        let raw: RawUsage = serde_json::from_str(usage).unwrap();
        let reported = raw.reported()?;
        let of = [
            Bucket::PlainInput,
            Bucket::CacheRead,
            Bucket::CacheWrite5m,
            Bucket::AudioInput,
            Bucket::PlainOutput,
        ];
        Some(of.map(|bucket| reported.of(bucket)))
    }

    #[test]
    fn buckets_are_disjoint_and_their_sum_is_the_upstreams_total() {
        let table = [
            (
                r#"{"input_tokens":10,"output_tokens":5,"total_tokens":15}"#,
                [10, 0, 0, 0, 5],
            ),
            (
                r#"{"input_tokens":10,"input_tokens_details":{"cached_tokens":4},"output_tokens":5,"output_tokens_details":{"reasoning_tokens":3},"total_tokens":15}"#,
                [6, 4, 0, 0, 5],
            ),
            (
                r#"{"input_tokens":10,"input_tokens_details":{"cached_tokens":4,"cache_write_tokens":5},"output_tokens":5,"total_tokens":15}"#,
                [1, 4, 5, 0, 5],
            ),
            (
                r#"{"input_tokens":10,"input_tokens_details":{"cached_tokens":4,"audio_tokens":2},"output_tokens":5,"total_tokens":15}"#,
                [4, 4, 0, 2, 5],
            ),
            // More was not read than there was.
            (
                r#"{"input_tokens":3,"input_tokens_details":{"cached_tokens":9},"output_tokens":5,"total_tokens":8}"#,
                [0, 3, 0, 0, 5],
            ),
            // Thoughts beside the output, which only the sum shows.
            (
                r#"{"input_tokens":32,"output_tokens":9,"output_tokens_details":{"reasoning_tokens":7},"total_tokens":48}"#,
                [32, 0, 0, 0, 16],
            ),
        ];
        for (usage, expected) in table {
            assert_eq!(buckets(usage), Some(expected), "{usage}");
            let raw: Value = serde_json::from_str(usage).unwrap();
            assert_eq!(expected.iter().sum::<u64>(), raw["total_tokens"], "{usage}");
        }
    }

    #[test]
    fn usage_without_input_or_output_was_not_told() {
        for usage in [
            r#"{}"#,
            r#"{"input_tokens":5}"#,
            r#"{"output_tokens":5}"#,
            r#"{"input_tokens":-5,"output_tokens":1.5}"#,
            r#"{"input_tokens":"5","output_tokens":5}"#,
        ] {
            assert_eq!(buckets(usage), None, "{usage}");
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let text = r#"{"input_tokens":10,"input_tokens_details":{"cached_tokens":4,"cache_write_tokens":2},"output_tokens":5,"output_tokens_details":{"reasoning_tokens":3},"total_tokens":15}"#;
        let raw: RawUsage = serde_json::from_str(text).unwrap();
        let written = write_usage(&raw.reported().unwrap());
        let reread: RawUsage = serde_json::from_value(written).unwrap();
        assert_eq!(reread, raw);
    }
}
