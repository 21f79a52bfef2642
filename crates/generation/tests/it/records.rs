//! Records, requests and uploads for tests.

use serde_json::{Map, Value, json};
use trunkline_catalog::{Entry, FieldNote, FieldReport, PriceList};
use trunkline_generation::Fields;
use trunkline_generation::transcription::Upload;
use trunkline_probe::{Codec, Container, Length, Measurement};

/// A record with some fields of its own.
pub(crate) fn entry(fields: &Value) -> Entry {
    let mut record = json!({
        "groups": ["default"],
        "prices": { "billing_unit": "per_call", "standard": { "per_call": 1000 } },
    });
    let map = record.as_object_mut().unwrap();
    for (name, value) in fields.as_object().unwrap() {
        map.insert(name.clone(), value.clone());
    }
    serde_json::from_value(record).unwrap_or_else(|error| panic!("{fields}: {error}"))
}

/// The prices of a record.
pub(crate) fn prices(entry: &Entry) -> PriceList {
    entry.prices.clone().check().unwrap()
}

/// Prices with tiers of these fields and values.
pub(crate) fn tiered(path: &str, values: &[&str]) -> Value {
    let tiers: Vec<Value> = values
        .iter()
        .zip(1..)
        .map(|(value, place)| {
            json!({
                "tier": format!("tier_{place}"),
                "standard": { "per_call": 100 * place },
                "when": [{ "dim": "request_attr", "path": path, "equals": value }],
            })
        })
        .collect();
    json!({ "billing_unit": "per_call", "standard": { "per_call": 1000 }, "tiers": tiers })
}

/// Fields of a body of JSON.
pub(crate) fn body(fields: &Value) -> Fields {
    Fields {
        values: fields.as_object().unwrap().clone(),
        is_form: false,
    }
}

/// Fields of a form.
pub(crate) fn form(fields: &Value) -> Fields {
    Fields {
        is_form: true,
        ..body(fields)
    }
}

/// A fields' object with one more, or without one where it is null.
pub(crate) fn with(fields: &Value, name: &str, value: Value) -> Value {
    let mut map: Map<String, Value> = fields.as_object().unwrap().clone();
    map.insert(name.to_owned(), value);
    Value::Object(map)
}

pub(crate) fn container(word: &str) -> Container {
    match word {
        "wav" => Container::Wav,
        "mp3" => Container::Mp3,
        "flac" => Container::Flac,
        "ogg" => Container::Ogg,
        "mp4" => Container::Mp4,
        "webm" => Container::WebM,
        "aac" => Container::Adts,
        word => panic!("no container {word}"),
    }
}

/// A recording of a kind and a length.
pub(crate) fn upload(container: Container, millis: u64) -> Upload {
    let codec = match container {
        Container::Wav => Codec::Pcm {
            bits: 16,
            is_float: false,
        },
        Container::Mp3 => Codec::Mp3,
        Container::Flac => Codec::Flac,
        Container::Ogg | Container::WebM => Codec::Opus,
        Container::Mp4 | Container::Adts => Codec::Aac,
    };
    Upload {
        name: "talk.wav".to_owned(),
        content_type: "audio/wav".to_owned(),
        bytes: 1_000,
        measurement: Measurement {
            container,
            codec,
            length: Length::from_nanos(millis * 1_000_000),
            undeclared: Length::ZERO,
        },
    }
}

/// The notes that say something: field, fate, code.
pub(crate) fn telling(notes: &[FieldNote]) -> Value {
    let telling = notes
        .iter()
        .filter(|note| json!(note.fate) != "read" || note.code.is_some());
    let reported = telling.map(|note| json!([note.field, note.fate, note.code]));
    Value::Array(reported.collect())
}

/// The note of a field.
pub(crate) fn note<'a>(report: &'a FieldReport, field: &str) -> Option<&'a FieldNote> {
    report.notes().iter().find(|note| note.field == field)
}
