//! The calls of tools that a prompt asks for: `[[tool:NAME]]` or `[[tools:NAME,NAME]]`, whose arguments are made up from the
//! tool's schema, and `[[call:NAME {"path":"note.txt"}]]`, whose arguments are these. Several of them
//! are several calls in one answer. Every vendor's simulator reads them here.

use serde_json::{Map, Value};

use crate::directives::DirectiveError;
use crate::schema;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WantedCall {
    pub(crate) name: String,
    /// A JSON object as the prompt wrote it; without it the arguments are made up.
    pub(crate) arguments: Option<String>,
}

/// A tool to call, and its arguments if the prompt wrote them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Called<'a, Tool> {
    pub(crate) tool: &'a Tool,
    pub(crate) written: Option<&'a str>,
}

/// The longest `[[call:…]]`, so that a prompt full of brackets is not read to its end for each.
const MAX_CALL_BYTES: usize = 16 * 1024;
/// Most calls in one answer.
const MAX_CALLS: usize = 64;

/// Reads `call:NAME {…}]]` and says what stands behind it. The end is the end of the JSON: a text in
/// it may hold brackets of its own.
pub(crate) fn read(after: &str) -> Result<Option<(WantedCall, &str)>, DirectiveError> {
    let Some(inside) = after.strip_prefix("call:") else {
        return Ok(None);
    };
    let wrong = || {
        DirectiveError(format!(
            "[[call:NAME {{…}}]] takes a name and a JSON object, {MAX_CALL_BYTES} bytes at most"
        ))
    };
    let window = inside
        .get(..inside.floor_char_boundary(MAX_CALL_BYTES))
        .ok_or_else(wrong)?;
    let (name, json) = window.split_once(' ').ok_or_else(wrong)?;
    let mut values = serde_json::Deserializer::from_str(json).into_iter::<Map<String, Value>>();
    let is_object = matches!(values.next(), Some(Ok(_)));
    let (arguments, behind) = json
        .split_at_checked(values.byte_offset())
        .ok_or_else(wrong)?;
    let is_closed = behind.starts_with("]]");
    if name.is_empty() || !is_object || !is_closed {
        return Err(wrong());
    }
    let taken = name
        .len()
        .saturating_add(" ".len())
        .saturating_add(arguments.len())
        .saturating_add("]]".len());
    let call = WantedCall {
        name: name.to_owned(),
        arguments: Some(arguments.trim().to_owned()),
    };
    Ok(inside.get(taken..).map(|rest| (call, rest)))
}

/// Adds one, if there are not too many.
pub(crate) fn add(calls: &mut Vec<WantedCall>, call: WantedCall) -> Result<(), DirectiveError> {
    if calls.len() >= MAX_CALLS {
        let message = format!("a prompt may ask for {MAX_CALLS} calls at most");
        return Err(DirectiveError(message));
    }
    calls.push(call);
    Ok(())
}

/// The calls that a prompt asks for, of the tools that there are.
pub(crate) fn requested<'a, Tool>(
    calls: &'a [WantedCall],
    find: impl Fn(&str) -> Option<&'a Tool>,
) -> Vec<Called<'a, Tool>> {
    let called = calls.iter().filter_map(|call| {
        Some(Called {
            tool: find(&call.name)?,
            written: call.arguments.as_deref(),
        })
    });
    called.collect()
}

/// What is asked for, or else this tool with made-up arguments.
pub(crate) fn or_made_up<'a, Tool>(
    calls: Vec<Called<'a, Tool>>,
    tool: Option<&'a Tool>,
) -> Vec<Called<'a, Tool>> {
    if calls.is_empty() {
        let made_up = tool.map(|tool| Called {
            tool,
            written: None,
        });
        return made_up.into_iter().collect();
    }
    calls
}

// === impl Called ===

impl<Tool> Called<'_, Tool> {
    /// The arguments, made up from the tool's schema if the prompt wrote none.
    pub(crate) fn arguments(&self, schema: Option<&Value>) -> String {
        match (self.written, schema) {
            (Some(written), _) => written.to_owned(),
            (None, Some(schema)) => schema::document(schema),
            (None, None) => "{}".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_ends_where_its_json_ends() {
        let text = r#"call:RecordedRequest {"a":"]] [[", "b":[[1]]}]] behind ]]"#;
        let call = WantedCall {
            name: "RecordedRequest".to_owned(),
            arguments: Some(r#"{"a":"]] [[", "b":[[1]]}"#.to_owned()),
        };
        assert_eq!(read(text), Ok(Some((call, " behind ]]"))));
    }

    #[test]
    fn what_is_no_call_is_left_alone_and_a_broken_one_is_refused() {
        assert_eq!(read("tool:RecordedRequest]]"), Ok(None));
        for text in [
            "call:RecordedRequest]]",
            "call: {}]]",
            "call:RecordedRequest []]]",
            "call:RecordedRequest {]]",
            "call:RecordedRequest {} ]",
            r#"call:RecordedRequest {\"a\":1}]]"#,
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_call_may_be_long_but_not_endless() {
        let remaining = MAX_CALL_BYTES - r#"RecordedRequest {"a":""}]]"#.len();
        for (bytes, is_read) in [(remaining, true), (remaining + 1, false)] {
            let text = format!(r#"call:RecordedRequest {{"a":"{}"}}]]"#, "x".repeat(bytes));
            assert_eq!(read(&text).is_ok(), is_read, "{bytes}");
        }
    }
}
