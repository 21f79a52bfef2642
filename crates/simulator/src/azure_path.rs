//! The paths, keys and refusals of Azure OpenAI, which the record of a request needs.

use http::HeaderMap;
use serde_json::json;

use crate::headers;
use crate::ordered_json::OrderedJson;
use crate::refusal::Refusal;
use crate::script::Script;

/// A path below `/openai`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AzurePath {
    /// The deployment the path names; elsewhere the body names it as its model.
    pub(crate) deployment: Option<String>,
    /// What stands behind, such as `chat/completions`.
    pub(crate) rest: String,
    /// Whether the path must say which version of the API it means, and does.
    pub(crate) has_version: bool,
    pub(crate) needs_version: bool,
}

/// The Azure endpoint of a path, if it is one.
pub(crate) fn azure_path(path: &str, query: Option<&str>) -> Option<AzurePath> {
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
    Some(AzurePath {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_read_from_its_path_and_version() {
        let recorded = azure_path(
            "/openai/deployments/d/chat/completions",
            Some("api-version=1"),
        );
        let recorded = recorded.expect("a path of Azure");
        assert_eq!(recorded.deployment.as_deref(), Some("d"));
        assert_eq!(recorded.rest, "chat/completions");
        assert!(recorded.needs_version && recorded.has_version);
        let recorded = azure_path("/openai/v1/responses/resp_1", None).expect("a path of Azure");
        assert_eq!(
            (recorded.deployment, recorded.rest.as_str()),
            (None, "responses/resp_1")
        );
        assert!(!recorded.needs_version && !recorded.has_version);
        assert!(
            !azure_path("/openai/responses", Some("api-version="))
                .unwrap()
                .has_version
        );
        assert_eq!(azure_path("/v1/responses", None), None);
    }
}
