//! Google's generateContent: the request and what of it costs money, the response and its usage, the
//! stream, errors, counting.
//!
//! **What stands in a stream.** Nothing but frames of one `data:` line. Google's own clients do not read
//! server-sent events as the standard has them. Each was run against a server that sent these streams:
//!
//! | client | a comment of its own | one before or behind the data of a frame |
//! |---|---|---|
//! | google-genai for Python 3.1.0 | exception: it is parsed as JSON | the same |
//! | @google/genai for JS 1.0.0, 1.30.0 | all behind it is lost, then an error | the same |
//! | @google/genai for JS 2.32.0 | passed over | the frame is lost, or an error |
//!
//! The code of google.golang.org/genai, which was read and not run, takes a block that does not begin
//! with `data` for an error as well.
//!
//! So there is no comment with the cost here: it stands in `usageMetadata` of the last frame (`cost`,
//! `cost_details`; these clients pass over members they do not know). A heartbeat is a piece with an
//! empty text. A frame without candidates is parsed too, but then the chat helpers of Python 3.1.0 and
//! JS 2.32.0 take the turn for a failed one and forget it. JS 1.0.0 and 1.30.0 read an error in a `data:`
//! line as an empty piece; the other two raise it.
//!
//! **Spelling.** Google takes `snake_case` for every `camelCase`. [`in_camel_case`] turns the keys that
//! records, rules and the cost table name; deeper ones are read in both.
//!
//! **Ids of calls.** Older models give none. Calls without one are numbered by their place (`call_0`, in
//! answers with the response's id between), and such ids are not sent back to Google.

mod assemble;
mod chunk;
mod config_in;
mod config_out;
mod content_scan;
mod cost;
mod count_tokens;
mod error;
mod json_array_stream;
mod key_case;
mod part_writer;
mod parts_in;
mod parts_out;
mod request_in;
mod request_out;
mod request_scan;
mod response_out;
mod response_scan;
mod rewrite;
mod schema;
mod stream_end;
mod stream_in;
mod stream_out;
mod tools_in;
mod tools_out;
mod usage;

pub(crate) use assemble::{Assembly, is_streamable};
pub use cost::TABLE;
pub use count_tokens::{count_answer, count_request, read_count};
pub use error::retry_delay;
pub(crate) use error::{error_body, error_frame};
pub use json_array_stream::{ArrayFrames, StreamShape};
pub(crate) use key_case::in_camel_case;
pub(crate) use request_in::request_to_canonical;
pub(crate) use request_out::request_from_canonical;
pub(crate) use request_scan::read_facts;
pub(crate) use response_out::response_from_canonical;
pub(crate) use response_scan::{response_to_canonical, scan_response};
pub use rewrite::restore_signatures;
pub(crate) use rewrite::{rewrite_frame, rewrite_response};
pub use stream_in::Reader;
pub use stream_out::Writer;
pub(crate) use usage::usage_json;

use crate::Format;
use crate::canonical::{NameRule, Signature};

const FORMAT: Format = Format::Gemini;

/// A heartbeat inside a stream: a piece of no words.
pub const HEARTBEAT: &[u8] =
    b"data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[{\"text\":\"\"}]},\"index\":0}]}\n\n";

/// What Google takes as a function's name.
const RULE: NameRule = NameRule {
    max: 64,
    also: ".:",
    begins_alphabetic: true,
    native: false,
};

/// What Google takes in place of a signature for a call that its model did not make.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";
/// Before the number of a call that came without an id.
const MADE_ID: &str = "call_";
/// Characters of a response's id inside the id of a call.
const MAX_ANSWER_ID: usize = 40;

/// An id for a call that came without one: by its place, and by the response it stands in.
fn made_id(answer: &str, place: usize) -> String {
    let legal = |character: &char| character.is_ascii_alphanumeric() || *character == '-';
    let answer: String = answer.chars().filter(legal).take(MAX_ANSWER_ID).collect();
    if answer.is_empty() {
        return format!("{MADE_ID}{place}");
    }
    format!("{MADE_ID}{answer}_{place}")
}

/// Whether the gateway made an id: an upstream that gave none takes none back.
fn is_made(id: &str) -> bool {
    let number = id
        .strip_prefix(MADE_ID)
        .and_then(|rest| rest.rsplit('_').next());
    number.is_some_and(|number| {
        !number.is_empty() && number.len() < 6 && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// A signature as it is shown to a caller.
fn shown_signature(signature: &Signature, channel: Option<&str>) -> String {
    if signature.format == FORMAT && signature.channel.is_none() && channel.is_none() {
        return signature.data.clone();
    }
    // Whatever the upstream speaks, its signatures are wanted back by the channel they came through.
    let tagged = Signature {
        channel: signature
            .channel
            .clone()
            .or_else(|| channel.map(ToOwned::to_owned)),
        ..signature.clone()
    };
    tagged.tagged()
}
