//! The models as this vendor lists them.

use serde::Serialize;

use crate::models::{LISTED, is_known, reasons};

use super::answer::MAX_OUTPUT_TOKENS;

#[derive(Serialize)]
struct List {
    models: Vec<Model>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Model {
    name: String,
    version: &'static str,
    display_name: String,
    description: &'static str,
    input_token_limit: u64,
    output_token_limit: u64,
    supported_generation_methods: [&'static str; 2],
    temperature: u64,
    top_p: f64,
    top_k: u64,
    max_temperature: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<bool>,
}

/// The input limits that these models report; they are not enforced.
const INPUT_TOKEN_LIMIT: u64 = 1_048_576;

/// The list of models as JSON; it has one page.
pub(super) fn list() -> String {
    print(&List {
        models: LISTED.map(described).into(),
    })
}

/// One model as JSON, if there is one of that name.
pub(super) fn one(id: &str) -> Option<String> {
    is_known(id).then(|| print(&described(id)))
}

fn described(id: &str) -> Model {
    Model {
        name: format!("models/{id}"),
        version: "001",
        display_name: id.to_owned(),
        description: "A model of the simulator",
        input_token_limit: INPUT_TOKEN_LIMIT,
        output_token_limit: MAX_OUTPUT_TOKENS,
        supported_generation_methods: ["generateContent", "countTokens"],
        temperature: 1,
        top_p: 0.95,
        top_k: 64,
        max_temperature: 2,
        thinking: reasons(id).then_some(true),
    }
}

fn print(value: &impl Serialize) -> String {
    // A struct of texts and numbers always has a JSON form.
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    text
}
