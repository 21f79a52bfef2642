//! What a workflow's states allow.

use serde_json::{Value, json};
use trunkline_catalog::workflow::{
    BindingStatus, ContractStatus, NotRunnable, Transition, TransitionError, Workflow, may_run,
    next,
};

use super::{read, with};

const STATES: [&str; 3] = [
    "draft_unverified",
    "contract_locked_not_executable",
    "verified",
];

fn in_state(contract: &str) -> Value {
    with(&[("/contract_status", json!(contract))])
}

/// Verified in every respect.
fn verified() -> Value {
    let mut record = in_state("verified");
    let digest = read(&record).digest().to_string();
    let binding = &mut record["runtime_binding"];
    binding["status"] = json!("verified");
    binding["last_verified_at"] = json!("2026-01-31T12:00:00Z");
    binding["semantic_digest_sha256"] = json!(digest);
    record
}

fn states(workflow: &Workflow) -> (ContractStatus, BindingStatus) {
    let record = workflow.record();
    (record.contract_status, record.runtime_binding.status)
}

// covers: D-4-58, D-4-59, D-4-60
#[test]
fn a_contract_moves_forward_one_step_at_a_time_and_not_back_by_itself() {
    for (from, before) in STATES.iter().enumerate() {
        for (to, after) in STATES.iter().enumerate() {
            let before = read(&in_state(before));
            let mut came = in_state(after);
            came["title"] = json!("another");
            let step = next(Some(&before), read(&came));
            if to == from || to == from + 1 {
                let step = step.unwrap();
                assert_eq!(step.how, Transition::Kept);
                assert_eq!(step.workflow, read(&came));
            } else {
                let refused = step.unwrap_err();
                assert!(
                    matches!(refused, TransitionError::Contract(_, _)),
                    "{refused}"
                );
                assert!(refused.to_string().contains(after), "{refused}");
            }
        }
    }
}

#[test]
fn a_new_workflow_begins_as_a_draft() {
    let step = next(None, read(&in_state("draft_unverified"))).unwrap();
    assert_eq!(step.how, Transition::First);
    for word in ["contract_locked_not_executable", "verified"] {
        let refused = next(None, read(&in_state(word))).unwrap_err();
        assert!(
            matches!(refused, TransitionError::NotADraft(_)),
            "{refused}"
        );
    }
    let mut bound = in_state("draft_unverified");
    bound["runtime_binding"]["status"] = json!("verified");
    let refused = next(None, read(&bound)).unwrap_err();
    assert!(
        matches!(refused, TransitionError::Binding(NotRunnable::Contract(_))),
        "{refused}"
    );
}

// covers: D-4-61, D-7-WF-02, D-7-WF-03, D-7-WF-07
#[test]
fn another_meaning_sets_contract_and_binding_back() {
    let before = read(&verified());
    assert_eq!(may_run(&before), Ok(()));
    let mut changed = verified();
    changed["executor_query"]["selection_policy"] = json!("fastest");
    let mut other_digest = verified();
    other_digest["runtime_binding"]["semantic_digest_sha256"] = json!("0".repeat(64));
    for record in [changed, other_digest] {
        let step = next(Some(&before), read(&record)).unwrap();
        assert_eq!(step.how, Transition::FellBack);
        let fallen = (
            ContractStatus::DraftUnverified,
            BindingStatus::ContractOnlyNotExecutable,
        );
        assert_eq!(states(&step.workflow), fallen);
        let refused = may_run(&step.workflow).unwrap_err();
        assert_eq!(
            refused,
            NotRunnable::Binding(BindingStatus::ContractOnlyNotExecutable)
        );
        // Nor may the same text, which still says verified, jump back up.
        let repeated = next(Some(&step.workflow), read(&record)).unwrap_err();
        assert!(
            matches!(repeated, TransitionError::Contract(_, _)),
            "{repeated}"
        );
    }
    let mut unbound = verified();
    unbound["runtime_binding"]["status"] = json!("unavailable");
    unbound["executor_query"]["selection_policy"] = json!("fastest");
    let step = next(Some(&before), read(&unbound)).unwrap();
    let fallen = (ContractStatus::DraftUnverified, BindingStatus::Unavailable);
    assert_eq!(states(&step.workflow), fallen, "a change raises nothing");
}

// covers: D-7-WF-01
#[test]
fn a_binding_is_verified_only_under_a_verified_contract() {
    for word in ["draft_unverified", "contract_locked_not_executable"] {
        let before = read(&in_state(word));
        let mut came = verified();
        came["contract_status"] = json!(word);
        let came = read(&came);
        let refused = next(Some(&before), came.clone()).unwrap_err();
        assert!(
            matches!(refused, TransitionError::Binding(NotRunnable::Contract(_))),
            "{refused}"
        );
        assert!(matches!(may_run(&came), Err(NotRunnable::Contract(_))));
        let found = came.contradictions();
        assert_eq!(found[0].path, "$.runtime_binding.status", "{found:?}");
    }
    let step = next(Some(&read(&in_state("verified"))), read(&verified())).unwrap();
    assert_eq!(step.how, Transition::Kept);
    assert_eq!(read(&verified()).contradictions(), []);
}

// covers: D-4-62, D-4-63, D-4-64, D-4-65, D-4-66
#[test]
fn a_binding_is_verified_only_with_everything_that_shows_it() {
    let before = read(&in_state("verified"));
    for field in [
        "endpoint",
        "semantic_digest_sha256",
        "operation_id",
        "price_source",
        "last_verified_at",
    ] {
        let mut record = verified();
        record["runtime_binding"][field] = Value::Null;
        let came = read(&record);
        assert_eq!(may_run(&came), Err(NotRunnable::Missing(field)));
        let path = format!("$.runtime_binding.{field}");
        let found = came.contradictions();
        assert!(
            found.iter().any(|finding| finding.path == path),
            "{found:?}"
        );
        // Some of them are meaning: then it falls back, which is no way to be verified either.
        match next(Some(&before), came) {
            Err(refused) => {
                assert_eq!(
                    refused,
                    TransitionError::Binding(NotRunnable::Missing(field))
                );
            }
            Ok(step) => assert!(may_run(&step.workflow).is_err(), "{field}"),
        }
    }
    let mut record = verified();
    record["runtime_binding"]["semantic_digest_sha256"] = json!("0".repeat(64));
    let other = read(&record);
    assert!(matches!(may_run(&other), Err(NotRunnable::Digest(_))));
    let refused = next(Some(&before), other.clone()).unwrap_err();
    assert!(
        matches!(refused, TransitionError::Binding(NotRunnable::Digest(_))),
        "{refused}"
    );
    assert_eq!(other.contradictions().len(), 1);
}

// covers: G-2.7-02, D-4-67
#[test]
fn only_a_workflow_with_a_verified_binding_may_be_run() {
    for (word, status) in [
        ("unavailable", BindingStatus::Unavailable),
        (
            "contract_only_not_executable",
            BindingStatus::ContractOnlyNotExecutable,
        ),
    ] {
        let mut record = verified();
        record["runtime_binding"]["status"] = json!(word);
        assert_eq!(may_run(&read(&record)), Err(NotRunnable::Binding(status)));
        assert_eq!(read(&record).contradictions(), []);
    }
    assert_eq!(may_run(&read(&verified())), Ok(()));
}

#[test]
fn a_slug_keeps_its_workflow_and_the_same_record_is_no_new_version() {
    let before = read(&in_state("verified"));
    let step = next(Some(&before), before.clone()).unwrap();
    assert_eq!(step.how, Transition::Same);
    let other = with(&[("/workflow_id", json!("other"))]);
    let refused = next(Some(&before), read(&other)).unwrap_err();
    assert_eq!(
        refused,
        TransitionError::OtherWorkflow("product-clip".to_owned())
    );
}
