//! A workflow record's fields, as section 2.7 of the specification lists them.
//!
//! These are plain data. That a value is allowed is the matter of `check`; a record that passed is
//! inside a [`Workflow`](super::Workflow).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    #[serde(rename = "$schema", default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canonical_url: Option<String>,
    /// The program that wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generated_by: Option<Generator>,
    /// The version of the shape.
    pub schema_version: SchemaVersion,
    /// How far the contract is.
    pub contract_status: ContractStatus,
    /// Names the workflow for programs.
    pub workflow_id: String,
    pub slug: String,
    pub title: String,
    pub summary: String,
    /// The day of the last change.
    pub last_modified: String,
    pub discovery: Discovery,
    /// What it takes; two at least.
    pub inputs: Vec<Input>,
    /// What a model must be able to do to run it.
    pub executor_query: ExecutorQuery,
    /// What it is bound to at run time.
    pub runtime_binding: RuntimeBinding,
    /// The privacy notice before data leaves.
    pub privacy_preflight: PrivacyPreflight,
    /// What happens when a run breaks.
    pub recovery_policy: RecoveryPolicy,
    /// What a good result is.
    pub acceptance_checks: Vec<String>,
    /// What can be done next.
    pub continue_action: ContinueAction,
    /// Where the record comes from.
    pub provenance: Provenance,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Generator {
    #[serde(rename = "scripts/gen_workflows.py")]
    Script,
}

/// The one version of the shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SchemaVersion {
    /// The first.
    #[serde(rename = "gateway.workflow.v1")]
    V1,
}

/// How far a contract is. It moves down this list, one step at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContractStatus {
    DraftUnverified,
    /// Written, and not to be changed without falling back.
    ContractLockedNotExecutable,
    Verified,
}

/// Whether a workflow is bound to something that can run it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BindingStatus {
    Unavailable,
    /// To something that is only written down.
    ContractOnlyNotExecutable,
    /// To something that was tried.
    Verified,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Discovery {
    /// Search engines may list it.
    pub indexable: bool,
    /// It stands in the site map.
    pub sitemap: bool,
    pub locales: Vec<String>,
}

/// One thing that a workflow takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Input {
    pub id: String,
    /// What kind of value it is.
    #[serde(rename = "type")]
    pub kind: InputType,
    /// Whether it must be given.
    pub required: bool,
    pub description: String,
    /// What its meaning rests on.
    pub evidence_status: EvidenceStatus,
    /// The value when none is given: text, flag, whole number or null.
    pub default: Value,
    /// The values it may have; empty means any.
    pub allowed_values: Vec<Value>,
    /// Whether it moves the price.
    pub cost_sensitive: bool,
}

/// What kind of value an input is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InputType {
    /// A file or a link to one.
    Asset,
    String,
    /// A word of a list.
    Enum,
    /// True or false.
    Boolean,
    Integer,
}

/// What an input's meaning rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceStatus {
    /// It is the same for every model.
    SemanticStable,
    /// It needs the contract of what runs it.
    RuntimeContractRequired,
}

/// What a model must be able to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExecutorQuery {
    pub input_modalities: Vec<String>,
    pub output_modalities: Vec<String>,
    /// What else it can do.
    pub required_capabilities: Vec<String>,
    /// How one of several is chosen.
    pub selection_policy: String,
}

/// What a workflow is bound to at run time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuntimeBinding {
    pub status: BindingStatus,
    pub contract_version: Option<String>,
    /// Where the interface is described.
    pub openapi_path: Option<String>,
    pub fixture_path: Option<String>,
    /// The operation that runs it.
    pub operation_id: Option<String>,
    /// What is known of that operation.
    pub operation_status: Option<String>,
    /// The version of the workflow over there.
    pub workflow_version: Option<String>,
    /// What is known of its package.
    pub package_status: Option<String>,
    /// The version of the list of capabilities.
    pub capability_profile_version: Option<String>,
    pub capability_evidence: Option<String>,
    /// Where its price comes from.
    pub price_source: Option<String>,
    /// Where it is told whether it works.
    pub availability_source: Option<String>,
    /// When it was last tried.
    pub last_verified_at: Option<String>,
    pub blocking_reason: Option<String>,
    /// The state of the console's source.
    pub dash_commit_sha: Option<String>,
    /// The path that runs it.
    pub endpoint: Option<String>,
    /// The digest that was verified.
    pub semantic_digest_sha256: Option<String>,
    /// Fields that are known not to work.
    pub known_unimplemented_fields: Vec<String>,
    /// Models that can run it.
    pub model_ids: Vec<String>,
    /// Input → field of the request; the one map with free keys.
    pub request_field_map: BTreeMap<String, Value>,
}

/// The privacy notice before data leaves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrivacyPreflight {
    /// Always true.
    pub required_before_transfer: bool,
    /// Where data is worked on.
    pub processing_region: String,
    /// How long it is kept.
    pub retention: String,
    /// Whether models learn from it.
    pub training_use: String,
    pub deletion: String,
    /// Whether results may be sold.
    pub commercial_use: String,
    pub watermark: String,
}

/// What happens when a run breaks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecoveryPolicy {
    /// Always true.
    pub resume_same_task_first: bool,
    /// Always false.
    pub automatic_fallback: bool,
    /// Always true.
    pub stop_when_charge_state_unknown: bool,
    /// Steps that need a person's yes.
    pub confirmation_required_for: Vec<String>,
}

/// What can be done next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContinueAction {
    pub enabled: bool,
    pub href: Option<String>,
    /// Why, or why not.
    pub reason: String,
}

/// Where the record comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// The requirement it answers, such as `CA-001`.
    pub requirement_id: String,
    pub source_kind: String,
    /// What was seen at run time.
    pub runtime_evidence: RuntimeEvidence,
}

/// What was seen at run time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuntimeEvidence {
    Absent,
    ContractOnly,
    Verified,
}

// === impl ContractStatus, BindingStatus ===

impl ContractStatus {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::DraftUnverified => "draft_unverified",
            Self::ContractLockedNotExecutable => "contract_locked_not_executable",
            Self::Verified => "verified",
        }
    }
}

impl BindingStatus {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unavailable => "unavailable",
            Self::ContractOnlyNotExecutable => "contract_only_not_executable",
            Self::Verified => "verified",
        }
    }
}
