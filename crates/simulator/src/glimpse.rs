//! What the record of a request tells of its body before a vendor finds it acceptable.

use serde_json::Value;

use crate::recorded_request::RecordedRequest;
use crate::request::Object;

/// What can be known of a body before it is found acceptable, for the record.
#[derive(Debug, Default)]
pub(crate) struct Glimpse {
    pub(crate) model: String,
    pub(crate) stream: bool,
}

/// Longest model name that is kept in a record.
const MAX_MODEL_BYTES: usize = 256;

// === impl Glimpse ===

impl Glimpse {
    /// Notes what was asked, acceptable or not.
    pub(crate) fn note(self, recorded: &RecordedRequest) {
        recorded.note(|record| {
            record.model = self.model;
            record.stream = self.stream;
        });
    }

    pub(crate) fn of(body: &Object) -> Self {
        let model = body.get("model").and_then(Value::as_str).unwrap_or("");
        Self {
            model: model
                .get(..model.floor_char_boundary(MAX_MODEL_BYTES))
                .unwrap_or_default()
                .to_owned(),
            stream: body.get("stream") == Some(&Value::Bool(true)),
        }
    }
}
