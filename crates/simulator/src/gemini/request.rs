//! A request for content, checked as the vendor checks it. What comes out is acceptable; nothing
//! behind it refuses again.

use serde_json::Value;

use crate::directives::Directives;
use crate::models;

use super::config::{Config, Format};
use super::contents::{Contents, add_tokens};
use super::errors::GoogleError;
use super::fields::{self, Object};
use super::schema::{self, Service};
use super::tools::{self, Calling, Function};
use crate::prompt_memory::Prefix;

#[derive(Debug)]
pub(super) struct GenerateRequest {
    pub(super) config: Config,
    pub(super) functions: Vec<Function>,
    pub(super) calling: Calling,
    pub(super) directives: Directives,
    pub(super) results: u64,
    pub(super) ends_with_result: bool,
    pub(super) thinks: bool,
    pub(super) prompt: Prompt,
}

/// The size of a prompt and what it begins with.
#[derive(Debug)]
pub(super) struct Prompt {
    /// By kind; their sum is the prompt.
    pub(super) details: Vec<(&'static str, u64)>,
    /// Characters of its text, which Vertex reports.
    pub(super) text_bytes: u64,
    pub(super) prefix: Prefix,
}

// === impl GenerateRequest ===

impl GenerateRequest {
    /// Reads a body: names and types first, then meaning.
    pub(super) fn read(
        body: &Object,
        model: &str,
        owner: &str,
        service: Service,
    ) -> Result<Self, GoogleError> {
        let body = fields::read(schema::GENERATE, body, service)?;
        let thinks = models::reasons(model);
        let config = Config::read(&body, thinks)?;
        let functions = tools::read_tools(&body)?;
        let calling = tools::read_calling(&body, &functions)?;
        // Only the newer models, which think, do both.
        if !functions.is_empty() && config.format != Format::Text && !thinks {
            return Err(GoogleError::invalid(
                "Function calling with a response mime type: 'application/json' is unsupported",
            ));
        }
        let contents = read_contents(&body, model, owner, service)?;
        let directives = Directives::read(&contents.last_user_text)
            .map_err(|error| GoogleError::directive(&error.0))?;
        if body.contains_key("cachedContent") {
            return Err(GoogleError::no_such_cache());
        }
        let mut prompt = Prompt::of(&contents);
        for (modality, tokens) in &directives.gemini.prompt_details {
            add_tokens(&mut prompt.details, modality, *tokens);
        }
        Ok(Self {
            config,
            functions,
            calling,
            directives,
            results: contents.results,
            ends_with_result: contents.ends_with_result,
            thinks,
            prompt,
        })
    }
}

// === impl Prompt ===

impl Prompt {
    /// Reads what is to be counted: contents alone, or a whole request inside.
    pub(super) fn read_count(
        body: &Object,
        model: &str,
        service: Service,
    ) -> Result<Self, GoogleError> {
        let body = fields::read(schema::COUNT, body, service)?;
        let inner = body
            .get("generateContentRequest")
            .and_then(Value::as_object);
        if inner.is_some() && body.contains_key("contents") {
            return Err(GoogleError::invalid(
                "* CountTokensRequest.generate_content_request: only one of contents and \
                 generate_content_request may be set.\n",
            ));
        }
        let contents = read_contents(inner.unwrap_or(&body), model, "", service)?;
        Ok(Self::of(&contents))
    }

    pub(super) fn tokens(&self) -> u64 {
        let each = self.details.iter().map(|(_, tokens)| *tokens);
        each.fold(0, u64::saturating_add)
    }

    fn of(contents: &Contents) -> Self {
        let mut details = vec![("TEXT", contents.size.tokens())];
        details.extend(contents.media.iter().copied());
        Self {
            details,
            text_bytes: contents.size.text_bytes,
            prefix: contents.prefix.clone(),
        }
    }
}

fn read_contents(
    body: &Object,
    model: &str,
    owner: &str,
    service: Service,
) -> Result<Contents, GoogleError> {
    let none = Vec::new();
    let list = body.get("contents").and_then(Value::as_array);
    let tools = body.get("tools").map(Value::to_string).unwrap_or_default();
    Contents::read(
        list.unwrap_or(&none),
        body.get("systemInstruction").and_then(Value::as_object),
        Prefix::new(&[model, owner, &tools]),
        service,
        models::reasons(model),
    )
}
