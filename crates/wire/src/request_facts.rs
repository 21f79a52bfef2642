//! What a format reads in a request body to price it, and the readers that all formats use for it.

use serde::de::DeserializeOwned;

use crate::cost::{CostTable, Treatment};
use crate::text_bound::most_tokens;
use crate::{Media, Object, RequestError};

/// Output tokens that may be asked for; beyond that it is a mistake.
const MAX_OUTPUT: u64 = 10_000_000;
const MAX_MODEL_CHARACTERS: usize = 128;
/// Tokens around the text of a request: roles, separators, instructions a vendor adds.
const FRAME_TOKENS: u64 = 64;
/// Bytes of plain text for one token as a fair guess.
const FAIR_BYTES_PER_TOKEN: u64 = 4;

/// The fields of a format, for pricing, field reports and edits.
#[derive(Debug, Clone, Copy)]
pub struct Fields {
    pub costs: CostTable,
    /// Chat's name for a field, which records and rules use, and the path it has here.
    pub aliases: &'static [(&'static str, &'static str)],
    /// Where the length of a response is written.
    pub cap: &'static str,
}

/// What the address of a request says; only Gemini's does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PathParams<'a> {
    /// The public name of the model.
    pub model: Option<&'a str>,
    /// The response is to come streamed.
    pub stream: bool,
}

/// What a format reads in a body for the price.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// The public name of the model.
    pub model: String,
    /// The response is to come streamed.
    pub stream: bool,
    /// The caller asked for usage at the end of its stream.
    pub wants_usage: bool,
    /// Output tokens at most, for one choice.
    pub max_output: Option<u64>,
    /// The path under which the caller said so.
    pub cap_field: Option<&'static str>,
    /// Choices at once.
    pub choices: u64,
    pub effort: Option<String>,
    /// The response that this one continues.
    pub previous: Option<String>,
    /// The upstream is to keep the response, so that it can be continued.
    pub stores: bool,
    /// Tools that the vendor defines, known by their name alone: their text is the vendor's.
    pub vendor_tools: u64,
    pub media: Media,
}

/// Chat has two names for the longest answer, and vendors differ in which they take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CapName {
    /// Both: what the caller wrote stays, and the newer name is written where the caller wrote none.
    #[default]
    Either,
    /// `max_tokens`, the older one.
    MaxTokens,
    /// `max_completion_tokens`, the newer one.
    MaxCompletionTokens,
}

/// A change to the body: a path, and its JSON or nothing.
pub(crate) type PathEdit = (String, Option<Vec<u8>>);

/// The name of a model, wherever it was said.
pub(crate) fn read_model(model: Option<String>) -> Result<String, RequestError> {
    let model = model.filter(|model| !model.is_empty());
    let model = model.ok_or_else(|| RequestError::invalid("model", "`model` is required"))?;
    if model.chars().count() > MAX_MODEL_CHARACTERS {
        return Err(RequestError::invalid(
            "model",
            format!("`model` may have at most {MAX_MODEL_CHARACTERS} characters"),
        ));
    }
    Ok(model)
}

/// The length of a response, under a path.
pub(crate) fn read_cap(object: &Object<'_>, path: &str) -> Result<Option<u64>, RequestError> {
    let Some(tokens) = typed::<u64>(object, path, "a whole number above 0")? else {
        return Ok(None);
    };
    if !(1..=MAX_OUTPUT).contains(&tokens) {
        return Err(RequestError::invalid(
            path,
            format!("`{path}` must be from 1 to {MAX_OUTPUT}"),
        ));
    }
    Ok(Some(tokens))
}

/// A member, or one inside another by its dotted path, as a type; null and absent are the same.
pub(crate) fn typed<T: DeserializeOwned>(
    object: &Object<'_>,
    path: &str,
    what: &str,
) -> Result<Option<T>, RequestError> {
    let Some(value) = object.at(path) else {
        return Ok(None);
    };
    let read: Result<Option<T>, _> = serde_json::from_slice(value);
    read.map_err(|_| RequestError::invalid(path, format!("`{path}` must be {what}")))
}

/// How many bytes are of a kind. There are fewer than numbers, so nothing wraps; a sum that is checked
/// at each step is not done many bytes at a time.
fn count(bytes: &[u8], is_one: impl Fn(&u8) -> bool) -> u64 {
    bytes.iter().fold(0, |sum: u64, byte| {
        sum.wrapping_add(u64::from(is_one(byte)))
    })
}

/// The tokens of what is written: at most, and as a fair guess. Media come on top.
pub(crate) fn text_tokens(object: &Object<'_>, costs: CostTable, media: &Media) -> (u64, u64) {
    let priced = costs
        .iter()
        .filter(|(_, treatment)| *treatment == Treatment::Priced)
        .filter_map(|(field, _)| object.at(field));
    let (mut most, mut ascii, mut wide) = (0_u64, 0_u64, 0_u64);
    for value in priced {
        most = most.saturating_add(most_tokens(value));
        ascii = ascii.saturating_add(count(value, u8::is_ascii));
        // A character outside ASCII begins with two set bits.
        wide = wide.saturating_add(count(value, |byte| byte & 0b1100_0000 == 0b1100_0000));
    }
    let most = most
        .saturating_sub(media.bytes)
        .saturating_add(FRAME_TOKENS);
    let fair = ascii.saturating_sub(media.bytes);
    let fair = fair.div_ceil(FAIR_BYTES_PER_TOKEN).saturating_add(wide);
    (most, fair)
}

pub(crate) fn json(text: &str) -> Vec<u8> {
    serde_json::to_vec(text).unwrap_or_default()
}
