//! `POST /v1/realtime/client_secrets`: secrets of ours for browsers. One is a sealed text that names a key, an end and
//! a session; any node can open it, and there is no table of them. A vendor's own secret never reaches a customer.

use bytes::Bytes;
use http::{Request, StatusCode};
use hyper::body::Incoming;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use trunkline_keyring::{Binding, Purpose, SealError};

use super::REALTIME;
use crate::caller::{Caller, key_text};
use crate::error::{ApiError, ErrorCode};
use crate::model_alias;
use crate::response::{self, Response};
use crate::services::Services;

const PREFIX: &str = "ek_";
const CONTEXT: &[u8] = b"realtime client secret";
/// Seconds that a secret is valid: the vendor's default and range.
const DEFAULT_SECONDS: i64 = 600;
const LEAST_SECONDS: i64 = 10;
const MOST_SECONDS: i64 = 7_200;

/// What a client secret says.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ClientSecret {
    /// The hash of the key that it was made with.
    #[serde(rename = "k")]
    pub(super) key: [u8; 32],
    /// The last second at which it opens a connection.
    #[serde(rename = "e")]
    ends: i64,
    #[serde(rename = "s", default)]
    pub(super) session: Value,
}

#[derive(Deserialize)]
struct Params {
    expires_after: Option<Expiry>,
    #[serde(default)]
    session: Value,
}

#[derive(Deserialize)]
struct Expiry {
    seconds: Option<i64>,
}

/// Makes a secret.
pub(crate) fn create(
    services: &Services,
    caller: &Caller,
    body: &Bytes,
) -> Result<Response, ApiError> {
    caller.check_endpoint(REALTIME)?;
    let invalid = |text: &str| ApiError::new(ErrorCode::Invalid("invalid_request"), text);
    let params: Params = serde_json::from_slice(body)
        .map_err(|_| invalid("the body must be an object with `expires_after` and `session`"))?;
    let seconds = params.expires_after.and_then(|expiry| expiry.seconds);
    let seconds = seconds.unwrap_or(DEFAULT_SECONDS);
    if !(LEAST_SECONDS..=MOST_SECONDS).contains(&seconds) {
        let text = format!("`seconds` must be from {LEAST_SECONDS} to {MOST_SECONDS}");
        return Err(invalid(&text).at("expires_after.seconds"));
    }
    if let Some(model) = params.session.get("model").and_then(Value::as_str) {
        let meant = model_alias::resolve(services, caller, model);
        let book = &services.catalog.load_full().book;
        caller.sale(book, meant.as_deref().unwrap_or(model))?;
    }
    let ends = services.now().plus_seconds(seconds).seconds();
    let secret = ClientSecret {
        key: *caller.key.hash.bytes(),
        ends,
        session: params.session,
    };
    let plain = serde_json::to_vec(&secret).map_err(|_| ApiError::unavailable())?;
    let binding = Binding::of_operator(CONTEXT);
    let keyring = &services.keyring;
    let sealed = keyring.seal_text(Purpose::SealedIds, &binding, PREFIX, &plain);
    let value = sealed.map_err(|error| match error {
        SealError::TooLong { .. } => {
            let text = "this session is too long for a client secret; send it in `session.update`";
            invalid(text).at("session")
        }
        other @ (SealError::Cipher | SealError::Random(_) | SealError::Prefix) => {
            tracing::error!(error = %other, "client secret: sealing failed");
            ApiError::unavailable()
        }
    })?;
    let body = json!({ "value": value, "expires_at": ends, "session": secret.session });
    Ok(response::json(StatusCode::OK, &body))
}

/// The secret that a request brings in place of a key; none if it brings a key, or nothing.
pub(super) fn of_request(
    services: &Services,
    request: &Request<Incoming>,
) -> Result<Option<ClientSecret>, ApiError> {
    let text = key_text(request.headers(), request.uri().query());
    let Some(text) = text.filter(|text| text.starts_with(PREFIX)) else {
        return Ok(None);
    };
    let binding = Binding::of_operator(CONTEXT);
    let keyring = &services.keyring;
    let opened = keyring.open_text(Purpose::SealedIds, &binding, PREFIX, text);
    let opened = opened.ok();
    let secret: Option<ClientSecret> =
        opened.and_then(|plain| serde_json::from_slice(plain.reveal()).ok());
    let Some(secret) = secret else {
        let text =
            "this client secret is not one of ours; make one with POST /v1/realtime/client_secrets";
        return Err(ApiError::new(ErrorCode::InvalidKey, text));
    };
    if services.now().seconds() > secret.ends {
        let text = "this client secret has expired; make another one";
        return Err(ApiError::new(ErrorCode::ExpiredKey, text));
    }
    Ok(Some(secret))
}
