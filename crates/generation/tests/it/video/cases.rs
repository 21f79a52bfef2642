//! Reads a folder of cases and checks each: what is refused and why, or the exact body, the units, the
//! report, what is left to measure. Every body that is sent is priced once more from scratch.

use std::path::Path;

use serde_json::{Map, Value, json};
use trunkline_catalog::{
    Attributes, Document, FieldReport, FieldTreatment, RequestError, Scalar, Specs, starter,
};
use trunkline_generation::video::{
    BillableUnits, Container, KnownMedia, MediaFacts, MediaKind, Plan, PlanContext, ProbeTarget,
    VideoRequest, family_of,
};

/// Checks every file of the family's folder; says how many there are.
pub(crate) fn walk(family: &str) -> usize {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/video");
    let records = starter().unwrap();
    let mut count = 0;
    for (name, case) in files(&folder.join(family)) {
        let variant = case["variant"].as_str().unwrap();
        check(&name, &format!("{family}_{variant}"), &case, &records);
        count += 1;
    }
    println!("{count} cases of family {family}");
    count
}

/// The JSON files of a folder by their names.
pub(crate) fn files(folder: &Path) -> Vec<(String, Value)> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let case = serde_json::from_slice(&bytes);
        files.push((
            name.clone(),
            case.unwrap_or_else(|error| panic!("{name}: {error}")),
        ));
    }
    files.sort_by(|one, other| one.0.cmp(&other.0));
    files
}

/// What the starter's record of a model says of it.
pub(crate) fn specs_of(records: &Document, model: &str) -> Specs {
    let record = records.models.get(model);
    record.map(|entry| entry.specs.clone()).unwrap_or_default()
}

/// Reads a request by the family of a word.
pub(crate) fn planned(
    word: &str,
    request: &Value,
    specs: &Specs,
    measured: &KnownMedia,
) -> Result<Plan, RequestError> {
    let ask = VideoRequest::of(request.as_object().unwrap().clone())?;
    let (family, variant) = family_of(word).unwrap();
    (family.plan)(&PlanContext {
        variant,
        request: &ask,
        specs,
        facts: measured,
    })
}

/// The bill of a plan's body, worked out from scratch.
pub(crate) fn billed(
    word: &str,
    plan: &Plan,
    specs: &Specs,
    measured: &KnownMedia,
) -> BillableUnits {
    let (family, variant) = family_of(word).unwrap();
    // It comes back from a column of text.
    let stored = serde_json::to_string(&plan.outbound).unwrap();
    let sent = serde_json::from_str(&stored).unwrap();
    assert_eq!(sent, plan.outbound);
    (family.bill)(variant, &sent, specs, measured).unwrap()
}

fn check(name: &str, word: &str, case: &Value, records: &Document) {
    let request = &case["request"];
    let specs = match case.get("specs") {
        Some(specs) => serde_json::from_value(specs.clone()).unwrap(),
        None => specs_of(records, request["model"].as_str().unwrap_or_default()),
    };
    let measured = measurements(case.get("measured"));
    let expect = &case["expect"];
    match (
        planned(word, request, &specs, &measured),
        expect.get("refused"),
    ) {
        (Err(refusal), Some(refused)) => {
            assert_eq!(json!(refusal.code), refused["code"], "{name}: {refusal}");
            assert_eq!(json!(refusal.param), refused["param"], "{name}: {refusal}");
            if let Some(message) = refused.get("message") {
                assert_eq!(json!(refusal.message), *message, "{name}");
            }
        }
        (Ok(plan), None) => {
            assert_eq!(json!(plan.outbound.body), expect["body"], "{name}");
            assert_eq!(json!(plan.outbound.endpoint), expect["endpoint"], "{name}");
            assert_eq!(json!(plan.outbound.protocol), expect["protocol"], "{name}");
            assert_eq!(plan.bill, bill_of(&expect["bill"]), "{name}");
            assert_eq!(notes(&plan.report), sorted(&expect["notes"]), "{name}");
            let left: Vec<Value> = plan.to_probe.iter().map(subject).collect();
            assert_eq!(json!(left), expect["to_measure"], "{name}");
            assert_eq!(json!(plan.size), expect["size"], "{name}");
            assert_eq!(billed(word, &plan, &specs, &measured), plan.bill, "{name}");
            names_every_field(name, request, &plan.report);
        }
        (Err(refusal), None) => panic!("{name} was refused: {refusal:?}"),
        (Ok(plan), Some(refused)) => panic!("{name} was not refused ({refused}): {plan:#?}"),
    }
}

/// Nothing that was sent is missing from the report.
fn names_every_field(name: &str, request: &Value, report: &FieldReport) {
    let reported = |path: &str| {
        let inside = format!("{path}.");
        let mut notes = report.notes().iter();
        notes.any(|note| note.field == path || note.field.starts_with(&inside))
    };
    for (field, value) in request.as_object().unwrap() {
        match value.as_object().filter(|_| field == "metadata") {
            Some(inside) => {
                for key in inside.keys() {
                    assert!(
                        reported(&format!("metadata.{key}")),
                        "{name}: metadata.{key}"
                    );
                }
            }
            None => assert!(reported(field), "{name}: {field}"),
        }
    }
}

/// All notes that say something, by field.
fn notes(report: &FieldReport) -> Vec<Value> {
    let telling = |note: &&trunkline_catalog::FieldNote| {
        note.fate != FieldTreatment::Read || note.code.is_some()
    };
    let reported = report.notes().iter().filter(telling).map(|note| {
        if note.fate == FieldTreatment::Ignored {
            assert!(note.fix.is_some(), "{} has no fix", note.field);
        }
        json!({"field": note.field, "fate": note.fate, "code": note.code})
    });
    sorted(&reported.collect())
}

fn sorted(notes: &Value) -> Vec<Value> {
    let mut notes = notes.as_array().unwrap().clone();
    notes.sort_by_key(|note| note["field"].as_str().unwrap().to_owned());
    notes
}

fn bill_of(expected: &Value) -> BillableUnits {
    let number = |name: &str| expected[name].as_u64().unwrap();
    let mut attributes = Attributes::none();
    for (path, value) in expected["attributes"].as_object().unwrap() {
        let value: Scalar = serde_json::from_value(value.clone()).unwrap();
        attributes = attributes.with(path, value);
    }
    BillableUnits {
        output_seconds: number("output_seconds"),
        input_seconds: number("input_seconds"),
        extra_images: number("extra_images"),
        attributes,
        exact: expected["exact"].as_bool().unwrap(),
    }
}

fn measurements(listed: Option<&Value>) -> KnownMedia {
    let none = Map::new();
    let listed = listed.and_then(Value::as_object).unwrap_or(&none);
    let mut all = KnownMedia::default();
    for (url, one) in listed {
        let number = |name: &str| one.get(name).and_then(Value::as_u64);
        let container = one
            .get("container")
            .map(|word| match word.as_str().unwrap() {
                "mp4" => Container::Mp4,
                "mov" => Container::Mov,
                "other" => Container::Other,
                word => panic!("no container {word}"),
            });
        let measured = MediaFacts {
            millis: number("millis"),
            width: number("width"),
            height: number("height"),
            container,
        };
        all = all.with(url, measured);
    }
    all
}

fn subject(subject: &ProbeTarget) -> Value {
    let kind = match subject.kind {
        MediaKind::Image => "image",
        MediaKind::Video => "video",
        MediaKind::Audio => "audio",
    };
    json!({"kind": kind, "url": subject.url, "param": subject.param})
}
