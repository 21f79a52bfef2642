//! The endpoint where a service account gets an access token.

use bytes::Bytes;
use http::Method;
use http::header::HOST;
use percent_encoding::percent_decode_str;
use serde_json::json;

use crate::access_tokens::TOKEN_PATH;
use crate::clock;
use crate::recorded_request::RecordedRequest;
use crate::refusal::shortened;

use super::jwt::{self, JwtError};

const GRANT_TYPE: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/// Answers a request for a token: a status and a JSON document.
pub(super) fn answer(recorded: &RecordedRequest, is_too_large: bool) -> (u16, String) {
    if recorded.parts.method != Method::POST || is_too_large {
        return complain("invalid_request", "Only a small POST is accepted here.");
    }
    let form = Form::read(&recorded.body);
    if form.grant_type != GRANT_TYPE {
        let text = format!("Invalid grant_type: {}", shortened(&form.grant_type));
        return complain("unsupported_grant_type", &text);
    }
    let tokens = &recorded.state.vertex;
    let now_micros = recorded.received_at_micros;
    let host = recorded.parts.headers.get(HOST);
    let host = host.and_then(|value| value.to_str().ok()).unwrap_or("");
    let here = format!("http://{host}{}", TOKEN_PATH);
    let accounts = &tokens.settings.accounts;
    match jwt::check(&form.assertion, accounts, &here, clock::seconds(now_micros)) {
        Ok(()) => {
            let granted = tokens.grant(now_micros, recorded.number);
            // A struct of texts and numbers always has a JSON form.
            (
                200,
                serde_json::to_string_pretty(&granted).unwrap_or_default(),
            )
        }
        Err(JwtError { error, description }) => complain(error, description),
    }
}

fn complain(error: &str, description: &str) -> (u16, String) {
    let body = json!({"error": error, "error_description": description});
    (400, serde_json::to_string_pretty(&body).unwrap_or_default())
}

#[derive(Default)]
struct Form {
    grant_type: String,
    assertion: String,
}

// === impl Form ===

impl Form {
    fn read(body: &Bytes) -> Self {
        let mut form = Self::default();
        let text = String::from_utf8_lossy(body);
        for pair in text.split('&') {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = percent_decode_str(value).decode_utf8_lossy().into_owned();
            match name {
                "grant_type" => form.grant_type = value,
                "assertion" => form.assertion = value,
                _ => {}
            }
        }
        form
    }
}
