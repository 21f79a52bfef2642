//! OpenAI chat completions: the request and what of it costs money, the answer and its usage, the
//! stream and its tap, errors.

mod answer;
mod citation;
mod cost;
mod error;
mod media_out;
mod parts;
mod reasoning;
mod request;
mod request_in;
mod request_out;
mod response;
mod shapes;
mod stream;
mod stream_in;
mod stream_out;
mod told;
mod tools_out;
mod turns_out;

pub(crate) use answer::{answer_from_canon, answer_to_canon};
pub use cost::{SERVICE_TIER, TABLE};
pub use error::{UpstreamError, error_body, error_frame, read_error};
pub use request::{PREVIOUS_RESPONSE, renamed_cap};
pub(crate) use request::{edits, read_facts};
pub(crate) use request_in::request_to_canon;
pub(crate) use request_out::request_from_canon;
pub(crate) use response::{estimated_tokens, letters};
pub use response::{read_whole, rewrite_whole};
pub use stream::{Tap, rewrite_frame};
pub use stream_in::Reader;
pub use stream_out::Writer;
pub use told::{Told, read_told};

/// A sign of life inside a stream.
pub const HEARTBEAT: &[u8] = b": waiting\n\n";
