//! Moderations: a verdict for each text. Nothing is judged: the prompt says what is found.

use serde_json::{Map, Value, json};

use crate::directives::CATEGORIES;
use crate::models;
use crate::ordered_json::{OrderedJson, list};
use crate::refusal::Refusal;
use crate::request::Object;
use crate::request::fields::{self, missing, wrong_type, wrong_value};
use crate::tokens::{PromptSize, count};

use super::{Job, Wants, read_directives};

/// What is found in each of the texts.
pub(super) struct Verdict {
    flags: Vec<Vec<String>>,
}

/// The vendor's own bound is not known to us; this one only bounds the work.
const MAX_INPUTS: usize = 2048;
const DEFAULT_MODEL: &str = "omni-moderation-latest";

pub(super) fn read(body: &Object) -> Result<Job, Refusal> {
    fields::check("moderations", body)?;
    let model = match body.get("model").and_then(Value::as_str) {
        None => DEFAULT_MODEL,
        Some(model) if model == DEFAULT_MODEL || models::is_known(model) => model,
        Some(model) => return Err(Refusal::no_such_model(model)),
    };
    let (texts, images) = read_texts(body.get("input"))?;
    let mut size = PromptSize {
        images,
        ..PromptSize::default()
    };
    let mut flags = Vec::new();
    let mut last = None;
    for text in &texts {
        size.text_bytes = size.text_bytes.saturating_add(count(text.len()));
        let directives = read_directives(text)?;
        flags.push(directives.openai.flags.clone());
        last = Some(directives);
    }
    Ok(Job {
        model: model.to_owned(),
        stream: false,
        directives: last.unwrap_or_default(),
        prompt_tokens: size.tokens(),
        completion_tokens: 0,
        wants: Wants::Verdict(Verdict { flags }),
    })
}

/// The texts, each of which gets a verdict, and how many images stand beside them. Parts belong
/// together and get one.
fn read_texts(input: Option<&Value>) -> Result<(Vec<String>, u64), Refusal> {
    let list = match input {
        None => return Err(missing("input")),
        Some(Value::Array(list)) if list.is_empty() || list.len() > MAX_INPUTS => {
            let message = format!("Invalid 'input': expected 1 to {MAX_INPUTS} items.");
            return Err(Refusal::invalid("input", Some("empty_array"), message));
        }
        Some(Value::Array(list)) => list.as_slice(),
        Some(text) => std::slice::from_ref(text),
    };
    let (mut texts, mut together, mut images) = (Vec::new(), None, 0u64);
    for (index, value) in list.iter().enumerate() {
        let path = format!("input[{index}]");
        match value {
            Value::String(text) => texts.push(text.clone()),
            Value::Object(part) => {
                let all = together.get_or_insert_with(String::new);
                match fields::text(part, &path, "type")? {
                    "text" => all.push_str(fields::text(part, &path, "text")?),
                    "image_url" => {
                        fields::object(part, &path, "image_url")?;
                        images = images.saturating_add(1);
                    }
                    other => {
                        let param = format!("{path}.type");
                        return Err(wrong_value(&param, other, &["text", "image_url"]));
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
                return Err(wrong_type(&path, "a string or object", value));
            }
        }
    }
    texts.extend(together);
    Ok((texts, images))
}

// === impl Verdict ===

impl Verdict {
    pub(super) fn document(&self, id: &str, model: &str) -> String {
        let results: Vec<String> = self.flags.iter().map(|flags| result(flags)).collect();
        OrderedJson::new()
            .with("id", id)
            .with("model", model)
            .raw("results", &list(&results))
            .done()
    }
}

fn result(flags: &[String]) -> String {
    let each = |value: &dyn Fn(bool) -> Value| -> Map<String, Value> {
        CATEGORIES
            .iter()
            .map(|name| {
                let is_found = flags.iter().any(|flag| flag == name);
                ((*name).to_owned(), value(is_found))
            })
            .collect()
    };
    let score = |is_found: bool| if is_found { json!(0.99) } else { json!(0.0001) };
    OrderedJson::new()
        .with("flagged", &!flags.is_empty())
        .with("categories", &each(&|is_found| json!(is_found)))
        .with("category_scores", &each(&score))
        .with("category_applied_input_types", &each(&|_| json!(["text"])))
        .done()
}
