//! Speech: what is to be spoken, what is billed, and the vendors who speak.

mod plan;
mod request;
mod upstreams;

use bytes::Bytes;
use trunkline_catalog::{Refusal, Report};

use crate::vendor_failure::VendorFailure;
use crate::vendor_http::{Encoded, VendorResponse};

pub use plan::plan;
pub use request::SpeechRequest;
pub use upstreams::{ALL, protocol_of};

/// A vendor's protocol.
#[derive(Debug)]
pub struct Protocol {
    /// The word for it in provider files, such as `openai_speech`.
    pub format: &'static str,
    /// A request in its words; the text is the upstream's name of the model.
    pub encode: fn(&SpeechRequest, &str) -> Result<Encoded, Refusal>,
    /// How the audio comes.
    pub stream_mode: fn(&SpeechRequest) -> StreamMode,
    /// What goes before the first piece of audio, such as the head of a wav file whose length nobody knows.
    pub prefix: fn(&SpeechRequest) -> Bytes,
    /// What an answer that is no success says.
    pub read_error: fn(&VendorResponse<'_>) -> VendorFailure,
}

/// How the audio comes.
#[derive(Debug, Clone, Copy)]
pub enum StreamMode {
    /// The body is the audio.
    Bytes,
    /// Server-sent events, each read by this.
    Events(fn(&[u8]) -> Result<AudioChunk, VendorFailure>),
    /// One answer, read by this.
    Whole(fn(&VendorResponse<'_>) -> Result<AudioChunk, VendorFailure>),
}

/// What a piece of an answer says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AudioChunk {
    /// Audio, the next of it.
    Audio(Bytes),
    /// Audio, and it was the last.
    Last(Bytes),
    /// All of the audio is at this address, for a while.
    Link(String),
    /// Nothing to hear.
    Nothing,
    /// It is over, and everything was said.
    Done,
}

/// A request that can be priced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The request with its defaults written in.
    pub request: SpeechRequest,
    /// What becomes of its fields.
    pub report: Report,
}
