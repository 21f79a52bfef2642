//! A whole response: its usage, and that it is one.

use std::ops::Range;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use trunkline_types::{Bucket, Usage};

use crate::cache_writes::CacheWriteNames;
use crate::canonical::ReportedUsage;
use crate::serde_helpers::count;
use crate::token_estimate::tokens_of_bytes;
use crate::{Edit, Object, ResponseError, Rewrite, patch, read_error, scan};

/// Usage as OpenAI and compatible vendors write it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub(super) struct RawUsage {
    #[serde(default, deserialize_with = "count")]
    pub(super) prompt_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    completion_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    total_tokens: Option<u64>,
    /// DeepSeek's name for cached tokens.
    #[serde(default, deserialize_with = "count")]
    prompt_cache_hit_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    cached_tokens: Option<u64>,
    /// Where they stand beside the tokens, and not in the details.
    #[serde(flatten)]
    cache_writes: CacheWriteNames,
    #[serde(default)]
    prompt_tokens_details: Option<PromptDetails>,
    #[serde(default)]
    completion_tokens_details: Option<CompletionDetails>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
struct PromptDetails {
    #[serde(default, deserialize_with = "count")]
    cached_tokens: Option<u64>,
    #[serde(flatten)]
    cache_writes: CacheWriteNames,
    #[serde(default, deserialize_with = "count")]
    audio_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    image_tokens: Option<u64>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
struct CompletionDetails {
    #[serde(default, deserialize_with = "count")]
    reasoning_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    audio_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    image_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct Whole<'a> {
    #[serde(borrow, default)]
    choices: Option<Vec<&'a RawValue>>,
    #[serde(default)]
    usage: Option<RawUsage>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

/// Looks at a whole response for what it used. What is read strictly is read once: nothing but its usage is parsed.
pub fn scan_response(body: &[u8]) -> Result<crate::ResponseSummary, ResponseError> {
    match scan(body) {
        Ok(object) => strict_response(&object),
        // What a client's library would still read is an answer.
        Err(_) => lenient_response(body),
    }
}

fn strict_response(object: &Object<'_>) -> Result<crate::ResponseSummary, ResponseError> {
    let member = |key: &str| object.value(key).filter(|value| *value != b"null");
    let is_array = |value: &[u8]| value.starts_with(b"[");
    let has_choices = match member("choices") {
        Some(choices) if !is_array(choices) => return Err(ResponseError::Invalid),
        Some(choices) => choices
            .get(1..)
            .is_some_and(|inside| !inside.trim_ascii_start().starts_with(b"]")),
        None => false,
    };
    let usage = member("usage").map(serde_json::from_slice::<RawUsage>);
    let usage = usage.transpose().map_err(|_| ResponseError::Invalid)?;
    if member("error").is_some() || !has_choices {
        return Err(ResponseError::Upstream(read_error(object.bytes())));
    }
    let Some(reported) = usage.and_then(|usage| usage.reported()) else {
        return lenient_response(object.bytes());
    };
    let usage_at = object.member("usage").map(|member| member.value.clone());
    let is_object = |range: &Range<usize>| object.bytes().get(range.start) == Some(&b'{');
    Ok(crate::ResponseSummary {
        reported: Some(reported),
        // Counted only where nothing is reported.
        written: 0,
        id: String::new(),
        usage_at: usage_at.filter(is_object),
    })
}

fn lenient_response(body: &[u8]) -> Result<crate::ResponseSummary, ResponseError> {
    let whole: Whole<'_> = serde_json::from_slice(body).map_err(|_| ResponseError::Invalid)?;
    let choices = whole.choices.unwrap_or_default();
    if whole.error.is_some() || choices.is_empty() {
        return Err(ResponseError::Upstream(read_error(body)));
    }
    let bytes = choices
        .iter()
        .map(|choice| choice.get().len())
        .sum::<usize>();
    Ok(crate::ResponseSummary {
        reported: whole.usage.and_then(|usage| usage.reported()),
        written: tokens_of_bytes(bytes),
        id: String::new(),
        usage_at: None,
    })
}

/// A response or a frame with its model called by another name; none if it needs none.
#[must_use]
pub fn rewrite_response(body: &[u8], rewrite: &Rewrite) -> Option<Bytes> {
    let name = serde_json::to_vec(rewrite.model.as_ref()?).ok()?;
    let object = scan(body).ok()?;
    object.member("model")?;
    Some(Bytes::from(patch(&object, &[Edit::Set("model", name)])))
}

// === impl RawUsage ===

impl RawUsage {
    /// Takes over what the later one reports.
    pub(super) fn merge(&mut self, later: Self) {
        let over = |old: &mut Option<u64>, new: Option<u64>| *old = new.or(*old);
        over(&mut self.prompt_tokens, later.prompt_tokens);
        over(&mut self.completion_tokens, later.completion_tokens);
        over(&mut self.total_tokens, later.total_tokens);
        over(
            &mut self.prompt_cache_hit_tokens,
            later.prompt_cache_hit_tokens,
        );
        over(&mut self.cached_tokens, later.cached_tokens);
        if later.cache_writes.writes().is_some() {
            self.cache_writes = later.cache_writes;
        }
        self.prompt_tokens_details = later.prompt_tokens_details.or(self.prompt_tokens_details);
        self.completion_tokens_details = later
            .completion_tokens_details
            .or(self.completion_tokens_details);
    }

    /// Disjoint buckets, and the thoughts among them; none unless input and output were reported.
    pub(super) fn reported(&self) -> Option<ReportedUsage> {
        let details = self.completion_tokens_details;
        Some(ReportedUsage {
            usage: self.usage()?,
            reasoning: details.and_then(|details| details.reasoning_tokens),
        })
    }

    /// The input in its buckets; none unless it was reported.
    pub(super) fn input(&self) -> Option<Usage> {
        let usage = Self {
            completion_tokens: Some(0),
            completion_tokens_details: None,
            ..*self
        };
        let usage = usage.usage()?;
        let reported = ReportedUsage {
            usage,
            reasoning: None,
        };
        Some(reported.input_usage())
    }

    /// Disjoint buckets; none unless input and output were reported.
    pub(super) fn usage(&self) -> Option<Usage> {
        let prompt = self.prompt_tokens?;
        let completion = self.completion_tokens?;
        let completion = completion.saturating_add(self.reasoning_beside(prompt, completion));
        let details = self.prompt_tokens_details.unwrap_or_default();
        let cached = details.cached_tokens.or(self.prompt_cache_hit_tokens);
        let cached = cached.or(self.cached_tokens).unwrap_or(0).min(prompt);
        let audio = details.audio_tokens.unwrap_or(0);
        let audio = audio.min(prompt.saturating_sub(cached));
        let rest = prompt.saturating_sub(cached).saturating_sub(audio);
        let inside = details.cache_writes.writes();
        let (kept, hour) = inside
            .or_else(|| self.cache_writes.writes())
            .unwrap_or((0, 0));
        let kept = kept.min(rest);
        let rest = rest.saturating_sub(kept);
        let hour = hour.min(rest);
        let rest = rest.saturating_sub(hour);
        let images = details.image_tokens.unwrap_or(0).min(rest);
        let output = self.completion_tokens_details.unwrap_or_default();
        let spoken = output.audio_tokens.unwrap_or(0).min(completion);
        let words = completion.saturating_sub(spoken);
        let drawn = output.image_tokens.unwrap_or(0).min(words);
        let mut usage = Usage::unknown()
            .with(Bucket::PlainInput, rest.saturating_sub(images))
            .with(Bucket::PlainOutput, words.saturating_sub(drawn));
        for (bucket, tokens) in [
            (Bucket::CacheRead, cached),
            (Bucket::CacheWrite5m, kept),
            (Bucket::CacheWrite1h, hour),
            (Bucket::ImageInput, images),
            (Bucket::AudioInput, audio),
            (Bucket::ImageOutput, drawn),
            (Bucket::AudioOutput, spoken),
        ] {
            if tokens > 0 {
                usage = usage.with(bucket, tokens);
            }
        }
        Some(usage)
    }

    /// Reasoning that stands beside the completion. Most vendors count it as part of the completion;
    /// xAI does not, and only its sum shows that: prompt, completion and reasoning are the total.
    fn reasoning_beside(&self, prompt: u64, completion: u64) -> u64 {
        let details = self.completion_tokens_details;
        let reasoning = details.and_then(|details| details.reasoning_tokens);
        let counted = prompt.saturating_add(completion);
        let rest = self.total_tokens.map(|total| total.saturating_sub(counted));
        match (reasoning, rest) {
            (Some(reasoning), Some(rest)) if reasoning == rest => reasoning,
            (Some(_) | None, Some(_) | None) => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buckets(usage: &str) -> [Option<u64>; 3] {
        let raw: RawUsage = serde_json::from_str(usage).unwrap();
        let usage = raw.usage().unwrap();
        [Bucket::PlainInput, Bucket::CacheRead, Bucket::PlainOutput].map(|it| usage.reported(it))
    }

    #[test]
    fn cached_tokens_are_found_under_every_word_for_them() {
        for cached in [
            r#""prompt_tokens_details":{"cached_tokens":4}"#,
            r#""prompt_cache_hit_tokens":4,"prompt_cache_miss_tokens":6"#,
            r#""cached_tokens":4"#,
        ] {
            let usage = format!(
                r#"{{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,{cached}}}"#
            );
            assert_eq!(buckets(&usage), [Some(6), Some(4), Some(5)], "{cached}");
        }
    }

    #[test]
    fn reasoning_is_output_once_wherever_the_vendor_counts_it() {
        let usage = |total: u64| {
            format!(
                r#"{{"prompt_tokens":32,"completion_tokens":9,"total_tokens":{total},
                    "completion_tokens_details":{{"reasoning_tokens":7}}}}"#
            )
        };
        let within = [Some(32), None, Some(9)];
        assert_eq!(buckets(&usage(41)), within, "part of the completion");
        assert_eq!(buckets(&usage(48)), [Some(32), None, Some(16)], "beside it");
        for strange in [0, 40, 47, 49, 1_000_000] {
            assert_eq!(
                buckets(&usage(strange)),
                within,
                "a sum that explains nothing"
            );
        }
        let without = r#"{"prompt_tokens":32,"completion_tokens":9,"total_tokens":48}"#;
        assert_eq!(buckets(without), within);
    }
}
