//! What a run is required for with: inputs, the model, and what the caller says yes to.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use trunkline_catalog::workflow::{RunError, Workflow, request_body};
use trunkline_store::workflows::Version;
use trunkline_wire::scan;

use super::find_workflow;
use crate::error::{ApiError, ErrorCode, refused};
use crate::services::Services;

/// Most confirmations of a run.
const MAX_CONFIRMATIONS: usize = 100;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RunRequest {
    #[serde(default)]
    inputs: Map<String, Value>,
    /// One of the models that the workflow is bound to; the first if none is named.
    #[serde(default)]
    model: Option<String>,
    /// The steps that the caller says yes to.
    #[serde(default)]
    confirmations: Vec<String>,
}

impl RunRequest {
    pub(super) fn read(body: &[u8]) -> Result<Self, ApiError> {
        let invalid = |param: &str, text: String| {
            ApiError::new(ErrorCode::Invalid("invalid_request"), text).at(param)
        };
        // Duplicate keys are refused here as everywhere.
        scan(body).map_err(|error| invalid("body", error.to_string()))?;
        let request: Self = serde_json::from_slice(body).map_err(|error| {
            let text = format!(
                "send {{\"inputs\": {{…}}, \"model\": …, \"confirmations\": […]}}: {error}"
            );
            invalid("inputs", text)
        })?;
        if request.confirmations.len() > MAX_CONFIRMATIONS {
            let text = format!("there are at most {MAX_CONFIRMATIONS} confirmations");
            return Err(invalid("confirmations", text));
        }
        Ok(request)
    }

    /// The request of the operation that the workflow is bound to.
    pub(super) fn mapped(&self, workflow: &Workflow) -> Result<Bytes, ApiError> {
        let body = request_body(workflow, self.model.as_deref(), &self.inputs);
        let body = body.map_err(|error| match error {
            RunError::Input(error) => refused(error),
            RunError::NotRunnable(_) | RunError::Binding(_) => {
                let text = format!("this workflow cannot be run: {error}; nothing was charged");
                ApiError::new(ErrorCode::WorkflowNotRunnable, text).at("workflow_id")
            }
        })?;
        Ok(Bytes::from(body.to_string()))
    }

    /// What the caller said yes to, once that is all that the workflow asks for.
    pub(super) fn confirmed(self, workflow: &Workflow) -> Result<Vec<String>, ApiError> {
        let record = workflow.record();
        let required = &record.recovery_policy.confirmation_required_for;
        let missing: Vec<&str> = required
            .iter()
            .map(String::as_str)
            .filter(|step| !self.confirmations.iter().any(|one| one == step))
            .collect();
        if missing.is_empty() {
            return Ok(required.clone());
        }
        let text = "this workflow asks for a confirmation; repeat the request with each of them in \
                    `confirmations`; nothing was charged";
        let privacy = serde_json::to_value(&record.privacy_preflight).unwrap_or_default();
        Err(ApiError::new(ErrorCode::ConfirmationRequired, text)
            .at("confirmations")
            .with("confirmations", missing)
            .with("privacy_preflight", privacy))
    }
}

/// What makes two runs the same: the workflow, its meaning, and what was sent.
pub(super) fn body_hash(version: &Version, body: &[u8]) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(b"trunkline workflow run\n");
    hash.update(version.workflow.digest().bytes());
    hash.update(body);
    hash.finalize().into()
}

/// The endpoint and the body that a run is a call of, where a quote is required for one.
pub(crate) async fn quoted_run(
    services: &Services,
    endpoint: &str,
    body: &str,
) -> Result<Option<(String, Bytes)>, ApiError> {
    let below = endpoint.trim_start_matches('/').trim_start_matches("v1/");
    let id = below
        .strip_prefix("workflows/")
        .and_then(|rest| rest.strip_suffix("/runs"));
    let Some(id) = id else {
        return Ok(None);
    };
    let version = find_workflow(services, id).await?;
    let mapped = RunRequest::read(body.as_bytes())?.mapped(&version.workflow)?;
    let binding = &version.workflow.record().runtime_binding;
    Ok(Some((binding.endpoint.clone().unwrap_or_default(), mapped)))
}
