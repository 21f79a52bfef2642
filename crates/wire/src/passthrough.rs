//! Pass-through endpoints in OpenAI's format, never translated: embeddings, rerank, moderations, completions.
//! Only what the price depends on is read.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;
use trunkline_types::{Bucket, Usage};

use crate::cache_writes::CacheWriteNames;
use crate::canonical::ReportedUsage;
use crate::request_facts::{PathEdit, read_cap, read_model, typed};
use crate::token_estimate::tokens_of_bytes;
use crate::upstream_error::read_error;
use crate::{
    CostTable, Facts, Fields, Media, Object, RequestError, ResponseError, ResponseSummary,
    Treatment,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PassthroughEndpoint {
    Embeddings,
    Rerank,
    Moderations,
    Completions,
}

const EMBEDDINGS: Fields = Fields {
    costs: &[("input", Treatment::Priced)],
    aliases: &[],
    cap: "max_tokens",
};
const RERANK: Fields = Fields {
    costs: &[
        ("query", Treatment::Priced),
        ("documents", Treatment::Priced),
    ],
    aliases: &[],
    cap: "max_tokens",
};
const MODERATIONS: Fields = Fields {
    costs: &[("input", Treatment::Priced)],
    aliases: &[],
    cap: "max_tokens",
};
const COMPLETION_COSTS: CostTable = &[
    ("prompt", Treatment::Priced),
    ("suffix", Treatment::Priced),
    ("max_tokens", Treatment::Bounded),
    ("n", Treatment::Bounded),
    (
        "best_of",
        Treatment::Refused("it bills choices that are never returned; use `n`"),
    ),
];
const COMPLETIONS: Fields = Fields {
    costs: COMPLETION_COSTS,
    aliases: &[("max_completion_tokens", "max_tokens")],
    cap: "max_tokens",
};

#[derive(Deserialize)]
struct Response {
    #[serde(default)]
    error: Option<Value>,
    #[serde(default)]
    usage: Option<Value>,
    #[serde(default)]
    meta: Option<Value>,
    #[serde(default)]
    data: Option<Value>,
    #[serde(default)]
    results: Option<Value>,
    #[serde(default)]
    choices: Option<Vec<Value>>,
}

impl PassthroughEndpoint {
    pub const ALL: [Self; 4] = [
        Self::Embeddings,
        Self::Rerank,
        Self::Moderations,
        Self::Completions,
    ];

    #[must_use]
    pub const fn fields(self) -> Fields {
        match self {
            Self::Embeddings => EMBEDDINGS,
            Self::Rerank => RERANK,
            Self::Moderations => MODERATIONS,
            Self::Completions => COMPLETIONS,
        }
    }

    /// The word that a record of such a model has among its tasks; none where any chat model will do.
    #[must_use]
    pub const fn task(self) -> Option<&'static str> {
        match self {
            Self::Embeddings => Some("embeddings"),
            Self::Rerank => Some("rerank"),
            Self::Moderations => Some("moderation"),
            Self::Completions => None,
        }
    }

    pub(crate) fn read_facts(self, object: &Object<'_>) -> Result<Facts, RequestError> {
        let model = read_model(typed(object, "model", "the name of a model")?)?;
        let needed: &[&str] = match self {
            Self::Embeddings | Self::Moderations => &["input"],
            Self::Rerank => &["query", "documents"],
            Self::Completions => &["prompt"],
        };
        let mut bytes = 0_u64;
        for field in needed {
            let value = object.value(field).filter(|value| *value != b"null");
            let value = value
                .ok_or_else(|| RequestError::invalid(field, format!("`{field}` is required")))?;
            bytes = bytes.saturating_add(u64::try_from(value.len()).unwrap_or(u64::MAX));
        }
        let mut facts = Facts {
            model,
            choices: 1,
            // Nothing is written, so nothing is bounded.
            max_output: Some(0),
            media: Media {
                // Half of what stands there may be escapes, spaces and signs of JSON.
                text_bytes: bytes.div_euclid(2),
                ..Media::default()
            },
            ..Facts::default()
        };
        if self == Self::Completions {
            facts.max_output = read_cap(object, "max_tokens")?;
            facts.cap_field = facts.max_output.map(|_| "max_tokens");
            facts.choices = typed(object, "n", "a number from 1 to 16")?.unwrap_or(1);
            facts.stream = typed(object, "stream", "true or false")?.unwrap_or(false);
            let include_usage = object.at("stream_options.include_usage");
            facts.wants_usage = include_usage == Some(b"true");
        }
        Ok(facts)
    }

    /// What is changed on the way out, besides what records say.
    pub(crate) fn edits(self, facts: &Facts, cap: Option<u64>) -> Vec<PathEdit> {
        if self != Self::Completions {
            return Vec::new();
        }
        let mut edits = Vec::new();
        if let Some(tokens) = cap.filter(|tokens| facts.max_output != Some(*tokens)) {
            let json = tokens.to_string().into_bytes();
            edits.push(("max_tokens".to_owned(), Some(json)));
        }
        if facts.stream && !facts.wants_usage {
            let json = b"true".to_vec();
            edits.push(("stream_options.include_usage".to_owned(), Some(json)));
        }
        edits
    }

    /// Looks at a whole response for what it used.
    pub fn scan_response(self, body: &Bytes) -> Result<ResponseSummary, ResponseError> {
        let answer: Response = serde_json::from_slice(body).map_err(|_| ResponseError::Invalid)?;
        let there = match self {
            Self::Embeddings => answer.data.is_some(),
            Self::Rerank | Self::Moderations => answer.results.is_some(),
            Self::Completions => answer.choices.as_ref().is_some_and(|list| !list.is_empty()),
        };
        if !there || answer.error.is_some_and(|error| !error.is_null()) {
            return Err(ResponseError::Upstream(read_error(body)));
        }
        let texts = answer.choices.iter().flatten();
        let texts = texts.filter_map(|choice| choice.get("text")?.as_str());
        let bytes: usize = texts.map(str::len).sum();
        Ok(ResponseSummary {
            reported: reported(answer.usage.as_ref(), answer.meta.as_ref()),
            written: tokens_of_bytes(bytes),
            id: String::new(),
            usage_at: None,
        })
    }
}

/// Usage as OpenAI, Jina and Cohere report it.
fn reported(usage: Option<&Value>, meta: Option<&Value>) -> Option<ReportedUsage> {
    let number_at = |value: Option<&Value>, at: &str| value?.pointer(at)?.as_u64();
    let total = number_at(usage, "/total_tokens");
    // Cohere counts twice; by its name, `billed_units` is what it bills [unverified].
    let of_meta = |name: &str| {
        let [billed, counted] = ["billed_units", "tokens"].map(|of| format!("/{of}/{name}"));
        number_at(meta, &billed).or_else(|| number_at(meta, &counted))
    };
    let output = number_at(usage, "/completion_tokens").or_else(|| of_meta("output_tokens"));
    let input = number_at(usage, "/prompt_tokens")
        .or_else(|| total.map(|total| total.saturating_sub(output.unwrap_or(0))))
        .or_else(|| of_meta("input_tokens"))?;
    let cached = number_at(usage, "/prompt_tokens_details/cached_tokens");
    let cached = cached.unwrap_or(0).min(input);
    let left = input.saturating_sub(cached);
    let details = usage.and_then(|usage| usage.get("prompt_tokens_details"));
    let names = details.and_then(|details| CacheWriteNames::deserialize(details).ok());
    let writes = names.and_then(|names| names.writes());
    let (kept, hour) = writes.unwrap_or((0, 0));
    let (kept, hour) = (kept.min(left), hour.min(left.saturating_sub(kept)));
    let left = left.saturating_sub(kept).saturating_sub(hour);
    let mut buckets = Usage::unknown()
        .with(Bucket::PlainInput, left)
        .with(Bucket::PlainOutput, output.unwrap_or(0));
    for (bucket, tokens) in [
        (Bucket::CacheRead, cached),
        (Bucket::CacheWrite5m, kept),
        (Bucket::CacheWrite1h, hour),
    ] {
        if tokens > 0 {
            buckets = buckets.with(bucket, tokens);
        }
    }
    Some(ReportedUsage {
        usage: buckets,
        reasoning: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(kind: PassthroughEndpoint, body: &str) -> Option<[u64; 2]> {
        let whole = kind
            .scan_response(&Bytes::copy_from_slice(body.as_bytes()))
            .unwrap();
        let reported = whole.reported?;
        Some([reported.input(), reported.output()])
    }

    #[test]
    fn usage_is_found_as_each_vendor_tells_it() {
        let openai = r#"{"data":[],"usage":{"prompt_tokens":7,"total_tokens":7}}"#;
        assert_eq!(used(PassthroughEndpoint::Embeddings, openai), Some([7, 0]));
        let jina = r#"{"results":[],"usage":{"total_tokens":9}}"#;
        assert_eq!(used(PassthroughEndpoint::Rerank, jina), Some([9, 0]));
        let cohere = r#"{"results":[],"meta":{"billed_units":{"search_units":1}}}"#;
        assert_eq!(
            used(PassthroughEndpoint::Rerank, cohere),
            None,
            "searches are no tokens"
        );
        let twice = r#"{"data":[],"meta":{"billed_units":{"input_tokens":8},"tokens":{"input_tokens":1394}}}"#;
        assert_eq!(
            used(PassthroughEndpoint::Embeddings, twice),
            Some([8, 0]),
            "the vendor bills its billed units"
        );
        let older = r#"{"choices":[{"text":"hi"}],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}"#;
        assert_eq!(used(PassthroughEndpoint::Completions, older), Some([3, 2]));
        assert_eq!(
            used(PassthroughEndpoint::Moderations, r#"{"results":[{}]}"#),
            None
        );
        let error = Bytes::from_static(br#"{"error":{"message":"no"}}"#);
        assert!(matches!(
            PassthroughEndpoint::Embeddings.scan_response(&error),
            Err(ResponseError::Upstream(_))
        ));
    }
}
