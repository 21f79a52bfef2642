//! The endpoints of Azure OpenAI: other paths, another header for the key, other words for the same
//! refusals, and content filters that tell what they found. Behind them answers the same model.

use http::Method;
use http::header::HeaderValue;

use crate::chat;
use crate::endpoint::Endpoint;
use crate::passthrough;
use crate::recorded_request::RecordedRequest;
use crate::refusal::Refusal;
use crate::responses_api;
use crate::script::Script;
use crate::scripted_body::VendorResult;

/// Answers a request to an Azure endpoint.
pub(crate) async fn route(recorded: RecordedRequest) -> VendorResult {
    let id = recorded.id("apim-");
    let mut response = inside(recorded).await?;
    let headers = response.headers_mut();
    if let Ok(id) = HeaderValue::from_str(&id) {
        headers.insert("apim-request-id", id);
    }
    headers.insert("x-ms-region", HeaderValue::from_static("Simulated"));
    Ok(response)
}

async fn inside(recorded: RecordedRequest) -> VendorResult {
    let method = recorded.parts.method.clone();
    let nothing = |recorded: RecordedRequest| {
        let refusal = Refusal::no_such_path(method.as_str(), recorded.parts.uri.path());
        Ok(recorded.refuse(&refusal))
    };
    let Some(path) = recorded.azure.clone() else {
        return nothing(recorded);
    };
    if path.needs_version && !path.has_version {
        return nothing(recorded);
    }
    let is_deployed = path.deployment.is_some();
    let is_newer = !path.needs_version;
    match path.rest.as_str() {
        "chat/completions" if is_deployed || is_newer => {
            if method == Method::POST {
                chat::complete(recorded).await
            } else {
                nothing(recorded)
            }
        }
        "embeddings" if is_deployed || is_newer => {
            passthrough::serve(recorded, Endpoint::Embeddings).await
        }
        "completions" if is_deployed || is_newer => {
            passthrough::serve(recorded, Endpoint::Completions).await
        }
        "models" if !is_deployed && method == Method::GET => {
            let listed = recorded.state.listed_models();
            Ok(recorded.play(Script::json(200, None, listed), None))
        }
        rest => match rest.strip_prefix("responses") {
            Some(behind) if !is_deployed => responses_api::serve(recorded, behind).await,
            Some(_) | None => nothing(recorded),
        },
    }
}
