//! What video vendors are asked and what they answer, as values: nothing here opens a socket. A
//! vendor's protocol is one file and one line in the list.
//!
//! Words of vendors that nobody knows mean that the work goes on; only words that are known end it.

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

/// A vendor's protocol.
#[derive(Debug)]
pub struct Protocol {
    /// The word for it in provider files, such as `dashscope_video`.
    pub format: &'static str,
    /// How a job is submitted.
    pub submit: fn(&Outbound, &JobContext<'_>) -> VendorRequest,
    /// What the answer to that says.
    pub read_submit: fn(&Outbound, &VendorResponse<'_>) -> Submitted,
    /// How a job is asked for.
    pub poll: fn(&JobRef) -> VendorRequest,
    /// What the answer to that says.
    pub read_poll: fn(&JobRef, &VendorResponse<'_>) -> Polled,
    /// What the answer to [`Polled::FileAt`] says; never asked where that is never said.
    pub read_file: fn(&VendorResponse<'_>) -> Polled,
    /// How a job is stopped; none where it cannot be.
    pub cancel: Option<fn(&JobRef) -> VendorRequest>,
    /// What the answer to that says.
    pub read_cancel: fn(&JobRef, &VendorResponse<'_>) -> Cancelled,
    /// How a job is found by our own name for it; none where the vendor keeps none.
    pub lookup: Option<fn(&Outbound, &str) -> VendorRequest>,
    /// What the answer to that says.
    pub read_lookup: fn(&VendorResponse<'_>) -> LookupResult,
    /// How media that we hold are handed over.
    pub media: MediaForm,
}

/// How media that we hold are handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MediaForm {
    /// `data:image/png;base64,…`
    DataUri,
    /// Base64 and nothing before it.
    BareBase64,
    /// Only addresses are taken: our own signed link.
    Link,
}

/// Names that are known only when a job is sent.
#[derive(Debug, Clone, Copy)]
pub struct JobContext<'a> {
    /// The upstream's name of the model.
    pub model: &'a str,
    /// Our name of the job, for vendors that keep it.
    pub reference: &'a str,
}

/// What a vendor is asked about a job by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRef {
    /// The vendor's name of the job.
    pub id: String,
    /// The door it was submitted through.
    pub endpoint: String,
}

/// What became of a submission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Submitted {
    /// It was taken, under this name.
    Accepted {
        /// The vendor's name of the job.
        id: String,
    },
    /// It was surely not taken: the request is at fault.
    Refused(VendorError),
    /// It was surely not taken: there is no room now. It may be sent again, also elsewhere.
    Full {
        /// When to come back.
        retry_after: Option<u64>,
    },
    /// It was surely not taken: the credential is at fault, or its account has no money.
    Credential(VendorError),
    /// Nobody knows. It must never be sent again.
    Unknown(VendorError),
}

/// What became of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Polled {
    /// It waits or runs.
    Running {
        /// It has not begun.
        queued: bool,
        /// From 0 to 99, where the vendor tells.
        progress: Option<u8>,
    },
    /// It is done, and where its file is must be asked for.
    FileAt(VendorRequest),
    /// It is done.
    Done {
        /// Its file.
        file: File,
        /// What the vendor counted.
        usage: ReportedUsage,
    },
    /// It failed.
    Failed(VendorError),
    /// No verdict: an error of the question, or a word that nobody knows. Ask again.
    Unclear {
        /// For the log.
        why: String,
        /// When to come back.
        retry_after: Option<u64>,
    },
}

/// Where a finished file is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum File {
    /// At an address that anybody may ask, for a while.
    Link(String),
    /// Behind the vendor's own door, with the credential.
    Behind(VendorRequest),
}

/// What a vendor counted; what it does not tell is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReportedUsage {
    /// Seconds that were made, rounded up.
    pub output_seconds: Option<u64>,
    /// Seconds of clips that went in, rounded up.
    pub input_seconds: Option<u64>,
    /// Pictures that went in.
    pub images: Option<u64>,
}

/// What became of a cancellation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cancelled {
    /// It is stopped and will not be billed.
    Confirmed,
    /// It goes on.
    GoesOn,
    /// Nobody knows.
    Unknown,
}

/// What became of a search by our own name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LookupResult {
    /// It is there, under this name.
    Found {
        /// The vendor's name of the job.
        id: String,
    },
    /// It is surely not there.
    NotFound,
    /// Nobody knows.
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

/// The protocol of a word.
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
