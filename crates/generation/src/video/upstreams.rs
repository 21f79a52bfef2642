//! Requests to video vendors and their responses, as values: nothing here opens a socket. A vendor's
//! protocol is one file and one line in the list.
//!
//! An unknown state of a job means that it is running; only known states end it.

mod ark;
mod dashscope;
mod kling;
mod minimax;
mod openai;

pub use crate::vendor_http::{
    Method, UrlPath, VendorError, VendorRequest, VendorResponse, filled_at, path_part, seconds_at,
    text_at,
};

use crate::video::plan::Outbound;

#[derive(Debug)]
pub struct Protocol {
    /// Its name in provider files, such as `dashscope_video`.
    pub format: &'static str,
    pub submit: fn(&Outbound, &JobContext<'_>) -> VendorRequest,
    pub read_submit: fn(&Outbound, &VendorResponse<'_>) -> Submitted,
    pub poll: fn(&JobRef) -> VendorRequest,
    pub read_poll: fn(&JobRef, &VendorResponse<'_>) -> Polled,
    /// Reads the response to [`Polled::FileAt`].
    pub read_file: fn(&VendorResponse<'_>) -> Polled,
    /// Cancels a job; none where the vendor cannot.
    pub cancel: Option<fn(&JobRef) -> VendorRequest>,
    pub read_cancel: fn(&JobRef, &VendorResponse<'_>) -> Cancelled,
    /// Finds a job by our reference; none where the vendor does not store it.
    pub lookup: Option<fn(&Outbound, &str) -> VendorRequest>,
    pub read_lookup: fn(&VendorResponse<'_>) -> LookupResult,
    /// How images that the gateway holds are sent.
    pub media: MediaForm,
    /// How clips that the gateway holds are sent if the vendor cannot follow our links.
    pub clips: MediaForm,
}

/// How media that the gateway holds is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MediaForm {
    /// `data:image/png;base64,…`
    DataUri,
    /// Base64 and nothing before it.
    BareBase64,
    /// Only addresses are taken: our own signed link.
    Link,
}

/// What is known only when a job is submitted.
#[derive(Debug, Clone, Copy)]
pub struct JobContext<'a> {
    /// The upstream's name of the model.
    pub model: &'a str,
    /// Our reference of the job, for vendors that store it.
    pub reference: &'a str,
}

/// Identifies a job at its vendor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRef {
    /// The vendor's id of the job.
    pub id: String,
    /// The endpoint it was submitted to.
    pub endpoint: String,
}

/// The outcome of a submission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Submitted {
    Accepted {
        /// The vendor's id of the job.
        id: String,
    },
    /// Not accepted: the request is at fault.
    Refused(VendorError),
    /// Not accepted: no capacity now. It may be sent again, also on another channel.
    Full {
        /// Seconds until a retry.
        retry_after: Option<u64>,
    },
    /// Not accepted: the credential is at fault, or its account has no money.
    Credential(VendorError),
    /// It may have been accepted. It must never be sent again.
    Unknown(VendorError),
}

/// The state of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Polled {
    /// It waits or runs.
    Running {
        /// It has not begun.
        queued: bool,
        /// From 0 to 99, if the vendor reports it.
        progress: Option<u8>,
    },
    /// It is done; this request gets the link of its file.
    FileAt(VendorRequest),
    Done {
        file: File,
        usage: ReportedUsage,
    },
    Failed(VendorError),
    /// No verdict: an error of the poll, or an unknown state. Poll again.
    Unclear {
        why: String,
        /// Seconds until a retry.
        retry_after: Option<u64>,
    },
}

/// Where a finished file is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum File {
    /// At a public URL that expires.
    Link(String),
    /// At the vendor's API, with the credential.
    Behind(VendorRequest),
}

/// The usage that a vendor reports; none where it reports nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReportedUsage {
    /// Seconds that were made, rounded up.
    pub output_seconds: Option<u64>,
    /// Seconds of clips that went in, rounded up.
    pub input_seconds: Option<u64>,
    pub images: Option<u64>,
}

/// The outcome of a cancellation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cancelled {
    /// It is stopped and will not be billed.
    Confirmed,
    GoesOn,
    Unknown,
}

/// The outcome of a lookup by our reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LookupResult {
    Found {
        /// The vendor's id of the job.
        id: String,
    },
    /// The job does not exist.
    NotFound,
    Unknown,
}

/// All protocols. A new one is a line.
pub const ALL: [&Protocol; 5] = [
    &ark::PROTOCOL,
    &dashscope::PROTOCOL,
    &kling::PROTOCOL,
    &minimax::PROTOCOL,
    &openai::PROTOCOL,
];

/// The protocol of a provider file's format.
#[must_use]
pub fn protocol_of(format: &str) -> Option<&'static Protocol> {
    ALL.into_iter().find(|protocol| protocol.format == format)
}

// === impl Polled ===

impl Polled {
    /// Queued or running, without a progress.
    const fn running(queued: bool) -> Self {
        Self::Running {
            queued,
            progress: None,
        }
    }

    /// Finished, with a link to the file.
    const fn linked(link: String, usage: ReportedUsage) -> Self {
        Self::Done {
            file: File::Link(link),
            usage,
        }
    }
}

/// For vendors that name the file in the response to a poll.
fn no_file(response: &VendorResponse<'_>) -> Polled {
    unclear(response, "this vendor has no request for a file")
}

/// For vendors that do not store our reference of a job.
const fn no_lookup(_response: &VendorResponse<'_>) -> LookupResult {
    LookupResult::Unknown
}

/// No verdict.
#[must_use]
pub fn unclear(response: &VendorResponse<'_>, why: &str) -> Polled {
    Polled::Unclear {
        why: format!("status {}: {why}", response.status),
        retry_after: response.retry_after,
    }
}
