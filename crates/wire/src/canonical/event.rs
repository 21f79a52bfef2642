//! Events of a stream, independent of the format: block starts, deltas and ends, usage, stop reasons.

use serde_json::Value;

use super::block::{Media, ToolCall};
use super::reasoning_signature::Signature;
use super::response::{ReportedUsage, Stop};
use crate::{Format, UpstreamError};

/// Which block of which answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct BlockIndex {
    /// The response; 0 unless several were asked for.
    pub choice: u32,
    /// The block; numbers rise in the order in which blocks open.
    pub block: u32,
}

/// One thing that happens in a stream.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// It begins. Always the first but for pings, and only once.
    Start {
        /// The upstream's id of the response; empty if it gives none.
        id: String,
        /// The upstream's name of the model; empty if it does not say.
        model: String,
        /// Seconds since 1970, where the upstream says so.
        created: Option<i64>,
    },
    BlockStart(BlockIndex, BlockStart),
    BlockDelta(BlockIndex, BlockDelta),
    /// A block is complete. Every open block is closed before its response stops.
    BlockEnd(BlockIndex),
    /// What was used so far. The last word for each bucket counts.
    Usage(ReportedUsage),
    Stop(u32, Stop),
    Error(UpstreamError),
    Ping,
}

#[derive(Debug, Clone, PartialEq)]
pub enum BlockStart {
    Text,
    /// Thoughts; the item's id where there is one, and whether they are a summary.
    Thinking(Option<String>, bool),
    /// Thoughts that only their upstream can read; whole. The item's id where there is one.
    Redacted(Option<String>, Signature),
    /// A tool is to be used; arguments follow in deltas (those given here come first).
    ToolCall(ToolCall),
    /// Why the model does not answer.
    Refusal,
    /// An image or audio; whole.
    Media(Media),
    /// Something that one format alone has; whole.
    Foreign(Format, Value),
}

/// By what a block grows.
#[derive(Debug, Clone, PartialEq)]
pub enum BlockDelta {
    /// Words of a text, of thoughts or of a refusal.
    Text(String),
    /// Another part of the thoughts begins.
    NextPart,
    /// Arguments of a tool call, cut anywhere.
    Arguments(String),
    Citation(Format, Value),
    /// The signature of the block.
    Signature(Signature),
}
