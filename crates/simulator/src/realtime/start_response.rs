//! The beginning of a response: what it is asked for, by whom, and what it will be.

use std::collections::VecDeque;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::conversation::{Conversation, PromptPart, PromptTokens, TooLong};
use super::engine::Engine;
use super::event_error::EventError;
use super::generation::{Call, Generation, Output, Sound};
use super::item::{Item, Tokens, message_tokens};
use super::session_config::Truncation;
use super::session_update::{check_max_output, check_modalities};
use crate::directives::Directives;
use crate::fault::{Fault, RealtimeFault};
use crate::realtime_log::{RealtimeResponse, RealtimeTrigger, RealtimeUsage, RealtimeWork};
use crate::request::Object;
use crate::tool_calls;
use crate::wording;

/// What a response is asked for, its own fields before those of the session.
struct Params<'a> {
    own: &'a Object,
    session: &'a Object,
}

/// The parts of the context that are for input.
const INPUT_EIGHTHS: u64 = 7;

// === impl Params ===

impl<'a> Params<'a> {
    fn get(&self, names: &[&str]) -> &'a Value {
        let own = names.iter().find_map(|name| self.own.get(*name));
        let session = || names.iter().find_map(|name| self.session.get(*name));
        own.or_else(session).unwrap_or(&Value::Null)
    }

    fn tools(&self) -> impl Iterator<Item = &'a Value> {
        let tools = self.get(&["tools"]).as_array();
        tools.into_iter().flatten()
    }
}

fn tool_name(tool: &Value) -> Option<&str> {
    // Some vendors nest it as chat completions do.
    let function = tool.get("function").unwrap_or(tool);
    function.get("name")?.as_str()
}

fn tool_schema(tool: &Value) -> Option<&Value> {
    let function = tool.get("function").unwrap_or(tool);
    function.get("parameters")
}

// === impl Engine ===

impl Engine {
    /// Begins a response.
    pub(super) fn start_response(
        &mut self,
        own: &Object,
        trigger: RealtimeTrigger,
    ) -> Result<(), EventError> {
        if self.work == RealtimeWork::Transcription {
            let message = "A transcription session makes no responses.";
            return Err(EventError::new("invalid_event", message).about("type"));
        }
        let is_in_conversation = own.get("conversation").and_then(Value::as_str) != Some("none");
        let is_busy = self
            .generations
            .iter()
            .any(|running| running.is_in_conversation);
        if is_in_conversation && is_busy {
            let message = "Conversation already has an active response in progress. Wait until the \
                           response is finished before creating a new one.";
            let code = "conversation_already_has_active_response";
            return Err(EventError::new(code, message));
        }
        let session = self.config.fields.clone();
        let params = Params {
            own,
            session: &session,
        };
        let modalities = params.get(&["output_modalities", "modalities"]).clone();
        check_modalities(&modalities)?;
        let max_output = params
            .get(&["max_output_tokens", "max_response_output_tokens"])
            .clone();
        check_max_output(&max_output, "response.max_output_tokens")?;
        let own_input = self.own_input(own)?;
        let recent = match &own_input {
            Some(input) => input.recent_text(),
            None => self.conversation.recent_text(),
        };
        let directives = self.directives(&params, &recent)?;
        let fault = self.response_fault(&directives);
        let prompt = self.prompt(&params, own_input);
        let usage = input_usage(prompt.as_ref().ok(), &directives, max_output.as_u64());
        let prompt_words = Directives::read(&recent).map_or(0, |read| read.words);
        let words = directives
            .tokens
            .unwrap_or_else(|| wording::length(&self.model, prompt_words));
        let outputs = self.outputs(&params, &directives);
        let echo = json!({
            "output_modalities": modalities,
            "max_output_tokens": max_output,
            "metadata": own.get("metadata").unwrap_or(&Value::Null),
        });
        let mut generation = self.generation(outputs, echo);
        generation.is_in_conversation = is_in_conversation;
        generation.words = words;
        generation.usage = usage;
        generation.fault = fault;
        generation.pace = Duration::from_millis(match fault {
            Some(Fault::SlowDrip { millis }) => millis.into(),
            Some(_) | None => directives.pace_millis.max(self.settings.pace_millis),
        });
        generation.plan();
        if prompt.is_err() {
            generation.stop("failed", Some("input_tokens_exceed_limit"));
        }
        self.record_response(&generation, directives.marker, trigger);
        self.idle_at = None;
        self.generations.push(generation);
        Ok(())
    }

    /// A response that was not begun.
    fn generation(&mut self, outputs: Vec<Output>, echo: Value) -> Generation {
        let modalities = echo.get("output_modalities").and_then(Value::as_array);
        let is_audio = modalities.is_some_and(|all| all.contains(&json!("audio")));
        Generation {
            id: self.next_id("resp_"),
            is_in_conversation: true,
            model: self.model.clone(),
            sound: is_audio.then(|| Sound {
                format: self.config.output_format(),
                speed: self.config.speed(),
            }),
            outputs,
            steps: VecDeque::new(),
            words: 0,
            sent_words: 0,
            max_tokens: echo.get("max_output_tokens").and_then(Value::as_u64),
            usage: RealtimeUsage::default(),
            audio_millis: 0,
            status: "completed",
            reason: None,
            fault: None,
            sent: 0,
            pace: Duration::ZERO,
            due: Instant::now(),
            is_hung: false,
            echo,
            has_beta_names: self.vendor.has_beta_names(),
            waiting_audio: None,
        }
    }

    fn record_response(
        &self,
        generation: &Generation,
        marker: Option<String>,
        trigger: RealtimeTrigger,
    ) {
        let record = RealtimeResponse {
            id: generation.id.clone(),
            marker,
            fault: generation.fault,
            trigger,
            usage: generation.usage,
            reported: Vec::new(),
            audio_millis: 0,
            status: None,
            reason: None,
            done_events: 0,
        };
        self.entry
            .note(|connection| connection.responses.push(record));
    }

    /// The items of a response that brings its own.
    fn own_input(&mut self, own: &Object) -> Result<Option<Conversation>, EventError> {
        let Some(Value::Array(items)) = own.get("input") else {
            return Ok(None);
        };
        let mut conversation = Conversation::default();
        for value in items {
            let is_reference = value.get("type").and_then(Value::as_str) == Some("item_reference");
            let id = value.get("id").and_then(Value::as_str).unwrap_or_default();
            let item = if is_reference {
                let missing = || EventError::invalid_value("response.input", "items that exist");
                self.conversation.find(id).cloned().ok_or_else(missing)?
            } else {
                let id = self.next_id("item_");
                Item::read(value, id, self.config.input_format())?
            };
            conversation.push(item);
        }
        Ok(Some(conversation))
    }

    /// Directives stand in the instructions, for every response, and in what the client wrote last.
    fn directives(&self, params: &Params<'_>, recent: &str) -> Result<Directives, EventError> {
        let instructions = params.get(&["instructions"]).as_str().unwrap_or_default();
        let text = format!("{instructions}\n{recent}");
        Directives::read(&text).map_err(|error| {
            let message = format!(
                "the text asks the simulator for what it cannot do: {}",
                error.0
            );
            EventError::new("simulator_directive", message)
        })
    }

    /// A directive goes before the rules. One that would answer the upgrade makes the response fail.
    fn response_fault(&self, directives: &Directives) -> Option<Fault> {
        let own = directives.fault.filter(
            |fault| !matches!(fault, Fault::Realtime(fault) if fault.is_of_transcription()),
        );
        match own {
            Some(Fault::Status(_) | Fault::RateLimited { .. } | Fault::ErrorInside200) => {
                Some(Fault::Realtime(RealtimeFault::ResponseFails))
            }
            Some(fault) => Some(fault),
            None => self.state.plans().strike_realtime(&self.model, &self.key),
        }
    }

    fn prompt(
        &mut self,
        params: &Params<'_>,
        own_input: Option<Conversation>,
    ) -> Result<PromptTokens, TooLong> {
        let instructions = params.get(&["instructions"]).as_str().unwrap_or_default();
        let tools: String = params.tools().map(Value::to_string).collect();
        let bytes = instructions.len().saturating_add(tools.len());
        let opening = PromptPart {
            name: format!("{instructions}{tools}"),
            tokens: Tokens {
                text: message_tokens(bytes),
                ..Tokens::default()
            },
        };
        let max_tokens = self.settings.context_tokens.saturating_mul(INPUT_EIGHTHS) / 8;
        match own_input {
            Some(mut input) => input.prompt(opening, max_tokens, Truncation::Disabled),
            None => {
                let truncation = self.config.truncation();
                self.conversation.prompt(opening, max_tokens, truncation)
            }
        }
    }

    /// The calls that are asked for, or a message.
    fn outputs(&mut self, params: &Params<'_>, directives: &Directives) -> Vec<Output> {
        let tools: Vec<&Value> = params.tools().collect();
        let find = |name: &str| {
            let mut known = tools.iter().copied();
            known.find(|tool| tool_name(tool) == Some(name))
        };
        let choice = params.get(&["tool_choice"]);
        let named = choice.get("name").and_then(Value::as_str).and_then(find);
        let is_required = choice.as_str() == Some("required");
        let forced = named.or_else(|| tools.first().copied().filter(|_| is_required));
        let calls = if choice.as_str() == Some("none") {
            Vec::new()
        } else {
            let requested = tool_calls::requested(&directives.calls, find);
            tool_calls::or_made_up(requested, forced)
        };
        let mut outputs = Vec::new();
        for called in &calls {
            let arguments = called.arguments(tool_schema(called.tool));
            let name = tool_name(called.tool).unwrap_or_default().to_owned();
            let id = self.next_id("call_");
            let call = Call::new(id, name, &arguments);
            outputs.push(self.output(Some(call)));
        }
        if outputs.is_empty() {
            outputs.push(self.output(None));
        }
        outputs
    }

    fn output(&mut self, call: Option<Call>) -> Output {
        Output {
            item: self.next_id("item_"),
            call,
            text: String::new(),
            tokens: Tokens::default(),
            audio_millis: 0,
            is_done: false,
        }
    }
}

/// What a response costs before its first word. Reasoning is text of the output.
fn input_usage(
    prompt: Option<&PromptTokens>,
    directives: &Directives,
    max_output: Option<u64>,
) -> RealtimeUsage {
    let prompt = prompt.copied().unwrap_or_default();
    let cached_text = match directives.cached_tokens {
        0 => prompt.cached.text,
        count => count.min(prompt.all.text),
    };
    let reasoning = directives.reasoning_tokens;
    RealtimeUsage {
        input_text: prompt.all.text,
        input_audio: prompt.all.audio,
        input_image: prompt.all.image,
        cached_text,
        cached_audio: prompt.cached.audio,
        cached_image: prompt.cached.image,
        output_text: max_output.map_or(reasoning, |limit| reasoning.min(limit)),
        output_audio: 0,
    }
}
