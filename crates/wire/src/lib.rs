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

mod json;
pub mod openai_chat;
mod patch;
mod refusal;
mod sse;

pub use json::{JsonError, Layout, MAX_DEPTH, Member, Object, scan};
pub use patch::{Edit, patch};
pub use refusal::Refusal;
pub use sse::{Frame, Frames, MAX_FRAME_BYTES, SseError};
