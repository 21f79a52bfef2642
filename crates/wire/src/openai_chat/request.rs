//! A chat request: read once, priced by what was read, and sent with nothing changed but the fields
//! named here.

use bytes::Bytes;
use serde::de::DeserializeOwned;

use super::cost::{FIELDS, Treatment};
use super::parts::{Media, read_messages};
use crate::{Edit, JsonError, Layout, Object, Refusal, patch, scan};

/// Answers that may be asked for at once.
const MAX_CHOICES: u64 = 16;
/// Output tokens that may be asked for; beyond that it is a mistake.
const MAX_OUTPUT: u64 = 10_000_000;
/// Belongs to the Responses format.
pub const PREVIOUS_RESPONSE: &str = "previous_response_id";
const MAX_MODEL_CHARACTERS: usize = 128;
/// Tokens around the text of a request: roles, separators, instructions a vendor adds.
const FRAME_TOKENS: u64 = 64;
/// Bytes of plain text for one token, at least, in what people and programs write.
const ASCII_BYTES_PER_TOKEN: u64 = 2;
/// The same as a fair guess.
const FAIR_BYTES_PER_TOKEN: u64 = 4;
/// Bytes of what is said for one token, at most: longer ones are rare in any language.
const MOST_BYTES_PER_TOKEN: u64 = 128;
/// Tokens of one character outside ASCII, at most, in what people write.
const TOKENS_PER_WIDE_CHARACTER: u64 = 2;

/// Where a request says how long its answer may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CapField {
    /// The word of today.
    MaxCompletionTokens,
    /// The older word, which some upstreams know alone.
    MaxTokens,
}

/// A chat request that was read.
#[derive(Debug, Clone)]
pub struct ChatRequest {
    body: Bytes,
    /// The public name of the model.
    pub model: String,
    /// The answer is to come in pieces.
    pub stream: bool,
    /// The caller asked for usage at the end of its stream.
    pub wants_usage: bool,
    /// Output tokens at most, for one choice.
    pub max_output: Option<u64>,
    /// Which word said so.
    pub cap_field: Option<CapField>,
    /// Answers at once.
    pub choices: u64,
    /// Input tokens, not fewer than there can be in what people and programs write. Usage that says
    /// more is charged as it says, as far as the wallet goes.
    pub input_tokens: u64,
    /// Input tokens as a fair guess, for when nobody tells.
    pub input_estimate: u64,
    /// Input tokens, not more than there must be: of what is said alone, since an image of a
    /// megabyte may be a hundred tokens, and spaces between values are none.
    pub input_least: u64,
    /// The word for how hard to think.
    pub reasoning_effort: Option<String>,
    /// Where its fields stand in the body.
    layout: Layout,
}

/// What is written into a request on its way out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outgoing<'a> {
    /// The upstream's name of the model.
    pub model: &'a str,
    /// The answer's length, to be written out, and under which word.
    pub max_output: Option<(u64, Option<CapField>)>,
    /// Leave `stream_options` out: the upstream does not know it.
    pub no_stream_options: bool,
    /// Fields to leave out: the model does not read them.
    pub without: &'a [String],
    /// Fields to write, each with its JSON: they move the price, and are not left to a default.
    pub with: &'a [(String, String)],
}

// === impl ChatRequest ===

impl ChatRequest {
    /// Reads a body.
    pub fn read(body: Bytes) -> Result<Self, Refusal> {
        let object = scan(&body).map_err(not_json)?;
        check_cost_table(&object)?;
        let model = read_model(&object)?;
        let messages = object.value("messages").filter(|value| *value != b"null");
        let media = read_messages(
            messages.ok_or_else(|| Refusal::invalid("messages", "`messages` is required"))?,
        )?;
        let stream = typed(&object, "stream", "true or false")?.unwrap_or(false);
        let wants_usage = read_wants_usage(&object)?;
        let (max_output, cap_field) = read_cap(&object)?;
        let choices = typed(&object, "n", "a number from 1 to 16")?.unwrap_or(1);
        if !(1..=MAX_CHOICES).contains(&choices) {
            return Err(Refusal::invalid(
                "n",
                format!("`n` must be from 1 to {MAX_CHOICES}"),
            ));
        }
        for number in ["temperature", "top_p"] {
            typed::<serde_json::Number>(&object, number, "a number")?;
        }
        let reasoning_effort = typed(&object, "reasoning_effort", "a word")?;
        let input_least = media.said.div_euclid(MOST_BYTES_PER_TOKEN).max(1);
        let (input_tokens, input_estimate) = input_tokens(&object, media);
        let layout = object.layout();
        drop(object);
        Ok(Self {
            body,
            model,
            stream,
            wants_usage,
            max_output,
            cap_field,
            choices,
            input_tokens,
            input_estimate,
            input_least,
            reasoning_effort,
            layout,
        })
    }

    /// The bytes as they came.
    #[must_use]
    pub const fn body(&self) -> &Bytes {
        &self.body
    }

    /// The names of its fields, in the order of the body.
    pub fn fields(&self) -> impl Iterator<Item = &str> {
        self.layout.keys()
    }

    /// The JSON of one of its fields.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&[u8]> {
        self.layout.value(&self.body, name)
    }

    /// The value at a dotted path; none if there is nothing, or null.
    #[must_use]
    pub fn at(&self, path: &str) -> Option<serde_json::Value> {
        let (first, rest) = path.split_once('.').unwrap_or((path, ""));
        let value: serde_json::Value = serde_json::from_slice(self.field(first)?).ok()?;
        let steps = rest.split('.').filter(|step| !step.is_empty());
        let found = steps
            .into_iter()
            .try_fold(&value, |value, step| value.get(step))?;
        (!found.is_null()).then(|| found.clone())
    }

    /// How the conversation begins: the first bytes of its messages.
    #[must_use]
    pub fn opening(&self, most: usize) -> &[u8] {
        let object = self.layout.over(&self.body);
        let all = object.value("messages").unwrap_or_default();
        all.get(..most).unwrap_or(all)
    }

    /// The bytes that go out.
    #[must_use]
    pub fn outgoing(&self, out: &Outgoing<'_>) -> Bytes {
        let object = self.layout.over(&self.body);
        let mut edits = Vec::new();
        if self.model != out.model {
            edits.push(Edit::Set("model", json(out.model)));
        }
        if self.stream {
            edits.extend(usage_edit(&object, out));
        }
        self.cap_edits(out, &mut edits);
        let present = out
            .without
            .iter()
            .filter(|name| object.member(name).is_some());
        edits.extend(present.map(|name| Edit::Remove(name.as_str())));
        let written = out.with.iter();
        edits.extend(
            written.map(|(name, json)| Edit::Set(name.as_str(), json.clone().into_bytes())),
        );
        if edits.is_empty() {
            return self.body.clone();
        }
        Bytes::from(patch(&object, &edits))
    }

    fn cap_edits(&self, out: &Outgoing<'_>, edits: &mut Vec<Edit<'_>>) {
        let Some((tokens, wanted)) = out.max_output else {
            return;
        };
        let word = wanted
            .or(self.cap_field)
            .unwrap_or(CapField::MaxCompletionTokens);
        if self.max_output == Some(tokens) && self.cap_field == Some(word) {
            return;
        }
        if let Some(said) = self.cap_field.filter(|said| *said != word) {
            edits.push(Edit::Remove(said.word()));
        }
        edits.push(Edit::Set(word.word(), tokens.to_string().into_bytes()));
    }
}

// === impl CapField ===

impl CapField {
    const fn word(self) -> &'static str {
        match self {
            Self::MaxCompletionTokens => "max_completion_tokens",
            Self::MaxTokens => "max_tokens",
        }
    }
}

fn not_json(error: JsonError) -> Refusal {
    let message = error.to_string();
    let param = match error {
        JsonError::DuplicateKey(key) => Some(key),
        JsonError::NotUtf8 | JsonError::Syntax(_) | JsonError::NotAnObject | JsonError::TooDeep => {
            None
        }
    };
    Refusal {
        code: "invalid_request",
        param,
        message,
    }
}

fn check_cost_table(object: &Object<'_>) -> Result<(), Refusal> {
    for (field, treatment) in FIELDS {
        let Some(value) = object.value(field).filter(|value| *value != b"null") else {
            continue;
        };
        match treatment {
            Treatment::Priced | Treatment::Bounded | Treatment::Tier => {}
            Treatment::Only(allowed, why) => check_only(field, value, allowed, why)?,
            Treatment::Refused(way_out) => {
                let message = format!("`{field}` is not supported: {way_out}");
                return Err(Refusal::invalid(field, message));
            }
            Treatment::Reference(way_out) => return Err(Refusal::reference(field, way_out)),
        }
    }
    Ok(())
}

/// A word, or a list of words, all of which must be allowed.
fn check_only(field: &str, value: &[u8], allowed: &[&str], why: &str) -> Result<(), Refusal> {
    let words: Option<Vec<String>> = serde_json::from_slice(value).ok();
    let words = words.or_else(|| Some(vec![serde_json::from_slice(value).ok()?]));
    let fine = words.is_some_and(|words| words.iter().all(|word| allowed.contains(&word.as_str())));
    if fine {
        return Ok(());
    }
    let allowed = allowed.join(", ");
    let message = format!("`{field}` may be {allowed}: {why}");
    Err(Refusal::invalid(field, message))
}

fn read_model(object: &Object<'_>) -> Result<String, Refusal> {
    let model: Option<String> = typed(object, "model", "the name of a model")?;
    let model = model.filter(|model| !model.is_empty());
    let model = model.ok_or_else(|| Refusal::invalid("model", "`model` is required"))?;
    if model.chars().count() > MAX_MODEL_CHARACTERS {
        return Err(Refusal::invalid(
            "model",
            format!("`model` may have at most {MAX_MODEL_CHARACTERS} characters"),
        ));
    }
    Ok(model)
}

fn read_wants_usage(object: &Object<'_>) -> Result<bool, Refusal> {
    #[derive(serde::Deserialize)]
    struct Options {
        #[serde(default)]
        include_usage: Option<bool>,
    }
    let options: Option<Options> = typed(object, "stream_options", "an object")?;
    Ok(options.is_some_and(|options| options.include_usage == Some(true)))
}

fn read_cap(object: &Object<'_>) -> Result<(Option<u64>, Option<CapField>), Refusal> {
    let words = [CapField::MaxCompletionTokens, CapField::MaxTokens];
    let mut found = (None, None);
    for field in words {
        let word = field.word();
        let Some(tokens) = typed::<u64>(object, word, "a whole number above 0")? else {
            continue;
        };
        if !(1..=MAX_OUTPUT).contains(&tokens) {
            return Err(Refusal::invalid(
                word,
                format!("`{word}` must be from 1 to {MAX_OUTPUT}"),
            ));
        }
        if found.0.is_some() {
            return Err(Refusal::invalid(
                word,
                "send either `max_completion_tokens` or `max_tokens`, not both",
            ));
        }
        found = (Some(tokens), Some(field));
    }
    Ok(found)
}

/// A member as a type; null and absent are the same.
fn typed<T: DeserializeOwned>(
    object: &Object<'_>,
    key: &str,
    what: &str,
) -> Result<Option<T>, Refusal> {
    let Some(value) = object.value(key) else {
        return Ok(None);
    };
    let read: Result<Option<T>, _> = serde_json::from_slice(value);
    read.map_err(|_| Refusal::invalid(key, format!("`{key}` must be {what}")))
}

/// Usage is always asked for: what was used decides what is paid.
fn usage_edit(object: &Object<'_>, out: &Outgoing<'_>) -> Option<Edit<'static>> {
    let options = object
        .value("stream_options")
        .filter(|value| *value != b"null");
    if out.no_stream_options {
        return object
            .member("stream_options")
            .map(|_| Edit::Remove("stream_options"));
    }
    let Some(options) = options else {
        let value = br#"{"include_usage":true}"#.to_vec();
        return Some(Edit::Set("stream_options", value));
    };
    let inner = scan(options).ok()?;
    if inner.value("include_usage") == Some(b"true") {
        return None;
    }
    let value = patch(&inner, &[Edit::Set("include_usage", b"true".to_vec())]);
    Some(Edit::Set("stream_options", value))
}

/// How many bytes are of a kind. There are fewer than numbers, so nothing wraps; a sum that is checked
/// at each step is not done many bytes at a time.
fn count(bytes: &[u8], is_one: impl Fn(&u8) -> bool) -> u64 {
    bytes.iter().fold(0, |sum: u64, byte| {
        sum.wrapping_add(u64::from(is_one(byte)))
    })
}

/// The bound and a fair guess.
fn input_tokens(object: &Object<'_>, media: Media) -> (u64, u64) {
    let priced = FIELDS
        .iter()
        .filter(|(_, treatment)| *treatment == Treatment::Priced)
        .filter_map(|(field, _)| object.value(field));
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

fn json(text: &str) -> Vec<u8> {
    serde_json::to_vec(text).unwrap_or_default()
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
