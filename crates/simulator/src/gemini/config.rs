//! The settings of a generation: their bounds, what goes together, and the wanted form.

use serde_json::{Number, Value};

use crate::refusal::shortened;

use super::errors::GoogleError;
use super::fields::Object;
use super::tools;

/// What the simulator needs to know of the settings.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Config {
    pub(super) candidates: u64,
    /// Most tokens of each candidate, thoughts included.
    pub(super) max_tokens: Option<u64>,
    pub(super) format: Format,
    pub(super) shows_thoughts: bool,
    /// Most tokens of thoughts; none is as many as it likes.
    pub(super) thinking_budget: Option<u64>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Format {
    Text,
    /// Any JSON object.
    Json,
    /// JSON that fits this JSON Schema.
    Schema(Value),
    /// One word of a list, without quotes.
    Word(String),
}

const MAX_CANDIDATES: i64 = 8;
const MAX_STOPS: usize = 5;
/// The models' own limit of output; the vendor accepts no more.
const MAX_OUTPUT_TOKENS: i64 = 65_536;
const MAX_THINKING_BUDGET: i64 = 32_768;
const MAX_LOGPROBS: i64 = 20;
const MIME_TYPES: [&str; 5] = [
    "text/plain",
    "application/json",
    "application/xml",
    "application/yaml",
    "text/x.enum",
];

// === impl Config ===

impl Config {
    pub(super) fn read(body: &Object, thinks: bool) -> Result<Self, GoogleError> {
        let empty = Object::new();
        let config = body.get("generationConfig").and_then(Value::as_object);
        let config = config.unwrap_or(&empty);
        check_bounds(config)?;
        let (shows_thoughts, thinking_budget) = read_thinking(config, thinks)?;
        let candidates = whole(config, "candidateCount").unwrap_or(1);
        let max_tokens = whole(config, "maxOutputTokens");
        Ok(Self {
            candidates: u64::try_from(candidates).unwrap_or(1),
            max_tokens: max_tokens.and_then(|most| u64::try_from(most).ok()),
            format: read_format(config)?,
            shows_thoughts,
            thinking_budget,
        })
    }
}

fn check_bounds(config: &Object) -> Result<(), GoogleError> {
    for (name, place, least, most) in [
        ("temperature", "temperature", 0.0, 2.0),
        ("topP", "top_p", 0.0, 1.0),
        ("topK", "top_k", 1.0, f64::from(i32::MAX)),
        ("presencePenalty", "presence_penalty", -2.0, 2.0),
        ("frequencyPenalty", "frequency_penalty", -2.0, 2.0),
    ] {
        let value = config.get(name).and_then(Value::as_f64);
        if value.is_some_and(|value| !(least..=most).contains(&value)) {
            return Err(out_of_range(place, &least.to_string(), &most.to_string()));
        }
    }
    for (name, place, least, most) in [
        ("candidateCount", "candidate_count", 1, MAX_CANDIDATES),
        ("maxOutputTokens", "max_output_tokens", 1, MAX_OUTPUT_TOKENS),
        ("logprobs", "logprobs", 0, MAX_LOGPROBS),
        ("seed", "seed", i64::from(i32::MIN), i64::from(i32::MAX)),
    ] {
        if whole(config, name).is_some_and(|value| !(least..=most).contains(&value)) {
            return Err(out_of_range(place, &least.to_string(), &most.to_string()));
        }
    }
    let stops = config.get("stopSequences").and_then(Value::as_array);
    if stops.is_some_and(|stops| stops.len() > MAX_STOPS) {
        let problem = format!("at most {MAX_STOPS} stop sequences are allowed.");
        let path = "generation_config.stop_sequences";
        return Err(GoogleError::field(path, &problem));
    }
    if config.contains_key("logprobs") && config.get("responseLogprobs") != Some(&Value::Bool(true))
    {
        return Err(GoogleError::field(
            "generation_config.logprobs",
            "logprobs is only allowed when response_logprobs is true.",
        ));
    }
    let modalities = config.get("responseModalities").and_then(Value::as_array);
    for modality in modalities.into_iter().flatten() {
        let word = modality.as_str().unwrap_or("");
        if word != "TEXT" {
            return Err(GoogleError::invalid(format!(
                "Model does not support the requested response modalities: {}",
                word.to_ascii_lowercase()
            )));
        }
    }
    Ok(())
}

/// Whether thoughts are shown, and how many there may be.
fn read_thinking(config: &Object, thinks: bool) -> Result<(bool, Option<u64>), GoogleError> {
    let Some(thinking) = config.get("thinkingConfig").and_then(Value::as_object) else {
        return Ok((false, None));
    };
    let budget = whole(thinking, "thinkingBudget");
    let shows = thinking.get("includeThoughts") == Some(&Value::Bool(true));
    // Who turns off what is not there asks for nothing.
    let is_off = budget == Some(0) && !shows;
    if !thinks && !thinking.is_empty() && !is_off {
        let message = "Thinking is not supported by this model.";
        return Err(GoogleError::invalid(message));
    }
    let level = thinking.get("thinkingLevel").and_then(Value::as_str);
    if budget.is_some() && level.is_some() {
        let message = "You can only set only one of thinking budget and thinking level.";
        return Err(GoogleError::invalid(message));
    }
    if let Some(wrong) = budget.filter(|budget| !(-1..=MAX_THINKING_BUDGET).contains(budget)) {
        return Err(GoogleError::invalid(format!(
            "The thinking budget {wrong} is invalid. Please choose a value between 0 and \
             {MAX_THINKING_BUDGET}."
        )));
    }
    if shows && budget == Some(0) {
        let message = "Unable to include thoughts when thinking is disabled.";
        return Err(GoogleError::invalid(message));
    }
    // Less than zero leaves it to the model, as a level does.
    Ok((shows, budget.and_then(|budget| u64::try_from(budget).ok())))
}

fn read_format(config: &Object) -> Result<Format, GoogleError> {
    let mime = config.get("responseMimeType").and_then(Value::as_str);
    let mime = mime.unwrap_or("text/plain");
    if !MIME_TYPES.contains(&mime) {
        return Err(GoogleError::field(
            "generation_config.response_mime_type",
            "allowed mimetypes are `text/plain`, `application/json`, `application/xml`, \
             `application/yaml` and `text/x.enum`.",
        ));
    }
    let own = config.get("responseSchema");
    let standard = config.get("responseJsonSchema");
    let path = "generation_config.response_schema";
    let schema = match (own, standard) {
        (Some(_), Some(_)) => {
            let problem = "only one of response_schema and response_json_schema may be set.";
            return Err(GoogleError::field(path, problem));
        }
        (Some(schema), None) => Some(tools::json_schema(schema, path)?),
        (None, Some(schema)) => Some(schema.clone()),
        (None, None) => None,
    };
    match (mime, schema) {
        ("application/json", Some(schema)) => Ok(Format::Schema(schema)),
        ("application/json", None) => Ok(Format::Json),
        ("text/x.enum", Some(schema)) => match first_word(&schema) {
            Some(word) => Ok(Format::Word(word)),
            None => Err(GoogleError::field(
                path,
                "an enum is needed for `text/x.enum`.",
            )),
        },
        ("text/x.enum", None) => Err(GoogleError::field(path, "missing field.")),
        (_, Some(_)) => Err(GoogleError::field(
            "generation_config.response_mime_type",
            &format!(
                "a response schema is not supported with `{}`.",
                shortened(mime)
            ),
        )),
        (_, None) => Ok(Format::Text),
    }
}

fn first_word(schema: &Value) -> Option<String> {
    let word = schema.get("enum")?.as_array()?.first()?.as_str()?;
    Some(word.to_owned())
}

fn whole(object: &Object, name: &str) -> Option<i64> {
    object
        .get(name)
        .and_then(Value::as_number)
        .and_then(Number::as_i64)
}

fn out_of_range(place: &str, least: &str, most: &str) -> GoogleError {
    let problem = format!("{place} must be in the range [{least}, {most}].");
    GoogleError::field(&format!("generation_config.{place}"), &problem)
}
