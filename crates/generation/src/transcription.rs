//! Transcription and translation: the caller's request, its plan, and the vendors' protocols.

mod plan;
mod render;
mod request;
mod upstreams;

use bytes::Bytes;
use trunkline_catalog::{FieldReport, RequestError};

use crate::vendor_failure::VendorFailure;
use crate::vendor_http::{Encoded, VendorRequest, VendorResponse};

pub use plan::plan;
pub use render::{RenderedTranscript, render};
pub use request::{TranscriptFormat, TranscriptionEndpoint, TranscriptionRequest, Upload};
pub use upstreams::{ALL, protocol_of};

#[derive(Debug)]
pub struct Protocol {
    /// Its name in provider files, such as `openai_transcription`.
    pub format: &'static str,
    /// Which of the vendor's APIs it is, as in a record's `recognition`; empty for the default one.
    pub recognition: &'static str,
    /// How the recording is sent.
    pub upload_mode: UploadMode,
    /// The vendor request, from the upstream's name of the model, and our link where it takes one.
    pub encode: fn(&TranscriptionRequest, &str, Option<&str>) -> Result<Encoded, RequestError>,
    pub decode:
        fn(&TranscriptionRequest, Stage, &VendorResponse<'_>) -> Result<NextStep, VendorFailure>,
}

/// How a recording is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UploadMode {
    /// As a part of the form.
    Form,
    /// As our signed link.
    Link,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// To the first request.
    Begun,
    /// To a poll of the task.
    Polled,
    /// The file that the transcript is in.
    Fetched,
}

/// What the gateway does next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextStep {
    Done(Transcript),
    /// The task is running: send this after a pause.
    Poll(VendorRequest),
    /// The transcript is at this URL.
    Fetch(String),
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Transcript {
    pub text: String,
    /// The language, if the vendor reports it.
    pub language: Option<String>,
    /// Sentences with their times, if the vendor reports them.
    pub segments: Vec<Segment>,
    /// The vendor's own response, where it is in the requested format: its type and its bytes.
    pub own: Option<(&'static str, Bytes)>,
}

/// A sentence with its times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// Where it begins, in milliseconds.
    pub start_ms: u64,
    pub end_ms: u64,
    pub text: String,
}

/// A request that can be priced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    pub request: TranscriptionRequest,
    /// What becomes of its fields.
    pub report: FieldReport,
}
