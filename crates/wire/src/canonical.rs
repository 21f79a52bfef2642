//! The one conversation between all formats, richer than each of them: ordered blocks, tools, what
//! shape the answer has, how hard to think, what is cached, why it stopped, what was used. A format is
//! read into it and written out of it; what a format cannot say comes back as notes, never as silence.

mod accumulate;
mod block;
mod event;
mod field_names;
mod meter;
mod notes;
mod reasoning_signature;
mod request;
mod response;
mod translation_state;

pub use accumulate::Accumulator;
pub use block::{
    Block, BlockKind, CacheLife, Media, MediaKind, Redacted, Source, Text, Thinking, ToolCall,
    ToolResult, titled,
};
pub use event::{BlockDelta, BlockIndex, BlockStart, Event};
pub(crate) use field_names::named;
pub use meter::Meter;
pub use notes::{LossKind, Note, Notes};
pub use reasoning_signature::{
    MAX_SIGNATURE_BYTES, Signature, find_signatures, strip_signature_tags,
};
pub use request::{
    Conversation, OutputShape, Reasoning, Role, Sampling, Target, Tool, ToolChoice, ToolKind,
    ToolName, Turn, UnknownField, Written, budget_of_effort, effort_of_budget,
};
pub use response::{Choice, ReportedUsage, Response, Stop};
pub use translation_state::{
    CUSTOM_FIELD, NameRestorer, NameRule, TranslationState, custom_schema, described,
    object_of_arguments,
};
