//! The one conversation between all formats, richer than each of them: ordered blocks, tools, what
//! shape the answer has, how hard to think, what is cached, why it stopped, what was used. A format is
//! read into it and written out of it; what a format cannot say comes back as notes, never as silence.

mod answer;
mod block;
mod collect;
mod event;
mod meter;
mod names;
mod notes;
mod request;
mod signature;
mod thread;

pub use answer::{Answer, Choice, Counted, Stop};
pub use block::{
    Block, CacheLife, Media, MediaKind, Redacted, Source, Text, Thinking, ToolCall, ToolResult,
    What, titled,
};
pub use collect::Collected;
pub use event::{At, Event, Opening, Piece};
pub use meter::Meter;
pub(crate) use names::named;
pub use notes::{Loss, Note, Notes};
pub use request::{
    Conversation, Extra, OutputShape, Reasoning, Role, Sampling, Target, Tool, ToolChoice,
    ToolKind, ToolName, Turn, Written, budget_of_effort, effort_of_budget,
};
pub use signature::{MAX_SIGNATURE_BYTES, Signature, marks_in, without_marks};
pub use thread::{
    CUSTOM_FIELD, NameRule, Restored, Thread, custom_schema, described, object_of_arguments,
};
