//! A request of Anthropic messages: what is read in it for its price.

use std::borrow::Cow;

use serde::Deserialize;

use super::content_scan::{read_messages, read_system};
use super::cost::MAX_TOKENS;
use crate::borrowed_str::borrowed_str;
use crate::request_facts::{read_cap, read_model, typed};
use crate::{Facts, Media, Object, RequestError};

/// The edit that has a model write a summary first, in a call of its own.
const COMPACTION: &str = "compact_";

#[derive(Deserialize)]
struct TypedHead<'a> {
    #[serde(rename = "type", borrow, default, deserialize_with = "borrowed_str")]
    kind: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct ContextManagement<'a> {
    #[serde(borrow, default)]
    edits: Option<Vec<TypedHead<'a>>>,
}

/// Reads what the price depends on. `max_tokens` is not asked for: the gateway fills it.
pub(crate) fn read_facts(object: &Object<'_>) -> Result<Facts, RequestError> {
    let model = read_model(typed(object, "model", "the name of a model")?)?;
    let messages = object.value("messages").filter(|value| *value != b"null");
    let messages =
        messages.ok_or_else(|| RequestError::invalid("messages", "`messages` is required"))?;
    let mut media = Media::default();
    read_messages(messages, &mut media)?;
    if let Some(system) = object.value("system") {
        read_system(system, &mut media)?;
    }
    let tools = object.value("tools").map(vendor_tools).transpose()?;
    if let Some(management) = object.value("context_management") {
        check_edits(management)?;
    }
    let stream = typed(object, "stream", "true or false")?.unwrap_or(false);
    let max_output = read_cap(object, MAX_TOKENS)?;
    for number in ["temperature", "top_p", "top_k"] {
        typed::<serde_json::Number>(object, number, "a number")?;
    }
    typed::<Vec<String>>(object, "stop_sequences", "a list of texts")?;
    typed::<u64>(object, "thinking.budget_tokens", "a whole number")?;
    Ok(Facts {
        model,
        stream,
        // Usage is a part of every stream.
        wants_usage: true,
        max_output,
        cap_field: max_output.map(|_| MAX_TOKENS),
        choices: 1,
        effort: typed(object, "output_config.effort", "a string")?,
        previous: None,
        stores: false,
        vendor_tools: tools.unwrap_or(0),
        media,
    })
}

/// How many of the tools the vendor defines: their descriptions are its own.
fn vendor_tools(bytes: &[u8]) -> Result<u64, RequestError> {
    let tools: Option<Vec<TypedHead<'_>>> = serde_json::from_slice(bytes)
        .map_err(|_| RequestError::invalid("tools", "`tools` must be a list of objects"))?;
    let of_vendor =
        |tool: &&TypedHead<'_>| tool.kind.as_deref().is_some_and(|kind| kind != "custom");
    let count = tools.iter().flatten().filter(of_vendor).count();
    Ok(u64::try_from(count).unwrap_or(u64::MAX))
}

fn check_edits(bytes: &[u8]) -> Result<(), RequestError> {
    let management: Option<ContextManagement<'_>> =
        serde_json::from_slice(bytes).map_err(|_| {
            let what = "`context_management` must be an object with a list of `edits`";
            RequestError::invalid("context_management", what)
        })?;
    let edits = management.and_then(|management| management.edits);
    for (place, edit) in edits.iter().flatten().enumerate() {
        if edit
            .kind
            .as_deref()
            .unwrap_or_default()
            .starts_with(COMPACTION)
        {
            let field = format!("context_management.edits[{place}].type");
            let message = "a summary is written by a call of its own, whose price nothing bounds: \
                           leave this edit out and send a shorter conversation";
            return Err(RequestError::invalid(&field, message));
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
