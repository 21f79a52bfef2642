//! A request for a completion, checked as the vendor checks it. What comes out of
//! [`ChatRequest::read`] is acceptable; nothing behind it refuses again.

pub(crate) mod fields;
mod format;
mod messages;
pub(crate) mod tools;

use serde_json::Value;

use crate::directives::Directives;
use crate::models::{self, ModelQuirks};
use crate::refusal::Refusal;
use crate::tokens::PromptSize;

pub(crate) use fields::Object;
pub(crate) use format::Format;
pub(crate) use tools::{Tool, ToolChoice};

use messages::Messages;

#[derive(Debug)]
pub(crate) struct ChatRequest {
    pub(crate) model: String,
    pub(crate) stream: bool,
    pub(crate) include_usage: bool,
    pub(crate) choices: u64,
    /// Most tokens of each choice, reasoning included.
    pub(crate) max_tokens: Option<u64>,
    pub(crate) prompt: PromptSize,
    pub(crate) directives: Directives,
    pub(crate) tools: Vec<Tool>,
    pub(crate) tool_choice: ToolChoice,
    /// Whether several calls may come at once.
    pub(crate) parallel_calls: bool,
    /// Whether results of tools came since the user spoke.
    pub(crate) answers_tool: bool,
    pub(crate) format: Format,
    /// The tier that was asked for.
    pub(crate) service_tier: Option<String>,
    /// Whether answers tell what Azure's content filters found.
    pub(crate) is_filtered: bool,
}

// === impl ChatRequest ===

impl ChatRequest {
    /// Reads a body. Types come before meaning: a field of the wrong type is refused even if
    /// another one is missing.
    pub(crate) fn read(body: &Object) -> Result<Self, Refusal> {
        fields::check("chat", body)?;
        // The vendor looks for the model before anything else it needs.
        let model = match body.get("model").and_then(Value::as_str) {
            Some(model) if !model.is_empty() => model,
            Some(_) | None => {
                return Err(Refusal::unnamed("you must provide a model parameter"));
            }
        };
        if !models::is_known(model) {
            return Err(Refusal::no_such_model(model));
        }
        let Some(Value::Array(list)) = body.get("messages") else {
            return Err(fields::missing("messages"));
        };
        let quirks = models::quirks(model);
        let messages = Messages::read(list, quirks.reasons)?;
        check_together(body, quirks)?;
        let (stream, asks_usage) = read_stream(body)?;
        let tools = tools::read_tools(body)?;
        let tool_choice = tools::read_choice(body, &tools)?;
        let format = format::read(body, messages.mentions_json)?;
        let directives = Directives::read(&messages.last_user_text)
            .map_err(|error| Refusal::directive(&error.0))?;
        Ok(Self {
            model: model.to_owned(),
            stream,
            include_usage: asks_usage || quirks.tells_usage,
            choices: number(body, "n").unwrap_or(1),
            max_tokens: number(body, "max_completion_tokens").or(number(body, "max_tokens")),
            prompt: messages.size,
            directives,
            tools,
            tool_choice,
            parallel_calls: body.get("parallel_tool_calls") != Some(&Value::Bool(false)),
            answers_tool: messages.answers_tool,
            format,
            service_tier: body
                .get("service_tier")
                .and_then(Value::as_str)
                .map(str::to_owned),
            is_filtered: false,
        })
    }

    /// The tier that serves it: that of the directive, else the one asked for.
    pub(crate) fn served_tier(&self) -> &str {
        served_tier(
            self.directives.openai.service_tier.as_deref(),
            self.service_tier.as_deref(),
        )
    }
}

/// The tier that serves a request: what a directive says, else what was asked for. Who leaves it to the
/// account's setting gets the default.
pub(crate) fn served_tier<'a>(directive: Option<&'a str>, requested: Option<&'a str>) -> &'a str {
    let requested = requested.filter(|word| *word != "auto");
    directive.or(requested).unwrap_or("default")
}

/// Parameters that are each fine and do not go together.
fn check_together(body: &Object, quirks: ModelQuirks) -> Result<(), Refusal> {
    let is_set = |name: &str| body.get(name).is_some_and(|value| !value.is_null());
    if let Some(name) = quirks.refuses.iter().find(|name| is_set(name)) {
        let instead = match *name {
            "max_tokens" => " Use 'max_completion_tokens' instead.",
            "max_completion_tokens" => " Use 'max_tokens' instead.",
            _ => "",
        };
        let message =
            format!("Unsupported parameter: '{name}' is not supported with this model.{instead}");
        let code = Some("unsupported_parameter");
        return Err(Refusal::invalid(name, code, message));
    }
    let is_default = |value: &Value| value.is_null() || value.as_f64() == Some(1.0);
    if let Some(value) = body.get("temperature").filter(|value| !is_default(value))
        && quirks.fixed_temperature
    {
        let message = format!(
            "Unsupported value: 'temperature' does not support {value} with this model. Only the \
             default (1) value is supported."
        );
        let code = Some("unsupported_value");
        return Err(Refusal::invalid("temperature", code, message));
    }
    if is_set("max_tokens") && is_set("max_completion_tokens") {
        let message = "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not \
                       supported."
            .to_owned();
        let code = Some("invalid_parameter_combination");
        return Err(Refusal::invalid("max_tokens", code, message));
    }
    if let Some(Value::Array(modalities)) = body.get("modalities")
        && modalities.iter().any(|word| word.as_str() != Some("text"))
    {
        let message = "Invalid value for 'modalities': this model only answers in text.".to_owned();
        return Err(Refusal::invalid(
            "modalities",
            Some("invalid_value"),
            message,
        ));
    }
    Ok(())
}

fn read_stream(body: &Object) -> Result<(bool, bool), Refusal> {
    let stream = body.get("stream") == Some(&Value::Bool(true));
    let Some(Value::Object(options)) = body.get("stream_options") else {
        return Ok((stream, false));
    };
    if !stream {
        let message =
            "The 'stream_options' parameter is only allowed when 'stream' is enabled.".to_owned();
        return Err(Refusal::invalid("stream_options", None, message));
    }
    let include_usage = options.get("include_usage") == Some(&Value::Bool(true));
    Ok((stream, include_usage))
}

fn number(body: &Object, name: &str) -> Option<u64> {
    body.get(name).and_then(Value::as_u64)
}
