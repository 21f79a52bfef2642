//! The parameters beside messages and tools: lengths, thinking, sampling, the form of the output.

use serde_json::Value;

use crate::anthropic::refusal::Refusal;
use crate::request::Object;

use super::fields::{self, checked_text, join};
use super::{MAX_OUTPUT_TOKENS, Purpose};

/// What the client says about thinking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Thinking {
    Off,
    /// As long as the model likes, up to a budget if there is one.
    On {
        budget: Option<u64>,
        /// Whether thoughts are shown, or only signed.
        is_shown: bool,
    },
    /// Only after the results of tools.
    BetweenTools,
}

/// The flag of a further way to show thoughts.
const DISPLAY_UPDATES: &str = "thinking-display-updates-";
/// Most stop sequences; the vendor's bound is not known.
const MAX_STOP_SEQUENCES: usize = 8191;

// === impl Thinking ===

impl Thinking {
    /// Whether a turn that calls tools must come back with its thoughts.
    pub(super) fn needs_thoughts(self) -> bool {
        match self {
            Self::On { budget, .. } => budget.is_some(),
            Self::Off | Self::BetweenTools => false,
        }
    }
}

/// The limit of the answer; a count has none.
pub(super) fn max_tokens(body: &Object, purpose: Purpose, model: &str) -> Result<u64, Refusal> {
    if purpose == Purpose::Count {
        return Ok(MAX_OUTPUT_TOKENS);
    }
    let value = fields::needed(body, "", "max_tokens")?;
    let max_tokens = fields::integer(value, "max_tokens", 1)?;
    if max_tokens > MAX_OUTPUT_TOKENS {
        let says = format!(
            "{max_tokens} > {MAX_OUTPUT_TOKENS}, which is the maximum allowed number of output \
             tokens for {model}"
        );
        return Err(Refusal::at("max_tokens", &says));
    }
    Ok(max_tokens)
}

pub(super) fn thinking(
    body: &Object,
    max_tokens: u64,
    betas: &[String],
) -> Result<Thinking, Refusal> {
    let Some(Value::Object(thinking)) = body.get("thinking") else {
        return Ok(Thinking::Off);
    };
    let tag = checked_text(thinking, "type");
    let path = join("thinking", tag);
    let mut displays = vec!["summarized", "omitted"];
    // Claude Code asks for it; refused, it asks again without it.
    if betas.iter().any(|beta| beta.starts_with(DISPLAY_UPDATES)) {
        displays.push("updates");
    }
    let is_shown = || match fields::optional(thinking, "display") {
        None => Ok(true),
        Some(display) => {
            fields::word(display, &join(&path, "display"), &displays).map(|word| word != "omitted")
        }
    };
    match tag {
        "enabled" => {
            let budget = thinking.get("budget_tokens").and_then(Value::as_u64);
            if budget.unwrap_or_default() >= max_tokens {
                return Err(Refusal::invalid(
                    "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult \
                     our documentation at \
                     https://docs.claude.com/en/docs/build-with-claude/extended-thinking\
                     #max-tokens-and-context-window-size"
                        .to_owned(),
                ));
            }
            Ok(Thinking::On {
                budget,
                is_shown: is_shown()?,
            })
        }
        "adaptive" => Ok(Thinking::On {
            budget: None,
            is_shown: is_shown()?,
        }),
        "between_tools" => Ok(Thinking::BetweenTools),
        _ => Ok(Thinking::Off),
    }
}

/// How words are drawn. It changes nothing here, but thinking sets bounds to it.
pub(super) fn sampling(body: &Object, thinking: Thinking) -> Result<(), Refusal> {
    let number = |name: &str| body.get(name).and_then(Value::as_f64);
    let (temperature, top_p) = (number("temperature"), number("top_p"));
    if thinking == Thinking::Off {
        return Ok(());
    }
    if temperature.is_some_and(|temperature| temperature < 1.0) {
        return Err(Refusal::invalid(
            "`temperature` may only be set to 1 when thinking is enabled. Please consult our \
             documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking\
             #important-considerations-when-using-extended-thinking"
                .to_owned(),
        ));
    }
    if top_p.is_some_and(|top_p| top_p < 0.95) {
        return Err(Refusal::invalid(
            "`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled."
                .to_owned(),
        ));
    }
    if fields::optional(body, "top_k").is_some() {
        return Err(Refusal::invalid(
            "`top_k` must be unset when thinking is enabled.".to_owned(),
        ));
    }
    Ok(())
}

pub(super) fn stop_sequences(body: &Object) -> Result<Vec<String>, Refusal> {
    let Some(Value::Array(list)) = body.get("stop_sequences") else {
        return Ok(Vec::new());
    };
    if list.len() > MAX_STOP_SEQUENCES {
        let says = format!("List should have at most {MAX_STOP_SEQUENCES} items");
        return Err(Refusal::at("stop_sequences", &says));
    }
    let mut sequences = Vec::new();
    for sequence in list.iter().filter_map(Value::as_str) {
        if sequence.trim().is_empty() {
            return Err(Refusal::at(
                "stop_sequences",
                "each stop sequence must contain non-whitespace",
            ));
        }
        sequences.push(sequence.to_owned());
    }
    Ok(sequences)
}

/// The schema of the output, by its name of today or by the one of its beta.
pub(super) fn schema(body: &Object) -> Result<Option<Value>, Refusal> {
    let older = fields::optional(body, "output_format").map(|value| (value, "output_format"));
    let mut format = older;
    if let Some(Value::Object(config)) = body.get("output_config")
        && let Some(value) = fields::optional(config, "format")
    {
        format = Some((value, "output_config.format"));
    }
    let Some((value, path)) = format else {
        return Ok(None);
    };
    let format = fields::as_object(value, path)?;
    fields::only(format, path, &["type", "schema"])?;
    fields::tag(format, path, &["json_schema"])?;
    let schema = fields::needed(format, path, "schema")?;
    let inner = fields::as_object(schema, &join(path, "schema"))?;
    check_closed(inner, path)?;
    Ok(Some(schema.clone()))
}

/// The vendor wants every object closed; only the outermost is looked at here.
fn check_closed(schema: &Object, path: &str) -> Result<(), Refusal> {
    let is_object = schema.get("type").and_then(Value::as_str) == Some("object");
    if is_object && schema.get("additionalProperties") != Some(&Value::Bool(false)) {
        return Err(Refusal::at(
            &join(path, "schema"),
            "For 'object' type, 'additionalProperties' must be explicitly set to false",
        ));
    }
    Ok(())
}
