//! A request for content from its body to its answer, on one page.

use serde::Serialize;
use serde_json::Value;

use crate::fault::Fault;
use crate::fault_stage::{self, RuleScope};
use crate::models;
use crate::recorded_request::RecordedRequest;
use crate::refusal::shortened;
use crate::script::Script;
use crate::scripted_body::VendorResult;

use super::answer::Answer;
use super::errors::GoogleError;
use super::fields::Object;
use super::headers::send;
use super::request::{GenerateRequest, Prompt};
use super::schema::Service;
use super::script::{self, Form, Renderer, refusal};
use super::wire_types::{self, Detail};

/// What is asked of which model, and in which form.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    pub(crate) service: Service,
    pub(crate) version: String,
    pub(crate) model: String,
    /// How Vertex names the model, for its refusal.
    pub(crate) full_name: Option<String>,
    pub(crate) verb: Verb,
    form: Form,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Generate,
    Stream,
    Count,
    /// A method that there is not.
    Other(String),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Counted {
    total_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    total_billable_characters: Option<u64>,
    prompt_tokens_details: Vec<Detail>,
}

// === impl Ask ===

impl Ask {
    pub(crate) fn new(
        service: Service,
        version: &str,
        model: &str,
        verb: &str,
        query: &str,
    ) -> Self {
        let verb = match verb {
            "generateContent" => Verb::Generate,
            "streamGenerateContent" => Verb::Stream,
            "countTokens" => Verb::Count,
            other => Verb::Other(other.to_owned()),
        };
        let wants_events = query
            .split('&')
            .any(|pair| ["alt=sse", "$alt=sse", "%24alt=sse"].contains(&pair));
        let form = match verb {
            Verb::Stream if wants_events => Form::Events,
            Verb::Stream => Form::Array,
            Verb::Generate | Verb::Count | Verb::Other(_) => Form::Whole,
        };
        Self {
            service,
            version: version.to_owned(),
            model: model.to_owned(),
            full_name: None,
            verb,
            form,
        }
    }

    /// Whether an error comes in a list of one: where a list was asked for, and on Vertex for
    /// every stream.
    pub(crate) fn wraps_errors(&self) -> bool {
        match self.form {
            Form::Whole => false,
            Form::Events => self.service == Service::Vertex,
            Form::Array => true,
        }
    }
}

/// Answers a request of an allowed client. An error closes the connection without an answer.
pub(crate) async fn serve(recorded: RecordedRequest, ask: Ask) -> VendorResult {
    let streams = ask.verb == Verb::Stream;
    let model = shortened(&ask.model).to_owned();
    // What was asked is noted even if it is refused.
    recorded.note(|record| {
        record.model = model;
        record.stream = streams;
    });
    let is_wrapped = ask.wraps_errors();
    let refuse = |recorded: RecordedRequest, error: &GoogleError| {
        Ok(send(recorded, refusal(error, is_wrapped)))
    };
    let body = match parse(&recorded, &ask) {
        Ok(body) => body,
        Err(error) => return refuse(recorded, &error),
    };
    if ask.verb == Verb::Count {
        return match count_tokens(&body, &ask) {
            Ok(counted) => Ok(send(recorded, Script::json(200, None, counted))),
            Err(error) => refuse(recorded, &error),
        };
    }
    // Prompts are remembered for a key, or for a project, whose tokens come and go.
    let owner = ask.full_name.as_deref().unwrap_or(&recorded.key);
    match GenerateRequest::read(&body, &ask.model, owner, ask.service) {
        Ok(request) => generate(recorded, &ask, &request).await,
        Err(error) => refuse(recorded, &error),
    }
}

async fn generate(
    mut recorded: RecordedRequest,
    ask: &Ask,
    request: &GenerateRequest,
) -> VendorResult {
    let directives = &request.directives;
    let fault = fault_stage::select(&recorded, directives, &ask.model, RuleScope::Model);
    if let Some(error) = fault_stage::early(&mut recorded, fault).await? {
        let error = GoogleError::upstream(error, &ask.model);
        return Ok(send(recorded, refusal(&error, ask.wraps_errors())));
    }
    let seen = recorded.state.gemini.recall(&request.prompt.prefix);
    let id = recorded.id("");
    let answer = Answer::decide(request, fault, &ask.model, id, seen, ask.service);
    let prompt_tokens = request.prompt.tokens();
    recorded.note(|record| {
        // What tools read is told apart from the prompt and paid for like it.
        record.prompt_tokens = prompt_tokens.saturating_add(answer.usage.tool_prompt);
        record.cache_read_tokens = answer.usage.cached;
    });
    fault_stage::delay_first_byte(fault).await;
    if ask.form == Form::Whole {
        // A whole answer takes as long as its pieces; if the client leaves meanwhile, this future
        // is dropped and the watch sees it.
        let wait = fault_stage::whole_wait(directives.pace_millis, answer.length());
        fault_stage::pause(wait).await;
    }
    let factor = match fault {
        Some(Fault::LyingUsage { factor }) => factor.into(),
        Some(_) | None => 1,
    };
    let renderer = Renderer {
        answer: &answer,
        service: ask.service,
        form: ask.form,
        fault,
        factor,
    };
    let script = script::answer(&renderer, directives.pace_millis);
    Ok(send(recorded, script))
}

/// The body of a request for a model and a method that there are.
fn parse(recorded: &RecordedRequest, ask: &Ask) -> Result<Object, GoogleError> {
    let method = match &ask.verb {
        Verb::Generate => "generateContent",
        Verb::Stream => "streamGenerateContent",
        Verb::Count => "countTokens",
        Verb::Other(verb) => verb,
    };
    if !models::is_known(&ask.model) || matches!(ask.verb, Verb::Other(_)) {
        return Err(match &ask.full_name {
            Some(name) => GoogleError::no_such_publisher_model(name),
            None => GoogleError::no_such_model(&ask.model, &ask.version, method),
        });
    }
    match serde_json::from_slice(&recorded.body) {
        Ok(Value::Object(body)) => Ok(body),
        Ok(_) | Err(_) => Err(GoogleError::not_json()),
    }
}

fn count_tokens(body: &Object, ask: &Ask) -> Result<String, GoogleError> {
    let prompt = Prompt::read_count(body, &ask.model, ask.service)?;
    let counted = Counted {
        total_tokens: prompt.tokens(),
        total_billable_characters: (ask.service == Service::Vertex).then_some(prompt.text_bytes),
        prompt_tokens_details: wire_types::details(&prompt.details),
    };
    // A struct of texts and numbers always has a JSON form.
    let mut text = serde_json::to_string_pretty(&counted).unwrap_or_default();
    text.push('\n');
    Ok(text)
}
