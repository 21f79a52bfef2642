//! OpenAI chat completions: the request and what of it costs money, the response and its usage, the
//! stream and its tap, errors.

mod assemble;
mod citation;
mod content_scan;
mod cost;
mod error;
mod json_helpers;
mod media;
mod reasoning;
mod request_in;
mod request_out;
mod request_scan;
mod response_out;
mod response_scan;
mod stream_in;
mod stream_out;
mod tap;
mod tools;
mod turns_out;

pub(crate) use assemble::{Assembly, is_streamable};
pub use cost::{SERVICE_TIER, TABLE};
pub(crate) use error::{error_body, error_frame};
pub(crate) use request_in::request_to_canonical;
pub(crate) use request_out::request_from_canonical;
pub use request_scan::{PREVIOUS_RESPONSE, renamed_cap};
pub(crate) use request_scan::{edits, read_facts};
pub(crate) use response_out::{response_from_canonical, response_to_canonical, usage_of};
pub use response_scan::{rewrite_response, scan_response};
pub use stream_in::Reader;
pub use stream_out::Writer;
pub use tap::{Tap, rewrite_frame};

/// A heartbeat inside a stream.
pub const HEARTBEAT: &[u8] = b": waiting\n\n";
