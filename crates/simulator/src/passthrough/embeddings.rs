//! Embeddings: a vector for each text, the same for the same text and model, of length one.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::ordered_json::{OrderedJson, list};
use crate::refusal::Refusal;
use crate::request::Object;
use crate::request::fields::{self, missing, wrong_type};
use crate::tokens::{PromptSize, count};

use super::{Job, ReportedTokens, Wants, read_directives, read_model};

/// The vectors of one request.
pub(super) struct Vectors {
    inputs: Vec<String>,
    dimensions: u64,
    is_base64: bool,
}

/// Default length of a vector.
const DEFAULT_DIMENSIONS: u64 = 1536;
const MAX_INPUTS: usize = 2048;
/// Digits of each number.
const DIGITS: u64 = 100_000_000;

pub(super) fn read(body: &Object) -> Result<Job, Refusal> {
    fields::check("embeddings", body)?;
    let model = read_model(body)?;
    let (inputs, prompt_tokens) = read_inputs(body.get("input"))?;
    let directives = read_directives(inputs.last().map_or("", String::as_str))?;
    let dimensions = body.get("dimensions").and_then(Value::as_u64);
    Ok(Job {
        model: model.to_owned(),
        stream: false,
        directives,
        prompt_tokens,
        completion_tokens: 0,
        wants: Wants::Vectors(Vectors {
            inputs,
            dimensions: dimensions.unwrap_or(DEFAULT_DIMENSIONS),
            is_base64: body.get("encoding_format") == Some(&json!("base64")),
        }),
    })
}

/// The texts and how many tokens they are. A list of numbers is a text that was cut already.
pub(super) fn read_inputs(input: Option<&Value>) -> Result<(Vec<String>, u64), Refusal> {
    let list = match input {
        None => return Err(missing("input")),
        Some(Value::Array(list)) if list.iter().all(Value::is_u64) && !list.is_empty() => {
            return Ok((vec![json!(list).to_string()], count(list.len())));
        }
        Some(Value::Array(list)) => list.as_slice(),
        Some(text) => std::slice::from_ref(text),
    };
    let invalid = || {
        let message = "'$.input' is invalid. Please check the API reference: \
                       https://platform.openai.com/docs/api-reference."
            .to_owned();
        Refusal::invalid("input", None, message)
    };
    if list.is_empty() || list.len() > MAX_INPUTS {
        return Err(invalid());
    }
    let (mut inputs, mut tokens) = (Vec::new(), 0u64);
    for value in list {
        match value {
            Value::String(text) if !text.is_empty() => {
                let size = PromptSize {
                    text_bytes: count(text.len()),
                    ..PromptSize::default()
                };
                tokens = tokens.saturating_add(size.tokens());
                inputs.push(text.clone());
            }
            Value::Array(numbers) if !numbers.is_empty() && numbers.iter().all(Value::is_u64) => {
                tokens = tokens.saturating_add(count(numbers.len()));
                inputs.push(json!(numbers).to_string());
            }
            Value::String(_) | Value::Array(_) => return Err(invalid()),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
                return Err(wrong_type("input", "a string or array of tokens", value));
            }
        }
    }
    Ok((inputs, tokens))
}

// === impl Vectors ===

impl Vectors {
    pub(super) fn document(&self, model: &str, reported: ReportedTokens) -> String {
        let entries: Vec<String> = self
            .inputs
            .iter()
            .enumerate()
            .map(|(index, text)| {
                let numbers = vector(model, text, self.dimensions);
                let embedding = if self.is_base64 {
                    format!("\"{}\"", packed(&numbers))
                } else {
                    list(&numbers)
                };
                OrderedJson::new()
                    .with("object", "embedding")
                    .with("index", &index)
                    .raw("embedding", &embedding)
                    .done()
            })
            .collect();
        let usage =
            reported.map(|(prompt, _)| json!({"prompt_tokens": prompt, "total_tokens": prompt}));
        OrderedJson::new()
            .with("object", "list")
            .raw("data", &list(&entries))
            .with("model", model)
            .maybe("usage", usage.as_ref())
            .done()
    }
}

/// The numbers as decimal digits: both encodings are made of the same ones.
fn vector(model: &str, text: &str, dimensions: u64) -> Vec<String> {
    let raw: Vec<i16> = (0..dimensions)
        .map(|at| {
            // Sixteen numbers of each hash.
            let block = Sha256::digest(format!("{model}\n{text}\n{}", at / 16));
            let from = usize::try_from(at % 16).unwrap_or_default();
            let pair = block.as_slice().chunks_exact(2).nth(from);
            match pair {
                Some([high, low]) => i16::from_be_bytes([*high, *low]),
                Some(_) | None => 1,
            }
        })
        .collect();
    let square = |number: &i16| u64::from(number.unsigned_abs()).saturating_pow(2);
    let length = raw.iter().map(square).sum::<u64>().isqrt().max(1);
    raw.iter()
        .map(|number| {
            let sign = if *number < 0 { "-" } else { "" };
            let size = u64::from(number.unsigned_abs());
            let scaled = size.saturating_mul(DIGITS).checked_div(length);
            let scaled = scaled.unwrap_or_default().min(DIGITS);
            let (whole, rest) = (scaled / DIGITS, scaled % DIGITS);
            format!("{sign}{whole}.{rest:08}")
        })
        .collect()
}

/// The numbers as 32-bit floats, little end first, in base64.
fn packed(numbers: &[String]) -> String {
    let bytes: Vec<u8> = numbers
        .iter()
        .flat_map(|digits| digits.parse::<f32>().unwrap_or_default().to_le_bytes())
        .collect();
    STANDARD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_has_length_one_and_depends_on_model_and_text() {
        for dimensions in [1, 16, 17, 1536] {
            let numbers = vector("sim-a", "hello", dimensions);
            assert_eq!(count(numbers.len()), dimensions);
            let square: f64 = numbers
                .iter()
                .map(|digits| digits.parse::<f64>().unwrap().powi(2))
                .sum();
            assert!((square - 1.0).abs() < 0.001, "{dimensions}: {square}");
        }
        assert_eq!(vector("sim-a", "x", 32), vector("sim-a", "x", 32));
        assert_ne!(vector("sim-a", "x", 32), vector("sim-a", "y", 32));
        assert_ne!(vector("sim-a", "x", 32), vector("sim-b", "x", 32));
    }
}
