//! Anthropic messages: the request and what of it costs money, the response and its usage, the stream in
//! both directions, errors.

mod assemble;
mod blocks_in;
mod blocks_out;
mod content_scan;
mod cost;
mod count_tokens;
mod error;
mod media;
mod reasoning;
mod request_in;
mod request_out;
mod request_scan;
mod response_out;
mod response_scan;
mod rewrite;
mod stream_end;
mod stream_in;
mod stream_out;
mod tools;
mod turns_out;
mod usage;

use crate::Format;

pub(crate) use assemble::Assembly;
pub use cost::TABLE;
pub use count_tokens::{count_answer, read_count};
pub(crate) use error::{error_body, error_frame};
pub(crate) use request_in::request_to_canonical;
pub(crate) use request_out::request_from_canonical;
pub(crate) use request_scan::read_facts;
pub(crate) use response_out::{response_from_canonical, response_to_canonical};
pub(crate) use response_scan::scan_response;
pub(crate) use rewrite::{rewrite_frame, rewrite_response};
pub use stream_in::Reader;
pub use stream_out::Writer;
pub(crate) use usage::written;

/// A heartbeat inside a stream.
pub const HEARTBEAT: &[u8] = b"event: ping\ndata: {\"type\": \"ping\"}\n\n";

/// The format of this module.
const OWN: Format = Format::ClaudeMessages;
