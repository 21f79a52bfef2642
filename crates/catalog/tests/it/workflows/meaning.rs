//! The semantic digest: what changes it and what does not.

use serde_json::{Value, json};

use super::{base, read, with};

fn digest(changes: &[(&str, Value)]) -> String {
    read(&with(changes)).digest().to_string()
}

#[test]
fn the_digest_is_that_of_the_documented_form() {
    // Calculated apart from this code, in another language. A change of the form is seen here: records
    // in databases carry it.
    assert_eq!(
        read(&base()).digest().to_string(),
        "d350d675012bffc10ecdf3b17b721ec1ebb504a09c0ab9b731e8226e0de12b67"
    );
}

#[test]
fn titles_dates_discovery_states_and_evidence_are_not_in_the_digest() {
    let same = digest(&[]);
    for (pointer, value) in [
        ("/title", json!("x")),
        ("/summary", json!("x")),
        ("/slug", json!("x")),
        ("/last_modified", json!("2026-02-01")),
        ("/canonical_url", json!("x")),
        ("/discovery/locales", json!(["de"])),
        ("/contract_status", json!("verified")),
        ("/inputs/0/description", json!("x")),
        (
            "/inputs/0/evidence_status",
            json!("runtime_contract_required"),
        ),
        ("/continue_action/enabled", json!(true)),
        ("/provenance/runtime_evidence", json!("verified")),
        ("/runtime_binding/status", json!("verified")),
        ("/runtime_binding/fixture_path", json!("x")),
        ("/runtime_binding/operation_status", json!("x")),
        ("/runtime_binding/package_status", json!("x")),
        ("/runtime_binding/capability_evidence", json!("x")),
        ("/runtime_binding/availability_source", json!("x")),
        ("/runtime_binding/last_verified_at", json!("x")),
        ("/runtime_binding/blocking_reason", json!("x")),
        ("/runtime_binding/dash_commit_sha", json!("0123abc")),
        (
            "/runtime_binding/semantic_digest_sha256",
            json!("0".repeat(64)),
        ),
    ] {
        assert_eq!(digest(&[(pointer, value)]), same, "{pointer}");
    }
}

#[test]
fn whatever_gives_a_workflow_its_meaning_changes_the_digest() {
    let same = digest(&[]);
    let mut seen = std::collections::BTreeSet::from([same]);
    for (pointer, value) in [
        ("/workflow_id", json!("x")),
        ("/inputs/0/id", json!("x")),
        ("/inputs/0/type", json!("string")),
        ("/inputs/0/required", json!(false)),
        ("/inputs/0/default", json!("x")),
        ("/inputs/0/allowed_values", json!(["x"])),
        ("/inputs/0/cost_sensitive", json!(true)),
        ("/executor_query/input_modalities", json!(["text"])),
        ("/executor_query/output_modalities", json!(["audio"])),
        ("/executor_query/required_capabilities", json!(["x"])),
        ("/executor_query/selection_policy", json!("fastest")),
        ("/runtime_binding/contract_version", json!("2")),
        ("/runtime_binding/openapi_path", json!("x")),
        ("/runtime_binding/operation_id", json!("x")),
        ("/runtime_binding/workflow_version", json!("2")),
        ("/runtime_binding/capability_profile_version", json!("x")),
        ("/runtime_binding/price_source", json!("x")),
        ("/runtime_binding/endpoint", json!("/x")),
        ("/runtime_binding/known_unimplemented_fields", json!(["x"])),
        ("/runtime_binding/model_ids", json!([])),
        ("/runtime_binding/request_field_map/prompt", json!("x")),
        ("/privacy_preflight/processing_region", json!("x")),
        ("/privacy_preflight/retention", json!("x")),
        ("/privacy_preflight/training_use", json!("x")),
        ("/privacy_preflight/deletion", json!("x")),
        ("/privacy_preflight/commercial_use", json!("x")),
        ("/privacy_preflight/watermark", json!("x")),
        ("/recovery_policy/confirmation_required_for", json!(["x"])),
        ("/acceptance_checks", json!(["x"])),
    ] {
        assert!(seen.insert(digest(&[(pointer, value)])), "{pointer}");
    }
}

#[test]
fn the_order_of_keys_and_of_sets_is_no_meaning_but_the_order_of_inputs_is() {
    let models = |list| digest(&[("/runtime_binding/model_ids", list)]);
    assert_eq!(models(json!(["a", "b"])), models(json!(["b", "a"])));
    let text = |map: &str| {
        let record = base().to_string();
        let old = r#""request_field_map":{"prompt":"prompt","seconds":"duration"}"#;
        assert!(record.contains(old));
        let new = record.replacen(old, &format!("\"request_field_map\":{map}"), 1);
        trunkline_catalog::workflow::Workflow::read(&new)
            .unwrap()
            .digest()
    };
    assert_eq!(
        text(r#"{"a":{"x":1,"y":[{"p":1,"q":2}]},"b":2}"#),
        text(r#"{"b":2,"a":{"y":[{"q":2,"p":1}],"x":1}}"#)
    );
    let inputs = base()["inputs"].as_array().unwrap().clone();
    let mut turned = inputs.clone();
    turned.reverse();
    let of = |inputs: Vec<Value>| digest(&[("/inputs", Value::Array(inputs))]);
    assert_ne!(of(inputs), of(turned));
}
