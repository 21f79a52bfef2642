//! Reading and writing of requests, dispatched to their format.

use bytes::Bytes;

use crate::canonical::Conversation;
use crate::cost::check;
use crate::request_facts::text_tokens;
use crate::token_estimate::least_prompt_tokens;
use crate::{
    FieldList, Fields, Format, JsonError, Outgoing, PassthroughEndpoint, PathParams, Request,
    RequestError, claude_messages, gemini, openai_chat, openai_responses, patch_at, scan,
    scan_listed,
};

/// Choices that may be asked for at once.
const MAX_CHOICES: u64 = 16;
/// Bytes of text of one token, at most: longer tokens are rare in any language.
const MAX_BYTES_PER_TOKEN: u64 = 128;

impl Request {
    pub fn read(format: Format, body: Bytes, path: PathParams<'_>) -> Result<Self, RequestError> {
        let body = in_camel_case(format, body)?;
        Self::read_as(format, None, body, path)
    }

    /// Reads a body of a pass-through endpoint.
    pub fn read_passthrough(kind: PassthroughEndpoint, body: Bytes) -> Result<Self, RequestError> {
        Self::read_as(Format::OpenaiChat, Some(kind), body, PathParams::default())
    }

    fn read_as(
        format: Format,
        passthrough: Option<PassthroughEndpoint>,
        body: Bytes,
        path: PathParams<'_>,
    ) -> Result<Self, RequestError> {
        let list = passthrough.map_or_else(|| FieldList::of(format), FieldList::of_passthrough);
        let (object, unlisted) = scan_listed(&body, list).map_err(not_json)?;
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
            .div_euclid(MAX_BYTES_PER_TOKEN)
            .max(1);
        let input_floor = least_prompt_tokens(facts.media.text_bytes).max(input_least);
        let (text_most, text_fair) = text_tokens(&object, fields.costs, &facts.media);
        let has_tools = ["tools", "functions"].into_iter().any(|name| {
            let tools = object.value(name).filter(|value| *value != b"null");
            tools.is_some_and(|tools| tools != b"[]")
        });
        let layout = object.layout();
        drop(object);
        Ok(Self {
            format,
            passthrough,
            facts,
            text_most,
            text_fair,
            has_tools,
            input_least,
            unlisted,
            input_floor,
            table: fields,
            alias: None,
            body,
            layout,
        })
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
            // The address names the model, and says whether it comes streamed.
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

pub(crate) fn not_json(error: JsonError) -> RequestError {
    let message = error.to_string();
    let param = match error {
        JsonError::DuplicateKey(key) => Some(key),
        JsonError::NotUtf8
        | JsonError::Syntax(_)
        | JsonError::NotAnObject
        | JsonError::TooDeep
        | JsonError::TooManyUnlisted => None,
    };
    RequestError {
        code: "invalid_request",
        param,
        message,
    }
}
