//! OpenAI's realtime protocol: what a client's event may carry and adds to a conversation, what a server's event
//! reports, and what a session's settings mean for the cost of its next response.

mod client_event;
mod fields;
mod server_event;
mod session;
mod usage;

pub use client_event::{AddedInput, ClientEvent, ClientEventError, ClientEventKind};
pub use server_event::{ResponseStatus, ServerEvent, read_server_event};
pub use session::{AudioFormat, RealtimeSession};
pub use usage::{TokenCounts, TranscriptUsage};
