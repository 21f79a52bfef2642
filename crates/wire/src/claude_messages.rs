//! Anthropic messages: the request and what of it costs money, the answer and its usage, the stream in
//! both directions, errors.

mod answer;
mod base64;
mod blocks_in;
mod blocks_out;
mod cost;
mod count;
mod error;
mod media;
mod parts;
mod reasoning_out;
mod request;
mod request_in;
mod request_out;
mod response;
mod rewrite;
mod stream_end;
mod stream_in;
mod stream_out;
mod tools;
mod turns_out;
mod usage;

use crate::Format;

pub(crate) use answer::{answer_from_canon, answer_to_canon};
pub use cost::TABLE;
pub use count::{count_answer, read_count};
pub(crate) use error::{error_body, error_frame};
pub(crate) use request::read_facts;
pub(crate) use request_in::request_to_canon;
pub(crate) use request_out::request_from_canon;
pub(crate) use response::read_whole;
pub(crate) use rewrite::{rewrite_frame, rewrite_whole};
pub use stream_in::Reader;
pub use stream_out::Writer;

/// A sign of life inside a stream.
pub const HEARTBEAT: &[u8] = b"event: ping\ndata: {\"type\": \"ping\"}\n\n";

/// This room's format.
const OWN: Format = Format::ClaudeMessages;
