//! Vertex AI: Google's messages under a project and a place, behind an access token, and the
//! endpoint where a service account gets such a token. Anthropic's models stand behind the same endpoint.

mod anthropic;
mod jwt;
mod token;

use http::Method;
use http::request::Parts;

use crate::access_tokens::{Known, TOKEN_PATH};
use crate::clock;
use crate::gemini::{self, Ask, GoogleError, Service, refusal, send};
use crate::recorded_request::RecordedRequest;
use crate::script::Script;
use crate::scripted_body::VendorResult;

struct Place<'a> {
    version: &'a str,
    publisher: &'a str,
    model: &'a str,
    verb: &'a str,
    /// The model as the vendor names it.
    full_name: String,
}

/// Whether a request is for this vendor.
pub(crate) fn owns(parts: &Parts) -> bool {
    let path = parts.uri.path();
    path == TOKEN_PATH
        || path.starts_with("/v1/projects/")
        || path.starts_with("/v1beta1/projects/")
}

/// Answers one request of this vendor.
pub(crate) async fn serve(recorded: RecordedRequest, is_too_large: bool) -> VendorResult {
    let path = recorded.parts.uri.path().to_owned();
    if path == TOKEN_PATH {
        let (status, body) = token::answer(&recorded, is_too_large);
        return Ok(send(recorded, Script::json(status, None, body)));
    }
    let place = Place::of(&path);
    let query = recorded.parts.uri.query().unwrap_or("");
    let ask = place.as_ref().map(|place| {
        let mut ask = Ask::new(
            Service::Vertex,
            place.version,
            place.model,
            place.verb,
            query,
        );
        ask.full_name = Some(place.full_name.clone());
        ask
    });
    let is_wrapped = ask.as_ref().is_some_and(Ask::wraps_errors);
    // The token comes before the path: a stranger does not learn what there is.
    let refused = if is_too_large {
        Some(GoogleError::too_large())
    } else {
        check_token(&recorded)
    };
    if let Some(error) = refused {
        return Ok(send(recorded, refusal(&error, is_wrapped)));
    }
    let is_post = recorded.parts.method == Method::POST;
    match (place, ask) {
        (Some(place), Some(ask)) if is_post && place.publisher == "google" => {
            gemini::generate(recorded, ask).await
        }
        (Some(place), _) if is_post && place.publisher == "anthropic" => {
            let model = place.model.to_owned();
            let verb = place.verb.to_owned();
            let full_name = place.full_name.clone();
            anthropic::serve(recorded, &model, &full_name, &verb).await
        }
        (Some(_) | None, _) => {
            let error = GoogleError::no_such_path(&path);
            Ok(send(recorded, refusal(&error, is_wrapped)))
        }
    }
}

// === impl Place ===

impl<'a> Place<'a> {
    fn of(path: &'a str) -> Option<Self> {
        let (version, rest) = path.trim_start_matches('/').split_once('/')?;
        let steps: Vec<&str> = rest.split('/').collect();
        let [
            "projects",
            project,
            "locations",
            location,
            "publishers",
            publisher,
            "models",
            last,
        ] = steps.as_slice()
        else {
            return None;
        };
        let (model, verb) = last.split_once(':')?;
        Some(Self {
            version,
            publisher,
            model,
            verb,
            full_name: format!(
                "projects/{project}/locations/{location}/publishers/{publisher}/models/{model}"
            ),
        })
    }
}

/// Why the access token is refused, if it is. Without service accounts every
/// token is taken that the simulator takes as a key.
fn check_token(recorded: &RecordedRequest) -> Option<GoogleError> {
    if recorded.key.is_empty() {
        return Some(GoogleError::no_token());
    }
    let tokens = &recorded.state.vertex;
    match tokens.look_up(&recorded.key, clock::now_micros()) {
        Known::Good => None,
        Known::Expired => Some(GoogleError::expired_token()),
        Known::Never if !tokens.has_accounts() && recorded.state.accepts(&recorded.key) => None,
        Known::Never => Some(GoogleError::wrong_token()),
    }
}
