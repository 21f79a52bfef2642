//! Workflow records: every row of their tables, by examples that are files. The checker and the
//! published schema are asked alike and must agree.
//!
//! A case is a file in `tests/fixtures/workflows/valid` or `invalid`, named by the requirement and what
//! it shows. It says what is set in and removed from `base.json`, and which paths are found wrong.

mod lifecycle;
mod meaning;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;
use trunkline_catalog::workflow::{Finding, MAX_WORKFLOW_BYTES, SCHEMA, Workflow};

/// What a case changes in the base, and what is found.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    #[serde(default)]
    set: BTreeMap<String, Value>,
    #[serde(default)]
    remove: Vec<String>,
    #[serde(default)]
    findings: Vec<String>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/workflows")
}

fn file(path: &Path) -> String {
    String::from_utf8(std::fs::read(path).unwrap()).unwrap()
}

pub(crate) fn base() -> Value {
    serde_json::from_str(&file(&folder().join("base.json"))).unwrap()
}

/// The base with one value changed.
pub(crate) fn with(changes: &[(&str, Value)]) -> Value {
    let mut record = base();
    for (pointer, value) in changes {
        set(&mut record, pointer, value.clone());
    }
    record
}

pub(crate) fn read(record: &Value) -> Workflow {
    Workflow::read(&record.to_string()).unwrap_or_else(|found| panic!("{found:?}"))
}

fn parent<'a>(record: &'a mut Value, pointer: &str) -> (&'a mut Value, String) {
    let (above, key) = pointer.rsplit_once('/').unwrap();
    (record.pointer_mut(above).unwrap(), key.to_owned())
}

pub(crate) fn set(record: &mut Value, pointer: &str, value: Value) {
    let (parent, key) = parent(record, pointer);
    if let Value::Array(items) = parent {
        items[key.parse::<usize>().unwrap()] = value;
    } else {
        parent[key] = value;
    }
}

fn remove(record: &mut Value, pointer: &str) {
    let (parent, key) = parent(record, pointer);
    let was = parent.as_object_mut().unwrap().remove(&key);
    assert!(was.is_some(), "{pointer}");
}

fn paths(found: &[Finding]) -> Vec<&str> {
    found.iter().map(|finding| finding.path.as_str()).collect()
}

fn schema() -> jsonschema::Validator {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    assert!(jsonschema::meta::is_valid(&schema));
    jsonschema::draft202012::options()
        .should_validate_formats(true)
        .build(&schema)
        .unwrap()
}

/// The cases of a folder whose names begin with a word.
fn cases(kind: &str, word: &str) -> Vec<(String, Case)> {
    let mut cases = Vec::new();
    for entry in std::fs::read_dir(folder().join(kind)).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if name.starts_with(&format!("{word}-")) {
            let case = serde_json::from_str(&file(&path));
            cases.push((
                name.clone(),
                case.unwrap_or_else(|error| panic!("{name}: {error}")),
            ));
        }
    }
    cases
}

fn check(schema: &jsonschema::Validator, kind: &str, name: &str, case: &Case) {
    let mut record = base();
    for (pointer, value) in &case.set {
        set(&mut record, pointer, value.clone());
    }
    for pointer in &case.remove {
        remove(&mut record, pointer);
    }
    let found = Workflow::read(&record.to_string()).map(|_| ()).err();
    let found = found.unwrap_or_default();
    assert_eq!(paths(&found), case.findings, "{kind}/{name}: {found:?}");
    let valid = kind == "valid";
    assert_eq!(found.is_empty(), valid, "{kind}/{name}: {found:?}");
    assert_eq!(
        schema.is_valid(&record),
        valid,
        "the schema on {kind}/{name}"
    );
}

/// Each of these rows has a valid and an invalid example at least, and all of them are judged rightly.
fn rows(numbers: std::ops::RangeInclusive<u32>) {
    let schema = schema();
    for number in numbers {
        let id = format!("G-2.7-{number:02}");
        for kind in ["valid", "invalid"] {
            let cases = cases(kind, &id);
            assert!(!cases.is_empty(), "{id} has no {kind} example");
            for (name, case) in &cases {
                check(&schema, kind, name, case);
            }
        }
    }
}

#[test]
fn the_base_of_all_examples_is_valid_and_is_written_as_it_was_read() {
    let workflow = read(&base());
    assert!(schema().is_valid(&base()));
    let written: Value = serde_json::from_str(&workflow.to_text()).unwrap();
    assert_eq!(written, base());
    assert_eq!(read(&written), workflow);
}

#[test]
fn every_example_is_checked_by_a_test() {
    let mut seen = 0;
    for kind in ["valid", "invalid"] {
        for entry in std::fs::read_dir(folder().join(kind)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let number = name.strip_prefix("G-2.7-").and_then(|rest| rest.get(..2));
            let row = number.is_some_and(|number| number.parse().is_ok_and(|n: u32| n <= 80));
            assert!(row || name.starts_with("many-"), "{name} belongs to no row");
            seen += 1;
        }
    }
    assert!(seen > 300, "{seen}");
}

// covers: G-2.7-01, D-7-WF-04, D-7-WF-05, G-1-22
#[test]
fn no_object_takes_a_key_of_its_own_but_the_field_map() {
    rows(1..=1);
}

// covers: G-9-03
// covers: G-2.7-03, G-2.7-04, G-2.7-05, G-2.7-06, G-2.7-07, G-2.7-08, G-2.7-09, G-2.7-10, G-2.7-11, G-2.7-12
#[test]
fn names_versions_and_dates_at_the_top() {
    rows(3..=12);
}

// covers: G-2.7-13, G-2.7-14, G-2.7-15, G-2.7-16, G-2.7-17, G-2.7-18
#[test]
fn discovery() {
    rows(13..=18);
}

// covers: G-2.7-19, G-2.7-20, G-2.7-21, G-2.7-22, G-2.7-23, G-2.7-24, G-2.7-25
#[test]
fn inputs_executor_query_and_binding_are_there() {
    rows(19..=25);
}

// covers: G-2.7-26, G-2.7-27, G-2.7-28, G-2.7-29, G-2.7-30, G-2.7-31, G-2.7-32, G-2.7-33
#[test]
fn privacy_preflight() {
    rows(26..=33);
}

// covers: G-2.7-34, G-2.7-35, G-2.7-36, G-2.7-37, G-2.7-38
#[test]
fn recovery_policy() {
    rows(34..=38);
}

// covers: G-2.7-39, G-2.7-40, G-2.7-41, G-2.7-42, G-2.7-43, G-2.7-44, G-2.7-45
#[test]
fn acceptance_checks_and_continue_action() {
    rows(39..=45);
}

// covers: G-2.7-46, G-2.7-47, G-2.7-48, G-2.7-49
#[test]
fn provenance() {
    rows(46..=49);
}

// covers: G-2.7-50, D-7-WF-06
#[test]
fn a_nested_object_needs_every_field_of_its() {
    rows(50..=50);
}

// covers: G-2.7-51, G-2.7-52, G-2.7-53, G-2.7-54, G-2.7-55, G-2.7-56, G-2.7-57, G-2.7-58, G-2.7-59
#[test]
fn input_items() {
    rows(51..=59);
}

// covers: G-2.7-60, G-2.7-61, G-2.7-62, G-2.7-63, G-2.7-64, G-2.7-65, G-2.7-66, G-2.7-67, G-2.7-68, G-2.7-69, G-2.7-70, G-2.7-71, G-2.7-72, G-2.7-73, G-2.7-74
#[test]
fn texts_of_the_runtime_binding() {
    rows(60..=74);
}

// covers: G-2.7-75, G-2.7-76, G-2.7-77, G-2.7-78, G-2.7-79, G-2.7-80
#[test]
fn forms_and_lists_of_the_runtime_binding() {
    rows(75..=80);
}

#[test]
fn all_findings_are_told_at_once_in_the_order_of_the_fields() {
    let schema = schema();
    let cases = cases("invalid", "many");
    assert!(!cases.is_empty());
    for (name, case) in &cases {
        assert!(case.findings.len() > 1, "{name}");
        check(&schema, "invalid", name, case);
    }
}

#[test]
fn a_key_that_stands_twice_is_told_with_its_path() {
    let text = base().to_string();
    let doubled = text
        .replacen("\"title\":", "\"title\":\"x\",\"title\":", 1)
        .replacen("\"sitemap\":", "\"sitemap\":true,\"sitemap\":", 1)
        .replacen(
            "\"prompt\":\"prompt\"",
            "\"prompt\":1,\"prompt\":2,\"prompt\":3",
            1,
        );
    let mut found = Workflow::read(&doubled).unwrap_err();
    found.sort();
    let expected = [
        "$.discovery.sitemap",
        "$.runtime_binding.request_field_map.prompt",
        "$.title",
    ];
    assert_eq!(paths(&found), expected, "{found:?}");
    assert!(
        found
            .iter()
            .all(|finding| finding.problem.contains("more than once"))
    );
}

#[test]
fn text_that_is_no_json_or_too_long_is_one_finding() {
    for text in ["", "{", "[1,2", "{\"a\":1} x", "nul"] {
        let found = Workflow::read(text).unwrap_err();
        assert_eq!(paths(&found), ["$"], "{text:?}: {found:?}");
    }
    let deep = "[".repeat(1_000);
    assert_eq!(paths(&Workflow::read(&deep).unwrap_err()), ["$"]);
    let other = Workflow::read("[]").unwrap_err();
    assert_eq!(other[0].to_string(), "$: must be an object");

    let text = base().to_string();
    let fits = format!("{text}{}", " ".repeat(MAX_WORKFLOW_BYTES - text.len()));
    assert!(Workflow::read(&fits).is_ok());
    let found = Workflow::read(&format!("{fits} ")).unwrap_err();
    assert!(found[0].problem.contains("bytes"), "{found:?}");
    // Short as it came, long as we would write it.
    let numbers = format!("[{}1e15]", "1e15,".repeat(40_000));
    let grown = text.replacen("\"prompt\":\"prompt\"", &format!("\"prompt\":{numbers}"), 1);
    assert!(grown.len() < MAX_WORKFLOW_BYTES);
    let found = Workflow::read(&grown).unwrap_err();
    assert!(found[0].problem.contains("bytes"), "{found:?}");
}

#[test]
fn a_text_or_a_key_with_a_nul_is_refused_wherever_it_stands() {
    let record = with(&[
        ("/title", Value::from("a\0b")),
        ("/runtime_binding/request_field_map/a\0", Value::from("\0")),
    ]);
    let mut found = Workflow::read(&record.to_string()).unwrap_err();
    found.sort();
    let key = "$.runtime_binding.request_field_map[\"a\\0\"]";
    assert_eq!(paths(&found), [key, key, "$.title"]);
}

#[test]
fn odd_keys_are_shown_short_and_quoted() {
    let record = with(&[
        ("/a b", Value::Null),
        (&format!("/{}", "k".repeat(500)), Value::Null),
    ]);
    let mut found = Workflow::read(&record.to_string()).unwrap_err();
    found.sort();
    let long = format!("$[\"{}\"]", "k".repeat(40));
    assert_eq!(paths(&found), ["$[\"a b\"]", &long]);
}
