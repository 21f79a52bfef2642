//! A request for a message, checked as the vendor checks it. What comes out of
//! [`MessagesRequest::read`] is acceptable; nothing behind it refuses again.

mod blocks;
mod fields;
mod messages;
mod options;
mod prompt;
mod tools;

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::directives::Directives;
use crate::models;
use crate::request::Object;

use super::Platform;
use super::refusal::Refusal;
use crate::prompt_cache::{Boundary, Ttl};

pub(super) use options::Thinking;
pub(super) use tools::{Choice, Tool};

use messages::Messages;
use prompt::Prompt;

/// What a body is sent for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Answer,
    Count,
}

/// What stands around a body and decides what it may hold.
#[derive(Clone, Debug)]
pub(crate) struct Context {
    pub(crate) purpose: Purpose,
    /// The version of the API, a date.
    pub(crate) version: String,
    pub(crate) betas: Vec<String>,
    pub(crate) platform: Platform,
}

#[derive(Debug)]
pub(crate) struct MessagesRequest {
    pub(crate) model: String,
    pub(crate) stream: bool,
    pub(crate) max_tokens: u64,
    pub(crate) prompt_tokens: u64,
    /// Where the prompt can be cut, if it is marked for the cache at all.
    pub(crate) boundaries: Vec<Boundary>,
    pub(crate) directives: Directives,
    pub(crate) tools: Vec<Tool>,
    pub(crate) choice: Choice,
    pub(crate) may_call_several: bool,
    pub(crate) ends_with_result: bool,
    /// Whether the last thing the user did was to bring results, without a word behind them.
    pub(crate) answers_result: bool,
    /// Results since the last text of the user.
    pub(crate) results: u64,
    pub(crate) thinking: Thinking,
    /// The schema that the text has to follow.
    pub(crate) schema: Option<Value>,
    pub(crate) stop_sequences: Vec<String>,
}

/// The output limit of these models.
pub(super) const MAX_OUTPUT_TOKENS: u64 = 128_000;
/// The first version in which a message may have the role `system`.
const SYSTEM_ROLE_SINCE: &str = "2026-10-21";
/// Claude Code sends such messages under the old version too; which of its flags allows them, if it
/// is not the model, is [unverified].
const CLAUDE_CODE: &str = "claude-code-20250219";

// === impl Context ===

impl Context {
    /// What a body of Bedrock says about itself.
    pub(crate) fn in_body(body: &Object) -> Result<Self, Refusal> {
        let version = fields::text(body, "", "anthropic_version")?;
        let date = version.strip_prefix("bedrock-").unwrap_or(version);
        if !super::is_date(date) {
            let says = "Input should be 'bedrock-2023-05-31'";
            return Err(Refusal::at("anthropic_version", says));
        }
        let mut betas = Vec::new();
        if let Some(value) = fields::optional(body, "anthropic_beta") {
            for (index, value) in fields::as_list(value, "anthropic_beta")?.iter().enumerate() {
                let path = format!("anthropic_beta.{index}");
                betas.push(fields::as_text(value, &path)?.to_owned());
            }
        }
        Ok(Self {
            purpose: Purpose::Answer,
            version: date.to_owned(),
            betas,
            platform: Platform::Bedrock,
        })
    }
}

// === impl MessagesRequest ===

impl MessagesRequest {
    /// Reads a body; `model` is given if it does not stand there. Fields come before meaning.
    pub(crate) fn read(
        body: &Object,
        context: &Context,
        model: Option<&str>,
        is_stream: Option<bool>,
    ) -> Result<Self, Refusal> {
        fields::check_names(body, context)?;
        let model = match model {
            Some(model) => model,
            None => {
                let model = fields::text(body, "", "model")?;
                if !models::is_known(model) {
                    return Err(Refusal::no_such_model(model));
                }
                model
            }
        };
        let max_tokens = options::max_tokens(body, context.purpose, model)?;
        let thinking = options::thinking(body, max_tokens, &context.betas)?;
        options::sampling(body, thinking)?;
        let stream = match is_stream {
            Some(is_stream) => is_stream,
            None => fields::boolean(body, "", "stream")?.unwrap_or(false),
        };
        let stop_sequences = options::stop_sequences(body)?;
        let schema = options::schema(body)?;
        let mut prompt = Prompt::default();
        let tools = tools::read(body, &mut prompt)?;
        let (choice, may_call_several) = tools::choice(body, &tools, thinking)?;
        messages::system(body, &mut prompt)?;
        let may_hold_system = context.version.as_str() >= SYSTEM_ROLE_SINCE
            || context.betas.iter().any(|beta| beta == CLAUDE_CODE);
        let messages = Messages::read(body, may_hold_system, &mut prompt)?;
        messages.check_pairs()?;
        if thinking.needs_thoughts() {
            messages.check_thoughts()?;
        }
        if let Some(mark) = blocks::mark(body) {
            prompt.mark_last(mark);
        }
        let boundaries = prompt.boundaries()?;
        let directives = Directives::read(&messages.last_user_text)
            .map_err(|error| Refusal::directive(&error.0))?;
        Ok(Self {
            model: model.to_owned(),
            stream,
            max_tokens,
            prompt_tokens: prompt.tokens(),
            boundaries,
            directives,
            tools,
            choice,
            may_call_several,
            ends_with_result: messages.ends_with_result,
            answers_result: messages.answers_result,
            results: messages.results,
            thinking,
            schema,
            stop_sequences,
        })
    }

    /// The boundaries as the cache knows them: an entry of another key or model is never read.
    pub(crate) fn cache_keys(&self, key: &str) -> Vec<Boundary> {
        let mut boundaries = self.boundaries.clone();
        for boundary in &mut boundaries {
            let mut hash = Sha256::new();
            hash.update(key);
            hash.update(b"\0");
            hash.update(&self.model);
            hash.update(b"\0");
            hash.update(boundary.prefix);
            boundary.prefix = hash.finalize().into();
        }
        boundaries
    }
}
