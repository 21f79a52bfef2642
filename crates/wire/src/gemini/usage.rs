//! Usage as Google writes it, in disjoint buckets and back. `promptTokenCount` holds what came from a
//! cache; `candidatesTokenCount` does not hold thoughts; what tools put into the prompt stands apart.

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};
use trunkline_types::{Bucket, Usage};

use crate::canonical::ReportedUsage;
use crate::serde_helpers::count;
use crate::{Cost, priced};

/// Kinds of tokens in one list that are looked at.
const MAX_KINDS: usize = 64;

/// Usage. What is not a whole number from zero on was not reported.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct RawUsage {
    #[serde(deserialize_with = "count")]
    prompt_token_count: Option<u64>,
    #[serde(deserialize_with = "count")]
    cached_content_token_count: Option<u64>,
    #[serde(deserialize_with = "count")]
    tool_use_prompt_token_count: Option<u64>,
    #[serde(deserialize_with = "count")]
    candidates_token_count: Option<u64>,
    #[serde(deserialize_with = "count")]
    thoughts_token_count: Option<u64>,
    #[serde(deserialize_with = "count")]
    total_token_count: Option<u64>,
    prompt_tokens_details: Kinds,
    cache_tokens_details: Kinds,
    tool_use_prompt_tokens_details: Kinds,
    candidates_tokens_details: Kinds,
}

/// Audio and images among the tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Kinds {
    audio: u64,
    image: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct Kind {
    modality: Value,
    #[serde(deserialize_with = "count")]
    token_count: Option<u64>,
}

impl<'de> Deserialize<'de> for Kinds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let list = Option::<Vec<Kind>>::deserialize(deserializer)?.unwrap_or_default();
        let mut kinds = Self::default();
        for kind in list.iter().take(MAX_KINDS) {
            let tokens = kind.token_count.unwrap_or(0);
            match kind.modality.as_str() {
                Some("AUDIO") => kinds.audio = kinds.audio.saturating_add(tokens),
                Some("IMAGE") => kinds.image = kinds.image.saturating_add(tokens),
                Some(_) | None => {}
            }
        }
        Ok(kinds)
    }
}

impl RawUsage {
    /// Takes the prompt's side from before where it is not reported again: each count is of all so far, but
    /// some tell one half in one piece and the other half in another.
    pub(super) fn behind(mut self, before: Option<&Self>) -> Self {
        if let (None, Some(before)) = (self.prompt_token_count, before) {
            self.prompt_token_count = before.prompt_token_count;
            self.cached_content_token_count = before.cached_content_token_count;
            self.tool_use_prompt_token_count = before.tool_use_prompt_token_count;
            self.prompt_tokens_details = before.prompt_tokens_details;
            self.cache_tokens_details = before.cache_tokens_details;
            self.tool_use_prompt_tokens_details = before.tool_use_prompt_tokens_details;
        }
        self
    }

    /// Disjoint buckets. Google leaves zeros out, so output that is not there is none; but only at the
    /// end, since before it may not have been counted yet.
    pub(super) fn reported(&self, ended: bool) -> Option<ReportedUsage> {
        let prompt = self.prompt_token_count?;
        let candidates = self.candidates_token_count;
        let has_output = candidates.or(self.thoughts_token_count).is_some();
        let (input, output) = self.sums(prompt);
        let cached = self.cached_content_token_count.unwrap_or(0).min(input);
        let apart = |kind: fn(&Kinds) -> u64| {
            let all = kind(&self.prompt_tokens_details);
            let tools = kind(&self.tool_use_prompt_tokens_details);
            let was_cached = kind(&self.cache_tokens_details);
            all.saturating_sub(was_cached).saturating_add(tools)
        };
        let audio = apart(|kinds| kinds.audio).min(input.saturating_sub(cached));
        let rest = input.saturating_sub(cached).saturating_sub(audio);
        let seen = apart(|kinds| kinds.image).min(rest);
        let mut usage = Usage::unknown().with(Bucket::PlainInput, rest.saturating_sub(seen));
        let spoken = self.candidates_tokens_details.audio.min(output);
        let drawn = self.candidates_tokens_details.image;
        let drawn = drawn.min(output.saturating_sub(spoken));
        for (bucket, tokens) in [
            (Bucket::CacheRead, cached),
            (Bucket::AudioInput, audio),
            (Bucket::ImageInput, seen),
            (Bucket::AudioOutput, spoken),
            (Bucket::ImageOutput, drawn),
        ] {
            if tokens > 0 {
                usage = usage.with(bucket, tokens);
            }
        }
        if has_output || ended {
            let plain = output.saturating_sub(spoken).saturating_sub(drawn);
            usage = usage.with(Bucket::PlainOutput, plain);
        }
        Some(ReportedUsage {
            usage,
            reasoning: self.thoughts_token_count,
        })
    }

    /// Input and output, so that both together are the total where it is reported. Some compatible vendors
    /// count thoughts among the candidates, or what tools read in the prompt.
    fn sums(&self, prompt: u64) -> (u64, u64) {
        let tools = self.tool_use_prompt_token_count.unwrap_or(0);
        let candidates = self.candidates_token_count.unwrap_or(0);
        let thoughts = self.thoughts_token_count.unwrap_or(0);
        let inputs = [prompt.saturating_add(tools), prompt];
        let outputs = [candidates.saturating_add(thoughts), candidates];
        let own = (
            prompt.saturating_add(tools),
            candidates.saturating_add(thoughts),
        );
        let Some(total) = self.total_token_count else {
            return own;
        };
        let ways = outputs
            .iter()
            .flat_map(|output| inputs.iter().map(move |input| (*input, *output)));
        let fits = |(input, output): &(u64, u64)| input.checked_add(*output) == Some(total);
        let rest = total.checked_sub(own.0).map(|output| (own.0, output));
        ways.into_iter().find(fits).or(rest).unwrap_or(own)
    }
}

/// Usage as Google reports it.
pub(crate) fn usage_json(reported: &ReportedUsage) -> Value {
    let input = reported.input();
    let output = reported.output();
    let thoughts = reported.reasoning.unwrap_or(0).min(output);
    let mut usage = Map::new();
    let mut tell = |key: &str, tokens: u64| {
        usage.insert(key.to_owned(), tokens.into());
    };
    tell("promptTokenCount", input);
    tell("candidatesTokenCount", output.saturating_sub(thoughts));
    tell("totalTokenCount", input.saturating_add(output));
    if reported.reasoning.is_some() {
        tell("thoughtsTokenCount", thoughts);
    }
    let cached = reported.of(Bucket::CacheRead);
    if cached > 0 {
        tell("cachedContentTokenCount", cached);
    }
    let prompt = details(
        input,
        reported.of(Bucket::AudioInput),
        reported.of(Bucket::ImageInput),
    );
    usage.extend(prompt.map(|list| ("promptTokensDetails".to_owned(), list)));
    let visible = output.saturating_sub(thoughts);
    let visible = details(
        visible,
        reported.of(Bucket::AudioOutput),
        reported.of(Bucket::ImageOutput),
    );
    usage.extend(visible.map(|list| ("candidatesTokensDetails".to_owned(), list)));
    Value::Object(usage)
}

/// What kinds the tokens are of; none if all are text.
fn details(all: u64, audio: u64, image: u64) -> Option<Value> {
    if audio == 0 && image == 0 {
        return None;
    }
    let text = all.saturating_sub(audio).saturating_sub(image);
    let kinds = [("TEXT", text), ("AUDIO", audio), ("IMAGE", image)];
    let kinds = kinds.iter().filter(|(_, tokens)| *tokens > 0);
    let kinds = kinds.map(|(kind, tokens)| json!({ "modality": kind, "tokenCount": tokens }));
    Some(kinds.collect())
}

/// The same with what it cost.
pub(super) fn priced_usage(reported: &ReportedUsage, cost: &Cost) -> Vec<u8> {
    let usage = usage_json(reported).to_string().into_bytes();
    priced(&usage, cost).unwrap_or(usage)
}

#[cfg(test)]
#[path = "usage_tests.rs"]
mod tests;
