//! A request: what is read in it for its price, and what of it must not go out as it came.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::content_scan::read_input;
use super::cost::MAX_OUTPUT_TOKENS;
use super::rewrite::bare_list;
use crate::borrowed_str::borrowed_str;
use crate::request_facts::{read_cap, read_model, typed};
use crate::{Facts, Media, Object, Request, RequestError};

/// A tool, as far as it names something stored elsewhere.
#[derive(Deserialize)]
struct ToolFacts<'a> {
    #[serde(borrow, rename = "type", default, deserialize_with = "borrowed_str")]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    vector_store_ids: Option<Vec<&'a RawValue>>,
    #[serde(borrow, default)]
    container: Option<&'a RawValue>,
    #[serde(borrow, default)]
    environment: Option<&'a RawValue>,
}

/// Reads what the price depends on.
pub(crate) fn read_facts(object: &Object<'_>) -> Result<Facts, RequestError> {
    let model = read_model(typed(object, "model", "the name of a model")?)?;
    let previous: Option<String> = typed(object, "previous_response_id", "the id of a response")?;
    let mut media = match object.value("input").filter(|value| *value != b"null") {
        Some(input) => read_input(input, previous.is_some())?,
        None if previous.is_some() => Media::default(),
        None => return Err(RequestError::invalid("input", "`input` is required")),
    };
    let instructions: Option<String> = typed(object, "instructions", "a text")?;
    let instruction_bytes = instructions.map_or(0, |text| text.len());
    let instruction_bytes = u64::try_from(instruction_bytes).unwrap_or(u64::MAX);
    media.text_bytes = media.text_bytes.saturating_add(instruction_bytes);
    read_tools(object)?;
    for number in ["temperature", "top_p"] {
        typed::<serde_json::Number>(object, number, "a number")?;
    }
    typed::<bool>(object, "parallel_tool_calls", "true or false")?;
    if typed(object, "background", "true or false")? == Some(true) {
        let way_out = "background responses cannot be charged; leave `background` out";
        return Err(RequestError::reference("background", way_out));
    }
    let max_output = read_cap(object, MAX_OUTPUT_TOKENS)?;
    Ok(Facts {
        model,
        stream: typed(object, "stream", "true or false")?.unwrap_or(false),
        wants_usage: false,
        max_output,
        cap_field: max_output.map(|_| MAX_OUTPUT_TOKENS),
        choices: 1,
        effort: typed(object, "reasoning.effort", "a string")?,
        previous,
        stores: typed(object, "store", "true or false")? != Some(false),
        vendor_tools: 0,
        media,
    })
}

fn read_tools(object: &Object<'_>) -> Result<(), RequestError> {
    let Some(bytes) = object.value("tools").filter(|value| *value != b"null") else {
        return Ok(());
    };
    let tools: Vec<ToolFacts<'_>> = serde_json::from_slice(bytes).map_err(|error| {
        let what = "`tools` must be a list of objects with `type`";
        RequestError::invalid("tools", format!("{what}: {error}"))
    })?;
    for (place, tool) in tools.iter().enumerate() {
        tool.check(&format!("tools[{place}]"))?;
    }
    Ok(())
}

impl ToolFacts<'_> {
    fn check(&self, place: &str) -> Result<(), RequestError> {
        #[derive(Deserialize)]
        struct Container<'a> {
            #[serde(borrow, default)]
            file_ids: Option<Vec<&'a RawValue>>,
            #[serde(default)]
            container_id: Option<serde::de::IgnoredAny>,
        }
        if self.kind.is_none() {
            let param = format!("{place}.type");
            return Err(RequestError::invalid(&param, "every tool needs a `type`"));
        }
        if self
            .vector_store_ids
            .as_ref()
            .is_some_and(|ids| !ids.is_empty())
        {
            let param = format!("{place}.vector_store_ids");
            let way_out = "put what is to be searched into `input`";
            return Err(RequestError::reference(&param, way_out));
        }
        for (name, raw) in [
            ("container", self.container),
            ("environment", self.environment),
        ] {
            let Some(raw) = raw else { continue };
            let read: Option<Container<'_>> = serde_json::from_str(raw.get()).ok();
            let files = read.as_ref().and_then(|read| read.file_ids.as_ref());
            let named = name == "container" && raw.get().starts_with('"');
            let names = named
                || files.is_some_and(|files| !files.is_empty())
                || read.is_some_and(|read| read.container_id.is_some());
            if names {
                let param = format!("{place}.{name}");
                let way_out = "containers are stored at an upstream account; leave `container` out";
                return Err(RequestError::reference(&param, way_out));
            }
        }
        Ok(())
    }
}

/// The input of a request whose signatures were tagged on their way to the caller, with the bare signatures that
/// the upstream behind a channel wants back: its JSON, and how many thoughts of other upstreams were
/// left out. None if there is nothing to change.
#[must_use]
pub fn strip_signatures(request: &Request, channel: Option<&str>) -> Option<(String, usize)> {
    let (list, left_out) = bare_list(request.field("input")?, channel)?;
    Some((String::from_utf8(list).ok()?, left_out))
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
