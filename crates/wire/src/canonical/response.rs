//! A whole response and its usage.

use trunkline_types::{Bucket, Usage};

use super::block::Block;

/// A response, independent of the format.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Response {
    /// The upstream's id of it; empty if it gives none.
    pub id: String,
    /// The upstream's name of the model; empty if it does not say.
    pub model: String,
    /// Seconds since 1970, where the upstream says so.
    pub created: Option<i64>,
    /// What was said; more than one where several were asked for.
    pub choices: Vec<Choice>,
    /// What was used, if the upstream reported it.
    pub reported: Option<ReportedUsage>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// What was said, in order.
    pub blocks: Vec<Block>,
    pub stop: Stop,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Stop {
    #[default]
    End,
    Length,
    /// Tools are to be used.
    ToolUse,
    /// One of the caller's texts came up; which one, where the upstream says so.
    Sequence(Option<String>),
    /// A filter cut it off.
    Filtered,
    /// The model would not.
    Refused,
    /// A long turn pauses and wants to be continued.
    Paused,
    ContextFull,
    /// A word that we do not know, as it stands there.
    Other(String),
}

/// What was used, in disjoint buckets, and how much of the output were thoughts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReportedUsage {
    /// The buckets. Thoughts are part of plain output.
    pub usage: Usage,
    /// Thoughts, where the upstream distinguishes them.
    pub reasoning: Option<u64>,
}

impl Stop {
    /// A word of a closed list, for logs and traces: chat's own where it has one.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::End | Self::Sequence(_) => "stop",
            Self::Length => "length",
            Self::ToolUse => "tool_calls",
            Self::Filtered => "content_filter",
            Self::Refused => "refusal",
            Self::Paused => "pause",
            Self::ContextFull => "context_full",
            Self::Other(_) => "other",
        }
    }
}

const INPUT: [Bucket; 6] = [
    Bucket::PlainInput,
    Bucket::CacheRead,
    Bucket::CacheWrite5m,
    Bucket::CacheWrite1h,
    Bucket::ImageInput,
    Bucket::AudioInput,
];

impl ReportedUsage {
    /// Tokens of a bucket; nothing where it was not reported.
    #[must_use]
    pub fn of(&self, bucket: Bucket) -> u64 {
        self.usage.reported(bucket).unwrap_or(0)
    }

    /// All input tokens, those of caches included.
    #[must_use]
    pub fn input(&self) -> u64 {
        self.sum(&INPUT)
    }

    /// The input alone, in its buckets.
    #[must_use]
    pub fn input_usage(&self) -> Usage {
        let reported = INPUT.iter().filter_map(|bucket| {
            let tokens = self.usage.reported(*bucket)?;
            Some((*bucket, tokens))
        });
        reported.fold(Usage::unknown(), |usage, (bucket, tokens)| {
            usage.with(bucket, tokens)
        })
    }

    /// All output tokens, thoughts included.
    #[must_use]
    pub fn output(&self) -> u64 {
        const OUTPUT: [Bucket; 3] = [
            Bucket::PlainOutput,
            Bucket::ImageOutput,
            Bucket::AudioOutput,
        ];
        self.sum(&OUTPUT)
    }

    /// Tokens written to caches.
    #[must_use]
    pub fn cache_writes(&self) -> u64 {
        self.sum(&[Bucket::CacheWrite5m, Bucket::CacheWrite1h])
    }

    fn sum(&self, buckets: &[Bucket]) -> u64 {
        let tokens = buckets.iter().map(|bucket| self.of(*bucket));
        tokens.fold(0, u64::saturating_add)
    }
}
