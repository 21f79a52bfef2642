//! A request of any format: read once, priced by what was read, and either sent with nothing changed
//! but the fields named here, or read into canon.

use bytes::Bytes;
use serde::de::DeserializeOwned;

use crate::canonical::Conversation;
use crate::cost::{CostTable, Treatment, check};
use crate::prompt_prefix::prefix_before_user;
use crate::{
    Format, JsonError, Layout, Object, PassthroughEndpoint, RequestError, claude_messages, gemini,
    openai_chat, openai_responses, patch_at, scan,
};

/// Output tokens that may be asked for; beyond that it is a mistake.
const MAX_OUTPUT: u64 = 10_000_000;
/// Answers that may be asked for at once.
const MAX_CHOICES: u64 = 16;
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

/// What a format's fields are, for whoever prices, reports or changes them.
#[derive(Debug, Clone, Copy)]
pub struct Fields {
    /// Every field that the format has, by its dotted path where it stands inside another.
    pub known: &'static [&'static str],
    /// The cost table.
    pub costs: CostTable,
    /// Chat's word for a field, which records and rules use, and the path it has here.
    pub aliases: &'static [(&'static str, &'static str)],
    /// Where the length of an answer is written.
    pub cap: &'static str,
}

/// What the address of a request says; only Gemini's does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PathParams<'a> {
    /// The public name of the model.
    pub model: Option<&'a str>,
    /// The answer is to come in pieces.
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

/// What a format's room reads in a body for whoever prices it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// The public name of the model.
    pub model: String,
    /// The answer is to come in pieces.
    pub stream: bool,
    /// The caller asked for usage at the end of its stream.
    pub wants_usage: bool,
    /// Output tokens at most, for one choice.
    pub max_output: Option<u64>,
    /// The path under which the caller said so.
    pub cap_field: Option<&'static str>,
    /// Answers at once.
    pub choices: u64,
    /// The word for how hard to think.
    pub effort: Option<String>,
    /// The response that this one continues.
    pub previous: Option<String>,
    /// The upstream is to keep the answer, so that it can be continued.
    pub stores: bool,
    /// What is not text.
    pub media: Media,
}

/// A request that was read.
#[derive(Debug, Clone)]
pub struct Request {
    /// The format it came in.
    pub format: Format,
    /// One of the small endpoints, which are relayed and hold no conversation.
    pub passthrough: Option<PassthroughEndpoint>,
    /// What was read in it.
    pub facts: Facts,
    /// Input tokens, not fewer than there can be in what people and programs write. Usage that says
    /// more is charged as it says, as far as the wallet goes.
    pub input_tokens: u64,
    /// Input tokens as a fair guess, for when nobody tells.
    pub input_estimate: u64,
    /// Input tokens, not more than there must be: of what is said alone, since an image of a
    /// megabyte may be a hundred tokens, and spaces between values are none.
    pub input_least: u64,
    /// What the caller calls the model, where that is a name of its own.
    alias: Option<String>,
    body: Bytes,
    layout: Layout,
}

/// What is written into a request on its way out in its own format.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outgoing<'a> {
    /// The upstream's name of the model.
    pub model: &'a str,
    /// The answer's length, to be written out.
    pub max_output: Option<u64>,
    /// Chat: which name the upstream takes for the longest answer.
    pub cap_name: CapName,
    /// Chat: rejects `stream_options`.
    pub no_stream_options: bool,
    /// Paths to leave out: the model, or the way in, does not read them.
    pub without: &'a [String],
    /// Paths to write, each with its JSON: they move the price, and are not left to a default.
    pub with: &'a [(String, String)],
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

// === impl Request ===

impl Request {
    /// Reads a body of a format.
    pub fn read(format: Format, body: Bytes, path: PathParams<'_>) -> Result<Self, RequestError> {
        let body = in_camel_case(format, body)?;
        Self::read_as(format, None, body, path)
    }

    /// Reads a body of a small endpoint.
    pub fn read_passthrough(kind: PassthroughEndpoint, body: Bytes) -> Result<Self, RequestError> {
        Self::read_as(Format::OpenaiChat, Some(kind), body, PathParams::default())
    }

    fn read_as(
        format: Format,
        passthrough: Option<PassthroughEndpoint>,
        body: Bytes,
        path: PathParams<'_>,
    ) -> Result<Self, RequestError> {
        let object = scan(&body).map_err(not_json)?;
        let fields = passthrough.map_or_else(|| fields_of(format), PassthroughEndpoint::fields);
        check(fields.costs, &object)?;
        let facts = match (passthrough, format) {
            (Some(kind), _) => kind.read_facts(&object)?,
            (None, Format::OpenaiChat) => openai_chat::read_facts(&object)?,
            (None, Format::ClaudeMessages) => claude_messages::read_facts(&object)?,
            (None, Format::OpenaiResponses) => openai_responses::read_facts(&object)?,
            (None, Format::Gemini) => gemini::read_facts(&object, path)?,
        };
        if !(1..=MAX_CHOICES).contains(&facts.choices) {
            let field = match format {
                Format::Gemini => "generationConfig.candidateCount",
                Format::OpenaiChat | Format::ClaudeMessages | Format::OpenaiResponses => "n",
            };
            let text = format!("`{field}` must be from 1 to {MAX_CHOICES}");
            return Err(RequestError::invalid(field, text));
        }
        let input_least = facts
            .media
            .text_bytes
            .div_euclid(MOST_BYTES_PER_TOKEN)
            .max(1);
        let (input_tokens, input_estimate) = input_tokens(&object, fields.costs, facts.media);
        let layout = object.layout();
        drop(object);
        Ok(Self {
            format,
            passthrough,
            facts,
            input_tokens,
            input_estimate,
            input_least,
            alias: None,
            body,
            layout,
        })
    }

    /// The public name of the model.
    #[must_use]
    pub fn model(&self) -> &str {
        &self.facts.model
    }

    /// The name that was asked for: an alias, or the model's own.
    #[must_use]
    pub fn requested_model(&self) -> &str {
        self.alias.as_deref().unwrap_or(&self.facts.model)
    }

    /// The name that was asked for stands for this model. The body goes on with that.
    pub fn resolve_alias(&mut self, model: String) {
        self.alias = Some(std::mem::replace(&mut self.facts.model, model));
    }

    /// The bytes as they came.
    #[must_use]
    pub const fn body(&self) -> &Bytes {
        &self.body
    }

    /// What the format's fields are.
    #[must_use]
    pub fn table(&self) -> Fields {
        self.passthrough
            .map_or_else(|| fields_of(self.format), PassthroughEndpoint::fields)
    }

    /// The paths of its fields, in the order of the body: those at the top, and behind each those
    /// inside it that records and rules know by another word.
    pub fn fields(&self) -> impl Iterator<Item = &str> {
        let aliases = self.table().aliases;
        self.layout.keys().flat_map(move |key| {
            let inside = aliases.iter().map(|(_, path)| *path).filter(move |path| {
                let below = path
                    .strip_prefix(key)
                    .and_then(|rest| rest.strip_prefix('.'));
                below.is_some() && self.at_path(path).is_some()
            });
            std::iter::once(key).chain(inside)
        })
    }

    /// Chat's word for a path of this format, by which records know it.
    #[must_use]
    pub fn chat_name_of<'a>(&self, path: &'a str) -> &'a str {
        let aliases = self.table().aliases;
        let known = aliases.iter().find(|(_, own)| *own == path);
        known.map_or(path, |(word, _)| *word)
    }

    /// This format's path for one of chat's words.
    #[must_use]
    pub fn path_of<'a>(&self, word: &'a str) -> &'a str {
        let aliases = self.table().aliases;
        let known = aliases.iter().find(|(chat, _)| *chat == word);
        known.map_or(word, |(_, path)| *path)
    }

    /// The JSON of a field, by chat's word for it or by its path.
    #[must_use]
    pub fn field(&self, word: &str) -> Option<&[u8]> {
        self.at_path(self.path_of(word))
    }

    fn at_path(&self, path: &str) -> Option<&[u8]> {
        let (first, rest) = path.split_once('.').unwrap_or((path, ""));
        let value = self.layout.value(&self.body, first)?;
        if rest.is_empty() {
            return Some(value);
        }
        scan(value).ok()?.at(rest)
    }

    /// The value at a dotted path, by chat's words; none if there is nothing, or null.
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

    /// How the conversation begins: the last bytes of what is said until its user has spoken once.
    #[must_use]
    pub fn prompt_prefix(&self, most: usize) -> &[u8] {
        let said = match (self.passthrough, self.format) {
            (Some(PassthroughEndpoint::Embeddings | PassthroughEndpoint::Moderations), _) => {
                "input"
            }
            (Some(PassthroughEndpoint::Rerank), _) => "documents",
            (Some(PassthroughEndpoint::Completions), _) => "prompt",
            (None, Format::OpenaiChat | Format::ClaudeMessages) => "messages",
            (None, Format::OpenaiResponses) => "input",
            (None, Format::Gemini) => "contents",
        };
        let all = self.layout.value(&self.body, said).unwrap_or_default();
        let begins = match (self.passthrough, self.format) {
            (Some(_), _) => all,
            (None, format) => prefix_before_user(all, format == Format::Gemini),
        };
        let from = begins.len().saturating_sub(most);
        begins.get(from..).unwrap_or(begins)
    }

    /// The bytes that go out in the format they came in.
    #[must_use]
    pub fn outgoing(&self, out: &Outgoing<'_>) -> Bytes {
        let object = self.layout.over(&self.body);
        let mut edits = match (self.passthrough, self.format) {
            (Some(kind), _) => {
                let own = kind.edits(&self.facts, out.max_output);
                self.model_edit(out).into_iter().chain(own).collect()
            }
            (None, Format::OpenaiChat) => openai_chat::edits(self, &object, out),
            (None, Format::ClaudeMessages | Format::OpenaiResponses) => self.model_edit(out),
            // The address names the model, and says whether it comes in pieces.
            (None, Format::Gemini) => Vec::new(),
        };
        if self.format != Format::OpenaiChat {
            edits.extend(self.cap_edit(out));
        }
        let present = out.without.iter().filter(|path| object.at(path).is_some());
        edits.extend(present.map(|path| (path.clone(), None)));
        let written = out.with.iter();
        edits.extend(written.map(|(path, json)| (path.clone(), Some(json.clone().into_bytes()))));
        if edits.is_empty() {
            return self.body.clone();
        }
        Bytes::from(patch_at(&object, &edits))
    }

    fn model_edit(&self, out: &Outgoing<'_>) -> Vec<PathEdit> {
        if self.requested_model() == out.model {
            return Vec::new();
        }
        vec![("model".to_owned(), Some(json(out.model)))]
    }

    fn cap_edit(&self, out: &Outgoing<'_>) -> Option<PathEdit> {
        let tokens = out.max_output?;
        if self.facts.max_output == Some(tokens) {
            return None;
        }
        let path = self.table().cap.to_owned();
        Some((path, Some(tokens.to_string().into_bytes())))
    }

    /// The conversation, in no format.
    pub fn canonical(&self) -> Result<Conversation, RequestError> {
        match self.format {
            Format::OpenaiChat => openai_chat::request_to_canonical(self),
            Format::ClaudeMessages => claude_messages::request_to_canonical(self),
            Format::OpenaiResponses => openai_responses::request_to_canonical(self),
            Format::Gemini => gemini::request_to_canonical(self),
        }
    }
}

/// Google takes two spellings of every key; what is priced and patched here is one of them.
fn in_camel_case(format: Format, body: Bytes) -> Result<Bytes, RequestError> {
    if format != Format::Gemini {
        return Ok(body);
    }
    let respelled = gemini::in_camel_case(&scan(&body).map_err(not_json)?)?;
    Ok(respelled.map_or(body, Bytes::from))
}

fn fields_of(format: Format) -> Fields {
    match format {
        Format::OpenaiChat => openai_chat::TABLE,
        Format::ClaudeMessages => claude_messages::TABLE,
        Format::OpenaiResponses => openai_responses::TABLE,
        Format::Gemini => gemini::TABLE,
    }
}

fn not_json(error: JsonError) -> RequestError {
    let message = error.to_string();
    let param = match error {
        JsonError::DuplicateKey(key) => Some(key),
        JsonError::NotUtf8 | JsonError::Syntax(_) | JsonError::NotAnObject | JsonError::TooDeep => {
            None
        }
    };
    RequestError {
        code: "invalid_request",
        param,
        message,
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

/// The length of an answer, under a path.
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
fn input_tokens(object: &Object<'_>, costs: CostTable, media: Media) -> (u64, u64) {
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

/// A text as JSON.
pub(crate) fn json(text: &str) -> Vec<u8> {
    serde_json::to_vec(text).unwrap_or_default()
}
