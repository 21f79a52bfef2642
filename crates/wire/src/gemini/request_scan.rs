//! A generateContent request: what is read in it for its price.

use std::collections::BTreeMap;

use serde::de::IgnoredAny;
use serde_json::Number;

use super::content_scan::{read_contents, read_instruction};
use super::cost::CAP;
use crate::request_facts::{read_cap, read_model, typed};
use crate::{Facts, Media, Object, PathParams, RequestError};

/// Before a model's name where Google writes it as the name of a resource.
const RESOURCE: &str = "models/";
const NUMBERS: [&str; 5] = [
    "generationConfig.temperature",
    "generationConfig.topP",
    "generationConfig.topK",
    "generationConfig.presencePenalty",
    "generationConfig.frequencyPenalty",
];

/// Reads what the price depends on.
pub(crate) fn read_facts(object: &Object<'_>, path: PathParams<'_>) -> Result<Facts, RequestError> {
    let body_model: Option<String> = typed(object, "model", "the name of a model")?;
    let model = path.model.map(ToOwned::to_owned).or(body_model);
    let model = model.map(|name| name.strip_prefix(RESOURCE).unwrap_or(&name).to_owned());
    let model = read_model(model)?;
    let member = |key: &str| object.value(key).filter(|value| *value != b"null");
    let contents = member("contents");
    let contents =
        contents.ok_or_else(|| RequestError::invalid("contents", "`contents` is required"))?;
    let mut media = Media::default();
    read_contents(contents, &mut media)?;
    if let Some(instruction) = member("systemInstruction") {
        read_instruction(instruction, &mut media)?;
    }
    let what = "a list of objects with `functionDeclarations`";
    typed::<Vec<BTreeMap<String, IgnoredAny>>>(object, "tools", what)?;
    for number in NUMBERS {
        typed::<Number>(object, number, "a number")?;
    }
    typed::<Vec<String>>(object, "generationConfig.stopSequences", "a list of texts")?;
    let max_output = read_cap(object, CAP)?;
    let choices = typed(
        object,
        "generationConfig.candidateCount",
        "a number from 1 to 16",
    )?;
    Ok(Facts {
        model,
        stream: path.stream,
        wants_usage: true,
        max_output,
        cap_field: max_output.map(|_| CAP),
        choices: choices.unwrap_or(1),
        effort: read_effort(object)?,
        previous: None,
        stores: false,
        vendor_tools: 0,
        media,
    })
}

fn read_effort(object: &Object<'_>) -> Result<Option<String>, RequestError> {
    const THINKING: &str = "generationConfig.thinkingConfig";
    typed::<bool>(
        object,
        &format!("{THINKING}.includeThoughts"),
        "true or false",
    )?;
    typed::<i64>(
        object,
        &format!("{THINKING}.thinkingBudget"),
        "a whole number from -1 on",
    )?;
    let level: Option<String> = typed(object, &format!("{THINKING}.thinkingLevel"), "a string")?;
    Ok(level.and_then(|level| effort_of_level(&level)))
}

/// The word that all formats have for a level; none where the level says nothing.
pub(super) fn effort_of_level(level: &str) -> Option<String> {
    let word = level.to_ascii_lowercase();
    (word != "thinking_level_unspecified").then_some(word)
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
