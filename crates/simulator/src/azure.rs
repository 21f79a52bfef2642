//! The endpoints of Azure OpenAI: other paths, another header for the key, other words for the same
//! refusals, and content filters that tell what they found. Behind them answers the same model.

use http::header::HeaderValue;
use http::{HeaderMap, Method};
use serde::Serialize;
use serde_json::{Value, json};

use crate::chat;
use crate::directives::Directives;
use crate::headers;
use crate::models;
use crate::ordered_json::OrderedJson;
use crate::passthrough::{self, Endpoint};
use crate::refusal::Refusal;
use crate::request::Object;
use crate::responses::{self, Filter};
use crate::script::Script;
use crate::scripted_body::VendorResult;
use crate::server::RecordedRequest;

/// A path below `/openai`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Door {
    /// The deployment the path names; elsewhere the body names it as its model.
    deployment: Option<String>,
    /// What stands behind, such as `chat/completions`.
    rest: String,
    /// Whether the path must say which version of the API it means, and does.
    has_version: bool,
    needs_version: bool,
}

/// What the filters found in one text.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Found {
    Nothing {},
    Content {
        hate: Severity,
        self_harm: Severity,
        sexual: Severity,
        violence: Severity,
    },
}

/// What they found in the prompt.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct PromptFound {
    prompt_index: u64,
    content_filter_results: Found,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Severity {
    filtered: bool,
    severity: &'static str,
}

const SAFE: Severity = Severity {
    filtered: false,
    severity: "safe",
};
const HIGH: Severity = Severity {
    filtered: true,
    severity: "high",
};

/// The Azure endpoint of a path, if it is one.
pub(crate) fn door(path: &str, query: Option<&str>) -> Option<Door> {
    let inside = path.strip_prefix("/openai/")?;
    let mut pairs = query.unwrap_or("").split('&');
    let has_version = pairs.any(|pair| {
        pair.strip_prefix("api-version=")
            .is_some_and(|version| !version.is_empty())
    });
    let (deployment, rest) = match inside.strip_prefix("deployments/") {
        Some(behind) => {
            let (name, rest) = behind.split_once('/').unwrap_or((behind, ""));
            (Some(name.to_owned()), rest)
        }
        None => (None, inside),
    };
    // The newer paths may leave the version out.
    let newer = rest.strip_prefix("v1/").filter(|_| deployment.is_none());
    Some(Door {
        deployment,
        rest: newer.unwrap_or(rest).to_owned(),
        has_version,
        needs_version: newer.is_none(),
    })
}

/// The key: in a header of its own, or as a bearer.
pub(crate) fn key(headers: &HeaderMap) -> Option<&str> {
    let own = headers.get("api-key").and_then(|key| key.to_str().ok());
    own.filter(|key| !key.is_empty())
        .or_else(|| headers::bearer(headers))
}

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
    let Some(door) = recorded.azure.clone() else {
        return nothing(recorded);
    };
    if door.needs_version && !door.has_version {
        return nothing(recorded);
    }
    let is_deployed = door.deployment.is_some();
    let is_newer = !door.needs_version;
    match door.rest.as_str() {
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
            Ok(recorded.play(Script::json(200, None, models::list()), None))
        }
        rest => match rest.strip_prefix("responses") {
            Some(behind) if !is_deployed => responses::serve(recorded, behind).await,
            Some(_) | None => nothing(recorded),
        },
    }
}

/// The deployment of the path is the model of the body, whatever that says.
pub(crate) fn name_deployment(recorded: &RecordedRequest, body: &mut Object) {
    let deployment = recorded
        .azure
        .as_ref()
        .and_then(|door| door.deployment.clone());
    if let Some(name) = deployment {
        body.insert("model".to_owned(), Value::String(name));
    }
}

/// The refusal a prompt asked for: of a filter, or, at Azure, of a deployment that is not there.
pub(crate) fn refused(
    recorded: &RecordedRequest,
    directives: &Directives,
    model: &str,
) -> Option<Refusal> {
    let is_azure = recorded.azure.is_some();
    if is_azure && directives.openai.is_deployment_missing {
        return Some(Refusal::no_such_model(model));
    }
    (directives.openai.filter == Some(Filter::Prompt)).then(|| Refusal::filtered_prompt(is_azure))
}

/// A refusal in Azure's words. What is not listed here it says as OpenAI does.
pub(crate) fn refusal(refusal: &Refusal) -> Script {
    let short = |code: &str, message: &str| {
        json!({"error": {"code": code, "message": message}}).to_string()
    };
    let code = refusal.detail.code;
    let (status, body) = match (refusal.status, code) {
        (401, _) => (
            401,
            short(
                "401",
                "Access denied due to invalid subscription key or wrong API endpoint. Make sure \
                 to provide a valid key for an active subscription and use a correct regional API \
                 endpoint for your resource.",
            ),
        ),
        (_, Some("model_not_found")) => (
            404,
            short(
                "DeploymentNotFound",
                "The API deployment for this resource does not exist. If you created the \
                 deployment within the last 5 minutes, please wait a moment and try again.",
            ),
        ),
        (404 | 405, None | Some("method_not_supported")) if refusal.detail.param.is_none() => {
            (404, short("404", "Resource not found"))
        }
        (429, _) => {
            let seconds = refusal.retry_after_secs.unwrap_or(1);
            let message = format!(
                "Requests to the ChatCompletions_Create Operation under Azure OpenAI API have \
                 exceeded call rate limit of your current OpenAI S0 pricing tier. Please retry \
                 after {seconds} seconds."
            );
            (429, short("429", &message))
        }
        (status, Some("content_filter")) => (status, filtered(refusal)),
        (status, _) => (status, refusal.body()),
    };
    Script::json(status, refusal.retry_after_secs, body)
}

/// What a filtered prompt is told, with what was found.
fn filtered(refusal: &Refusal) -> String {
    let safe = json!({"filtered": false, "severity": "safe"});
    let found = json!({
        "hate": {"filtered": true, "severity": "high"},
        "jailbreak": {"filtered": false, "detected": false},
        "self_harm": safe,
        "sexual": safe,
        "violence": safe,
    });
    let inner = OrderedJson::new()
        .with("code", "ResponsibleAIPolicyViolation")
        .with("content_filter_result", &found)
        .done();
    let error = OrderedJson::new()
        .with("message", &refusal.detail.message)
        .raw("type", "null")
        .with("param", &refusal.detail.param)
        .with("code", &refusal.detail.code)
        .with("status", &refusal.status)
        .raw("innererror", &inner)
        .done();
    OrderedJson::new().raw("error", &error).done()
}

/// The first chunk of a stream: no choice, only what was found in the prompt.
pub(crate) fn prompt_chunk() -> String {
    OrderedJson::new()
        .raw("choices", "[]")
        .with("created", &0)
        .with("id", "")
        .with("model", "")
        .with("object", "")
        .with("prompt_filter_results", &[PromptFound::nothing()])
        .done()
}

// === impl Found ===

impl Found {
    pub(crate) fn content(is_stopped: bool) -> Self {
        Self::Content {
            hate: if is_stopped { HIGH } else { SAFE },
            self_harm: SAFE,
            sexual: SAFE,
            violence: SAFE,
        }
    }
}

// === impl PromptFound ===

impl PromptFound {
    pub(crate) fn nothing() -> Self {
        Self {
            prompt_index: 0,
            content_filter_results: Found::content(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_read_from_its_path_and_version() {
        let recorded = door(
            "/openai/deployments/d/chat/completions",
            Some("api-version=1"),
        );
        let recorded = recorded.expect("a door");
        assert_eq!(recorded.deployment.as_deref(), Some("d"));
        assert_eq!(recorded.rest, "chat/completions");
        assert!(recorded.needs_version && recorded.has_version);
        let recorded = door("/openai/v1/responses/resp_1", None).expect("a door");
        assert_eq!(
            (recorded.deployment, recorded.rest.as_str()),
            (None, "responses/resp_1")
        );
        assert!(!recorded.needs_version && !recorded.has_version);
        assert!(
            !door("/openai/responses", Some("api-version="))
                .unwrap()
                .has_version
        );
        assert_eq!(door("/v1/responses", None), None);
    }
}
