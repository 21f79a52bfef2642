//! The documents of the wire, field by field in the vendor's order. A count of zero is left out,
//! as the vendor's JSON has it. The order is [unverified].

use serde::Serialize;
use serde_json::Value;

use super::answer::{Answer, Usage};
use super::content_pieces::Part;
use super::schema::Service;

/// A whole answer, or one chunk of a stream.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Generated<'a> {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    candidates: Vec<Candidate<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_feedback: Option<Feedback>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage_metadata: Option<Counts>,
    model_version: &'a str,
    response_id: &'a str,
}

/// One candidate, or what a chunk adds to it.
#[derive(Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Candidate<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) content: Option<Spoken<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) finish_reason: Option<&'static str>,
    pub(super) index: u64,
}

/// The content of a candidate.
#[derive(Clone, Serialize)]
pub(super) struct Spoken<'a> {
    pub(super) parts: Vec<PartShape<'a>>,
    pub(super) role: &'static str,
}

#[derive(Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PartShape<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thought: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function_call: Option<CallShape<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) thought_signature: Option<&'a str>,
}

#[derive(Clone, Serialize)]
struct CallShape<'a> {
    name: &'a str,
    args: &'a Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
}

#[derive(Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct Feedback {
    block_reason: &'static str,
}

/// Usage as it is told.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Counts {
    #[serde(skip_serializing_if = "is_zero")]
    prompt_token_count: u64,
    #[serde(skip_serializing_if = "is_zero")]
    candidates_token_count: u64,
    #[serde(skip_serializing_if = "is_zero")]
    total_token_count: u64,
    #[serde(skip_serializing_if = "is_zero")]
    cached_content_token_count: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    prompt_tokens_details: Vec<Detail>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cache_tokens_details: Vec<Detail>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    candidates_tokens_details: Vec<Detail>,
    #[serde(skip_serializing_if = "is_zero")]
    thoughts_token_count: u64,
    #[serde(skip_serializing_if = "is_zero")]
    tool_use_prompt_token_count: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    traffic_type: Option<&'static str>,
}

/// Tokens of one kind.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Detail {
    modality: &'static str,
    token_count: u64,
}

// === impl Generated ===

impl<'a> Generated<'a> {
    pub(super) fn new(
        answer: &'a Answer,
        candidates: Vec<Candidate<'a>>,
        counts: Option<Counts>,
    ) -> Self {
        Self {
            candidates,
            prompt_feedback: answer.block.map(|block_reason| Feedback { block_reason }),
            usage_metadata: counts,
            model_version: &answer.model,
            response_id: &answer.id,
        }
    }

    /// In one line, or over several as the vendor prints what is no event.
    pub(super) fn bytes(&self, in_one_line: bool) -> Vec<u8> {
        let made = if in_one_line {
            serde_json::to_vec(self)
        } else {
            serde_json::to_vec_pretty(self)
        };
        // A struct of texts and numbers always has a JSON form.
        made.unwrap_or_default()
    }
}

// === impl Candidate ===

impl<'a> Candidate<'a> {
    pub(super) fn saying(index: u64, parts: Vec<PartShape<'a>>) -> Self {
        Self {
            content: Some(Spoken {
                parts,
                role: "model",
            }),
            finish_reason: None,
            index,
        }
    }

    /// The end of a candidate. Only one that ended well has a content there.
    pub(super) fn ending(index: u64, answer: &'a Answer) -> Self {
        let mut ending = Self::saying(
            index,
            vec![PartShape {
                text: Some(""),
                thought_signature: answer.end_signature.as_deref(),
                ..PartShape::default()
            }],
        );
        if !ends_well(answer.finish) {
            ending.content = None;
        }
        ending.finish_reason = Some(answer.finish);
        ending
    }
}

/// Whether a candidate that ended so still has a content at its end.
pub(super) fn ends_well(finish: &str) -> bool {
    ["STOP", "MAX_TOKENS"].contains(&finish)
}

// === impl PartShape ===

impl<'a> PartShape<'a> {
    pub(super) fn of(part: &'a Part) -> Self {
        match part {
            Part::Thought(text) => Self::thought(text),
            Part::Text(text) => Self::text(text),
            Part::Call {
                id,
                name,
                args,
                signature,
            } => Self {
                function_call: Some(CallShape {
                    name,
                    args,
                    id: id.as_deref(),
                }),
                thought_signature: signature.as_deref(),
                ..Self::default()
            },
        }
    }

    pub(super) fn text(text: &'a str) -> Self {
        Self {
            text: Some(text),
            ..Self::default()
        }
    }

    pub(super) fn thought(text: &'a str) -> Self {
        Self {
            text: Some(text),
            thought: Some(true),
            ..Self::default()
        }
    }
}

// === impl Counts ===

impl Counts {
    pub(super) fn of(usage: &Usage, service: Service) -> Self {
        let prompt = usage.prompt_tokens();
        let mut answer: Vec<(&'static str, u64)> = Vec::new();
        // The Gemini API tells kinds of output only if there is another than text.
        if service == Service::Vertex || !usage.answer_details.is_empty() {
            answer.push(("TEXT", usage.spoken));
            answer.extend(usage.answer_details.iter().copied());
        }
        Self {
            prompt_token_count: prompt,
            candidates_token_count: usage.candidates_tokens(),
            total_token_count: prompt
                .saturating_add(usage.output_tokens())
                .saturating_add(usage.tool_prompt),
            cached_content_token_count: usage.cached,
            prompt_tokens_details: details(&usage.prompt),
            cache_tokens_details: details(&[("TEXT", usage.cached)]),
            candidates_tokens_details: details(&answer),
            thoughts_token_count: usage.thoughts,
            tool_use_prompt_token_count: usage.tool_prompt,
            traffic_type: (service == Service::Vertex).then_some("ON_DEMAND"),
        }
    }

    /// The prompt's half, when usage is split over frames.
    pub(super) fn prompt_half(self) -> Self {
        Self {
            prompt_token_count: self.prompt_token_count,
            cached_content_token_count: self.cached_content_token_count,
            prompt_tokens_details: self.prompt_tokens_details,
            cache_tokens_details: self.cache_tokens_details,
            ..Self::default()
        }
    }

    pub(super) fn answer_half(self) -> Self {
        Self {
            prompt_token_count: 0,
            cached_content_token_count: 0,
            prompt_tokens_details: Vec::new(),
            cache_tokens_details: Vec::new(),
            ..self
        }
    }
}

/// Tokens by kind; a kind without tokens is left out.
pub(super) fn details(list: &[(&'static str, u64)]) -> Vec<Detail> {
    let nonzero = list.iter().filter(|(_, tokens)| *tokens > 0);
    nonzero
        .map(|(modality, token_count)| Detail {
            modality,
            token_count: *token_count,
        })
        .collect()
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the form that serde asks for"
)]
fn is_zero(number: &u64) -> bool {
    *number == 0
}
