//! Speech: the caller's request, its plan, and the vendors' protocols.

mod plan;
mod request;
mod upstreams;

use bytes::Bytes;
use trunkline_catalog::{FieldReport, RequestError};

use crate::vendor_failure::VendorFailure;
use crate::vendor_http::{Encoded, VendorResponse};

pub use plan::plan;
pub use request::SpeechRequest;
pub use upstreams::{ALL, protocol_of};

#[derive(Debug)]
pub struct Protocol {
    /// Its name in provider files, such as `openai_speech`.
    pub format: &'static str,
    /// The vendor request; the text is the upstream's name of the model.
    pub encode: fn(&SpeechRequest, &str) -> Result<Encoded, RequestError>,
    pub stream_mode: fn(&SpeechRequest) -> StreamMode,
    /// Bytes before the first chunk of audio, such as a WAV header of unknown length.
    pub prefix: fn(&SpeechRequest) -> Bytes,
    pub read_error: fn(&VendorResponse<'_>) -> VendorFailure,
}

#[derive(Debug, Clone, Copy)]
pub enum StreamMode {
    /// The body is the audio.
    Bytes,
    /// Server-sent events, each read by this.
    Events(fn(&[u8]) -> Result<AudioChunk, VendorFailure>),
    /// One response, read by this.
    Whole(fn(&VendorResponse<'_>) -> Result<AudioChunk, VendorFailure>),
}

/// A chunk of a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AudioChunk {
    Audio(Bytes),
    /// The last audio.
    Last(Bytes),
    /// The whole audio is at this URL, which expires.
    Link(String),
    /// No audio in this chunk.
    Nothing,
    /// The end of the audio.
    Done,
}

/// A request that can be priced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The request with its defaults written in.
    pub request: SpeechRequest,
    /// What becomes of its fields.
    pub report: FieldReport,
}
