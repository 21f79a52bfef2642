//! What becomes of the fields of a chat request, by the format's tables and the model's record. No
//! model is named here.

use serde_json::Value;
use trunkline_catalog::{
    Attributes, Entry, FieldNote, FieldReport, FieldTreatment, ParameterPolicy, Sale, Scalar,
};
use trunkline_types::EndpointType;
use trunkline_wire::openai_chat::{PREVIOUS_RESPONSE, SERVICE_TIER};
use trunkline_wire::{Format, PassthroughEndpoint, Request};

use crate::endpoint::Endpoint;
use crate::error::{ApiError, ErrorCode};

/// The task of a model that takes conversations.
const CHAT: &str = "chat";
const EFFORT: &str = "reasoning_effort";
const CAP: &str = "max_completion_tokens";
/// The tier of every account.
const DEFAULT_TIER: &str = "default";
const STANDARD_TIER: &str = "standard_only";
/// Prefix of the models that may have Gemini's endpoint.
const GEMINI_NAMES: &str = "gemini-";
/// Lets a vendor's account decide, whose price is not known here.
const AUTO_TIER: &str = "auto";

/// What reading the fields came to.
#[derive(Debug, Default)]
pub(crate) struct CheckedFields {
    /// What there is to say about them.
    pub(crate) report: FieldReport,
    /// Those that the price depends on, as they are sent.
    pub(crate) attributes: Attributes,
    /// Those that do not go on.
    pub(crate) without: Vec<String>,
    /// Those that are written, each with its JSON.
    pub(crate) with: Vec<(String, String)>,
}

/// Reads the fields, or says which one cannot be.
pub(crate) fn read(sale: &Sale, request: &Request) -> Result<CheckedFields, ApiError> {
    let entry = sale.model.entry();
    let mut reading = CheckedFields::default();
    for name in request.fields() {
        if request.field(name) == Some(b"null") {
            reading.nothing(entry, request, name);
        } else {
            reading.policy(entry, request, name)?;
        }
    }
    reading.effort(entry, request)?;
    reading.cap(entry, request)?;
    reading.tier(sale, request)?;
    Ok(reading)
}

/// Whether a length is written for a caller that gave none. An answer that comes whole cannot be
/// stopped, so it must say how long it may become. A stream is paid for as it goes, and ends where the
/// model's own limit is; where the record does not know that one, nothing would keep the call below
/// what was quoted.
pub(crate) fn is_capped(entry: &Entry, request: &Request) -> bool {
    let known = entry.specs.max_output_tokens.is_some();
    let facts = &request.facts;
    facts.max_output.is_none() && !(facts.stream && known)
}

/// What strict mode says of a field that would not do what it seems to.
pub(crate) fn strict_violation(note: &FieldNote) -> ApiError {
    let what = match note.fate {
        FieldTreatment::Ignored => "has no effect",
        FieldTreatment::Rewritten => "would be changed",
        FieldTreatment::Read | FieldTreatment::Defaulted => "may have no effect",
    };
    let reason = note.reason.as_deref().unwrap_or_default();
    let fix = note.fix.as_deref().map(|fix| format!("; {fix}"));
    let text = format!(
        "`{}` {what}: {reason}{}; strict mode refuses that, and nothing was charged",
        note.field,
        fix.unwrap_or_default()
    );
    let code = note.code.as_deref().unwrap_or("invalid_request");
    ApiError::new(ErrorCode::Rule(code.to_owned()), text).at(&note.field)
}

/// Whether a model is sold at an endpoint for conversations or at a pass-through endpoint.
pub(crate) fn check_endpoint(
    entry: &Entry,
    endpoint: Endpoint,
    request: &Request,
) -> Result<(), ApiError> {
    let task = endpoint.passthrough.and_then(PassthroughEndpoint::task);
    let does = |word: &str| entry.tasks.iter().any(|task| task == word);
    let mut tasks = PassthroughEndpoint::ALL
        .into_iter()
        .filter_map(PassthroughEndpoint::task);
    let other = tasks.find(|word| does(word) && !does(CHAT));
    let fits = match task {
        Some(word) => does(word),
        // A model for embeddings has no price for an answer.
        None => other.is_none(),
    };
    let model = request.model();
    let may_have = |endpoint: EndpointType| {
        endpoint != EndpointType::Gemini || model.starts_with(GEMINI_NAMES)
    };
    if entry.serves(endpoint.endpoint) && may_have(endpoint.endpoint) && fits {
        return Ok(());
    }
    if let Some(word) = task {
        let text = format!(
            "{model:?} does not take {}; models for {word} do",
            endpoint.path
        );
        return Err(ApiError::new(ErrorCode::EndpointNotSupported, text).at("model"));
    }
    if let Some(word) = other {
        let text = format!(
            "{model:?} is a model for {word} and does not take {}",
            endpoint.path
        );
        return Err(ApiError::new(ErrorCode::EndpointNotSupported, text).at("model"));
    }
    let others = entry
        .endpoints
        .iter()
        .filter(|endpoint| may_have(**endpoint));
    let others: Vec<&str> = others.map(|other| other.name()).collect();
    let path = endpoint.path;
    let text = match others.as_slice() {
        [] => format!("{model:?} cannot be called"),
        others => format!(
            "{model:?} does not take {path}; it takes {}",
            others.join(", ")
        ),
    };
    Err(ApiError::new(ErrorCode::EndpointNotSupported, text).at("model"))
}

fn invalid(field: &str, text: String) -> ApiError {
    ApiError::new(ErrorCode::Invalid("invalid_request"), text).at(field)
}

impl CheckedFields {
    /// Null means the same as no field: it is not reported, and a vendor that does not know it gets none.
    fn nothing(&mut self, entry: &Entry, request: &Request, name: &str) {
        let refused = match entry.parameters.get(request.chat_name_of(name)) {
            Some(ParameterPolicy::Drop | ParameterPolicy::Refuse) => true,
            Some(ParameterPolicy::Pass) => false,
            None => name == PREVIOUS_RESPONSE && request.format == Format::OpenaiChat,
        };
        if refused {
            self.without.push(name.to_owned());
        }
    }

    /// What the model's record, or the format, says of a field by its name.
    fn policy(&mut self, entry: &Entry, request: &Request, name: &str) -> Result<(), ApiError> {
        match entry.parameters.get(request.chat_name_of(name)) {
            Some(ParameterPolicy::Pass) => return Ok(()),
            Some(ParameterPolicy::Drop) => {
                let why = "this model does not support it, so it is not sent";
                let note = FieldNote::new(name, FieldTreatment::Ignored, "parameter_dropped", why);
                self.ignore(note.with_fix(format!("leave `{name}` out")));
                return Ok(());
            }
            Some(ParameterPolicy::Refuse) => {
                let text = format!("this model does not take `{name}`; leave it out");
                let kind = ErrorCode::Rule("parameter_refused".to_owned());
                return Err(ApiError::new(kind, text).at(name));
            }
            None => {}
        }
        if name == PREVIOUS_RESPONSE && request.format == Format::OpenaiChat {
            let why = "it belongs to the Responses API and has no effect here";
            let code = "previous_response_id_ignored";
            let note = FieldNote::new(name, FieldTreatment::Ignored, code, why);
            self.ignore(note.with_fix("send the whole conversation in `messages`"));
        }
        Ok(())
    }

    fn effort(&mut self, entry: &Entry, request: &Request) -> Result<(), ApiError> {
        let Some(word) = &request.facts.effort else {
            return Ok(());
        };
        let (model, field) = (request.model(), request.path_of(EFFORT));
        if !entry.reasons() {
            let why = format!("{model:?} does not reason, so it is not sent");
            let code = "reasoning_effort_ignored";
            let note = FieldNote::new(field, FieldTreatment::Ignored, code, why);
            self.ignore(note.with_fix("leave it out, or choose a model that reasons"));
            return Ok(());
        }
        if entry.specs.efforts().any(|known| known == word) {
            return Ok(());
        }
        let word: String = word.chars().take(32).collect();
        let known: Vec<&str> = entry.specs.efforts().collect();
        let known = known.join(", ");
        let text = format!("{model:?} knows the efforts {known}, not {word:?}");
        Err(invalid(field, text))
    }

    fn cap(&mut self, entry: &Entry, request: &Request) -> Result<(), ApiError> {
        let most = entry.specs.max_output();
        let facts = &request.facts;
        let field = match request.format {
            Format::OpenaiChat => CAP,
            Format::ClaudeMessages | Format::OpenaiResponses | Format::Gemini => {
                request.table().cap
            }
        };
        match facts.max_output {
            Some(requested) if requested > most => {
                let text = format!("{:?} writes at most {most} tokens", request.model());
                Err(invalid(field, text))
            }
            None if is_capped(entry, request) => {
                let why = if facts.stream {
                    "the longest answer of this model is not known, so a limit is written out"
                } else {
                    "an answer that comes whole cannot be stopped, so its longest length is \
                     written out and reserved"
                };
                let code = "max_tokens_defaulted";
                let note = FieldNote::new(field, FieldTreatment::Defaulted, code, why)
                    .with_value(most.to_string());
                self.report.add(note);
                Ok(())
            }
            Some(_) | None => Ok(()),
        }
    }

    /// What the price depends on is read as it is sent, and sent as it is read.
    fn tier(&mut self, sale: &Sale, request: &Request) -> Result<(), ApiError> {
        let list = sale.model.list();
        for path in list.request_paths() {
            if let Some(value) = request.at(path).and_then(scalar) {
                self.attributes = std::mem::take(&mut self.attributes).with(path, value);
            }
        }
        let requested = request.at(SERVICE_TIER);
        let sells_tiers = list.request_paths().any(|path| path == SERVICE_TIER);
        let word = match &requested {
            None => None,
            Some(Value::String(word)) => Some(word.as_str()),
            Some(_) => {
                return Err(invalid(
                    SERVICE_TIER,
                    "`service_tier` must be a word".into(),
                ));
            }
        };
        match word {
            Some(word) if list.sells(SERVICE_TIER, &Scalar::from(word)) => Ok(()),
            Some(DEFAULT_TIER | STANDARD_TIER) => Ok(()),
            // Its price would be an account's setting at the vendor; so it is said.
            Some(AUTO_TIER) if sells_tiers => {
                let why = "the vendor's account would choose the tier and thereby the price";
                let note = FieldNote::new(
                    SERVICE_TIER,
                    FieldTreatment::Rewritten,
                    "service_tier_fixed",
                    why,
                );
                let word = default_tier(request.format);
                self.report.add(note.with_value(word));
                self.write(SERVICE_TIER, word);
                Ok(())
            }
            Some(AUTO_TIER) => Ok(()),
            None if sells_tiers => {
                let why = "tiers have different prices, so the tier is sent explicitly";
                let note = FieldNote::new(
                    SERVICE_TIER,
                    FieldTreatment::Defaulted,
                    "service_tier_defaulted",
                    why,
                );
                let word = default_tier(request.format);
                self.report.add(note.with_value(word));
                self.write(SERVICE_TIER, word);
                Ok(())
            }
            None => Ok(()),
            Some(_) => {
                let text = "`service_tier` may be auto or default: other tiers have other prices, \
                            which are not sold for this model";
                Err(invalid(SERVICE_TIER, text.to_owned()))
            }
        }
    }

    fn ignore(&mut self, note: FieldNote) {
        self.without.push(note.field.clone());
        self.report.add(note);
    }

    fn write(&mut self, field: &str, word: &str) {
        let json = Value::String(word.to_owned()).to_string();
        self.with.push((field.to_owned(), json));
    }
}

/// The default tier, as a format names it.
const fn default_tier(format: Format) -> &'static str {
    match format {
        Format::OpenaiChat | Format::OpenaiResponses | Format::Gemini => DEFAULT_TIER,
        Format::ClaudeMessages => STANDARD_TIER,
    }
}

/// What a tier can compare with.
fn scalar(value: Value) -> Option<Scalar> {
    match value {
        Value::Bool(value) => Some(Scalar::Bool(value)),
        Value::Number(number) => number.as_i64().map(Scalar::Integer),
        Value::String(text) => Some(Scalar::Text(text)),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}
