//! The canonical conversation between all formats, richer than each of them: ordered blocks, tools, output
//! format, reasoning, caching, stop reason, usage. A format is read into it and written from it; what a format
//! has no field for comes back as notes and is never dropped silently.

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
