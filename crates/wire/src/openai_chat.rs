//! OpenAI chat completions: the request and what of it costs money, the answer and its usage, the
//! stream and its tap, errors.

mod cost;
mod error;
mod parts;
mod request;
mod response;
mod stream;
mod told;

pub use cost::{FIELDS, KNOWN, SERVICE_TIER, Treatment};
pub use error::{UpstreamError, read_error};
pub use request::{CapField, ChatRequest, Outgoing, PREVIOUS_RESPONSE};
pub use response::{Answer, AnswerError, read_answer, rename_model};
pub use stream::{Cost, Seen, Tap, length_frame};
pub use told::{Told, read_told};
