//! Random requests of families A and E: every field there or not, right or wrong.

use std::sync::LazyLock;

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use trunkline_catalog::{Document, starter};
use trunkline_generation::video::{Container, KnownMedia, MediaFacts};

use crate::video::cases::{billed, planned, specs_of};

static RECORDS: LazyLock<Document> = LazyLock::new(|| starter().unwrap());

const CLIPS: [&str; 2] = ["https://example.com/1.mp4", "https://example.com/2.mov"];
const SIZES: [&str; 8] = [
    "1280*720",
    "1920*1080",
    "832*480",
    "960*960",
    "1000*1000",
    "1280x720",
    "0*0",
    "9*99999999999",
];
/// The tiers that may ever be sent.
const TIERS: [&str; 3] = ["480P", "720P", "1080P"];

/// The same request is priced the same by its plan and by its body, or refused by the plan.
pub(crate) fn is_priced_twice(word: &str, request: &Value, measured: &KnownMedia) {
    let specs = specs_of(&RECORDS, request["model"].as_str().unwrap());
    let Ok(plan) = planned(word, request, &specs, measured) else {
        return;
    };
    assert_eq!(billed(word, &plan, &specs, measured), plan.bill);
    assert!(plan.bill.output_seconds > 0);
    let parameters = &plan.outbound.body["parameters"];
    let tier = parameters["resolution"].as_str().unwrap();
    assert!(TIERS.contains(&tier));
    assert!(word.starts_with('e') || tier != "480P");
    assert!(parameters["duration"].is_u64() && parameters["watermark"].is_boolean());
    assert!(!plan.outbound.body.contains_key("model"));
    // The same question has the same answer.
    assert_eq!(planned(word, request, &specs, measured), Ok(plan));
}

pub(crate) fn any_measurements() -> impl Strategy<Value = KnownMedia> {
    let container = prop_oneof![
        Just(None),
        Just(Some(Container::Mp4)),
        Just(Some(Container::Mov)),
        Just(Some(Container::Other)),
    ];
    let one = (proptest::option::of(0u64..40_000), container);
    let one = one.prop_map(|(millis, container)| MediaFacts {
        millis,
        container,
        ..MediaFacts::default()
    });
    proptest::collection::vec(proptest::option::of(one), CLIPS.len()).prop_map(|list| {
        let mut all = KnownMedia::default();
        for (url, one) in CLIPS.into_iter().zip(list) {
            if let Some(one) = one {
                all = all.with(url, one);
            }
        }
        all
    })
}

pub(crate) fn any_request(model: &'static str) -> impl Strategy<Value = Value> {
    let url = prop_oneof![8 => "https://example.com/[a-c].png".prop_map(Value::from), 1 => odd()];
    let size = prop_oneof![
        6 => prop::sample::select(SIZES.as_slice()).prop_map(Value::from),
        3 => "[0-9]{1,5}[*]([0-9]{1,5})".prop_map(Value::from),
        1 => odd(),
    ];
    let fields = (
        maybe(prop_oneof![8 => Just(json!("a cat")), 1 => odd()]),
        maybe(url.clone()),
        maybe(
            prop_oneof![8 => prop::collection::vec(url.clone(), 0..8).prop_map(Value::from), 1 => odd()],
        ),
        maybe(
            prop_oneof![8 => prop::sample::select(CLIPS.as_slice()).prop_map(Value::from), 1 => odd()],
        ),
        maybe(size),
        maybe(prop_oneof![8 => (0i64..18).prop_map(Value::from), 1 => odd()]),
        maybe(prop_oneof![Just(json!("8")), odd()]),
        maybe(url),
        maybe(prop_oneof![8 => any_metadata(), 1 => odd()]),
    );
    fields.prop_map(
        move |(prompt, reference, images, clip, size, duration, seconds, image, metadata)| {
            object([
                ("model", Some(json!(model))),
                ("prompt", prompt),
                ("input_reference", reference),
                ("images", images),
                ("video_url", clip),
                ("size", size),
                ("duration", duration),
                ("seconds", seconds),
                ("image", image),
                ("metadata", metadata),
            ])
        },
    )
}

fn any_metadata() -> impl Strategy<Value = Value> {
    let entry = prop_oneof![
        8 => Just(json!({"type": "reference_image", "url": "https://example.com/r.png"})),
        1 => Just(json!({"type": "reference_image", "url": "https://example.com/r.png", "more": 1})),
        1 => odd(),
    ];
    let input =
        prop::collection::vec(entry, 0..11).prop_map(|media| json!({"media": media, "n": 1}));
    let fields = (
        maybe(prop_oneof![any::<bool>().prop_map(Value::from), odd()]),
        maybe(prop_oneof![8 => (0i64..9).prop_map(Value::from), 1 => odd()]),
        maybe(prop_oneof![8 => Just(json!("rain")), 1 => odd()]),
        maybe(prop_oneof![8 => any::<bool>().prop_map(Value::from), 1 => odd()]),
        maybe(prop_oneof![8 => Just(json!("origin")), 1 => odd()]),
        maybe(prop_oneof![8 => input, 1 => odd()]),
        maybe(odd()),
    );
    fields.prop_map(
        |(watermark, seed, negative, extend, audio, input, stranger)| {
            object([
                ("watermark", watermark),
                ("seed", seed),
                ("negative_prompt", negative),
                ("prompt_extend", extend),
                ("audio_setting", audio),
                ("input", input),
                ("resolution", stranger),
            ])
        },
    )
}

fn object<const N: usize>(fields: [(&str, Option<Value>); N]) -> Value {
    let there = fields
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Value::Object(there.collect::<Map<_, _>>())
}

fn maybe(values: impl Strategy<Value = Value>) -> impl Strategy<Value = Option<Value>> {
    proptest::option::of(values)
}

/// Values that most fields cannot have.
fn odd() -> impl Strategy<Value = Value> {
    let all = [
        json!(null),
        json!(true),
        json!(-1),
        json!(1.5),
        json!(""),
        json!(" "),
        json!("x"),
        json!([]),
        json!([1]),
        json!({}),
        json!({"a": null}),
    ];
    prop::sample::select(all.to_vec())
}
