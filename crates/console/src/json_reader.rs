//! Bytes to the type of a body, or a text that says what is wrong. The fuzzer reads this file without the crate.

use serde::de::DeserializeOwned;

/// Reads a body. What is told names fields and places, never values: a password may be among them.
pub(crate) fn read_json<T: DeserializeOwned>(body: &[u8]) -> Result<T, String> {
    serde_json::from_slice(body).map_err(|error| unreadable(&error))
}

fn unreadable(error: &serde_json::Error) -> String {
    let place = (error.line(), error.column());
    let text = error.to_string();
    // Only these messages are made of our own names; others quote what was sent.
    let ours = ["missing field", "unknown field"];
    let named = ours.iter().any(|words| text.starts_with(words));
    if named {
        let end = text.find(" at line").unwrap_or(text.len());
        let text: String = text.chars().take(end.min(200)).collect();
        return format!("the body is not as it must be: {text}");
    }
    let what = match error.classify() {
        serde_json::error::Category::Data => "a field has a value of the wrong kind",
        serde_json::error::Category::Syntax
        | serde_json::error::Category::Eof
        | serde_json::error::Category::Io => "it is not JSON",
    };
    format!(
        "invalid body: {what} (line {}, column {})",
        place.0, place.1
    )
}
