//! The deployment that a path of Azure names, and the refusals that a prompt asks for.

use serde_json::Value;

use crate::directives::{Directives, Filter};
use crate::recorded_request::RecordedRequest;
use crate::refusal::Refusal;
use crate::request::Object;

/// The deployment of the path is the model of the body, whatever that says.
pub(crate) fn name_deployment(recorded: &RecordedRequest, body: &mut Object) {
    let deployment = recorded
        .azure
        .as_ref()
        .and_then(|path| path.deployment.clone());
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
