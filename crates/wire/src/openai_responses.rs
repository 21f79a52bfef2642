//! OpenAI Responses: the request and what of it costs money, answers and streams in and out of the canonical form,
//! what is rewritten when a response passes through, errors.

mod assemble;
mod citation;
mod content_scan;
mod cost;
mod error;
mod item;
mod item_events;
mod item_metadata;
mod items_in;
mod items_out;
mod media;
mod parts_in;
mod reasoning;
mod request_in;
mod request_out;
mod request_scan;
mod response_object;
mod response_out;
mod response_scan;
mod rewrite;
mod stream_blocks;
mod stream_deltas;
mod stream_end;
mod stream_in;
mod stream_items;
mod stream_out;
mod tools_in;
mod tools_out;
mod usage;

pub(crate) use assemble::Assembly;
pub use cost::TABLE;
pub(crate) use error::error_frame;
pub use error::previous_not_found;
pub(crate) use request_in::request_to_canonical;
pub(crate) use request_out::request_from_canonical;
pub(crate) use request_scan::read_facts;
pub use request_scan::strip_signatures;
pub(crate) use response_out::response_from_canonical;
pub(crate) use response_scan::{response_to_canonical, scan_response};
pub(crate) use rewrite::{rewrite_frame, rewrite_response};
pub use stream_in::Reader;
pub use stream_out::Writer;
pub(crate) use usage::write_usage;

use crate::Format;

/// A heartbeat inside a stream.
pub const HEARTBEAT: &[u8] = b": waiting\n\n";

/// The format of this module.
const FORMAT: Format = Format::OpenaiResponses;
/// Bytes of one response that are kept to be repeated at its end. Far above any model's output; what
/// is beyond still goes out piece by piece.
const MAX_KEPT_BYTES: usize = 32_000_000;
/// Items of one response, and parts of one item.
const MAX_ITEMS: usize = 10_000;
