//! The form in which the client wants its answer: text, any JSON object, or one that fits a schema.

use serde_json::Value;

use crate::refusal::Refusal;

use super::fields::{Object, checked_text};

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Format {
    Text,
    JsonObject,
    JsonSchema(Value),
}

/// The form that a checked body asks for.
pub(crate) fn read(body: &Object, mentions_json: bool) -> Result<Format, Refusal> {
    let Some(Value::Object(format)) = body.get("response_format") else {
        return Ok(Format::Text);
    };
    match checked_text(format, "type") {
        "json_object" if mentions_json => Ok(Format::JsonObject),
        "json_object" => {
            let message = "'messages' must contain the word 'json' in some form, to use \
                           'response_format' of type 'json_object'."
                .to_owned();
            Err(Refusal::invalid("messages", None, message))
        }
        "json_schema" => {
            let schema = format.get("json_schema").and_then(|it| it.get("schema"));
            Ok(Format::JsonSchema(schema.cloned().unwrap_or_default()))
        }
        _ => Ok(Format::Text),
    }
}
