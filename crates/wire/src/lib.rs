//! What travels: requests and answers of each format, read as bytes. Nothing here calls anybody,
//! knows a clock or a price. One room per format, with the same file names in each.
#![cfg_attr(
    not(test),
    deny(
        clippy::arithmetic_side_effects,
        clippy::as_conversions,
        clippy::float_arithmetic,
        clippy::string_slice,
        clippy::cast_possible_truncation
    )
)]

pub mod canon;
pub mod claude_messages;
mod cost;
mod format;
pub mod gemini;
mod json;
mod lent;
pub mod openai_chat;
pub mod openai_responses;
mod opening;
mod patch;
mod refusal;
mod request;
mod rooms;
mod seen;
mod small;
mod sse;
mod trouble;

pub use cost::{CostTable, Treatment};
pub use format::Format;
pub use json::{JsonError, Layout, MAX_DEPTH, Member, Object, scan};
pub use openai_chat::UpstreamError;
pub use patch::{Edit, patch, patch_at};
pub use refusal::Refusal;
pub use request::{CapName, Facts, Fields, InPath, Media, Outgoing, Request};
pub use rooms::{
    Reader, Tap, Writer, error_body, error_frame, heartbeat, read_answer, read_whole,
    rewrite_whole, write_answer, write_request,
};
pub use seen::{AnswerError, Cost, Ending, Rewrite, Seen, Shown, Whole, cost_comment};
pub(crate) use seen::{event_frame, json_bytes, priced, put_number, put_text, without_data};
pub use small::Small;
pub use sse::{Frame, Frames, MAX_FRAME_BYTES, SseError};
pub use trouble::Trouble;
