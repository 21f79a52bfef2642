//! Whose turn it is: roles, the order in which functions are called and answered, and the
//! signatures that come back with the calls.

use serde_json::Value;

use crate::refusal::shortened;

use super::errors::GoogleError;
use super::fields::Object;
use super::schema::Service;
use super::signature::{self, Seen};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    User,
    Model,
}

/// A call that waits for its result.
pub(super) struct OpenCall {
    id: Option<String>,
    name: String,
}

pub(super) const UNEQUAL: &str = "Please ensure that the number of function response parts is equal to the \
    number of function call parts of the function call turn.";
const LATE_CALL: &str = "Please ensure that function call turn comes immediately after a user \
    turn or after a function response turn.";
const LOST_RESULT: &str = "Please ensure that function response turn comes immediately after a \
    function call turn.";
const BAD_ROLE: &str = "Please use a valid role: user, model.";

/// The Gemini API reads a content without a role as the user's, Vertex does not.
pub(super) fn read_role(content: &Object, service: Service) -> Result<Role, GoogleError> {
    let role = content.get("role").and_then(Value::as_str);
    let answers = parts(content)
        .iter()
        .any(|part| has(part, "functionResponse"));
    match role {
        Some("user") => Ok(Role::User),
        Some("model") => Ok(Role::Model),
        Some("function") if answers => Ok(Role::User),
        None if service == Service::Gemini => Ok(Role::User),
        Some(_) | None => Err(GoogleError::invalid(BAD_ROLE)),
    }
}

/// The calls that are open behind this content. Results come in one content, right behind their
/// calls, as many as there were. Contents of the model in a row are one turn: the vendor's own SDK
/// sends a stream back chunk by chunk.
pub(super) fn follow_calls(
    role: Role,
    before: Option<Role>,
    content: &Object,
    mut open: Vec<OpenCall>,
) -> Result<Vec<OpenCall>, GoogleError> {
    let results = inside(content, "functionResponse");
    let calls = inside(content, "functionCall");
    if !results.is_empty() && (open.is_empty() || role == Role::Model) {
        return Err(GoogleError::invalid(LOST_RESULT));
    }
    if role == Role::User {
        check_results(&results, &open)?;
        open.clear();
    }
    if calls.is_empty() {
        return Ok(open);
    }
    if role == Role::User || before.is_none() {
        return Err(GoogleError::invalid(LATE_CALL));
    }
    for call in calls {
        let name = text_of(call, "name");
        if name.is_empty() {
            return Err(GoogleError::invalid("Function call name cannot be empty."));
        }
        open.push(OpenCall {
            id: call.get("id").and_then(Value::as_str).map(str::to_owned),
            name: name.to_owned(),
        });
    }
    Ok(open)
}

fn check_results(results: &[&Value], open: &[OpenCall]) -> Result<(), GoogleError> {
    if results.len() != open.len() {
        return Err(GoogleError::invalid(UNEQUAL));
    }
    for result in results {
        let name = text_of(result, "name");
        let id = result.get("id").and_then(Value::as_str);
        let fits = |call: &OpenCall| {
            call.name == name && (id.is_none() || call.id.is_none() || call.id.as_deref() == id)
        };
        if !open.iter().any(fits) {
            return Err(GoogleError::invalid(format!(
                "Function response `{}` does not match any function call of the preceding \
                 function call turn.",
                shortened(name)
            )));
        }
    }
    Ok(())
}

fn inside<'a>(content: &'a Object, kind: &str) -> Vec<&'a Value> {
    let all = parts(content).iter();
    all.filter_map(|part| part.get(kind)).collect()
}

/// Every signature must be ours. A thinking model wants one on the first call of each step of the
/// current turn, which begins with the last text of the user.
pub(super) fn check_signatures(
    list: &[Value],
    service: Service,
    thinks: bool,
) -> Result<(), GoogleError> {
    let is_users = |content: &Value| {
        content.get("role").and_then(Value::as_str) != Some("model")
            && parts_of(content).iter().any(|part| has(part, "text"))
            && !parts_of(content)
                .iter()
                .any(|part| has(part, "functionResponse"))
    };
    let turn = list.iter().rposition(is_users).unwrap_or(0);
    let mut is_first_call = true;
    for (index, content) in list.iter().enumerate() {
        if content.get("role").and_then(Value::as_str) != Some("model") {
            is_first_call = true;
        }
        for part in parts_of(content) {
            let signature = part.get("thoughtSignature").and_then(Value::as_str);
            let call = part.get("functionCall");
            let seen = match (signature, call) {
                (None, None) => continue,
                (None, Some(call)) => {
                    if thinks && is_first_call && index >= turn {
                        return Err(unsigned(text_of(call, "name"), index, service));
                    }
                    is_first_call = false;
                    continue;
                }
                (Some(signature), None) => signature::check_any(signature),
                (Some(signature), Some(call)) => {
                    is_first_call = false;
                    let none = Value::Object(Object::new());
                    let args = call.get("args").unwrap_or(&none);
                    signature::check_call(signature, text_of(call, "name"), args)
                }
            };
            match seen {
                Seen::Good | Seen::Waived => {}
                Seen::Corrupted => {
                    return Err(GoogleError::invalid("Corrupted thought signature."));
                }
            }
        }
    }
    Ok(())
}

fn parts_of(content: &Value) -> &[Value] {
    content.as_object().map_or(&[], parts)
}

fn unsigned(name: &str, index: usize, service: Service) -> GoogleError {
    let name = shortened(name);
    let position = index.saturating_add(1);
    GoogleError::invalid(match service {
        Service::Gemini => format!(
            "Function call is missing a thought_signature in functionCall parts. This is required \
             for tools to work correctly, and missing thought_signature may lead to degraded model \
             performance. Additional data, function call `default_api:{name}` , position \
             {position}. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures \
             for more details."
        ),
        Service::Vertex => format!(
            "Unable to submit request because function call `{name}` in the {position}. content \
             block is missing a `thought_signature`. Learn more: \
             https://docs.cloud.google.com/vertex-ai/generative-ai/docs/thought-signatures"
        ),
    })
}

pub(super) fn has(part: &Value, kind: &str) -> bool {
    part.get(kind).is_some()
}

pub(super) fn parts(content: &Object) -> &[Value] {
    let list = content.get("parts").and_then(Value::as_array);
    list.map_or(&[], Vec::as_slice)
}

pub(super) fn text_of<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or("")
}
