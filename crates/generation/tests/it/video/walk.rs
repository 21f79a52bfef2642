//! Walks a folder of cases: each file is a request beside everything that is to come of it. What
//! differs is told path by path, for all files at once.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value, json};
use trunkline_catalog::{Attributes, FieldTreatment, RequestError, Scalar, Specs};
use trunkline_generation::video::{
    BillableUnits, Container, Family, KnownMedia, MediaFacts, Plan, PlanContext, VideoRequest,
    family_of,
};

/// What a price book may ask for.
const ATTRIBUTES: [&str; 8] = [
    "resolution",
    "duration",
    "mode",
    "sound",
    "reference_video",
    "quality",
    "style",
    "seed",
];

/// One case.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    /// Lines of the specification.
    covers: Vec<String>,
    variant: String,
    /// What is to be seen here.
    about: String,
    request: Value,
    #[serde(default)]
    measured: Map<String, Value>,
    /// Fields of the record that differ from the usual one.
    #[serde(default)]
    specs: Map<String, Value>,
    expect: Expected,
}

#[derive(Debug, Deserialize)]
struct Expected {
    refused: Option<ExpectedRefusal>,
    /// Of a request that is taken: fields that no plan has are told as differences.
    #[serde(flatten)]
    accepted: Map<String, Value>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExpectedRefusal {
    code: String,
    param: String,
    message: Option<String>,
}

/// What was walked.
pub(crate) struct Walked {
    /// Cases.
    pub(crate) cases: usize,
    /// How many of them are refused.
    pub(crate) refused: usize,
    /// Every line of the specification that a case names.
    pub(crate) covers: BTreeSet<String>,
}

/// Walks `tests/fixtures/<word>`. `specs` is the record of a variant. Panics with every difference.
pub(crate) fn folder(word: &str, specs: impl Fn(&str) -> Specs) -> Walked {
    let mut walked = Walked {
        cases: 0,
        refused: 0,
        covers: BTreeSet::new(),
    };
    let mut failures = String::new();
    for path in files(word) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let read: Result<Case, _> = serde_json::from_slice(&std::fs::read(&path).unwrap());
        let case = read.unwrap_or_else(|error| panic!("{word}/{name}: {error}"));
        let differences = check(word, &case, &specs);
        if !differences.is_empty() {
            writeln!(failures, "\n{word}/{name}: {}", case.about).unwrap();
            for line in differences {
                writeln!(failures, "  {line}").unwrap();
            }
        }
        walked.cases += 1;
        walked.refused += usize::from(case.expect.refused.is_some());
        walked.covers.extend(case.covers);
    }
    assert!(failures.is_empty(), "{failures}");
    println!(
        "family {word}: {} cases, {} of them refused, {} lines of the specification",
        walked.cases,
        walked.refused,
        walked.covers.len()
    );
    walked
}

/// The family and the variant of a word such as `a` and `text`.
pub(crate) fn family(word: &str, variant: &str) -> (&'static Family, &'static str) {
    let found = family_of(&format!("{word}_{variant}"));
    found.unwrap_or_else(|| panic!("no family {word} with a variant {variant}"))
}

/// Reads a request into a plan, as the gateway does.
pub(crate) fn planned(
    (family, variant): (&'static Family, &'static str),
    request: &Value,
    specs: &Specs,
    measured: &KnownMedia,
) -> Result<Plan, RequestError> {
    let ask = VideoRequest::read(&serde_json::to_vec(request).unwrap())?;
    (family.plan)(&PlanContext {
        variant,
        request: &ask,
        specs,
        facts: measured,
    })
}

/// What a body that is sent costs must be what was planned, at every later check.
pub(crate) fn bill_again(
    (family, variant): (&'static Family, &'static str),
    plan: &Plan,
    specs: &Specs,
    measured: &KnownMedia,
) -> Result<(), String> {
    match (family.bill)(variant, &plan.outbound, specs, measured) {
        Ok(bill) if bill == plan.bill => Ok(()),
        Ok(bill) => Err(format!("planned {:?}\n  billed {bill:?}", plan.bill)),
        Err(refusal) => Err(format!("billing refuses what was planned: {refusal:?}")),
    }
}

/// What was measured, as cases write it.
pub(crate) fn measurements(written: &Map<String, Value>) -> KnownMedia {
    let number = |value: &Value, name: &str| value.get(name).and_then(Value::as_u64);
    let container = |value: &Value| match value.get("container").and_then(Value::as_str) {
        None => None,
        Some("mp4") => Some(Container::Mp4),
        Some("mov") => Some(Container::Mov),
        Some(_) => Some(Container::Other),
    };
    written
        .iter()
        .fold(KnownMedia::default(), |all, (url, value)| {
            let measured = MediaFacts {
                millis: number(value, "millis"),
                width: number(value, "width"),
                height: number(value, "height"),
                container: container(value),
            };
            all.with(url, measured)
        })
}

fn files(word: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures/video")
        .join(word);
    let listed = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    let paths = listed.map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|end| end == "json"))
        .collect();
    paths.sort();
    assert!(!paths.is_empty(), "{folder:?} holds no case");
    paths
}

fn check(word: &str, case: &Case, usual: &impl Fn(&str) -> Specs) -> Vec<String> {
    let family = family(word, &case.variant);
    let specs = with_specs(usual(&case.variant), &case.specs);
    let measured = measurements(&case.measured);
    let outcome = planned(family, &case.request, &specs, &measured);
    match (&case.expect.refused, outcome) {
        (Some(expected), Err(refusal)) => refusal_differences(expected, &refusal),
        (Some(expected), Ok(plan)) => {
            let body = Value::Object(plan.outbound.body);
            vec![format!("expected {expected:?}, but it is taken: {body}")]
        }
        (None, Err(refusal)) => vec![format!("expected to be taken, but {refusal:?}")],
        (None, Ok(plan)) => {
            let mut found = Vec::new();
            let mut expected = Value::Object(case.expect.accepted.clone());
            if let Some(Value::Array(notes)) = expected.get_mut("notes") {
                *notes = by_field(std::mem::take(notes));
            }
            // A case may leave out what it is not about: all but the body, the bill and the notes.
            let actual = without_unasked(plan_view(&plan), &case.expect.accepted);
            differences("", &expected, &actual, &mut found);
            attribute_differences(&case.expect.accepted, &plan.bill, &mut found);
            if let Err(text) = bill_again(family, &plan, &specs, &measured) {
                found.push(text);
            }
            found
        }
    }
}

fn with_specs(usual: Specs, other: &Map<String, Value>) -> Specs {
    let mut written = serde_json::to_value(usual).unwrap();
    let fields = written.as_object_mut().unwrap();
    fields.extend(other.clone());
    serde_json::from_value(written).unwrap()
}

fn refusal_differences(expected: &ExpectedRefusal, refusal: &RequestError) -> Vec<String> {
    let texts = [
        ("code", Some(expected.code.as_str()), refusal.code),
        ("param", Some(expected.param.as_str()), &refusal.param),
        ("message", expected.message.as_deref(), &refusal.message),
    ];
    let wrong = texts.into_iter().filter_map(|(name, expected, got)| {
        let expected = expected?;
        (expected != got).then(|| format!("refused.{name}: expected {expected:?}, got {got:?}"))
    });
    let mut wrong: Vec<String> = wrong.collect();
    if !wrong.is_empty() {
        wrong.push(format!("the whole refusal: {refusal:?}"));
    }
    wrong
}

/// A plan as cases write it.
fn plan_view(plan: &Plan) -> Value {
    let reported = plan.report.notes().iter();
    let reported = reported.filter(|note| note.fate != FieldTreatment::Read || note.code.is_some());
    let notes: Vec<Value> = reported
        .map(|note| json!({ "field": note.field, "fate": note.fate, "code": note.code }))
        .collect();
    let notes = by_field(notes);
    let subjects = plan.to_probe.iter();
    let subjects: Vec<Value> = subjects
        .map(|subject| {
            let kind = format!("{:?}", subject.kind).to_lowercase();
            json!({ "kind": kind, "url": subject.url, "param": subject.param })
        })
        .collect();
    json!({
        "body": plan.outbound.body,
        "endpoint": plan.outbound.endpoint,
        "protocol": plan.outbound.protocol,
        "bill": shown_bill(&plan.bill),
        "notes": notes,
        "to_measure": subjects,
        "size": plan.size,
    })
}

/// Notes in an order that does not depend on how JSON objects are kept.
fn by_field(mut notes: Vec<Value>) -> Vec<Value> {
    notes.sort_by_key(|note| note.get("field").map(ToString::to_string));
    notes
}

fn shown_bill(bill: &BillableUnits) -> Value {
    let mut attributes = Map::new();
    for path in ATTRIBUTES {
        if let Some(value) = bill.attributes.get(path) {
            attributes.insert(path.to_owned(), json!(value));
        }
    }
    json!({
        "output_seconds": bill.output_seconds,
        "input_seconds": bill.input_seconds,
        "extra_images": bill.extra_images,
        "attributes": attributes,
        "exact": bill.exact,
    })
}

fn without_unasked(mut view: Value, expected: &Map<String, Value>) -> Value {
    let fields = view.as_object_mut().unwrap();
    for name in ["endpoint", "protocol", "to_measure", "size"] {
        if !expected.contains_key(name) {
            fields.remove(name);
        }
    }
    view
}

/// Attributes that no list here names must not be there either.
fn attribute_differences(
    expected: &Map<String, Value>,
    bill: &BillableUnits,
    found: &mut Vec<String>,
) {
    let written = expected.get("bill").and_then(|bill| bill.get("attributes"));
    let written = written.and_then(Value::as_object);
    let all = written.into_iter().flatten();
    let expected = all.fold(Attributes::none(), |all, (path, value)| {
        let value: Scalar = serde_json::from_value(value.clone()).unwrap();
        all.with(path, value)
    });
    if expected != bill.attributes {
        let got = &bill.attributes;
        found.push(format!(
            "bill.attributes: expected {expected:?}, got {got:?}"
        ));
    }
}

/// Every place where two values differ, by its path.
fn differences(path: &str, expected: &Value, got: &Value, found: &mut Vec<String>) {
    match (expected, got) {
        (Value::Object(expected), Value::Object(got)) => {
            let names: BTreeSet<&String> = expected.keys().chain(got.keys()).collect();
            for name in names {
                let inside = format!("{path}/{name}");
                match (expected.get(name), got.get(name)) {
                    (Some(expected), Some(got)) => differences(&inside, expected, got, found),
                    (Some(expected), None) => {
                        found.push(format!("{inside}: expected {expected}, got nothing"));
                    }
                    (None, Some(got)) => {
                        found.push(format!("{inside}: expected nothing, got {got}"));
                    }
                    (None, None) => {}
                }
            }
        }
        (Value::Array(expected), Value::Array(got)) if expected.len() == got.len() => {
            for (place, (expected, got)) in expected.iter().zip(got).enumerate() {
                differences(&format!("{path}/{place}"), expected, got, found);
            }
        }
        (expected, got) if expected == got => {}
        (expected, got) => found.push(format!("{path}: expected {expected}, got {got}")),
    }
}
