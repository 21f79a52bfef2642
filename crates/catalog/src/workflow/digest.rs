//! The semantic digest: one hash of what gives a workflow its meaning. Titles, dates and who may find
//! it are not in it; why each field is or is not stands in `docs/adr/0011-workflow-semantic-digest.md`.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::record::{Input, InputType, PrivacyPreflight, Record};

/// Begins the hashed text, so that a later canonical form cannot be taken for this one.
const FORM: &str = "trunkline workflow, form 1\n";

/// SHA-256 of the canonical form of a workflow's meaning.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SemanticDigest([u8; 32]);

/// The canonical form: these fields in this order, sets and keys of maps sorted, no spaces.
#[derive(Serialize)]
struct Meaning<'a> {
    workflow_id: &'a str,
    inputs: Vec<InputMeaning<'a>>,
    input_modalities: Vec<&'a str>,
    output_modalities: Vec<&'a str>,
    required_capabilities: Vec<&'a str>,
    selection_policy: &'a str,
    contract_version: Option<&'a str>,
    openapi_path: Option<&'a str>,
    operation_id: Option<&'a str>,
    workflow_version: Option<&'a str>,
    capability_profile_version: Option<&'a str>,
    price_source: Option<&'a str>,
    endpoint: Option<&'a str>,
    known_unimplemented_fields: Vec<&'a str>,
    model_ids: Vec<&'a str>,
    request_field_map: BTreeMap<&'a str, Value>,
    privacy_preflight: &'a PrivacyPreflight,
    confirmation_required_for: Vec<&'a str>,
    acceptance_checks: Vec<&'a str>,
}

/// The order of inputs is kept: a form shows them so.
#[derive(Serialize)]
struct InputMeaning<'a> {
    id: &'a str,
    kind: InputType,
    required: bool,
    default: &'a Value,
    allowed_values: &'a [Value],
    cost_sensitive: bool,
}

// === impl SemanticDigest ===

impl SemanticDigest {
    pub(super) fn of(record: &Record) -> Self {
        let text = serde_json::to_vec(&Meaning::of(record));
        // Maps of text, numbers and lists have no way to fail.
        debug_assert!(text.is_ok(), "canonical form is plain data");
        let hash = Sha256::new_with_prefix(FORM).chain_update(text.unwrap_or_default());
        Self(hash.finalize().into())
    }

    /// The bytes of the hash.
    #[must_use]
    pub const fn bytes(self) -> [u8; 32] {
        self.0
    }
}

/// Lower-case hexadecimal.
impl fmt::Display for SemanticDigest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .iter()
            .try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for SemanticDigest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_fmt(format_args!("{self}"))
    }
}

impl Serialize for SemanticDigest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

// === impl Meaning ===

impl<'a> Meaning<'a> {
    fn of(record: &'a Record) -> Self {
        let (query, binding) = (&record.executor_query, &record.runtime_binding);
        let map = binding.request_field_map.iter();
        Self {
            workflow_id: &record.workflow_id,
            inputs: record.inputs.iter().map(InputMeaning::of).collect(),
            input_modalities: sorted(&query.input_modalities),
            output_modalities: sorted(&query.output_modalities),
            required_capabilities: sorted(&query.required_capabilities),
            selection_policy: &query.selection_policy,
            contract_version: binding.contract_version.as_deref(),
            openapi_path: binding.openapi_path.as_deref(),
            operation_id: binding.operation_id.as_deref(),
            workflow_version: binding.workflow_version.as_deref(),
            capability_profile_version: binding.capability_profile_version.as_deref(),
            price_source: binding.price_source.as_deref(),
            endpoint: binding.endpoint.as_deref(),
            known_unimplemented_fields: sorted(&binding.known_unimplemented_fields),
            model_ids: sorted(&binding.model_ids),
            request_field_map: map
                .map(|(key, value)| (key.as_str(), ordered(value)))
                .collect(),
            privacy_preflight: &record.privacy_preflight,
            confirmation_required_for: sorted(&record.recovery_policy.confirmation_required_for),
            acceptance_checks: sorted(&record.acceptance_checks),
        }
    }
}

impl<'a> InputMeaning<'a> {
    fn of(input: &'a Input) -> Self {
        Self {
            id: &input.id,
            kind: input.kind,
            required: input.required,
            default: &input.default,
            allowed_values: &input.allowed_values,
            cost_sensitive: input.cost_sensitive,
        }
    }
}

fn sorted(words: &[String]) -> Vec<&str> {
    let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
    words.sort_unstable();
    words
}

/// The same value with the keys of its objects in order, whatever the map of the JSON crate keeps.
/// It recurses as deep as the reader let it come, which is 128 levels at most.
fn ordered(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let sorted: BTreeMap<&String, Value> = map
                .iter()
                .map(|(key, value)| (key, ordered(value)))
                .collect();
            let pairs = sorted.into_iter();
            Value::Object(
                pairs
                    .map(|(key, value)| (key.clone(), value))
                    .collect::<Map<_, _>>(),
            )
        }
        Value::Array(items) => Value::Array(items.iter().map(ordered).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}
