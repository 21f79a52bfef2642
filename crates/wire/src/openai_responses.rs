//! OpenAI Responses: the request and what of it costs money, answers and streams in and out of canon,
//! what is rewritten when an answer passes through, errors.

mod answer_out;
mod citation;
mod cost;
mod echo;
mod error;
mod goodbye;
mod item;
mod item_events;
mod items_in;
mod items_out;
mod labels;
mod media_out;
mod parts;
mod parts_in;
mod request;
mod request_in;
mod request_out;
mod response;
mod rewrite;
mod seal;
mod stream_grow;
mod stream_in;
mod stream_items;
mod stream_out;
mod stream_pieces;
mod tools_in;
mod tools_out;
mod usage;

pub(crate) use answer_out::answer_from_canon;
pub use cost::{SERVER_TOOLS, TABLE};
pub(crate) use error::error_frame;
pub use error::previous_not_found;
pub(crate) use request::read_facts;
pub use request::{with_bare_seals, without_server_tools};
pub(crate) use request_in::request_to_canon;
pub(crate) use request_out::request_from_canon;
pub(crate) use response::{answer_to_canon, read_whole};
pub(crate) use rewrite::{rewrite_frame, rewrite_whole};
pub use stream_in::Reader;
pub use stream_out::Writer;

use crate::Format;

/// A sign of life inside a stream.
pub const HEARTBEAT: &[u8] = b": waiting\n\n";

/// The format of this room.
const FORMAT: Format = Format::OpenaiResponses;
/// Bytes of one answer that are kept to be told again at its end. Far above any model's output; what
/// is beyond still goes out piece by piece.
const MAX_KEPT_BYTES: usize = 32_000_000;
/// Items of one answer, and parts of one item.
const MAX_ITEMS: usize = 10_000;
