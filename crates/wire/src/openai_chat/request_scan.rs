//! A chat request: what is read in it for its price, and what is changed on its way out.

use super::content_scan::read_messages;
use crate::request_facts::{PathEdit, json, read_cap, read_model, typed};
use crate::{CapName, Edit, Facts, Format, Object, Outgoing, Request, RequestError, patch, scan};

/// Belongs to the Responses format.
pub const PREVIOUS_RESPONSE: &str = "previous_response_id";
/// Where a request says how long its response may be: the word of today.
pub(super) const MAX_COMPLETION_TOKENS: &str = "max_completion_tokens";
/// The older word, which some upstreams know alone.
pub(super) const MAX_TOKENS: &str = "max_tokens";

/// Reads what the price depends on.
pub(crate) fn read_facts(object: &Object<'_>) -> Result<Facts, RequestError> {
    let model = read_model(typed(object, "model", "the name of a model")?)?;
    let messages = object.value("messages").filter(|value| *value != b"null");
    let media = read_messages(
        messages.ok_or_else(|| RequestError::invalid("messages", "`messages` is required"))?,
    )?;
    let stream = typed(object, "stream", "true or false")?.unwrap_or(false);
    let wants_usage = read_wants_usage(object)?;
    let (max_output, cap_field) = read_caps(object)?;
    let choices = typed(object, "n", "a number from 1 to 16")?.unwrap_or(1);
    for number in ["temperature", "top_p"] {
        typed::<serde_json::Number>(object, number, "a number")?;
    }
    Ok(Facts {
        model,
        stream,
        wants_usage,
        max_output,
        cap_field,
        choices,
        effort: typed(object, "reasoning_effort", "a string")?,
        previous: None,
        stores: false,
        vendor_tools: 0,
        media,
    })
}

/// What is changed on the way out, besides what records say.
pub(crate) fn edits(request: &Request, object: &Object<'_>, out: &Outgoing<'_>) -> Vec<PathEdit> {
    let facts = &request.facts;
    let mut edits = Vec::new();
    if request.requested_model() != out.model {
        edits.push(("model".to_owned(), Some(json(out.model))));
    }
    if facts.stream {
        edits.extend(usage_edit(object, out));
    }
    let Some(tokens) = out.max_output else {
        return edits;
    };
    let sent_as = facts.cap_field;
    let word = cap_name(out.cap_name, sent_as);
    if facts.max_output == Some(tokens) && sent_as == Some(word) {
        return edits;
    }
    if let Some(sent_as) = sent_as.filter(|sent_as| *sent_as != word) {
        edits.push((sent_as.to_owned(), None));
    }
    edits.push((word.to_owned(), Some(tokens.to_string().into_bytes())));
    edits
}

/// The name that the length goes out under.
pub(super) fn cap_name(taken: CapName, sent_as: Option<&'static str>) -> &'static str {
    match taken {
        CapName::Either => sent_as.unwrap_or(MAX_COMPLETION_TOKENS),
        CapName::MaxTokens => MAX_TOKENS,
        CapName::MaxCompletionTokens => MAX_COMPLETION_TOKENS,
    }
}

/// The caller's name of the length and the one it goes out under, where these are two.
#[must_use]
pub fn renamed_cap(request: &Request, taken: CapName) -> Option<(&'static str, &'static str)> {
    let is_chat = request.format == Format::OpenaiChat && request.passthrough.is_none();
    let sent_as = request.facts.cap_field.filter(|_| is_chat)?;
    let word = cap_name(taken, Some(sent_as));
    (word != sent_as).then_some((sent_as, word))
}

fn read_wants_usage(object: &Object<'_>) -> Result<bool, RequestError> {
    #[derive(serde::Deserialize)]
    struct Options {
        #[serde(default)]
        include_usage: Option<bool>,
    }
    let options: Option<Options> = typed(object, "stream_options", "an object")?;
    Ok(options.is_some_and(|options| options.include_usage == Some(true)))
}

fn read_caps(object: &Object<'_>) -> Result<(Option<u64>, Option<&'static str>), RequestError> {
    let mut found = (None, None);
    for word in [MAX_COMPLETION_TOKENS, MAX_TOKENS] {
        let Some(tokens) = read_cap(object, word)? else {
            continue;
        };
        if found.0.is_some() {
            return Err(RequestError::invalid(
                word,
                "send either `max_completion_tokens` or `max_tokens`, not both",
            ));
        }
        found = (Some(tokens), Some(word));
    }
    Ok(found)
}

/// Usage is always asked for: what was used decides what is paid.
fn usage_edit(object: &Object<'_>, out: &Outgoing<'_>) -> Option<PathEdit> {
    const OPTIONS: &str = "stream_options";
    let options = object.value(OPTIONS).filter(|value| *value != b"null");
    if out.no_stream_options {
        return object.member(OPTIONS).map(|_| (OPTIONS.to_owned(), None));
    }
    let Some(options) = options else {
        let value = br#"{"include_usage":true}"#.to_vec();
        return Some((OPTIONS.to_owned(), Some(value)));
    };
    let inner = scan(options).ok()?;
    if inner.value("include_usage") == Some(b"true") {
        return None;
    }
    let value = patch(&inner, &[Edit::Set("include_usage", b"true".to_vec())]);
    Some((OPTIONS.to_owned(), Some(value)))
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
