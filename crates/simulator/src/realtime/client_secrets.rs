//! Secrets for browsers: `POST /v1/realtime/client_secrets`.

use http::Method;
use serde_json::{Value, json};

use super::session_config::SessionConfig;
use super::vendor::Vendor;
use crate::client_secrets::Secret;
use crate::clock;
use crate::realtime_log::RealtimeWork;
use crate::recorded_request::RecordedRequest;
use crate::refusal::Refusal;
use crate::request::Object;
use crate::script::Script;
use crate::scripted_body::VendorResponse;

const PATH: &str = "/v1/realtime/client_secrets";
const REALTIME_PATH: &str = "/v1/realtime";
const DEFAULT_SECONDS: u64 = 600;
const MIN_SECONDS: u64 = 10;
const MAX_SECONDS: u64 = 7_200;

/// Whether a plain request is answered here.
pub(crate) fn owns(path: &str) -> bool {
    path == PATH || path == REALTIME_PATH
}

/// Mints a secret; the key was checked.
pub(crate) fn serve(recorded: RecordedRequest) -> VendorResponse {
    let path = recorded.parts.uri.path();
    if path == REALTIME_PATH {
        let message = "This endpoint speaks WebSocket: send an upgrade.";
        return recorded.refuse(&Refusal::unnamed(message));
    }
    if recorded.parts.method != Method::POST {
        let method = recorded.parts.method.clone();
        let refusal = Refusal::wrong_method(method.as_str(), path);
        return recorded.refuse(&refusal);
    }
    match mint(&recorded) {
        Ok(answer) => recorded.play(Script::json(200, None, answer.to_string()), None),
        Err(refusal) => recorded.refuse(&refusal),
    }
}

fn mint(recorded: &RecordedRequest) -> Result<Value, Refusal> {
    let body = if recorded.body.is_empty() {
        Object::new()
    } else {
        let no_object = || Refusal::unnamed("The body is not a JSON object.");
        recorded.json_object().ok_or_else(no_object)?
    };
    let seconds = match body
        .get("expires_after")
        .and_then(|after| after.get("seconds"))
    {
        None => Some(DEFAULT_SECONDS),
        Some(value) => value
            .as_u64()
            .filter(|seconds| (MIN_SECONDS..=MAX_SECONDS).contains(seconds)),
    };
    let param = "expires_after.seconds";
    let outside = || {
        let message = format!("Invalid '{param}': it takes {MIN_SECONDS} to {MAX_SECONDS}.");
        Refusal::invalid(param, Some("invalid_value"), message)
    };
    let seconds = seconds.ok_or_else(outside)?;
    let session = match body.get("session") {
        None => Object::new(),
        Some(Value::Object(session)) => session.clone(),
        Some(_) => {
            let message = "Invalid type for 'session': expected an object.".to_owned();
            return Err(Refusal::invalid("session", Some("invalid_type"), message));
        }
    };
    let is_transcription = session.get("type").and_then(Value::as_str) == Some("transcription");
    let work = if is_transcription {
        RealtimeWork::Transcription
    } else {
        RealtimeWork::Conversation
    };
    let model = session.get("model").and_then(Value::as_str).unwrap_or("");
    let now = clock::seconds(clock::now_micros());
    let expires_at = now.saturating_add(seconds);
    let mut config = SessionConfig::new(Vendor::OpenAi, work, model);
    config.update(&session, 0).map_err(|error| {
        Refusal::invalid(
            error.param.unwrap_or("session"),
            Some(error.code),
            error.message,
        )
    })?;
    let value = recorded.id("ek_");
    let view = config.view(&recorded.id("sess_"), 0);
    let secret = Secret {
        expires_at,
        session,
    };
    recorded.state.client_secrets.add(&value, secret);
    Ok(json!({"value": value, "expires_at": expires_at, "session": view}))
}
