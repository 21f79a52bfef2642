//! Workflow records: what a task is, what it needs, and what it is bound to at run time.
//!
//! A [`Workflow`] exists only if its text passed every check, so code that has one need not check again. Its
//! shape is also published as a JSON Schema ([`SCHEMA`]), and a test holds the two together. What its
//! states allow stands in `standing`. The request that a run is made of stands in `request`.
//! Nothing here knows where records are kept, nor sends one.

mod check;
mod digest;
mod lifecycle;
mod record;
mod request;
mod rules;
mod tree;

use std::fmt;

use serde::{Serialize, Serializer};

pub use digest::SemanticDigest;
pub use lifecycle::{NotRunnable, Step, Transition, TransitionError, may_run, next};
pub use record::{
    BindingStatus, ContinueAction, ContractStatus, Discovery, EvidenceStatus, ExecutorQuery,
    Generator, Input, InputType, PrivacyPreflight, Provenance, Record, RecoveryPolicy,
    RuntimeBinding, RuntimeEvidence, SchemaVersion,
};
pub use request::{RunError, request_body};
pub use rules::{MAX_NAME_CHARACTERS, is_name};

/// The shape as a JSON Schema document, draft 2020-12.
pub const SCHEMA: &str = include_str!("workflow/schema.json");
/// Longest text of a record, as written by others and as written by us: some hundred inputs with a
/// page of words each.
pub const MAX_WORKFLOW_BYTES: usize = 262_144;

/// A workflow record that passed every check.
#[derive(Debug, Clone, PartialEq)]
pub struct Workflow {
    record: Record,
    digest: SemanticDigest,
}

/// One thing that is wrong with a record, and where.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Finding {
    /// Where, as a JSON path: `$.inputs[1].id`.
    pub path: String,
    /// What is wrong, and what would be right.
    pub problem: String,
}

// === impl Workflow ===

impl Workflow {
    /// Reads a record's JSON text, or returns everything that is wrong with it.
    pub fn read(text: &str) -> Result<Self, Vec<Finding>> {
        if text.len() > MAX_WORKFLOW_BYTES {
            return Err(vec![too_large()]);
        }
        let mut findings = Vec::new();
        let value = tree::read(text, &mut findings).map_err(|finding| vec![finding])?;
        check::record(&value, &mut findings);
        if !findings.is_empty() {
            return Err(findings);
        }
        let record = serde_json::from_value(value);
        let record = record.map_err(|error| vec![Finding::at("$", error.to_string())])?;
        let workflow = Self::of(record);
        // Numbers may be longer in our spelling than in theirs.
        if workflow.to_text().len() > MAX_WORKFLOW_BYTES {
            return Err(vec![too_large()]);
        }
        Ok(workflow)
    }

    fn of(record: Record) -> Self {
        let digest = SemanticDigest::of(&record);
        Self { record, digest }
    }

    #[must_use]
    pub const fn record(&self) -> &Record {
        &self.record
    }

    /// The hash of what gives it its meaning.
    #[must_use]
    pub const fn digest(&self) -> SemanticDigest {
        self.digest
    }

    /// The record as JSON in our spelling: fields in the order of the schema, no spaces.
    #[must_use]
    pub fn to_text(&self) -> String {
        let text = serde_json::to_string(&self.record);
        debug_assert!(text.is_ok(), "a record is plain data");
        text.unwrap_or_default()
    }

    /// What its own states do not allow, whatever it was before: see [`next`] for moves.
    #[must_use]
    pub fn contradictions(&self) -> Vec<Finding> {
        lifecycle::contradictions(self)
    }
}

impl Serialize for Workflow {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.record.serialize(serializer)
    }
}

// === impl Finding ===

impl Finding {
    fn at(path: &str, problem: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            problem: problem.into(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.path, self.problem)
    }
}

fn too_large() -> Finding {
    Finding::at(
        "$",
        format!("a record has at most {MAX_WORKFLOW_BYTES} bytes"),
    )
}
