//! What a workflow's two states allow: which versions may follow one another, and which may run.

use super::record::{BindingStatus, ContractStatus, RuntimeBinding};
use super::{Finding, Workflow};

/// Why a workflow cannot be run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotRunnable {
    /// What it is bound to was not found to work.
    #[error("its runtime binding is {}; only a verified one runs", .0.as_str())]
    Binding(BindingStatus),
    /// Its contract is not verified.
    #[error("its contract is {}; a binding is verified only under a verified contract", .0.as_str())]
    Contract(ContractStatus),
    /// The binding says it is verified and leaves out what that means.
    #[error("its runtime binding is verified without {0}")]
    Missing(&'static str),
    /// The binding was verified for another meaning.
    #[error(
        "its runtime binding was verified for another meaning: semantic_digest_sha256 is not {0}"
    )]
    Digest(String),
}

/// The next version of a workflow, ready to be kept.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// The version. Its states may be lower than those it came with.
    pub workflow: Workflow,
    pub how: Transition,
}

/// How a version came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transition {
    First,
    /// It is the same as the one before, word for word.
    Same,
    /// It has the same meaning.
    Kept,
    /// It has another meaning, so contract and binding were set back.
    FellBack,
}

/// Why a version may not follow another.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TransitionError {
    /// The first version is a draft.
    #[error("a new workflow begins as draft_unverified, not as {}", .0.as_str())]
    NotADraft(ContractStatus),
    /// A step was left out, or taken back.
    #[error(
        "contract_status moves from draft_unverified to contract_locked_not_executable to verified, one step at a time, and falls back only when the meaning changes; not from {} to {}",
        .0.as_str(),
        .1.as_str()
    )]
    Contract(ContractStatus, ContractStatus),
    /// The name of another workflow.
    #[error("this slug belongs to the workflow {0:?}")]
    OtherWorkflow(String),
    /// The binding may not be verified.
    #[error("the runtime binding may not be verified: {0}")]
    Binding(NotRunnable),
}

/// Whether a workflow may be run: its binding is verified, and rightly so.
pub fn may_run(workflow: &Workflow) -> Result<(), NotRunnable> {
    let record = workflow.record();
    let binding = &record.runtime_binding;
    if binding.status != BindingStatus::Verified {
        return Err(NotRunnable::Binding(binding.status));
    }
    if record.contract_status != ContractStatus::Verified {
        return Err(NotRunnable::Contract(record.contract_status));
    }
    if let Some((field, _)) = evidence(binding).iter().find(|(_, value)| value.is_none()) {
        return Err(NotRunnable::Missing(field));
    }
    let digest = workflow.digest().to_string();
    if binding.semantic_digest_sha256.as_deref() != Some(digest.as_str()) {
        return Err(NotRunnable::Digest(digest));
    }
    Ok(())
}

/// What follows when a record comes and there is, or is not, a version of it already.
pub fn next(before: Option<&Workflow>, mut came: Workflow) -> Result<Step, TransitionError> {
    let how = match before {
        None => Transition::First,
        Some(before) if *before == came => Transition::Same,
        Some(before) if before.record.workflow_id != came.record.workflow_id => {
            return Err(TransitionError::OtherWorkflow(
                before.record.workflow_id.clone(),
            ));
        }
        Some(before) if meaning_changed(before, &came) => Transition::FellBack,
        Some(_) => Transition::Kept,
    };
    let from = before.map_or(ContractStatus::DraftUnverified, |before| {
        before.record.contract_status
    });
    let to = came.record.contract_status;
    match how {
        Transition::Same => {}
        Transition::First if to != ContractStatus::DraftUnverified => {
            return Err(TransitionError::NotADraft(to));
        }
        Transition::Kept if to != from && to != step_after(from) => {
            return Err(TransitionError::Contract(from, to));
        }
        Transition::First | Transition::Kept => {
            if came.record.runtime_binding.status == BindingStatus::Verified {
                may_run(&came).map_err(TransitionError::Binding)?;
            }
        }
        Transition::FellBack => came = set_back(came),
    }
    Ok(Step {
        workflow: came,
        how,
    })
}

/// Everything that keeps a binding from being verified that says it is.
pub(super) fn contradictions(workflow: &Workflow) -> Vec<Finding> {
    let record = workflow.record();
    let binding = &record.runtime_binding;
    if binding.status != BindingStatus::Verified {
        return Vec::new();
    }
    let mut findings = Vec::new();
    if record.contract_status != ContractStatus::Verified {
        let text = NotRunnable::Contract(record.contract_status).to_string();
        findings.push(Finding::at("$.runtime_binding.status", text));
    }
    for (field, value) in evidence(binding) {
        if value.is_none() {
            let path = format!("$.runtime_binding.{field}");
            findings.push(Finding::at(
                &path,
                "must not be null when the binding is verified",
            ));
        }
    }
    let digest = workflow.digest().to_string();
    if let Some(declared) = &binding.semantic_digest_sha256
        && *declared != digest
    {
        let text =
            format!("must be the digest of this record when the binding is verified: {digest}");
        findings.push(Finding::at(
            "$.runtime_binding.semantic_digest_sha256",
            text,
        ));
    }
    findings
}

/// What a verified binding shows for itself.
fn evidence(binding: &RuntimeBinding) -> [(&'static str, Option<&str>); 5] {
    [
        ("endpoint", binding.endpoint.as_deref()),
        (
            "semantic_digest_sha256",
            binding.semantic_digest_sha256.as_deref(),
        ),
        ("operation_id", binding.operation_id.as_deref()),
        ("price_source", binding.price_source.as_deref()),
        ("last_verified_at", binding.last_verified_at.as_deref()),
    ]
}

/// The computed digest changed, or the digest that the record declares was replaced.
fn meaning_changed(before: &Workflow, came: &Workflow) -> bool {
    let written = |workflow: &Workflow| {
        workflow
            .record
            .runtime_binding
            .semantic_digest_sha256
            .clone()
    };
    let replaced = match (written(before), written(came)) {
        (Some(before), Some(came)) => before != came,
        (None, _) | (_, None) => false,
    };
    before.digest != came.digest || replaced
}

const fn step_after(status: ContractStatus) -> ContractStatus {
    match status {
        ContractStatus::DraftUnverified => ContractStatus::ContractLockedNotExecutable,
        ContractStatus::ContractLockedNotExecutable | ContractStatus::Verified => {
            ContractStatus::Verified
        }
    }
}

/// Back to a draft. A binding that was unavailable is not raised by that.
fn set_back(mut workflow: Workflow) -> Workflow {
    workflow.record.contract_status = ContractStatus::DraftUnverified;
    let binding = &mut workflow.record.runtime_binding;
    binding.status = match binding.status {
        BindingStatus::Unavailable => BindingStatus::Unavailable,
        BindingStatus::ContractOnlyNotExecutable | BindingStatus::Verified => {
            BindingStatus::ContractOnlyNotExecutable
        }
    };
    workflow
}
