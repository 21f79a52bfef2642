//! The arguments of the tools. A field that no tool has is refused, so that a misspelt limit is not taken for none.

use rmcp::model::JsonObject;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::tools::ToolError;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct QuoteArguments {
    pub(super) endpoint: String,
    pub(super) body: JsonObject,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NoArguments {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct UsageArguments {
    pub(super) from: Option<String>,
    pub(super) to: Option<String>,
    pub(super) group_by: Option<String>,
    pub(super) key: Option<i64>,
    pub(super) model: Option<String>,
    pub(super) limit: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ModelsArguments {
    pub(super) search: Option<String>,
    pub(super) limit: Option<usize>,
}

/// Cap and expiry are not optional here, as they are for a key that a person makes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SubKeyArguments {
    pub(super) name: String,
    /// A string, or a number as it was written.
    pub(super) cap_usd: Value,
    pub(super) expires_in_seconds: u32,
    pub(super) models: Option<Vec<String>>,
    pub(super) endpoints: Option<Vec<String>>,
}

/// Reads what a client sent as arguments; left out, there are none.
pub(super) fn read<T: DeserializeOwned>(arguments: Option<JsonObject>) -> Result<T, ToolError> {
    let arguments = Value::Object(arguments.unwrap_or_default());
    let read = serde_json::from_value(arguments);
    read.map_err(|error| ToolError::new("invalid_arguments", error.to_string()))
}
