//! `specs`: JSON text inside a record, its closed word and its keys.

use serde_json::{Value, json};
use trunkline_catalog::{Limits, PriceClass, PricingContext, bound};

use super::{chat_entry, fixture, served};

/// `specs` is text, and the text is JSON.
fn specs(name: &str) -> Value {
    let record = served(&fixture(name));
    serde_json::from_str(record["specs"].as_str().unwrap()).unwrap()
}

/// One key goes in and comes out, and another type of value is refused.
fn round_trip(key: &str, good: &Value, bad: &Value) {
    let fields = |value: &Value| format!(r#""specs":{{"{key}":{value}}}"#);
    let record = served(&chat_entry(&fields(good)).unwrap());
    let parsed: Value = serde_json::from_str(record["specs"].as_str().unwrap()).unwrap();
    assert_eq!(parsed, json!({ key: good }));
    assert!(chat_entry(&fields(bad)).is_err(), "{key}: {bad}");
    let without = specs("minimal");
    assert!(
        without.get(key).is_none(),
        "{key} is left out where unknown"
    );
}

// covers: G-2.6-06
#[test]
fn specs_is_a_string_that_parses_a_second_time() {
    assert_eq!(specs("minimal"), json!({}));
    let chat = specs("chat");
    assert_eq!(chat["type"], "llm");
    assert_eq!(chat["context_window"], 1_000_000);
    assert!(
        chat_entry(r#""specs":"{}""#).is_err(),
        "in files it is a table"
    );
    assert!(chat_entry(r#""specs":{"colour":"blue"}"#).is_err());
}

// covers: G-2.6-07
#[test]
fn specs_type_is_one_of_six_words() {
    for word in ["llm", "image", "video", "asr", "music", "decision"] {
        round_trip("type", &json!(word), &json!("poem"));
    }
    for wrong in ["LLM", "speech", ""] {
        assert!(chat_entry(&format!(r#""specs":{{"type":"{wrong}"}}"#)).is_err());
    }
}

// covers: G-2.6-08, G-2.6-09, G-2.6-15
#[test]
fn lengths_are_keys_of_specs_where_they_are_known() {
    for key in ["context_window", "max_input_tokens", "max_duration_seconds"] {
        round_trip(key, &json!(200_000), &json!("200k"));
        round_trip(key, &json!(0), &json!(-1));
    }
    assert_eq!(specs("video")["max_duration_seconds"], 15);
}

// covers: G-2.6-10
#[test]
fn max_output_tokens_caps_the_worst_case_of_a_quote() {
    round_trip("max_output_tokens", &json!(100_000), &json!(1.5));
    let worst = |name: &str| {
        let book = fixture(name);
        let model = book.model(book.models().next().unwrap()).unwrap();
        let limits = Limits {
            input: 0,
            output: model.entry().specs.max_output(),
            calls: 0,
            video_seconds: 0,
        };
        let choice = trunkline_catalog::GroupChoice::Named("default");
        let (_, offer) = book.offer(book.models().next().unwrap(), choice).unwrap();
        let attributes = trunkline_catalog::Attributes::none();
        let context = PricingContext {
            attributes: &attributes,
            at: trunkline_types::Timestamp::from_micros(0),
        };
        bound(offer, PriceClass::Standard, &limits, context)
            .unwrap()
            .total
            .nanos()
    };
    // 100,000 tokens at the dearest output, 12 USD a million: 1.2 USD.
    assert_eq!(worst("chat"), 1_200_000_000);
    // Nothing said: 8,192 tokens at 2 pico-USD, rounded up to nano-USD.
    assert_eq!(worst("minimal"), 17);
}

// covers: G-2.6-11, G-2.6-12, G-2.6-14
#[test]
fn modalities_and_resolutions_are_lists_of_words() {
    for key in ["input_modalities", "output_modalities", "resolutions"] {
        round_trip(key, &json!(["text", "1280*720", "smell"]), &json!("text"));
        assert!(chat_entry(&format!(r#""specs":{{"{key}":[""]}}"#)).is_err());
    }
    assert_eq!(specs("video")["resolutions"], json!(["720P", "1080P"]));
    assert_eq!(specs("image")["resolutions"], json!(["1024x1024"]));
}

// covers: G-2.6-13
#[test]
fn reasoning_efforts_say_which_words_a_reasoning_model_takes() {
    round_trip("reasoning_efforts", &json!(["none", "max"]), &json!([1]));
    let book = fixture("chat");
    let entry = book.model("acme-large").unwrap().entry();
    let efforts: Vec<&str> = entry.specs.efforts().collect();
    assert_eq!(efforts, ["none", "low", "high"]);
    assert!(entry.reasons());
    let silent = fixture("minimal");
    let entry = silent.model("least").unwrap().entry();
    assert_eq!(
        entry.specs.efforts().collect::<Vec<_>>(),
        ["low", "medium", "high"]
    );
    assert!(!entry.reasons());
    let by_task = chat_entry(r#""tasks":["reasoning"]"#).unwrap();
    assert!(by_task.model("m").unwrap().entry().reasons());
}

// covers: G-2.6-16
#[test]
fn pricing_notes_are_text() {
    round_trip("pricing_notes", &json!("Cheaper at night."), &json!(["a"]));
    assert_eq!(specs("chat")["pricing_notes"], "Cheaper at night.");
}

#[test]
fn limits_of_uploads_speech_and_references_are_numbers_of_the_record() {
    for key in [
        "max_images",
        "min_duration_seconds",
        "max_references",
        "max_reference_images",
        "max_reference_videos",
        "max_reference_audios",
        "max_input_characters",
        "max_upload_seconds",
        "max_upload_bytes",
    ] {
        round_trip(key, &json!(25_000_000), &json!("25 MB"));
    }
    for key in ["voices", "response_formats"] {
        round_trip(key, &json!(["anna"]), &json!("anna"));
    }
}
