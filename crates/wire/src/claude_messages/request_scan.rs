//! A request of Anthropic messages: what is read in it for its price.

use std::borrow::Cow;

use serde::Deserialize;

use super::content_scan::{read_messages, read_system};
use super::cost::MAX_TOKENS;
use crate::borrowed_str::borrowed_str;
use crate::request_facts::{read_cap, read_model, typed};
use crate::{Facts, Media, Object, RequestError};

/// Tools that the vendor defines and the caller runs, or that only look through the caller's own
/// tools: nothing is billed for them but their tokens. Each has a date behind it.
const FREE_TOOLS: &[&str] = &[
    "bash_",
    "computer_",
    "memory_",
    "text_editor_",
    "tool_search_tool_",
];
/// The edit that has a model write a summary first, in a call of its own.
const COMPACTION: &str = "compact_";

#[derive(Deserialize)]
struct ToolHead<'a> {
    #[serde(rename = "type", borrow, default, deserialize_with = "borrowed_str")]
    kind: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct ContextManagement<'a> {
    #[serde(borrow, default)]
    edits: Option<Vec<ToolHead<'a>>>,
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
    let tools = object.value("tools").map(check_tools).transpose()?;
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

/// Tools that a vendor runs are billed by the call; what we do not know may be one of them. Returns how
/// many the vendor defines.
fn check_tools(bytes: &[u8]) -> Result<u64, RequestError> {
    let mut of_vendor = 0_u64;
    let tools: Option<Vec<ToolHead<'_>>> = serde_json::from_slice(bytes)
        .map_err(|_| RequestError::invalid("tools", "`tools` must be a list of objects"))?;
    for (place, tool) in tools.iter().flatten().enumerate() {
        let kind = tool.kind.as_deref().unwrap_or("custom");
        let free = kind == "custom" || FREE_TOOLS.iter().any(|free| kind.starts_with(free));
        if !free {
            let kind: String = kind.chars().take(64).collect();
            let message = format!(
                "the tool `{kind}` is run by the upstream, is billed by the call and has no price \
                 here: leave it out, or send a tool of your own with `name` and `input_schema`"
            );
            let field = format!("tools[{place}].type");
            return Err(RequestError::invalid(&field, message));
        }
        of_vendor = of_vendor.saturating_add(u64::from(kind != "custom"));
    }
    Ok(of_vendor)
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
