//! What was used, as Anthropic tells it: input, cache reads and cache writes stand beside each other.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use trunkline_types::{Bucket, Usage};

use crate::cache_writes::CacheLifetimes;
use crate::canonical::ReportedUsage;
use crate::serde_helpers::count;

/// Usage as it stands in a response. What is not a whole number from zero on was not reported.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub(super) struct RawUsage {
    #[serde(default, deserialize_with = "count")]
    input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    output_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    cache_creation_input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    cache_read_input_tokens: Option<u64>,
    #[serde(default)]
    cache_creation: Option<CacheLifetimes>,
    #[serde(default)]
    output_tokens_details: Option<OutputDetails>,
    /// Calls behind this one, where a request was more than one. They are billed together, and the
    /// fields above leave some of them out.
    #[serde(default)]
    iterations: Option<Vec<Iteration>>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
struct OutputDetails {
    #[serde(default, deserialize_with = "count")]
    thinking_tokens: Option<u64>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
struct Iteration {
    #[serde(default, deserialize_with = "count")]
    input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    output_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    cache_creation_input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    cache_read_input_tokens: Option<u64>,
    #[serde(default)]
    cache_creation: Option<CacheLifetimes>,
}

/// Which side of usage is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// Input alone: a stream begins with a word about output that is no count of it.
    Input,
    Both,
}

impl RawUsage {
    /// Takes over what a later one tells. Numbers grow along a stream, so a zero behind a number says
    /// that it was not reported again.
    pub(super) fn merge(&mut self, later: Self) {
        let over = |old: &mut Option<u64>, new: Option<u64>| {
            *old = new.filter(|tokens| *tokens > 0).or(*old).or(new);
        };
        over(&mut self.input_tokens, later.input_tokens);
        over(&mut self.output_tokens, later.output_tokens);
        over(
            &mut self.cache_creation_input_tokens,
            later.cache_creation_input_tokens,
        );
        over(
            &mut self.cache_read_input_tokens,
            later.cache_read_input_tokens,
        );
        self.cache_creation = later.cache_creation.or(self.cache_creation);
        self.output_tokens_details = later.output_tokens_details.or(self.output_tokens_details);
        self.iterations = later.iterations.or_else(|| self.iterations.take());
    }

    /// Disjoint buckets of a whole response; none unless input and output were reported.
    pub(super) fn whole(&self) -> Option<ReportedUsage> {
        let both = self.input_tokens.is_some() && self.output_tokens.is_some();
        both.then(|| self.reported(Side::Both))
    }

    /// Disjoint buckets, as far as they were reported.
    pub(super) fn reported(&self, side: Side) -> ReportedUsage {
        let (one, more) = match self.iterations.as_deref() {
            Some([first, rest @ ..]) => (*first, rest),
            Some([]) | None => (self.as_one(), [].as_slice()),
        };
        let sum = more.iter().fold(one.buckets(), |sum, next| {
            sum.into_iter()
                .zip(next.buckets())
                .map(|((bucket, old), (_, new))| (bucket, added(old, new)))
                .collect()
        });
        let mut usage = Usage::unknown();
        for (bucket, tokens) in sum {
            let counts = side == Side::Both || bucket != Bucket::PlainOutput;
            if let Some(tokens) = tokens.filter(|_| counts) {
                usage = usage.with(bucket, tokens);
            }
        }
        let details = self.output_tokens_details.filter(|_| side == Side::Both);
        ReportedUsage {
            usage,
            reasoning: details.and_then(|details| details.thinking_tokens),
        }
    }

    const fn as_one(&self) -> Iteration {
        Iteration {
            input_tokens: self.input_tokens,
            output_tokens: self.output_tokens,
            cache_creation_input_tokens: self.cache_creation_input_tokens,
            cache_read_input_tokens: self.cache_read_input_tokens,
            cache_creation: self.cache_creation,
        }
    }
}

impl Iteration {
    fn buckets(&self) -> Vec<(Bucket, Option<u64>)> {
        let (five_minutes, hour) = self.writes();
        vec![
            (Bucket::PlainInput, self.input_tokens),
            (Bucket::CacheRead, self.cache_read_input_tokens),
            (Bucket::CacheWrite5m, five_minutes),
            (Bucket::CacheWrite1h, hour),
            (Bucket::PlainOutput, self.output_tokens),
        ]
    }

    /// Cache writes by how long they live.
    fn writes(&self) -> (Option<u64>, Option<u64>) {
        let split = self.cache_creation.unwrap_or_default();
        split.of(self.cache_creation_input_tokens)
    }
}

fn added(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.saturating_add(other)),
        (one, other) => one.or(other),
    }
}

/// Usage as Anthropic writes it.
pub(crate) fn written(reported: &ReportedUsage) -> Map<String, Value> {
    let writes = reported.cache_writes();
    let read = reported.of(Bucket::CacheRead);
    let plain = reported.input().saturating_sub(writes).saturating_sub(read);
    let mut usage = Map::new();
    let mut put = |key: &str, value: Value| usage.insert(key.to_owned(), value);
    put("input_tokens", json!(plain));
    put("cache_creation_input_tokens", json!(writes));
    put("cache_read_input_tokens", json!(read));
    put(
        "cache_creation",
        json!({
            "ephemeral_5m_input_tokens": reported.of(Bucket::CacheWrite5m),
            "ephemeral_1h_input_tokens": reported.of(Bucket::CacheWrite1h),
        }),
    );
    put("output_tokens", json!(reported.output()));
    if let Some(thoughts) = reported.reasoning {
        put(
            "output_tokens_details",
            json!({ "thinking_tokens": thoughts }),
        );
    }
    usage
}

#[cfg(test)]
#[path = "usage_tests.rs"]
mod tests;
