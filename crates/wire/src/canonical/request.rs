//! A request: the conversation so far and the options of the next turn.

use serde_json::{Number, Value};

use super::block::{Block, CacheLife};
use super::notes::Notes;
use super::translation_state::TranslationState;
use crate::{CapName, Facts, Format};

/// A request, independent of the format.
#[derive(Debug, Clone, PartialEq)]
pub struct Conversation {
    /// The format it came in.
    pub from: Format,
    /// The public name of the model.
    pub model: String,
    /// What stands before everything: system texts, in order.
    pub instructions: Vec<Block>,
    pub turns: Vec<Turn>,
    /// What the model may use.
    pub tools: Vec<Tool>,
    pub tool_choice: Option<ToolChoice>,
    /// Several tools at once.
    pub parallel_tools: Option<bool>,
    /// What shape the response has.
    pub output: OutputShape,
    pub reasoning: Reasoning,
    /// Output tokens at most, for one choice.
    pub max_output: Option<u64>,
    pub sampling: Sampling,
    /// Texts that end the response.
    pub stop: Vec<String>,
    /// Choices at once.
    pub choices: u64,
    pub stream: bool,
    /// The end user, as the caller names it.
    pub user: Option<String>,
    /// Groups calls that share a beginning.
    pub cache_key: Option<String>,
    /// Verbosity: `low`, `medium`, `high`.
    pub verbosity: Option<String>,
    /// The service tier, as the caller names it.
    pub service_tier: Option<String>,
    /// The caller's own notes (`metadata` of OpenAI's formats).
    pub metadata: Option<Value>,
    /// Fields that only the source format has, as they stand there.
    pub extras: Vec<UnknownField>,
}

/// A field that only its own format has.
#[derive(Debug, Clone, PartialEq)]
pub struct UnknownField {
    pub field: String,
    pub value: Value,
    /// It changes the response's meaning, so it cannot be left out without a word; otherwise it is
    /// advice (a label, an identifier), and is dropped quietly into the notes.
    pub matters: bool,
}

/// Fields that ask for what every other format does anyway, with the value that does.
const COMMON_DEFAULTS: &[(&str, &str)] = &[
    ("background", "false"),
    ("generationConfig.responseModalities", r#"["TEXT"]"#),
    ("logprobs", "false"),
    ("modalities", r#"["text"]"#),
    ("store", "false"),
    ("top_logprobs", "0"),
    ("truncation", r#""disabled""#),
];
/// Labels of items in a conversation that tell their own upstream alone which they are.
const LABELS: &[&str] = &["input.id", "input.status"];

/// The role of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Role {
    /// The caller, and the caller's tools.
    User,
    Assistant,
    /// Instructions in the middle of the conversation.
    System,
    /// A role that a vendor has beside these.
    Other(String),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    pub role: Role,
    pub blocks: Vec<Block>,
    pub name: Option<String>,
}

/// What a tool is called.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ToolName {
    /// The group it stands in, which the Responses format has.
    pub namespace: Option<String>,
    pub name: String,
}

/// A tool that the model may use.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    pub name: ToolName,
    pub description: Option<String>,
    pub kind: ToolKind,
    /// The prompt up to here is to be cached.
    pub cache: Option<CacheLife>,
    /// What only the source format says of it.
    pub extras: Vec<(String, Value)>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum ToolKind {
    /// JSON of a schema; an empty object where the caller gave none.
    Function {
        /// JSON Schema of the arguments.
        schema: Value,
        strict: Option<bool>,
    },
    /// Plain words, perhaps of a grammar: its `format` member as the Responses format has it.
    Custom { format: Option<Value> },
    /// A tool that the source format's own vendor runs or defines (web search, computer use …).
    Native(Value),
}

/// Whether tools must be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolChoice {
    Auto,
    None,
    /// One at least.
    Any,
    Named(ToolName),
    /// One of these; the flag says that one must be.
    Among(Vec<ToolName>, bool),
}

/// What shape the response has.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum OutputShape {
    #[default]
    Text,
    /// Some JSON object.
    Json,
    /// JSON of a schema.
    Schema {
        name: Option<String>,
        description: Option<String>,
        /// JSON Schema.
        schema: Value,
        /// The response must fit it.
        strict: Option<bool>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reasoning {
    /// Not at all, said so.
    pub off: bool,
    /// `minimal`, `low`, `medium`, `high`, `xhigh`, `max`.
    pub effort: Option<String>,
    /// Tokens for thoughts at most.
    pub budget: Option<u64>,
    /// The model decides how much (Anthropic's `adaptive`, Gemini's budget of -1).
    pub adaptive: bool,
    /// Thoughts are to be shown.
    pub visible: Option<bool>,
    /// The caller's word for how (`auto`, `concise`, `detailed` of Responses).
    pub summary: Option<String>,
    /// Encrypted reasoning is to be returned (`reasoning.encrypted_content`).
    pub encrypted: bool,
}

/// Sampling options. Numbers are kept as they were written.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Sampling {
    /// `temperature`.
    pub temperature: Option<Number>,
    /// `top_p`.
    pub top_p: Option<Number>,
    /// `top_k`.
    pub top_k: Option<Number>,
    /// `seed`.
    pub seed: Option<Number>,
    /// `presence_penalty`.
    pub presence_penalty: Option<Number>,
    /// `frequency_penalty`.
    pub frequency_penalty: Option<Number>,
}

/// The upstream that a conversation is written for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Target<'a> {
    /// The upstream's name of the model.
    pub model: &'a str,
    /// The response's length, to be written out.
    pub max_output: Option<u64>,
    /// The model thinks by effort levels and not by budgets (Anthropic's newer models).
    pub thinks_by_effort: bool,
    /// The channel, by which signatures are distinguished.
    pub channel: Option<&'a str>,
    /// Chat: which name the upstream takes for the longest answer.
    pub cap_name: CapName,
    /// Chat: rejects `stream_options`.
    pub no_stream_options: bool,
}

/// A conversation written in a format.
#[derive(Debug, Clone, PartialEq)]
pub struct Written {
    pub body: Vec<u8>,
    /// What could not be said.
    pub notes: Notes,
    /// What the response needs to be understood.
    pub state: TranslationState,
}

impl UnknownField {
    /// Whether nothing is lost without it.
    #[must_use]
    pub fn says_nothing(&self) -> bool {
        let value = self.value.to_string();
        let common_defaults = COMMON_DEFAULTS.iter();
        LABELS.contains(&self.field.as_str())
            || common_defaults
                .into_iter()
                .any(|(field, plain)| *field == self.field && *plain == value)
    }
}

impl Conversation {
    /// An empty conversation with what was read for the price.
    pub(crate) fn new(from: Format, facts: &Facts) -> Self {
        Self {
            from,
            model: facts.model.clone(),
            instructions: Vec::new(),
            turns: Vec::new(),
            tools: Vec::new(),
            tool_choice: None,
            parallel_tools: None,
            output: OutputShape::Text,
            reasoning: Reasoning::default(),
            max_output: facts.max_output,
            sampling: Sampling::default(),
            stop: Vec::new(),
            choices: facts.choices,
            stream: facts.stream,
            user: None,
            cache_key: None,
            verbosity: None,
            service_tier: None,
            metadata: None,
            extras: Vec::new(),
        }
    }

    /// Leaves out what records call by a word of chat's: the model does not read it.
    pub fn remove_field(&mut self, word: &str) {
        let sampling = &mut self.sampling;
        match word {
            "temperature" => sampling.temperature = None,
            "top_p" => sampling.top_p = None,
            "top_k" => sampling.top_k = None,
            "seed" => sampling.seed = None,
            "presence_penalty" => sampling.presence_penalty = None,
            "frequency_penalty" => sampling.frequency_penalty = None,
            "reasoning_effort" => self.reasoning = Reasoning::default(),
            "response_format" => self.output = OutputShape::Text,
            "tools" => {
                self.tools.clear();
                self.tool_choice = None;
            }
            "tool_choice" => self.tool_choice = None,
            "parallel_tool_calls" => self.parallel_tools = None,
            "stop" => self.stop.clear(),
            "user" => self.user = None,
            "metadata" => self.metadata = None,
            "verbosity" => self.verbosity = None,
            "service_tier" => self.service_tier = None,
            "prompt_cache_key" => self.cache_key = None,
            other => self.extras.retain(|extra| extra.field != other),
        }
    }
}

impl Turn {
    /// A turn without a name.
    #[must_use]
    pub const fn of(role: Role, blocks: Vec<Block>) -> Self {
        Self {
            role,
            blocks,
            name: None,
        }
    }
}

impl ToolName {
    /// A name without a group.
    #[must_use]
    pub fn plain(name: impl Into<String>) -> Self {
        Self {
            namespace: None,
            name: name.into(),
        }
    }
}

/// Effort levels, and the thoughts that each stands for at most.
const EFFORTS: &[(&str, u64)] = &[
    ("minimal", 1_024),
    ("low", 2_048),
    ("medium", 8_192),
    ("high", 16_384),
    ("xhigh", 32_768),
    ("max", 65_536),
];

/// The reasoning budget of an effort; none for an unknown effort.
#[must_use]
pub fn budget_of_effort(effort: &str) -> Option<u64> {
    let known = EFFORTS.iter().find(|(word, _)| *word == effort);
    known.map(|(_, tokens)| *tokens)
}

/// The effort that a budget comes nearest to from below: `low`, `medium` or `high`, which all know.
#[must_use]
pub const fn effort_of_budget(tokens: u64) -> &'static str {
    match tokens {
        0..=4_095 => "low",
        4_096..=16_383 => "medium",
        16_384..=u64::MAX => "high",
    }
}
