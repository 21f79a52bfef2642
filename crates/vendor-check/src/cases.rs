//! The cases: small requests whose responses should have the same shape from a vendor and from the simulator.

use http::Method;
use serde_json::{Value, json};
use trunkline_upstream::{Provider, Quirk};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Case {
    ModelsList,
    WholeChat,
    StreamedChat,
    ToolCall,
    StructuredOutput,
    WrongKey,
    UnknownModel,
    BadParameter,
}

/// `max_tokens` of a request: enough that no response is truncated.
const MAX_OUTPUT_TOKENS: u64 = 200;
const NO_MODEL: &str = "trunkline-no-such-model";

impl Case {
    /// All of them, in the order in which they are sent.
    pub(crate) const ALL: [Self; 8] = [
        Self::ModelsList,
        Self::WholeChat,
        Self::StreamedChat,
        Self::ToolCall,
        Self::StructuredOutput,
        Self::WrongKey,
        Self::UnknownModel,
        Self::BadParameter,
    ];

    /// Its name in tables and reports.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::ModelsList => "models_list",
            Self::WholeChat => "whole_chat",
            Self::StreamedChat => "streamed_chat",
            Self::ToolCall => "tool_call",
            Self::StructuredOutput => "structured_output",
            Self::WrongKey => "wrong_key",
            Self::UnknownModel => "unknown_model",
            Self::BadParameter => "bad_parameter",
        }
    }

    pub(crate) const fn method(self) -> Method {
        match self {
            Self::ModelsList => Method::GET,
            Self::WholeChat
            | Self::StreamedChat
            | Self::ToolCall
            | Self::StructuredOutput
            | Self::WrongKey
            | Self::UnknownModel
            | Self::BadParameter => Method::POST,
        }
    }

    /// The path below the base address.
    pub(crate) const fn path(self) -> &'static str {
        match self {
            Self::ModelsList => "/models",
            Self::WholeChat
            | Self::StreamedChat
            | Self::ToolCall
            | Self::StructuredOutput
            | Self::WrongKey
            | Self::UnknownModel
            | Self::BadParameter => "/chat/completions",
        }
    }

    pub(crate) fn is_streamed(self) -> bool {
        self == Self::StreamedChat
    }

    pub(crate) fn has_wrong_key(self) -> bool {
        self == Self::WrongKey
    }

    /// Output tokens that may be charged.
    pub(crate) fn output_tokens(self) -> u64 {
        if self == Self::ModelsList {
            0
        } else {
            MAX_OUTPUT_TOKENS
        }
    }

    /// The body; empty for a GET.
    pub(crate) fn body(self, provider: &Provider, model: &str) -> Vec<u8> {
        if self == Self::ModelsList {
            return Vec::new();
        }
        let cap = if provider.has(Quirk::MaxTokensOnly) {
            "max_tokens"
        } else {
            "max_completion_tokens"
        };
        let model = if self == Self::UnknownModel {
            NO_MODEL
        } else {
            model
        };
        let mut body = json!({
            "model": model,
            "messages": [{ "role": "user", "content": self.prompt() }],
        });
        if let Value::Object(fields) = &mut body {
            fields.insert(cap.to_owned(), json!(MAX_OUTPUT_TOKENS));
            for (name, value) in self.more_fields(provider) {
                fields.insert(name.to_owned(), value);
            }
        }
        body.to_string().into_bytes()
    }

    const fn prompt(self) -> &'static str {
        match self {
            Self::ToolCall => "What is the weather in Paris? Use the tool.",
            Self::StructuredOutput => "Name one city and its country. Answer in JSON.",
            Self::ModelsList
            | Self::WholeChat
            | Self::StreamedChat
            | Self::WrongKey
            | Self::UnknownModel
            | Self::BadParameter => "Say: one two three four five six.",
        }
    }

    fn more_fields(self, provider: &Provider) -> Vec<(&'static str, Value)> {
        match self {
            Self::StreamedChat if provider.has(Quirk::NoStreamOptions) => {
                vec![("stream", json!(true))]
            }
            Self::StreamedChat => vec![
                ("stream", json!(true)),
                ("stream_options", json!({ "include_usage": true })),
            ],
            Self::ToolCall => vec![
                (
                    "tools",
                    json!([{ "type": "function", "function": {
                    "name": "weather",
                    "description": "The weather in a city",
                    "parameters": one_text("city"),
                } }]),
                ),
                (
                    "tool_choice",
                    json!({ "type": "function", "function": { "name": "weather" } }),
                ),
            ],
            Self::StructuredOutput => vec![(
                "response_format",
                json!({
                    "type": "json_schema",
                    "json_schema": { "name": "city", "strict": true, "schema": one_text("city") },
                }),
            )],
            Self::BadParameter => vec![("temperature", json!(9))],
            Self::ModelsList | Self::WholeChat | Self::WrongKey | Self::UnknownModel => Vec::new(),
        }
    }
}

/// A schema of an object with one text.
fn one_text(name: &str) -> Value {
    json!({
        "type": "object",
        "properties": { name: { "type": "string" } },
        "required": [name],
        "additionalProperties": false,
    })
}
