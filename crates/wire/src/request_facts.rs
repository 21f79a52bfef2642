//! What a format reads in a request body to price it, and the readers that all formats use for it.

use serde::de::DeserializeOwned;

use crate::cost::{CostTable, Treatment};
use crate::{Object, RequestError};

/// Output tokens that may be asked for; beyond that it is a mistake.
const MAX_OUTPUT: u64 = 10_000_000;
const MAX_MODEL_CHARACTERS: usize = 128;
/// Tokens around the text of a request: roles, separators, instructions a vendor adds.
const FRAME_TOKENS: u64 = 64;
/// Bytes of plain text for one token, at least, in what people and programs write.
const ASCII_BYTES_PER_TOKEN: u64 = 2;
/// The same as a fair guess.
const FAIR_BYTES_PER_TOKEN: u64 = 4;
/// Tokens of one character outside ASCII, at most, in what people write.
const TOKENS_PER_WIDE_CHARACTER: u64 = 2;

/// The fields of a format, for pricing, field reports and edits.
#[derive(Debug, Clone, Copy)]
pub struct Fields {
    /// Every field that the format has, by its dotted path where it stands inside another.
    pub known: &'static [&'static str],
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

/// Bytes that are not text, and the tokens they may be instead.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Media {
    /// Their bytes in the body.
    pub bytes: u64,
    /// Tokens at most.
    pub tokens: u64,
    /// Bytes of what is said, as it is read: no escapes, no spaces between values.
    pub text_bytes: u64,
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

impl Media {
    pub(crate) const fn add_text(&mut self, bytes: u64) {
        self.text_bytes = self.text_bytes.saturating_add(bytes);
    }

    /// Counts encoded media of so many bytes in the body, and the tokens that they are at most.
    pub(crate) const fn add_media(&mut self, bytes: u64, tokens: u64) {
        self.bytes = self.bytes.saturating_add(bytes);
        self.tokens = self.tokens.saturating_add(tokens);
    }
}

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

/// The bound and a fair guess.
pub(crate) fn input_tokens(object: &Object<'_>, costs: CostTable, media: Media) -> (u64, u64) {
    let priced = costs
        .iter()
        .filter(|(_, treatment)| *treatment == Treatment::Priced)
        .filter_map(|(field, _)| object.at(field));
    let (mut ascii, mut wide) = (0_u64, 0_u64);
    for value in priced {
        ascii = ascii.saturating_add(count(value, u8::is_ascii));
        // A character outside ASCII begins with two set bits.
        wide = wide.saturating_add(count(value, |byte| byte & 0b1100_0000 == 0b1100_0000));
    }
    let ascii = ascii.saturating_sub(media.bytes);
    let of = |per_token: u64, per_wide: u64, frame: u64| {
        ascii
            .div_ceil(per_token)
            .saturating_add(wide.saturating_mul(per_wide))
            .saturating_add(media.tokens)
            .saturating_add(frame)
    };
    (
        of(
            ASCII_BYTES_PER_TOKEN,
            TOKENS_PER_WIDE_CHARACTER,
            FRAME_TOKENS,
        ),
        of(FAIR_BYTES_PER_TOKEN, 1, 0),
    )
}

pub(crate) fn json(text: &str) -> Vec<u8> {
    serde_json::to_vec(text).unwrap_or_default()
}
