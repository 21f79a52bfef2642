//! Requests for speech: what is read, and what a record makes of it.

use serde_json::{Value, json};
use trunkline_catalog::{FieldTreatment, RequestError};
use trunkline_generation::speech::{Plan, SpeechRequest, plan, protocol_of};
use trunkline_probe::SpeechFormat;

use crate::records::{body, entry, form, note, telling, with};

fn hello() -> Value {
    json!({ "model": "m", "input": "hello", "voice": "anna" })
}

fn read(fields: &Value) -> Result<SpeechRequest, RequestError> {
    SpeechRequest::read(&body(fields))
}

fn planned(fields: &Value, record: &Value) -> Result<Plan, RequestError> {
    plan(read(fields)?, &entry(record))
}

fn param<T: std::fmt::Debug>(outcome: Result<T, RequestError>) -> String {
    outcome.expect_err("it must be refused").param
}

fn sent(plan: &Plan) -> Value {
    let write = protocol_of("openai_speech").unwrap().encode;
    let call = write(&plan.request, "upstream").unwrap().request;
    serde_json::from_slice(&call.body.unwrap()).unwrap()
}

// covers: G-4.4-01, G-4.4-02, G-4.4-05
#[test]
fn model_input_and_voice_are_required() {
    for name in ["model", "input", "voice"] {
        for wrong in [json!(null), json!(""), json!(5), json!(["x"])] {
            assert_eq!(param(read(&with(&hello(), name, wrong))), name);
        }
        let mut without = hello();
        without.as_object_mut().unwrap().remove(name);
        assert_eq!(param(read(&without)), name);
    }
    assert_eq!(
        param(read(&with(&hello(), "voice", json!({ "name": "anna" })))),
        "voice"
    );
    assert_eq!(
        read(&with(&hello(), "voice", json!({ "id": "v1" })))
            .unwrap()
            .voice,
        "v1"
    );
}

#[test]
fn characters_are_unicode_scalar_values() {
    let ask = read(&with(&hello(), "input", json!("a, b ü 好 👍🏽"))).unwrap();
    assert_eq!(ask.characters(), 11);
}

// covers: G-4.4-06
#[test]
fn voices_are_those_that_the_record_lists() {
    let record = json!({ "specs": { "voices": ["anna", "otto"] } });
    let plan = planned(&hello(), &record).unwrap();
    assert_eq!(sent(&plan)["voice"], json!("anna"));
    let refusal = planned(&with(&hello(), "voice", json!("eve")), &record).unwrap_err();
    assert_eq!(refusal.param, "voice");
    assert!(refusal.message.contains("anna, otto"));
    assert!(planned(&with(&hello(), "voice", json!("eve")), &json!({})).is_ok());
}

// covers: G-4.4-07
#[test]
fn the_format_is_one_that_the_model_makes_and_is_sent() {
    let all = ["mp3", "opus", "aac", "flac", "wav", "pcm"];
    let record = json!({ "specs": { "response_formats": all } });
    for word in all {
        let plan = planned(&with(&hello(), "response_format", json!(word)), &record).unwrap();
        assert_eq!(plan.request.format, SpeechFormat::parse(word));
        assert_eq!(sent(&plan)["response_format"], json!(word));
    }
    let few = json!({ "specs": { "response_formats": ["mp3", "wav"] } });
    let refusal = planned(&with(&hello(), "response_format", json!("flac")), &few).unwrap_err();
    assert_eq!(refusal.param, "response_format");
    for wrong in [json!("mp4"), json!("MP3"), json!(1)] {
        assert_eq!(
            param(read(&with(&hello(), "response_format", wrong))),
            "response_format"
        );
    }
}

#[test]
fn a_missing_format_is_the_records_else_mp3_and_is_reported() {
    let cases = [
        (json!({}), "mp3"),
        (json!({ "default_response_format": "wav" }), "wav"),
        (
            json!({ "specs": { "response_formats": ["wav", "mp3"] } }),
            "mp3",
        ),
        (
            json!({ "specs": { "response_formats": ["wav", "pcm"] } }),
            "wav",
        ),
    ];
    for (record, word) in cases {
        let plan = planned(&hello(), &record).unwrap();
        assert_eq!(plan.request.format, SpeechFormat::parse(word));
        let reported = note(&plan.report, "response_format").unwrap();
        assert_eq!(
            (reported.fate, reported.value.as_deref()),
            (FieldTreatment::Defaulted, Some(word))
        );
    }
}

// covers: G-4.4-10, G-4.4-11
#[test]
fn speed_is_a_number_and_instructions_are_a_text_and_both_are_sent() {
    let fields = with(&hello(), "speed", json!(1.5));
    let fields = with(&fields, "instructions", json!("slowly"));
    let body = sent(&planned(&fields, &json!({})).unwrap());
    assert_eq!(
        (&body["speed"], &body["instructions"]),
        (&json!(1.5), &json!("slowly"))
    );
    for wrong in [json!("1.5"), json!(true), json!([1])] {
        assert_eq!(param(read(&with(&hello(), "speed", wrong))), "speed");
    }
    for wrong in [json!(5), json!({})] {
        assert_eq!(
            param(read(&with(&hello(), "instructions", wrong))),
            "instructions"
        );
    }
    let speed = |text: &str| SpeechRequest::read(&form(&with(&hello(), "speed", json!(text))));
    assert_eq!(speed("1.5").unwrap().speed.unwrap().to_string(), "1.5");
    assert_eq!(param(speed("NaN")), "speed");
    assert_eq!(param(speed("fast")), "speed");
}

// covers: G-8-19, G-8-20
#[test]
fn the_length_of_the_input_is_limited_by_the_record_of_its_model_alone() {
    let record = json!({ "specs": { "max_input_characters": 1000 } });
    let of_length = |count: usize| with(&hello(), "input", json!("ü".repeat(count)));
    assert!(planned(&of_length(1000), &record).is_ok());
    assert_eq!(param(planned(&of_length(1001), &record)), "input");
    assert!(planned(&of_length(1001), &json!({})).is_ok());
}

#[test]
fn the_answer_is_audio_and_no_events() {
    let fields = with(&hello(), "stream_format", json!("audio"));
    let plan = planned(&fields, &json!({})).unwrap();
    assert!(
        !sent(&plan)
            .as_object()
            .unwrap()
            .contains_key("stream_format")
    );
    assert!(note(&plan.report, "stream_format").is_some());
    assert_eq!(
        param(read(&with(&hello(), "stream_format", json!("sse")))),
        "stream_format"
    );
}

#[test]
fn strange_fields_are_told_and_a_record_may_drop_or_refuse() {
    let fields = json!({
        "model": "m", "input": "x", "voice": "anna", "speed": 2, "instruction": "slowly",
    });
    let plan = planned(&fields, &json!({ "parameters": { "speed": "drop" } })).unwrap();
    let reported = json!([
        ["speed", "ignored", "parameter_dropped"],
        ["instruction", "read", "unknown_field"],
        ["response_format", "defaulted", "response_format_defaulted"],
    ]);
    assert_eq!(telling(plan.report.notes()), reported);
    assert_eq!(plan.request.speed, None);
    for name in fields.as_object().unwrap().keys() {
        assert!(note(&plan.report, name).is_some(), "{name}");
    }
    let refused = planned(&fields, &json!({ "parameters": { "speed": "refuse" } }));
    assert_eq!(param(refused), "speed");
}
