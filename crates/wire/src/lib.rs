//! Chat formats: requests, responses and streams, read and written as bytes. No I/O, no clock, no prices.
//! One module per format, with the same file names in each: `request_{scan,in,out}`, `response_{scan,out}`,
//! `stream_{in,out,end}`, `assemble`, `tools`, `media`, `reasoning`, `usage`, `cost`, `error`, `rewrite`.
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

mod assembler;
mod base64;
mod borrowed_str;
mod builtin_fields;
mod cache_writes;
mod camel_case;
pub mod canonical;
pub mod claude_messages;
mod cost;
mod dispatch;
mod error;
mod field_list;
mod format;
pub mod gemini;
mod json;
mod json_layout;
mod json_value;
mod media;
pub mod openai_chat;
pub mod openai_responses;
mod passthrough;
mod patch;
mod prompt_prefix;
pub mod realtime;
mod request;
mod request_cut;
mod request_dispatch;
mod request_error;
mod request_facts;
mod response_cost;
mod response_facts;
mod serde_helpers;
mod served_tier;
mod sse;
mod stream_types;
mod text_bound;
mod token_estimate;
mod tool_calls;
mod unlisted;
mod upstream_error;

pub use assembler::{Assembler, streamed_request};
pub use cost::{CostTable, Treatment};
pub use dispatch::{
    Reader, Tap, Writer, error_body, error_frame, heartbeat, read_response, rewrite_response,
    scan_response, write_request, write_response,
};
pub use error::ErrorBody;
pub use field_list::FieldList;
pub use format::Format;
pub use json::{JsonError, MAX_DEPTH, Member, Object, scan, scan_listed, scan_text};
pub use json_layout::Layout;
pub use media::{Media, MediaKind, MediaPart, Pixels};
pub use passthrough::PassthroughEndpoint;
pub use patch::{Edit, patch, patch_at};
pub use request::{Outgoing, Request};
pub use request_error::RequestError;
pub use request_facts::{CapName, Facts, Fields, PathParams};
pub use response_cost::{passthrough_with_cost, response_with_cost, response_with_cost_at};
pub use response_facts::{ResponseFacts, read_response_facts};
pub use served_tier::served_tier;
pub use sse::{Frame, Frames, MAX_FRAME_BYTES, SseError};
pub use stream_types::{
    Cost, Ending, FrameKind, ResponseError, ResponseMeta, ResponseSummary, Rewrite, StreamEnd,
    ToolCost, cost_comment,
};
pub(crate) use stream_types::{
    event_frame, json_bytes, priced, put_number, put_text, without_data,
};
pub use tool_calls::{ToolCallCounter, counts_tool};
pub use unlisted::{MAX_UNLISTED, Unlisted, UnlistedKind};
pub use upstream_error::{UpstreamError, read_error};
