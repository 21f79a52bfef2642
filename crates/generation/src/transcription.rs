//! Transcription and translation: what was recorded, what is billed, and the vendors who write it down.

mod plan;
mod render;
mod request;
mod upstreams;

use bytes::Bytes;
use trunkline_catalog::{Refusal, Report};

use crate::vendor_failure::VendorFailure;
use crate::vendor_http::{Encoded, VendorRequest, VendorResponse};

pub use plan::plan;
pub use render::{RenderedTranscript, render};
pub use request::{TranscriptFormat, TranscriptionEndpoint, TranscriptionRequest, Upload};
pub use upstreams::{ALL, protocol_of};

/// A vendor's protocol.
#[derive(Debug)]
pub struct Protocol {
    /// The word for it in provider files, such as `openai_transcription`.
    pub format: &'static str,
    /// Which of a vendor's ways it is, as a record's `recognition` says; empty for the usual one.
    pub recognition: &'static str,
    /// How the recording is handed over.
    pub upload_mode: UploadMode,
    /// A request in its words: the upstream's name of the model, and our link where it takes one.
    pub encode: fn(&TranscriptionRequest, &str, Option<&str>) -> Result<Encoded, Refusal>,
    /// What an answer says.
    pub decode:
        fn(&TranscriptionRequest, Stage, &VendorResponse<'_>) -> Result<NextStep, VendorFailure>,
}

/// How a recording is handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UploadMode {
    /// As a part of the form.
    Form,
    /// As our signed link.
    Link,
}

/// Which answer it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The one to the request.
    Begun,
    /// One to a question about the task.
    Polled,
    /// The file that the transcript is in.
    Fetched,
}

/// What follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextStep {
    /// It is done.
    Done(Transcript),
    /// The task goes on: ask this after a pause.
    Poll(VendorRequest),
    /// The transcript is at this address.
    Fetch(String),
}

/// What was said.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Transcript {
    /// All of it.
    pub text: String,
    /// The language, where the vendor tells.
    pub language: Option<String>,
    /// Sentences with their times, where the vendor tells.
    pub segments: Vec<Segment>,
    /// The vendor's own answer, where it is in the shape that was asked for: its type and its bytes.
    pub own: Option<(&'static str, Bytes)>,
}

/// A sentence with its times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// Where it begins, in milliseconds.
    pub start_ms: u64,
    /// Where it ends.
    pub end_ms: u64,
    /// Its words.
    pub text: String,
}

/// A request that can be priced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The request.
    pub request: TranscriptionRequest,
    /// What becomes of its fields.
    pub report: Report,
}
