//! The plain fields of a record: their JSON types, what is left out, what is refused.

use serde_json::{Value, json};
use trunkline_catalog::{Number, RouteHealth, Routes};
use trunkline_types::EndpointType;

use super::{chat_entry, entry, fixture, seen_with, served};

// covers: G-2.6-03
#[test]
fn a_minimal_record_leaves_out_what_it_does_not_know() {
    let record = served(&fixture("minimal"));
    let fields: Vec<&String> = record.as_object().unwrap().keys().collect();
    assert_eq!(
        fields,
        [
            "billing_rate",
            "billing_rate_source",
            "billing_unit",
            "book_faces",
            "capabilities",
            "completion_ratio",
            "enable_groups",
            "login_required",
            "model_name",
            "model_ratio",
            "pricing_version",
            "quota_type",
            "specs",
            "supported_endpoint_types",
            "tasks",
        ]
    );
    let nulls = |object: &Value| {
        let fields = object.as_object().unwrap().iter();
        let names = fields
            .filter(|(_, value)| value.is_null())
            .map(|(name, _)| name.clone());
        names.collect::<Vec<String>>()
    };
    assert!(nulls(&record).is_empty());
    // The one field that the specification lets be null.
    assert_eq!(nulls(&record["book_faces"]), ["paid"]);
}

// covers: G-2.6-05
#[test]
fn description_is_free_text() {
    assert_eq!(
        served(&fixture("chat"))["description"],
        "Thinks, and looks at pictures."
    );
    let odd = served(&chat_entry(r#""description":"<b>\"1\"</b>\n""#).unwrap());
    assert_eq!(odd["description"], "<b>\"1\"</b>\n");
    assert!(chat_entry(r#""description":7"#).is_err());
    let long = "x".repeat(20_001);
    assert!(chat_entry(&format!(r#""description":"{long}""#)).is_err());
}

// covers: G-2.6-17
#[test]
fn login_required_is_an_integer() {
    assert_eq!(served(&fixture("chat"))["login_required"], json!(1));
    assert_eq!(served(&fixture("minimal"))["login_required"], json!(0));
    assert!(chat_entry(r#""login_required":"yes""#).is_err());
}

// covers: G-2.6-18
#[test]
fn icon_is_a_string_the_models_own_or_its_vendors() {
    assert_eq!(served(&fixture("chat"))["icon"], "acme-large.svg");
    let mut document = fixture("chat").document();
    document.models.get_mut("acme-large").unwrap().icon = None;
    let book = trunkline_catalog::Book::check(document).unwrap();
    assert_eq!(served(&book)["icon"], "acme.svg");
    assert!(chat_entry(r#""icon":1"#).is_err());
}

// covers: G-2.6-19
#[test]
fn tags_are_one_text_that_splits_at_its_commas() {
    let record = served(&fixture("chat"));
    let tags = record["tags"].as_str().unwrap();
    assert_eq!(tags.split(',').collect::<Vec<_>>(), ["new", "long context"]);
    assert!(
        chat_entry(r#""tags":["a,b"]"#)
            .unwrap_err()
            .contains("comma")
    );
    assert!(chat_entry(r#""tags":[""]"#).is_err());
}

// covers: G-2.6-20, G-2.6-30, D-2-34
#[test]
fn vendor_id_and_owner_by_name_the_vendor() {
    let record = served(&fixture("chat"));
    assert_eq!(record["vendor_id"], json!(7));
    assert_eq!(record["owner_by"], "acme");
    let unknown = chat_entry(r#""vendor":"nobody""#).unwrap_err();
    assert!(unknown.contains("\"nobody\" is no vendor"), "{unknown}");
}

// covers: G-2.6-31
#[test]
fn enable_groups_is_a_sorted_array_of_strings() {
    assert_eq!(
        served(&fixture("chat"))["enable_groups"],
        json!(["default", "vip"])
    );
    let nowhere = r#"{"groups":{},"models":{"m":{"groups":[],"prices":{"billing_unit":"tokens","standard":{"input":1,"output":1}}}}}"#;
    let refused = trunkline_catalog::Book::from_json(nowhere)
        .unwrap_err()
        .to_string();
    assert!(refused.contains("sold in no group"), "{refused}");
}

// covers: G-2.6-32
#[test]
fn supported_endpoint_types_are_a_closed_list_of_strings() {
    let all: Vec<&str> = EndpointType::ALL
        .iter()
        .map(|endpoint| endpoint.name())
        .collect();
    let fields = format!(r#""endpoints":{}"#, json!(all));
    assert_eq!(
        served(&chat_entry(&fields).unwrap())["supported_endpoint_types"],
        json!(all)
    );
    assert!(chat_entry(r#""endpoints":["telepathy"]"#).is_err());
    // Nothing said: a chat model takes all three formats.
    assert_eq!(
        served(&fixture("minimal"))["supported_endpoint_types"],
        json!(["openai", "anthropic", "openai-response"])
    );
}

// covers: G-2.6-42, G-2.6-43
#[test]
fn music_and_system_one_stand_in_the_catalog_and_no_path_serves_them() {
    for (name, word) in [("music", "music-generation"), ("decision", "system-one")] {
        let book = fixture(name);
        assert_eq!(served(&book)["supported_endpoint_types"], json!([word]));
        let model = book.model(book.models().next().unwrap()).unwrap();
        assert!(!model.entry().is_callable(), "{name}");
    }
    let callable = EndpointType::ALL
        .iter()
        .filter(|endpoint| endpoint.is_callable());
    assert_eq!(callable.count(), 9);
}

// covers: G-2.6-44
#[test]
fn capabilities_keep_the_known_words_and_let_new_ones_in() {
    let words = [
        "text-multimodal",
        "image",
        "video",
        "audio-speech",
        "decision",
        "smell",
    ];
    let fields = format!(r#""capabilities":{}"#, json!(words));
    assert_eq!(
        served(&chat_entry(&fields).unwrap())["capabilities"],
        json!(words)
    );
    assert!(chat_entry(r#""capabilities":"image""#).is_err());
}

// covers: G-2.6-45, D-7-MON-15
#[test]
fn tasks_keep_the_known_words_and_let_new_ones_in() {
    let words = [
        "chat",
        "reasoning",
        "vision",
        "text-to-image",
        "text-to-video",
        "image-to-video",
        "reference-to-video",
        "video-editing",
        "text-to-speech",
        "transcription",
        "divination",
    ];
    let fields = format!(r#""tasks":{0},"capabilities":["divination"]"#, json!(words));
    let record = served(&chat_entry(&fields).unwrap());
    assert_eq!(record["tasks"], json!(words));
    assert_eq!(record["capabilities"], json!(["divination"]));
}

// covers: G-2.6-54, G-2.6-55, G-2.6-56
#[test]
fn only_speech_records_have_a_voice_a_format_and_a_speech_input() {
    let record = served(&fixture("speech"));
    assert_eq!(record["default_voice"], "anna");
    assert_eq!(record["default_response_format"], "mp3");
    assert_eq!(record["speech_input"], "text");
    for field in ["default_voice", "default_response_format", "speech_input"] {
        let refused = chat_entry(&format!(r#""{field}":"x""#)).unwrap_err();
        assert!(refused.contains("only speech models"), "{field}: {refused}");
        let speech = format!(
            r#""endpoints":["audio-speech"],"prices":{{"billing_unit":"characters","standard":{{"input":1}}}},"{field}":"x""#
        );
        assert_eq!(served(&entry(&speech).unwrap())[field], "x");
        assert!(served(&fixture("minimal")).get(field).is_none());
    }
}

#[test]
fn accepted_upload_formats_are_an_array_where_a_record_restricts_them() {
    let record = served(&fixture("transcription"));
    assert_eq!(record["accepted_upload_formats"], json!(["wav", "ogg"]));
    assert!(
        served(&fixture("minimal"))
            .get("accepted_upload_formats")
            .is_none()
    );
    assert!(chat_entry(r#""accepted_upload_formats":[""]"#).is_err());
}

// covers: G-2.6-85, G-2.6-86
#[test]
fn route_health_is_an_object_with_the_window_it_looks_at() {
    let book = fixture("minimal");
    let health = RouteHealth {
        window_hours: 24,
        sample_size: 200,
        success_ratio: Number::fraction(199, 200, 6),
        last_checked_at: Some("2026-11-15T10:00:00Z".to_owned()),
    };
    let routes = Routes {
        count: 3,
        health: Some(health),
    };
    let record = seen_with(&book, "default", routes);
    assert_eq!(
        record["route_health"],
        json!({
            "window_hours": 24,
            "sample_size": 200,
            "success_ratio": 0.995,
            "last_checked_at": "2026-11-15T10:00:00Z"
        })
    );
    assert_eq!(record["book_faces"]["route_count"], json!(3));
    assert!(served(&book).get("route_health").is_none());
}

#[test]
fn days_of_the_end_are_days_or_the_entry_is_refused() {
    assert!(chat_entry(r#""deprecated_on":"2026-12-01","sunset_on":"2027-01-31""#).is_ok());
    for wrong in ["2026-13-01", "tomorrow", "2026-2-3", ""] {
        let refused = chat_entry(&format!(r#""sunset_on":"{wrong}""#)).unwrap_err();
        assert!(refused.contains("must be a day"), "{wrong}: {refused}");
    }
    assert!(chat_entry(r#""no_such_field":1"#).is_err());
}
