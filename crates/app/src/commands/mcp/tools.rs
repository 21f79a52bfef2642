//! The tools: what each is for, what it takes, and the request of the gateway that answers it.

use std::sync::Arc;

use bytes::Bytes;
use http::Method;
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Map, Value, json};
use url::form_urlencoded;

use super::arguments::{
    self, ModelsArguments, NoArguments, QuoteArguments, SubKeyArguments, UsageArguments,
};
use crate::commands::gateway_client::{CallError, GatewayClient};

/// A result that a model has to read is not longer than this.
const MAX_RESULT_BYTES: usize = 256_000;
const USUAL_MODELS: usize = 50;
const MAX_MODELS: usize = 500;
const USUAL_USAGE_LINES: u32 = 50;

/// The tools of this server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ToolKind {
    Quote,
    Balance,
    Usage,
    Models,
    CreateSubKey,
}

/// What a tool could not do. The agent reads it.
#[derive(Debug)]
pub(super) struct ToolError {
    pub(super) code: String,
    pub(super) message: String,
    pub(super) status: Option<u16>,
}

// === impl ToolKind ===

impl ToolKind {
    pub(super) const ALL: [Self; 5] = [
        Self::Quote,
        Self::Balance,
        Self::Usage,
        Self::Models,
        Self::CreateSubKey,
    ];

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.as_str() == name)
    }

    const fn as_str(self) -> &'static str {
        match self {
            Self::Quote => "quote",
            Self::Balance => "balance",
            Self::Usage => "usage",
            Self::Models => "models",
            Self::CreateSubKey => "create_sub_key",
        }
    }

    const fn summary(self) -> &'static str {
        match self {
            Self::Quote => {
                "The price of a model call before it is made: exact, or minimum, expected and maximum. \
                 Free; nothing is sent to the model."
            }
            Self::Balance => "What is left in the account's wallets, and what open calls hold.",
            Self::Usage => "What was spent, by day, key, model, group or endpoint.",
            Self::Models => "The models that the key may call, and the endpoints of each.",
            Self::CreateSubKey => {
                "A new API key for a sub-agent. It cannot spend more than its cap and expires by itself. \
                 The secret is listed only now."
            }
        }
    }

    pub(super) fn description(self) -> Tool {
        let mut schema = Map::new();
        schema.insert("type".to_owned(), json!("object"));
        schema.insert("properties".to_owned(), self.properties());
        schema.insert("required".to_owned(), json!(self.required()));
        schema.insert("additionalProperties".to_owned(), json!(false));
        let is_read_only = self != Self::CreateSubKey;
        let hints = ToolAnnotations::new()
            .read_only(is_read_only)
            .destructive(false)
            .open_world(false);
        Tool::new(self.as_str(), self.summary(), Arc::new(schema)).with_annotations(hints)
    }

    fn properties(self) -> Value {
        match self {
            Self::Quote => json!({
                "endpoint": {
                    "type": "string",
                    "description": "the path that the call would go to, such as /v1/chat/completions, /v1/messages or /v1/responses",
                },
                "body": { "type": "object", "description": "the body of the call, with its model" },
            }),
            Self::Balance => json!({}),
            Self::Usage => json!({
                "from": { "type": "string", "description": "the first day, like 2026-11-01; 30 days ago if left out" },
                "to": { "type": "string", "description": "the last day, included; today if left out" },
                "group_by": {
                    "type": "string",
                    "description": "any of day, key, model, group, endpoint, comma-separated; day if left out",
                },
                "key": { "type": "integer", "description": "only this key, by its id" },
                "model": { "type": "string", "description": "only this model" },
                "limit": { "type": "integer", "minimum": 1, "maximum": 1000, "description": "lines; 50 if left out" },
            }),
            Self::Models => json!({
                "search": { "type": "string", "description": "only models whose name contains this" },
                "limit": { "type": "integer", "minimum": 1, "maximum": MAX_MODELS, "description": "50 if left out" },
            }),
            Self::CreateSubKey => json!({
                "name": { "type": "string", "maxLength": 100, "description": "what the key is for" },
                "cap_usd": {
                    "type": "string",
                    "description": "the most that it may spend in all, in USD, like 0.50",
                },
                "expires_in_seconds": { "type": "integer", "minimum": 1, "description": "when it stops working" },
                "models": {
                    "type": "array", "items": { "type": "string" },
                    "description": "the only models that it may call; all of the parent's if left out",
                },
                "endpoints": {
                    "type": "array", "items": { "type": "string" },
                    "description": "the only endpoints, such as chat, messages, responses, gemini; all of the parent's if left out",
                },
            }),
        }
    }

    const fn required(self) -> &'static [&'static str] {
        match self {
            Self::Quote => &["endpoint", "body"],
            Self::Balance | Self::Usage | Self::Models => &[],
            Self::CreateSubKey => &["name", "cap_usd", "expires_in_seconds"],
        }
    }

    pub(super) async fn call(
        self,
        gateway: &GatewayClient,
        arguments: Option<JsonObject>,
    ) -> Result<Value, ToolError> {
        match self {
            Self::Quote => quote(gateway, arguments::read(arguments)?).await,
            Self::Balance => {
                let NoArguments {} = arguments::read(arguments)?;
                object(gateway.call(Method::GET, "/v1/balance", None).await?)
            }
            Self::Usage => usage(gateway, arguments::read(arguments)?).await,
            Self::Models => models(gateway, arguments::read(arguments)?).await,
            Self::CreateSubKey => create_sub_key(gateway, arguments::read(arguments)?).await,
        }
    }
}

async fn quote(gateway: &GatewayClient, arguments: QuoteArguments) -> Result<Value, ToolError> {
    let QuoteArguments { endpoint, body } = arguments;
    let body = json!({ "endpoint": endpoint, "body": body });
    object(gateway.call(Method::POST, "/v1/quotes", Some(body)).await?)
}

async fn usage(gateway: &GatewayClient, arguments: UsageArguments) -> Result<Value, ToolError> {
    let path = usage_path(arguments);
    object(gateway.call(Method::GET, &path, None).await?)
}

fn usage_path(arguments: UsageArguments) -> String {
    let UsageArguments {
        from,
        to,
        group_by,
        key,
        model,
        limit,
    } = arguments;
    let limit = limit.unwrap_or(USUAL_USAGE_LINES).to_string();
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.append_pair("limit", &limit);
    let key = key.map(|key| key.to_string());
    for (name, value) in [
        ("from", from),
        ("to", to),
        ("group_by", group_by),
        ("key", key),
        ("model", model),
    ] {
        if let Some(value) = value {
            query.append_pair(name, &value);
        }
    }
    format!("/v1/usage?{}", query.finish())
}

/// Cut to what was asked for: a gateway may sell hundreds.
async fn models(gateway: &GatewayClient, arguments: ModelsArguments) -> Result<Value, ToolError> {
    let all = parsed(&gateway.call(Method::GET, "/v1/models", None).await?)?;
    let search = arguments.search.unwrap_or_default().to_lowercase();
    let limit = arguments.limit.unwrap_or(USUAL_MODELS).clamp(1, MAX_MODELS);
    let found: Vec<&Value> = all
        .get("data")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter(|model| {
            let id = model.get("id").and_then(Value::as_str).unwrap_or_default();
            id.to_lowercase().contains(&search)
        })
        .collect();
    let listed: Vec<&Value> = found.iter().take(limit).copied().collect();
    bounded(json!({ "found": found.len(), "models": listed }))
}

/// The answer of the gateway, and where the key is to be used.
async fn create_sub_key(
    gateway: &GatewayClient,
    arguments: SubKeyArguments,
) -> Result<Value, ToolError> {
    let SubKeyArguments {
        name,
        cap_usd,
        expires_in_seconds,
        models,
        endpoints,
    } = arguments;
    if cap_usd.is_null() {
        let text = "a sub-key of an agent has a cap; `cap_usd` must be an amount";
        return Err(ToolError::new("invalid_arguments", text));
    }
    let mut body = Map::new();
    body.insert("name".to_owned(), json!(name));
    body.insert("cap_usd".to_owned(), cap_usd);
    body.insert("expires_in_seconds".to_owned(), json!(expires_in_seconds));
    for (field, list) in [("models", models), ("endpoints", endpoints)] {
        if let Some(list) = list {
            body.insert(field.to_owned(), json!(list));
        }
    }
    let body = Some(Value::Object(body));
    let made = gateway.call(Method::POST, "/v1/keys", body).await?;
    let mut made = object(made)?;
    if let Some(fields) = made.as_object_mut() {
        fields.insert("base_url".to_owned(), json!(gateway.base_url()));
    }
    Ok(made)
}

fn parsed(answer: &Bytes) -> Result<Value, ToolError> {
    let parsed = serde_json::from_slice(answer);
    let parsed = parsed.ok().filter(Value::is_object);
    parsed.ok_or_else(|| {
        let text = "not the answer of a Trunkline gateway; check its address";
        ToolError::new("unknown_answer", text)
    })
}

fn object(answer: Bytes) -> Result<Value, ToolError> {
    if answer.len() > MAX_RESULT_BYTES {
        return Err(ToolError::too_long());
    }
    parsed(&answer)
}

fn bounded(answer: Value) -> Result<Value, ToolError> {
    if answer.to_string().len() > MAX_RESULT_BYTES {
        return Err(ToolError::too_long());
    }
    Ok(answer)
}

// === impl ToolError ===

impl ToolError {
    pub(super) fn new(code: &str, message: impl Into<String>) -> Self {
        Self {
            code: code.to_owned(),
            message: message.into(),
            status: None,
        }
    }

    fn too_long() -> Self {
        let text = format!("the answer is longer than {MAX_RESULT_BYTES} bytes; ask for less");
        Self::new("answer_too_long", text)
    }
}

impl From<CallError> for ToolError {
    fn from(error: CallError) -> Self {
        Self {
            status: error.status.map(|status| status.as_u16()),
            code: error.code,
            message: error.message,
        }
    }
}
