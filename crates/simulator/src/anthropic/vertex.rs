//! A refusal of Anthropic's models as Vertex AI sends it.

use crate::gemini::{GoogleError, refusal, send};
use crate::recorded_request::RecordedRequest;
use crate::scripted_body::VendorResponse;

use super::refusal::Refusal;

/// Sends what the model's vendor refuses. A limit is Google's own, all else is passed on as it is.
pub(crate) fn refuse(recorded: RecordedRequest, refused: &Refusal) -> VendorResponse {
    match refused.retry_after_secs {
        Some(secs) => {
            let error = GoogleError::rate_limited("anthropic", secs);
            send(recorded, refusal(&error, false))
        }
        None => super::refuse(recorded, refused),
    }
}
