//! A request for a video: an object whose well-known fields have the right types.

use serde_json::{Map, Value};
use trunkline_catalog::RequestError;

/// A request whose well-known fields have the types of the specification. A field that is `null` is
/// not there.
#[derive(Debug, Clone, PartialEq)]
pub struct VideoRequest {
    fields: Map<String, Value>,
}

const TEXTS: [&str; 7] = [
    "model",
    "prompt",
    "input_reference",
    "image",
    "video_url",
    "size",
    "seconds",
];
/// The field of a task's own webhook.
pub(crate) const WEBHOOK_URL: &str = "metadata.webhook_url";
/// Most images in one list: no family takes as many.
const MAX_IMAGES: usize = 100;

// === impl VideoRequest ===

impl VideoRequest {
    /// Reads a body. That no key stands twice is the caller's to check: it has the bytes.
    pub fn read(body: &[u8]) -> Result<Self, RequestError> {
        let read: Value = serde_json::from_slice(body)
            .map_err(|error| RequestError::invalid("", format!("the body is not JSON: {error}")))?;
        match read {
            Value::Object(fields) => Self::of(fields),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => Err(RequestError::invalid("", "the body must be a JSON object")),
        }
    }

    /// The same from fields of a form.
    pub fn of(mut fields: Map<String, Value>) -> Result<Self, RequestError> {
        fields.retain(|_, value| !value.is_null());
        for name in TEXTS {
            if fields.get(name).is_some_and(|value| !value.is_string()) {
                return Err(RequestError::invalid(
                    name,
                    format!("`{name}` must be a text"),
                ));
            }
        }
        if let Some(images) = fields.get("images") {
            check_images(images)?;
        }
        if fields
            .get("duration")
            .is_some_and(|value| !value.is_i64() && !value.is_u64())
        {
            let text = "`duration` must be a whole number of seconds";
            return Err(RequestError::invalid("duration", text));
        }
        match fields.get_mut("metadata") {
            None => {}
            Some(Value::Object(metadata)) => metadata.retain(|_, value| !value.is_null()),
            Some(_) => {
                return Err(RequestError::invalid(
                    "metadata",
                    "`metadata` must be an object",
                ));
            }
        }
        let request = Self { fields };
        if request.get(WEBHOOK_URL).is_some_and(|url| !url.is_string()) {
            let text = format!("`{WEBHOOK_URL}` must be a text");
            return Err(RequestError::invalid(WEBHOOK_URL, text));
        }
        if request.model().is_empty() {
            return Err(RequestError::missing("model"));
        }
        Ok(request)
    }

    /// The public name of the model.
    #[must_use]
    pub fn model(&self) -> &str {
        self.text("model").unwrap_or_default()
    }

    /// The webhook URL for the task's end. The gateway reads it: no family does, and it
    /// goes to no upstream.
    #[must_use]
    pub fn webhook_url(&self) -> Option<&str> {
        self.get(WEBHOOK_URL).and_then(Value::as_str)
    }

    /// Replaces an alias by its model.
    pub fn set_model(&mut self, model: String) {
        self.fields.insert("model".to_owned(), Value::String(model));
    }

    /// A text at the top.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.fields.get(name).and_then(Value::as_str)
    }

    /// A field by its dotted path.
    #[must_use]
    pub fn get(&self, path: &str) -> Option<&Value> {
        let mut parts = path.split('.');
        let first = self.fields.get(parts.next()?)?;
        parts.try_fold(first, |value, part| value.get(part))
    }

    /// All fields at the top, in their order.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.fields
            .iter()
            .map(|(name, value)| (name.as_str(), value))
    }
}

fn check_images(images: &Value) -> Result<(), RequestError> {
    let wrong = || RequestError::invalid("images", "`images` must be a list of addresses");
    let list = images.as_array().ok_or_else(wrong)?;
    if list.len() > MAX_IMAGES {
        let text = format!("`images` has more than {MAX_IMAGES} entries");
        return Err(RequestError::invalid("images", text));
    }
    if list.iter().all(Value::is_string) {
        Ok(())
    } else {
        Err(wrong())
    }
}
