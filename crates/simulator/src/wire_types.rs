//! The documents of the wire, field by field in the vendor's order. The order, and that
//! `obfuscation` is left out, are [unverified].

use std::borrow::Cow;

use serde::Serialize;

use crate::answer::{Answer, Finish, SaidCall, Says, Usage, announced_calls};
use crate::content_filters::{Found, PromptFound};

/// UsageReporting which build answered; a constant, as nothing changes here.
const FINGERPRINT: &str = "fp_simulator";

#[derive(Serialize)]
pub(crate) struct Completion<'a> {
    id: &'a str,
    object: &'static str,
    created: u64,
    model: &'a str,
    choices: Vec<Choice<'a>>,
    /// Azure alone tells of its filters.
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_filter_results: Option<[PromptFound; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<UsageShape>,
    service_tier: &'a str,
    system_fingerprint: &'static str,
}

#[derive(Clone, Serialize)]
struct Choice<'a> {
    index: u64,
    message: Message<'a>,
    logprobs: Option<()>,
    finish_reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content_filter_results: Option<Found>,
}

#[derive(Clone, Serialize)]
struct Message<'a> {
    role: &'static str,
    content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_calls: Option<Vec<Call<'a>>>,
    refusal: Option<&'a str>,
    annotations: [(); 0],
}

#[derive(Clone, Serialize)]
struct Call<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    function: Function<'a>,
}

#[derive(Clone, Serialize)]
struct Function<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    arguments: Cow<'a, str>,
}

/// One frame of a stream.
#[derive(Serialize)]
pub(crate) struct Chunk<'a> {
    id: &'a str,
    object: &'static str,
    created: u64,
    model: &'a str,
    service_tier: &'a str,
    system_fingerprint: &'static str,
    choices: &'a [ChunkChoice<'a>],
    /// Absent if usage was not asked for, `null` until it is told.
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Option<UsageShape>>,
}

/// The only choice of a frame.
#[derive(Serialize)]
pub(crate) struct ChunkChoice<'a> {
    pub(crate) index: u64,
    pub(crate) delta: Delta<'a>,
    pub(crate) logprobs: Option<()>,
    pub(crate) finish_reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) content_filter_results: Option<Found>,
}

#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum Delta<'a> {
    Opening(Opening<'a>),
    Content { content: &'a str },
    Refusal { refusal: &'a str },
    Reasoning { reasoning_content: &'a str },
    Arguments(CallDelta<'a>),
    Empty {},
}

/// The role, and for a call its name.
#[derive(Serialize)]
pub(crate) struct Opening<'a> {
    role: &'static str,
    content: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_calls: Option<[Call<'a>; 1]>,
    refusal: Option<()>,
}

/// A further piece of a call's arguments.
#[derive(Serialize)]
pub(crate) struct CallDelta<'a> {
    tool_calls: [Call<'a>; 1],
}

/// Usage, whole or in halves.
#[derive(Clone, Default, Serialize)]
pub(crate) struct UsageShape {
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    completion_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    total_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_tokens_details: Option<PromptDetails>,
    #[serde(skip_serializing_if = "Option::is_none")]
    completion_tokens_details: Option<CompletionDetails>,
}

#[derive(Clone, Serialize)]
struct PromptDetails {
    cached_tokens: u64,
    audio_tokens: u64,
}

#[derive(Clone, Serialize)]
struct CompletionDetails {
    reasoning_tokens: u64,
    audio_tokens: u64,
    accepted_prediction_tokens: u64,
    rejected_prediction_tokens: u64,
}

// === impl Completion ===

impl<'a> Completion<'a> {
    /// `text` is the content or the refusal; calls tell their own.
    pub(crate) fn new(
        answer: &'a Answer,
        text: &'a str,
        reasoning: Option<&'a str>,
        finish_reason: Option<&'static str>,
        usage: Option<Usage>,
    ) -> Self {
        let (content, refusal, tool_calls) = match &answer.says {
            Says::Words(_) | Says::Document(_) => (Some(text), None, None),
            Says::Refusal(_) => (None, Some(text), None),
            Says::Calls { calls, pieces } => {
                let announced = announced_calls(calls, pieces).into_iter();
                let calls = announced.map(|(call, arguments)| Call::whole(call, arguments));
                (None, None, Some(calls.collect()))
            }
        };
        let message = Message {
            role: "assistant",
            content,
            reasoning_content: reasoning,
            tool_calls,
            refusal,
            annotations: [],
        };
        let is_stopped = answer.finish == Finish::ContentFilter;
        let found = answer.is_filtered.then(|| Found::content(is_stopped));
        let choices = (0..answer.choices)
            .map(|index| Choice {
                index,
                message: message.clone(),
                logprobs: None,
                finish_reason,
                content_filter_results: found,
            })
            .collect();
        Self {
            id: &answer.id,
            object: "chat.completion",
            created: answer.created,
            model: &answer.model,
            choices,
            prompt_filter_results: answer.is_filtered.then(|| [PromptFound::nothing()]),
            usage: usage.map(UsageShape::whole),
            service_tier: &answer.service_tier,
            system_fingerprint: FINGERPRINT,
        }
    }
}

// === impl Call ===

impl<'a> Call<'a> {
    /// A call of a whole answer.
    fn whole(call: &'a SaidCall, arguments: String) -> Self {
        Self {
            index: None,
            id: Some(&call.id),
            kind: Some("function"),
            function: Function {
                name: Some(&call.name),
                arguments: Cow::Owned(arguments),
            },
        }
    }

    /// The first frame of a call.
    fn begun(index: u64, call: &'a SaidCall) -> Self {
        Self {
            index: Some(index),
            ..Self::whole(call, String::new())
        }
    }
}

// === impl Chunk ===

impl<'a> Chunk<'a> {
    pub(crate) fn new(
        answer: &'a Answer,
        choices: &'a [ChunkChoice<'a>],
        usage: Option<Option<UsageShape>>,
    ) -> Self {
        Self {
            id: &answer.id,
            object: "chat.completion.chunk",
            created: answer.created,
            model: &answer.model,
            service_tier: &answer.service_tier,
            system_fingerprint: FINGERPRINT,
            choices,
            usage,
        }
    }
}

// === impl Delta ===

impl<'a> Delta<'a> {
    pub(crate) fn opening(says: &'a Says) -> Self {
        let (content, tool_calls) = match says {
            Says::Words(_) | Says::Document(_) => (Some(""), None),
            Says::Refusal(_) => (None, None),
            Says::Calls { calls, .. } => {
                let first = calls.first().map(|call| [Call::begun(0, call)]);
                (None, first)
            }
        };
        Self::Opening(Opening {
            role: "assistant",
            content,
            tool_calls,
            refusal: None,
        })
    }

    /// The name of a further call.
    pub(crate) fn call(index: u64, call: &'a SaidCall) -> Self {
        let tool_calls = [Call::begun(index, call)];
        Self::Arguments(CallDelta { tool_calls })
    }

    pub(crate) fn arguments(index: u64, piece: &'a str) -> Self {
        let call = Call {
            index: Some(index),
            id: None,
            kind: None,
            function: Function {
                name: None,
                arguments: Cow::Borrowed(piece),
            },
        };
        Self::Arguments(CallDelta { tool_calls: [call] })
    }
}

// === impl UsageShape ===

impl UsageShape {
    pub(crate) fn whole(usage: Usage) -> Self {
        Self {
            prompt_tokens: Some(usage.prompt),
            completion_tokens: Some(usage.completion),
            total_tokens: Some(usage.total()),
            ..Self::details(usage)
        }
    }

    /// The prompt's half, when usage is split over frames.
    pub(crate) fn prompt_half(usage: Usage) -> Self {
        Self {
            prompt_tokens: Some(usage.prompt),
            completion_tokens_details: None,
            ..Self::details(usage)
        }
    }

    pub(crate) fn completion_half(usage: Usage) -> Self {
        Self {
            completion_tokens: Some(usage.completion),
            total_tokens: Some(usage.total()),
            prompt_tokens_details: None,
            ..Self::details(usage)
        }
    }

    fn details(usage: Usage) -> Self {
        Self {
            prompt_tokens_details: Some(PromptDetails {
                cached_tokens: usage.cached,
                audio_tokens: 0,
            }),
            completion_tokens_details: Some(CompletionDetails {
                reasoning_tokens: usage.reasoning,
                audio_tokens: 0,
                accepted_prediction_tokens: 0,
                rejected_prediction_tokens: 0,
            }),
            ..Self::default()
        }
    }
}
