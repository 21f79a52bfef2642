//! The form in which the client wants its answer: text, any JSON object, or one that fits a schema.

use serde_json::Value;

use crate::refusal::Refusal;

use super::fields::{self, Object, wrong_type, wrong_value};
use super::tools::read_name;

/// The wanted form.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Format {
    Text,
    JsonObject,
    JsonSchema(Value),
}

pub(crate) fn read(body: &Object, mentions_json: bool) -> Result<Format, Refusal> {
    let Some(Value::Object(format)) = body.get("response_format") else {
        return Ok(Format::Text);
    };
    let path = "response_format";
    match fields::text(format, path, "type")? {
        "text" => fields::only(format, path, &["type"]).map(|()| Format::Text),
        "json_object" => {
            fields::only(format, path, &["type"])?;
            if mentions_json {
                return Ok(Format::JsonObject);
            }
            let message = "'messages' must contain the word 'json' in some form, to use \
                           'response_format' of type 'json_object'."
                .to_owned();
            Err(Refusal::invalid("messages", None, message))
        }
        "json_schema" => {
            fields::only(format, path, &["type", "json_schema"])?;
            let inner = fields::object(format, path, "json_schema")?;
            read_schema(inner).map(Format::JsonSchema)
        }
        other => Err(wrong_value(
            "response_format.type",
            other,
            &["json_object", "json_schema", "text"],
        )),
    }
}

fn read_schema(inner: &Object) -> Result<Value, Refusal> {
    let path = "response_format.json_schema";
    fields::only(inner, path, &["name", "description", "schema", "strict"])?;
    read_name(inner, path)?;
    match inner.get("schema") {
        Some(schema @ Value::Object(_)) => Ok(schema.clone()),
        Some(value) => Err(wrong_type(&format!("{path}.schema"), "an object", value)),
        None => Err(fields::missing(&format!("{path}.schema"))),
    }
}
