//! Google's Gemini API: content whole, as events and as one array in pieces, counts of tokens, and
//! the list of models, all behind an API key.
//!
//! It shares with the OpenAI side what is no vendor's own: directives, faults, rules, the truth
//! and how a script is carried out. Vertex AI speaks the same messages; its endpoint is `vertex`.

mod answer;
mod chunks;
mod config;
mod content_pieces;
mod contents;
mod errors;
mod fields;
mod generate;
mod headers;
mod models;
mod request;
mod schema;
mod script;
mod signature;
mod tools;
mod turn_rules;
mod wire_types;

use http::Method;
use http::request::Parts;

use crate::recorded_request::RecordedRequest;
use crate::script::Script;
use crate::scripted_body::VendorResult;

pub(crate) use errors::GoogleError;
pub(crate) use generate::{Ask, serve as generate};
pub(crate) use headers::send;
pub(crate) use schema::Service;
pub(crate) use script::refusal;

const VERBS: [&str; 3] = ["generateContent", "streamGenerateContent", "countTokens"];
const KEY_HEADER: &str = "x-goog-api-key";

/// Whether a request is for this vendor. `/v1/models` belongs to another one too: there the key
/// tells whose client asks.
pub(crate) fn owns(parts: &Parts) -> bool {
    let path = parts.uri.path();
    if path.starts_with("/v1beta/") {
        return true;
    }
    let Some(rest) = path.strip_prefix("/v1/models") else {
        return false;
    };
    // Another vendor's names of models may hold a colon too.
    let verb = rest.rsplit_once(':').map(|(_, verb)| verb);
    verb.is_some_and(|verb| VERBS.contains(&verb)) || !key_of(parts).is_empty()
}

/// Answers one request of this vendor.
pub(crate) async fn serve(mut recorded: RecordedRequest, is_too_large: bool) -> VendorResult {
    let path = recorded.parts.uri.path().to_owned();
    let key = key_of(&recorded.parts);
    let last_four = crate::headers::last_four(&key);
    recorded.note(|record| record.key = last_four);
    recorded.key = key;
    let place = Place::of(&path);
    let ask = match &place {
        Place::Call {
            version,
            model,
            verb,
        } => {
            let query = recorded.parts.uri.query().unwrap_or("");
            Some(Ask::new(Service::Gemini, version, model, verb, query))
        }
        Place::List | Place::Model(_) | Place::Nowhere => None,
    };
    let is_wrapped = ask.as_ref().is_some_and(Ask::wraps_errors);
    // The key comes before the path: a stranger does not learn what there is.
    let refused = if is_too_large {
        Some(GoogleError::too_large())
    } else if recorded.key.is_empty() {
        Some(GoogleError::no_key())
    } else if !recorded.state.accepts(&recorded.key) {
        Some(GoogleError::bad_key())
    } else {
        None
    };
    if let Some(error) = refused {
        return Ok(send(recorded, refusal(&error, is_wrapped)));
    }
    let is_get = recorded.parts.method == Method::GET;
    let answer = match (place, ask) {
        (Place::Call { .. }, Some(ask)) if recorded.parts.method == Method::POST => {
            return generate(recorded, ask).await;
        }
        (Place::List, _) if is_get => Script::json(200, None, models::list()),
        (Place::Model(name), _) if is_get => match models::one(&name) {
            Some(model) => Script::json(200, None, model),
            None => refusal(
                &GoogleError::no_such_model(&name, "v1beta", "getModel"),
                false,
            ),
        },
        (Place::List | Place::Model(_) | Place::Call { .. } | Place::Nowhere, _) => {
            refusal(&GoogleError::no_such_path(&path), is_wrapped)
        }
    };
    Ok(send(recorded, answer))
}

/// What a path means here.
enum Place {
    List,
    Model(String),
    Call {
        version: String,
        model: String,
        verb: String,
    },
    Nowhere,
}

// === impl Place ===

impl Place {
    fn of(path: &str) -> Self {
        let mut steps = path.trim_start_matches('/').splitn(3, '/');
        let (Some(version), Some("models")) = (steps.next(), steps.next()) else {
            return Self::Nowhere;
        };
        let Some(rest) = steps.next() else {
            return Self::List;
        };
        match rest.split_once(':') {
            Some((model, verb)) => Self::Call {
                version: version.to_owned(),
                model: model.to_owned(),
                verb: verb.to_owned(),
            },
            None => Self::Model(rest.to_owned()),
        }
    }
}

/// The key, from the header or else from the query.
fn key_of(parts: &Parts) -> String {
    let header = parts.headers.get(KEY_HEADER);
    if let Some(key) = header.and_then(|value| value.to_str().ok()) {
        return key.to_owned();
    }
    let query = parts.uri.query().unwrap_or("");
    let found = query.split('&').find_map(|pair| pair.strip_prefix("key="));
    found.unwrap_or_default().to_owned()
}
