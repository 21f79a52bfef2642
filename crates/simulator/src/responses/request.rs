//! A request for a response, checked as the vendor checks it. What comes out of [`Asked::read`] is
//! acceptable; nothing behind it refuses again.

use serde_json::Value;

use crate::directives::Directives;
use crate::models;
use crate::refusal::{Refusal, shortened};
use crate::request::fields::{self, checked_text, missing};
use crate::request::{Format, Object, served_tier};

use super::context::{Context, Owner};
use super::echo::Echo;
use super::tools::{self, Choice, Tool};

#[derive(Debug)]
pub(crate) struct ResponsesRequest {
    pub(crate) model: String,
    pub(crate) stream: bool,
    pub(crate) background: bool,
    pub(crate) store: bool,
    /// Whether reasoning is wanted in sealed form.
    pub(crate) wants_sealed: bool,
    /// Whether a summary of the reasoning is wanted.
    pub(crate) wants_summary: bool,
    pub(crate) max_output_tokens: Option<u64>,
    pub(crate) is_parallel: bool,
    pub(crate) tools: Vec<Tool>,
    pub(crate) choice: Choice,
    pub(crate) format: Format,
    pub(crate) directives: Directives,
    /// The items, without the instructions, which a later response does not inherit.
    pub(crate) context: Context,
    pub(crate) prompt_tokens: u64,
    pub(crate) echo: Echo,
}

const SEALED_REASONING: &str = "reasoning.encrypted_content";

/// What is checked before the earlier response is looked for.
pub(crate) fn check(body: &Object) -> Result<(), Refusal> {
    fields::check_strictly("responses", body)?;
    let model = match text(body, "model") {
        Some(model) if !model.is_empty() => model,
        Some(_) | None => return Err(missing("model")),
    };
    if !models::is_known(model) {
        let message = format!("The requested model '{}' does not exist.", shortened(model));
        return Err(Refusal::invalid("model", Some("model_not_found"), message));
    }
    if is_set(body, "conversation") {
        return Err(conversation(body));
    }
    if !is_set(body, "input") && !is_set(body, "previous_response_id") {
        let message = "One of \"input\" or \"previous_response_id\" or 'prompt' or \
                       'conversation_id' must be provided."
            .to_owned();
        let code = Some("missing_required_parameter");
        return Err(Refusal::invalid("input", code, message));
    }
    Ok(())
}

// === impl ResponsesRequest ===

impl ResponsesRequest {
    /// Reads a body that passed [`check`], on top of what came before.
    pub(crate) fn read(
        body: &Object,
        before: Option<Context>,
        owner: &Owner<'_>,
    ) -> Result<Self, Refusal> {
        let model = text(body, "model").unwrap_or_default();
        let reasons = models::reasons(model);
        let tools = tools::read_tools(body)?;
        let choice = tools::read_choice(body, &tools)?;
        let mut context = before.unwrap_or_default();
        if let Some(input) = body.get("input") {
            context.add_input(input, owner)?;
        }
        context.check_calls()?;
        let mut prompt = context.clone();
        if let Some(instructions) = text(body, "instructions") {
            prompt.add_instructions(instructions);
        }
        let wants_sealed = read_include(body, reasons)?;
        let wants_summary = read_reasoning(body, reasons)?;
        let format = read_format(body, prompt.mentions_json)?;
        check_together(body, models::quirks(model).fixed_temperature)?;
        let directives = Directives::read(&context.last_user_text)
            .map_err(|error| Refusal::directive(&error.0))?;
        let tier = served_tier(
            directives.openai.service_tier.as_deref(),
            text(body, "service_tier"),
        );
        let echo = Echo::of(body, reasons).served_in(tier);
        Ok(Self {
            model: model.to_owned(),
            stream: is_true(body, "stream"),
            background: is_true(body, "background"),
            store: body.get("store") != Some(&Value::Bool(false)),
            wants_sealed,
            wants_summary,
            max_output_tokens: body.get("max_output_tokens").and_then(Value::as_u64),
            is_parallel: body.get("parallel_tool_calls") != Some(&Value::Bool(false)),
            tools,
            choice,
            format,
            directives,
            prompt_tokens: prompt.size.tokens(),
            context,
            echo,
        })
    }
}

/// Whether reasoning is to be sealed and sent along.
fn read_include(body: &Object, reasons: bool) -> Result<bool, Refusal> {
    let Some(Value::Array(list)) = body.get("include") else {
        return Ok(false);
    };
    let is_wanted = list
        .iter()
        .any(|word| word.as_str() == Some(SEALED_REASONING));
    if is_wanted && !reasons {
        let message = "Encrypted content is not supported with this model.".to_owned();
        return Err(Refusal::invalid("include", None, message));
    }
    Ok(is_wanted)
}

/// Whether a summary is wanted.
fn read_reasoning(body: &Object, reasons: bool) -> Result<bool, Refusal> {
    let Some(Value::Object(reasoning)) = body.get("reasoning") else {
        return Ok(false);
    };
    for name in ["effort", "summary"] {
        let word = reasoning.get(name).and_then(Value::as_str);
        if !reasons && word.is_some_and(|word| word != "none") {
            let param = format!("reasoning.{name}");
            let code = Some("unsupported_parameter");
            return Err(Refusal::invalid(&param, code, unsupported(&param)));
        }
    }
    Ok(reasoning.get("summary").is_some_and(Value::is_string))
}

fn read_format(body: &Object, mentions_json: bool) -> Result<Format, Refusal> {
    let format = body.get("text").and_then(|config| config.get("format"));
    let Some(Value::Object(format)) = format else {
        return Ok(Format::Text);
    };
    match checked_text(format, "type") {
        "json_object" if mentions_json => Ok(Format::JsonObject),
        "json_object" => {
            let message = "Response input messages must contain the word 'json' in some form to \
                           use 'text.format' of type 'json_object'."
                .to_owned();
            Err(Refusal::invalid("input", None, message))
        }
        "json_schema" => {
            let schema = format.get("schema").cloned();
            Ok(Format::JsonSchema(schema.unwrap_or_default()))
        }
        _ => Ok(Format::Text),
    }
}

/// Parameters that are each fine and do not go together.
fn check_together(body: &Object, fixed_temperature: bool) -> Result<(), Refusal> {
    for name in ["temperature", "top_p"] {
        let is_default = |value: &Value| value.is_null() || value.as_f64() == Some(1.0);
        if fixed_temperature && body.get(name).is_some_and(|value| !is_default(value)) {
            return Err(Refusal::invalid(name, None, unsupported(name)));
        }
    }
    if is_true(body, "background") && body.get("store") == Some(&Value::Bool(false)) {
        let message = "Background mode requires 'store' to be true.".to_owned();
        return Err(Refusal::invalid("background", None, message));
    }
    if is_set(body, "stream_options") && !is_true(body, "stream") {
        let message =
            "The 'stream_options' parameter is only allowed when 'stream' is enabled.".to_owned();
        return Err(Refusal::invalid("stream_options", None, message));
    }
    Ok(())
}

/// The simulator keeps no conversations, so every one is unknown.
fn conversation(body: &Object) -> Refusal {
    if is_set(body, "previous_response_id") {
        let message = "Mutually exclusive parameters: Ensure you are only providing one of: \
                       'previous_response_id' or 'conversation'."
            .to_owned();
        let code = Some("mutually_exclusive_parameters");
        return Refusal::invalid("conversation", code, message);
    }
    let value = body.get("conversation");
    let id = value.and_then(|value| value.as_str().or(value.get("id").and_then(Value::as_str)));
    let message = format!(
        "Conversation with id '{}' not found.",
        shortened(id.unwrap_or_default())
    );
    let mut refusal = Refusal::invalid("conversation", None, message);
    refusal.status = 404;
    refusal
}

fn unsupported(name: &str) -> String {
    format!("Unsupported parameter: '{name}' is not supported with this model.")
}

pub(crate) fn text<'a>(body: &'a Object, name: &str) -> Option<&'a str> {
    body.get(name).and_then(Value::as_str)
}

fn is_set(body: &Object, name: &str) -> bool {
    body.get(name).is_some_and(|value| !value.is_null())
}

fn is_true(body: &Object, name: &str) -> bool {
    body.get(name) == Some(&Value::Bool(true))
}
