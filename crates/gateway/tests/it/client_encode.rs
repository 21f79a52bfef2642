//! The four formats as callers write them, by hand: nothing here is shared with the product.

use std::fmt;

use serde_json::{Value, json};

/// The format of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClientFormat {
    Chat,
    Messages,
    Responses,
    Gemini,
}

/// What a caller wants, in no format.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CallParams<'a> {
    pub(crate) prompt: &'a str,
    pub(crate) system: Option<&'a str>,
    pub(crate) image: bool,
    pub(crate) tools: bool,
    pub(crate) schema: bool,
    pub(crate) thinks: bool,
    pub(crate) most: Option<u64>,
    pub(crate) stream: bool,
}

/// Why an answer may end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    End,
    Length,
    Tools,
    Filtered,
}

/// One pixel.
pub(crate) const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
pub(crate) const TOOLS: [&str; 2] = ["get_weather", "get_tide"];
/// A limit for an answer that thinks, above every budget.
const THINKING_MOST: u64 = 4_000;
const BUDGET: u64 = 1_024;

impl fmt::Display for ClientFormat {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl ClientFormat {
    pub(crate) const ALL: [Self; 4] = [Self::Chat, Self::Messages, Self::Responses, Self::Gemini];

    /// Its name in quotes, usage rows and names of models.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Messages => "messages",
            Self::Responses => "responses",
            Self::Gemini => "gemini",
        }
    }

    pub(crate) fn path(self, model: &str, stream: bool) -> String {
        match (self, stream) {
            (Self::Chat, _) => "/v1/chat/completions".to_owned(),
            (Self::Messages, _) => "/v1/messages".to_owned(),
            (Self::Responses, _) => "/v1/responses".to_owned(),
            (Self::Gemini, false) => format!("/v1beta/models/{model}:generateContent"),
            (Self::Gemini, true) => {
                format!("/v1beta/models/{model}:streamGenerateContent?alt=sse")
            }
        }
    }

    /// A request for this.
    pub(crate) fn body(self, model: &str, params: &CallParams<'_>) -> Value {
        match self {
            Self::Chat => chat(model, params),
            Self::Messages => messages(model, params),
            Self::Responses => responses(model, params),
            Self::Gemini => gemini(params),
        }
    }

    /// Its code for why an answer ended.
    pub(crate) const fn why(self, why: Why) -> &'static str {
        match (self, why) {
            (Self::Chat, Why::End) => "stop",
            (Self::Chat, Why::Length) => "length",
            (Self::Chat, Why::Tools) => "tool_calls",
            (Self::Chat, Why::Filtered) => "content_filter",
            (Self::Messages, Why::End) => "end_turn",
            (Self::Messages, Why::Length) => "max_tokens",
            (Self::Messages, Why::Tools) => "tool_use",
            (Self::Messages, Why::Filtered) => "refusal",
            (Self::Responses, Why::End | Why::Tools) => "completed",
            (Self::Responses, Why::Length) => "incomplete: max_output_tokens",
            (Self::Responses, Why::Filtered) => "incomplete: content_filter",
            (Self::Gemini, Why::End | Why::Tools) => "STOP",
            (Self::Gemini, Why::Length) => "MAX_TOKENS",
            (Self::Gemini, Why::Filtered) => "SAFETY",
        }
    }

    /// What the upstream's own prompt words are for calls of two tools at once.
    pub(crate) const fn calls_at_once(self) -> &'static str {
        match self {
            Self::Messages => "[[tools:get_weather,get_tide]]",
            Self::Chat | Self::Responses | Self::Gemini => "[[tool:get_weather]] [[tool:get_tide]]",
        }
    }

    /// What makes an upstream cut itself off.
    pub(crate) const fn filtered(self) -> &'static str {
        match self {
            Self::Chat | Self::Responses => "[[filter:output]]",
            Self::Messages => "[[stop:refusal]]",
            Self::Gemini => "[[finish:SAFETY]]",
        }
    }

    /// Where a seal stands in a request to such an upstream; none where it has none.
    pub(crate) const fn seal_field(self) -> Option<&'static str> {
        match self {
            Self::Chat => None,
            Self::Messages => Some("\"signature\":\""),
            Self::Responses => Some("\"encrypted_content\":\""),
            Self::Gemini => Some("\"thoughtSignature\":\""),
        }
    }
}

/// What a tool takes, and what a structured answer is.
fn object(field: &str) -> Value {
    json!({
        "type": "object",
        "properties": { field: { "type": "string" } },
        "required": [field],
        "additionalProperties": false,
    })
}

/// The same in the dialect that Gemini's declarations have.
fn declared(field: &str) -> Value {
    json!({ "type": "OBJECT", "properties": { field: { "type": "STRING" } }, "required": [field] })
}

fn set(body: &mut Value, field: &str, value: Value) {
    body[field] = value;
}

fn chat(model: &str, params: &CallParams<'_>) -> Value {
    let mut reply = vec![json!({ "type": "text", "text": params.prompt })];
    if params.image {
        let url = format!("data:image/png;base64,{PNG}");
        reply.push(json!({ "type": "image_url", "image_url": { "url": url } }));
    }
    let mut messages = Vec::new();
    if let Some(system) = params.system {
        messages.push(json!({ "role": "system", "content": system }));
    }
    messages.push(json!({ "role": "user", "content": reply }));
    let mut body = json!({ "model": model, "messages": messages });
    if params.stream {
        set(&mut body, "stream", json!(true));
        set(
            &mut body,
            "stream_options",
            json!({ "include_usage": true }),
        );
    }
    if params.tools {
        let tool = |name: &str| json!({ "type": "function", "function": { "name": name, "parameters": object("city") } });
        set(&mut body, "tools", json!(TOOLS.map(tool)));
    }
    if params.schema {
        let schema = json!({ "name": "reply", "strict": true, "schema": object("answer") });
        let format = json!({ "type": "json_schema", "json_schema": schema });
        set(&mut body, "response_format", format);
    }
    if params.thinks {
        set(&mut body, "reasoning_effort", json!("low"));
    }
    let most = params.most.or(params.thinks.then_some(THINKING_MOST));
    if let Some(most) = most {
        set(&mut body, "max_completion_tokens", json!(most));
    }
    body
}

fn messages(model: &str, params: &CallParams<'_>) -> Value {
    let mut reply = vec![json!({ "type": "text", "text": params.prompt })];
    if params.image {
        let source = json!({ "type": "base64", "media_type": "image/png", "data": PNG });
        reply.push(json!({ "type": "image", "source": source }));
    }
    let most = params.most.unwrap_or(THINKING_MOST);
    let turn = json!({ "role": "user", "content": reply });
    let mut body = json!({ "model": model, "max_tokens": most, "messages": [turn] });
    if params.stream {
        set(&mut body, "stream", json!(true));
    }
    if let Some(system) = params.system {
        set(&mut body, "system", json!(system));
    }
    if params.tools {
        let tool = |name: &str| json!({ "name": name, "input_schema": object("city") });
        set(&mut body, "tools", json!(TOOLS.map(tool)));
    }
    if params.schema {
        let format = json!({ "type": "json_schema", "schema": object("answer") });
        set(&mut body, "output_config", json!({ "format": format }));
    }
    if params.thinks {
        let thinking = json!({ "type": "enabled", "budget_tokens": BUDGET });
        set(&mut body, "thinking", thinking);
    }
    body
}

fn responses(model: &str, params: &CallParams<'_>) -> Value {
    let mut reply = vec![json!({ "type": "input_text", "text": params.prompt })];
    if params.image {
        let url = format!("data:image/png;base64,{PNG}");
        reply.push(json!({ "type": "input_image", "image_url": url, "detail": "auto" }));
    }
    let turn = json!({ "type": "message", "role": "user", "content": reply });
    let mut body = json!({ "model": model, "input": [turn], "store": false });
    if params.stream {
        set(&mut body, "stream", json!(true));
    }
    if let Some(system) = params.system {
        set(&mut body, "instructions", json!(system));
    }
    if params.tools {
        let tool = |name: &str| json!({ "type": "function", "name": name, "parameters": object("city"), "strict": false });
        set(&mut body, "tools", json!(TOOLS.map(tool)));
    }
    if params.schema {
        let format = json!({ "type": "json_schema", "name": "reply", "strict": true, "schema": object("answer") });
        set(&mut body, "text", json!({ "format": format }));
    }
    if params.thinks {
        let thinking = json!({ "effort": "low", "summary": "auto" });
        set(&mut body, "reasoning", thinking);
        let seals = json!(["reasoning.encrypted_content"]);
        set(&mut body, "include", seals);
    }
    let most = params.most.or(params.thinks.then_some(THINKING_MOST));
    if let Some(most) = most {
        set(&mut body, "max_output_tokens", json!(most));
    }
    body
}

fn gemini(params: &CallParams<'_>) -> Value {
    let mut parts = vec![json!({ "text": params.prompt })];
    if params.image {
        let data = json!({ "mimeType": "image/png", "data": PNG });
        parts.push(json!({ "inlineData": data }));
    }
    let mut body = json!({ "contents": [{ "role": "user", "parts": parts }] });
    if let Some(system) = params.system {
        let system = json!({ "parts": [{ "text": system }] });
        set(&mut body, "systemInstruction", system);
    }
    if params.tools {
        let tool = |name: &str| json!({ "name": name, "description": name, "parameters": declared("city") });
        let tools = json!([{ "functionDeclarations": TOOLS.map(tool) }]);
        set(&mut body, "tools", tools);
    }
    let mut config = json!({});
    if params.schema {
        set(&mut config, "responseMimeType", json!("application/json"));
        set(&mut config, "responseSchema", declared("answer"));
    }
    if params.thinks {
        let thinking = json!({ "includeThoughts": true, "thinkingBudget": BUDGET });
        set(&mut config, "thinkingConfig", thinking);
    }
    let most = params.most.or(params.thinks.then_some(THINKING_MOST));
    if let Some(most) = most {
        set(&mut config, "maxOutputTokens", json!(most));
    }
    if config != json!({}) {
        set(&mut body, "generationConfig", config);
    }
    body
}
