//! The vendors. A new one is a file and a line.

mod dashscope;
mod minimax;
mod openai;

use crate::vendor_http::VendorResponse;
use bytes::Bytes;
use trunkline_catalog::RequestError;
use trunkline_probe::SpeechFormat;

use super::{Protocol, SpeechRequest};

pub const ALL: [&Protocol; 3] = [&dashscope::PROTOCOL, &minimax::PROTOCOL, &openai::PROTOCOL];

/// The protocol of a provider file's format.
#[must_use]
pub fn protocol_of(format: &str) -> Option<&'static Protocol> {
    ALL.into_iter().find(|protocol| protocol.format == format)
}

/// The format of a request that was planned.
fn format_of(request: &SpeechRequest) -> SpeechFormat {
    request.format.unwrap_or(SpeechFormat::Mp3)
}

fn no_prefix(_ask: &SpeechRequest) -> Bytes {
    Bytes::new()
}

/// The refusal of a format that a vendor does not produce.
fn unmade(format: SpeechFormat, makes: &str) -> RequestError {
    let text = format!("the vendor makes no {} of it", format.as_str());
    let refusal = RequestError::new("format_unsupported", "response_format", text);
    refusal.with_fix(format!("ask for {makes}"))
}

/// An event of a stream as a response: its status was a success.
const fn event(data: &[u8]) -> VendorResponse<'_> {
    VendorResponse {
        status: 200,
        retry_after: None,
        body: data,
    }
}
