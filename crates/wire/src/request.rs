//! A request of any format: read once, priced by what was read, and either sent with nothing changed
//! but the fields named here, or read into the canonical form.

use bytes::Bytes;
use serde_json::{Map, Value};

use crate::prompt_prefix::prefix_before_user;
use crate::request_facts::{PathEdit, json};
use crate::{
    CapName, Facts, FieldList, Fields, Format, Layout, PassthroughEndpoint, RequestError, Unlisted,
    scan,
};

/// A request that was read.
#[derive(Debug, Clone)]
pub struct Request {
    /// The format it came in.
    pub format: Format,
    /// The pass-through endpoint, which has no conversation.
    pub passthrough: Option<PassthroughEndpoint>,
    /// What was read in it.
    pub facts: Facts,
    /// Tokens of what is written, not fewer than there can be; media come on top.
    pub text_most: u64,
    /// The same as a fair guess.
    pub text_fair: u64,
    /// It brings tools, for which some vendors add instructions of their own.
    pub has_tools: bool,
    /// Input tokens, not more than there must be: of what is said alone, since an image of a
    /// megabyte may be a hundred tokens, and spaces between values are none.
    pub input_least: u64,
    /// What stands in it and is on no list. It is not sent unless it is passed on purpose.
    pub unlisted: Vec<Unlisted>,
    /// Estimated input tokens in the caller's favour, of what is said alone.
    pub input_floor: u64,
    pub(crate) table: Fields,
    /// The name that the caller sent for the model, where it is an alias.
    pub(crate) alias: Option<String>,
    pub(crate) body: Bytes,
    pub(crate) layout: Layout,
}

/// What is written into a request on its way out in its own format.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outgoing<'a> {
    /// The upstream's name of the model.
    pub model: &'a str,
    /// The response's length, to be written out.
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

// === impl Request ===

impl Request {
    /// The public name of the model.
    #[must_use]
    pub fn model(&self) -> &str {
        &self.facts.model
    }

    /// The requested name: an alias, or the model's own.
    #[must_use]
    pub fn requested_model(&self) -> &str {
        self.alias.as_deref().unwrap_or(&self.facts.model)
    }

    /// Resolves an alias: the body is sent with this model.
    pub fn resolve_alias(&mut self, model: String) {
        self.alias = Some(std::mem::replace(&mut self.facts.model, model));
    }

    /// The body as a JSON tree, for a translation.
    pub(crate) fn tree(&self) -> Result<Map<String, Value>, RequestError> {
        serde_json::from_slice(&self.body).map_err(|error| RequestError {
            code: "invalid_request",
            param: None,
            message: format!("the body is not JSON: {error}"),
        })
    }

    /// The bytes as they came.
    #[must_use]
    pub const fn body(&self) -> &Bytes {
        &self.body
    }

    /// The fields that it may carry to an upstream.
    #[must_use]
    pub fn field_list(&self) -> &'static FieldList {
        self.passthrough
            .map_or_else(|| FieldList::of(self.format), FieldList::of_passthrough)
    }

    /// What the format's fields are.
    #[must_use]
    pub const fn table(&self) -> Fields {
        self.table
    }

    /// The paths of its fields, in the order of the body: those at the top, and behind each those
    /// inside it that records and rules know by another word.
    pub fn fields(&self) -> impl Iterator<Item = &str> {
        let aliases = self.table().aliases;
        self.layout.keys(&self.body).flat_map(move |key| {
            let inside = aliases.iter().map(|(_, path)| *path).filter(move |path| {
                let below = path
                    .strip_prefix(key)
                    .and_then(|rest| rest.strip_prefix('.'));
                below.is_some() && self.at_path(path).is_some()
            });
            std::iter::once(key).chain(inside)
        })
    }

    /// Chat's name for a path of this format, by which records know it.
    #[must_use]
    pub fn chat_name_of<'a>(&self, path: &'a str) -> &'a str {
        let aliases = self.table().aliases;
        let known = aliases.iter().find(|(_, own)| *own == path);
        known.map_or(path, |(word, _)| *word)
    }

    /// This format's path for one of chat's names.
    #[must_use]
    pub fn path_of<'a>(&self, word: &'a str) -> &'a str {
        let aliases = self.table().aliases;
        let known = aliases.iter().find(|(chat, _)| *chat == word);
        known.map_or(word, |(_, path)| *path)
    }

    /// The JSON of a field, by chat's name for it or by its path.
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

    /// The value at a dotted path, by chat's names; none if there is nothing, or null.
    #[must_use]
    pub fn at(&self, path: &str) -> Option<Value> {
        let (first, rest) = path.split_once('.').unwrap_or((path, ""));
        let value: Value = serde_json::from_slice(self.field(first)?).ok()?;
        let steps = rest.split('.').filter(|step| !step.is_empty());
        let found = steps
            .into_iter()
            .try_fold(&value, |value, step| value.get(step))?;
        (!found.is_null()).then(|| found.clone())
    }

    /// The caller's name for the prompt cache of its conversation, as it stands in the body.
    #[must_use]
    pub fn prompt_cache_key(&self) -> Option<&[u8]> {
        let names_one = match (self.passthrough, self.format) {
            (None, Format::OpenaiChat | Format::OpenaiResponses) => true,
            (None, Format::ClaudeMessages | Format::Gemini) | (Some(_), _) => false,
        };
        let key = self.layout.value(&self.body, "prompt_cache_key")?;
        (names_one && key.starts_with(b"\"") && key.len() > 2).then_some(key)
    }

    /// How the conversation begins: the last bytes of what is said until its user has spoken once.
    #[must_use]
    pub fn prompt_prefix(&self, most: usize) -> &[u8] {
        let prefix = match (self.passthrough, self.format) {
            (Some(PassthroughEndpoint::Embeddings | PassthroughEndpoint::Moderations), _) => {
                "input"
            }
            (Some(PassthroughEndpoint::Rerank), _) => "documents",
            (Some(PassthroughEndpoint::Completions), _) => "prompt",
            (None, Format::OpenaiChat | Format::ClaudeMessages) => "messages",
            (None, Format::OpenaiResponses) => "input",
            (None, Format::Gemini) => "contents",
        };
        let all = self.layout.value(&self.body, prefix).unwrap_or_default();
        let begins = match (self.passthrough, self.format) {
            (Some(_), _) => all,
            (None, format) => prefix_before_user(all, format == Format::Gemini),
        };
        let from = begins.len().saturating_sub(most);
        begins.get(from..).unwrap_or(begins)
    }

    pub(crate) fn model_edit(&self, out: &Outgoing<'_>) -> Vec<PathEdit> {
        if self.requested_model() == out.model {
            return Vec::new();
        }
        vec![("model".to_owned(), Some(json(out.model)))]
    }

    pub(crate) fn cap_edit(&self, out: &Outgoing<'_>) -> Option<PathEdit> {
        let tokens = out.max_output?;
        if self.facts.max_output == Some(tokens) {
            return None;
        }
        let path = self.table().cap.to_owned();
        Some((path, Some(tokens.to_string().into_bytes())))
    }
}
