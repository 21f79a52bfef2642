//! Family C.

use std::sync::LazyLock;

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use trunkline_catalog::{
    Book, Document, FieldTreatment, GroupChoice, PriceClass, PricingContext, Specs, quote, starter,
};
use trunkline_generation::video::{KnownMedia, family_of};
use trunkline_types::{Face, Timestamp, Units};

use crate::video::walk;

/// Every variant with its model in the starter catalog.
const MODELS: [(&str, &str); 3] = [
    ("standard", "kling-v3"),
    ("value", "kling-3.0-turbo"),
    ("multi", "kling-v3-omni"),
];
const CLIP: &str = "https://a.example/1.mp4";

static STARTER: LazyLock<Document> = LazyLock::new(|| starter().unwrap());

/// The record of a variant, as the starter catalog has it.
fn specs(variant: &str) -> Specs {
    let mut known = MODELS.into_iter();
    let (_, model) = known.find(|(known, _)| *known == variant).unwrap();
    STARTER.models[model].specs.clone()
}

/// Nano-USD that a request costs at list prices.
fn charge(variant: &str, request: Value) -> i64 {
    let family = walk::family("c", variant);
    let plan = walk::planned(family, &request, &specs(variant), &KnownMedia::default()).unwrap();
    let book = Book::check(STARTER.clone()).unwrap();
    let model = request["model"].as_str().unwrap();
    let (_, offer) = book.offer(model, GroupChoice::Named("default")).unwrap();
    let seconds = plan.bill.output_seconds + plan.bill.input_seconds;
    let units = Units::none().plus(Face::VideoSecond, seconds).unwrap();
    let situation = PricingContext {
        attributes: &plan.bill.attributes,
        at: Timestamp::from_micros(0),
    };
    let quoted = quote(offer, PriceClass::Standard, &units, situation).unwrap();
    quoted.total.nanos()
}

// covers: D-6-C-01, D-6-C-03, D-6-C-04, D-6-C-05, D-6-C-06, D-6-C-07, D-6-C-08, D-6-C-09
// covers: D-6-C-10, D-6-C-11, D-6-C-12, D-7-VID-18, D-7-VID-19, D-7-VID-20, D-7-VID-21
// covers: D-7-VID-22, D-7-VID-23, D-7-VID-24, D-7-VID-40, G-4.2-C-02, G-4.2-C-03, G-4.2-C-04
// covers: G-4.2-C-05, G-4.2-C-06, G-4.2-C-07, G-4.2-C-08, G-4.2-C-09, G-4.2-C-10, G-4.2-C-11
// covers: G-4.2-C-12, G-4.2-C-13, G-4.2-C-14, G-4.2-C-15, G-4.2-C-16, G-4.2-C-17, G-4.2-C-18
// covers: G-4.2-C-19, G-4.2-C-20, G-4.2-C-21, G-4.2-C-22, G-4.2-C-23, G-4.2-C-26, G-4.2-C-27
// covers: G-4.2-C-28, G-4.2-C-29, G-4.2-C-30, G-4.2-C-31, G-4.2-C-32, G-4.2-C-33, G-4.2-C-34
// covers: G-4.2-C-35, G-4.2-C-36, G-4.2-C-37, G-4.2-C-38, G-4.2-C-39, G-4.2-C-40, G-4.2-C-44
// covers: G-4.2-C-46, G-4.2-C-47, G-4.2-C-48, G-4.2-C-49, G-4.2-C-50, G-4.2-C-51, G-4.2-C-52
// covers: G-4.2-C-53, G-4.2-C-54, G-7-08, G-8-04, G-8-05
#[test]
fn every_case_of_family_c_comes_out_as_written() {
    let walked = walk::folder("c", specs);
    assert!(walked.cases > 150, "{} cases", walked.cases);
    assert!(walked.refused > 50 && walked.refused < walked.cases);
}

// covers: D-6-03, D-6-05, D-6-06, D-6-09, D-6-14, D-6-17, D-6-19, D-6-30
#[test]
fn strict_mode_finds_each_trap_of_family_c_and_plain_mode_takes_it() {
    for (variant, extra, field, fate) in [
        (
            "standard",
            json!({ "input_reference": CLIP }),
            "input_reference",
            FieldTreatment::Ignored,
        ),
        (
            "standard",
            json!({ "size": "640x480" }),
            "size",
            FieldTreatment::Rewritten,
        ),
        (
            "standard",
            json!({ "size": "1280*720" }),
            "size",
            FieldTreatment::Rewritten,
        ),
        (
            "standard",
            json!({ "seconds": "8", "duration": 5 }),
            "seconds",
            FieldTreatment::Ignored,
        ),
        (
            "standard",
            json!({ "seconds": "8" }),
            "seconds",
            FieldTreatment::Ignored,
        ),
        (
            "value",
            json!({ "seconds": "8", "duration": 5 }),
            "seconds",
            FieldTreatment::Ignored,
        ),
        (
            "value",
            json!({ "size": "1280x720" }),
            "size",
            FieldTreatment::Ignored,
        ),
        (
            "multi",
            json!({ "size": "1280x720" }),
            "size",
            FieldTreatment::Ignored,
        ),
        (
            "multi",
            json!({ "duration": 8 }),
            "duration",
            FieldTreatment::Ignored,
        ),
        (
            "multi",
            json!({ "image": CLIP }),
            "image",
            FieldTreatment::Ignored,
        ),
        (
            "multi",
            json!({ "seconds": "8" }),
            "seconds",
            FieldTreatment::Ignored,
        ),
    ] {
        let (_, model) = MODELS
            .into_iter()
            .find(|(known, _)| *known == variant)
            .unwrap();
        let mut request = json!({ "model": model, "prompt": "a cat" });
        if variant == "multi" {
            request["metadata"] = json!({ "aspect_ratio": "16:9" });
        }
        let plain = request.clone();
        let fields = request.as_object_mut().unwrap();
        fields.extend(extra.as_object().unwrap().clone());
        let family = walk::family("c", variant);
        let planned = |request: &Value| {
            walk::planned(family, request, &specs(variant), &KnownMedia::default()).unwrap()
        };
        let plan = planned(&request);
        let trap = plan.report.first_pitfall().unwrap();
        assert_eq!(
            (trap.field.as_str(), trap.fate),
            (field, fate),
            "{variant} {extra}"
        );
        assert!(trap.reason.is_some(), "{variant} {extra}");
        assert_eq!(plan.bill.output_seconds, 5, "{variant} {extra}");
        assert!(
            planned(&plain).report.first_pitfall().is_none(),
            "{variant}"
        );
    }
    let listed = walk::planned(
        walk::family("c", "standard"),
        &json!({ "model": "kling-v3", "prompt": "a cat", "size": "1280x720" }),
        &specs("standard"),
        &KnownMedia::default(),
    );
    assert!(listed.unwrap().report.first_pitfall().is_none());
}

// covers: D-6-10
#[test]
fn the_report_shows_that_multi_image_defaults_to_pro_and_its_cost() {
    let request = json!({ "model": "kling-v3-omni", "prompt": "a cat", "metadata": { "aspect_ratio": "16:9" } });
    let family = walk::family("c", "multi");
    let plan = walk::planned(family, &request, &specs("multi"), &KnownMedia::default()).unwrap();
    let mut notes = plan.report.notes().iter();
    let note = notes.find(|note| note.field == "metadata.mode").unwrap();
    assert_eq!(
        (note.fate, note.value.as_deref()),
        (FieldTreatment::Defaulted, Some("pro"))
    );
    assert!(note.reason.as_ref().unwrap().contains("1.33"), "{note:?}");
}

// covers: G-4.2-C-01
#[test]
fn the_three_models_of_family_c_are_bound_to_its_three_variants() {
    let mut bound = Vec::new();
    for (name, entry) in &STARTER.models {
        let word = entry.specs.video_family.as_deref().unwrap_or_default();
        if let Some((family, variant)) =
            family_of(word).filter(|(family, _)| family.spec_letter == "c")
        {
            bound.push((variant, name.as_str()));
            assert!(family.variants.contains(&variant));
        }
    }
    bound.sort_unstable();
    let mut expected = MODELS;
    expected.sort_unstable();
    assert_eq!(bound, expected);
}

// covers: D-6-C-02
#[test]
fn c_standard_has_a_price_for_each_mode_and_sound() {
    for (mode, sound, nanos) in [
        ("std", "off", 84_000_000),
        ("std", "on", 126_000_000),
        ("pro", "off", 112_000_000),
        ("pro", "on", 168_000_000),
        ("4k", "off", 420_000_000),
        ("4k", "on", 420_000_000),
    ] {
        let request = json!({
            "model": "kling-v3", "prompt": "a cat", "mode": mode, "duration": 7,
            "metadata": { "sound": sound },
        });
        assert_eq!(charge("standard", request), 7 * nanos, "{mode} {sound}");
    }
}

// covers: G-4.2-C-24, G-4.2-C-25
#[test]
fn c_value_is_priced_by_resolution() {
    for (resolution, nanos) in [("720p", 112_000_000), ("1080p", 140_000_000)] {
        let request = json!({
            "model": "kling-3.0-turbo", "prompt": "a cat",
            "metadata": { "settings": { "resolution": resolution, "duration": 3 } },
        });
        assert_eq!(charge("value", request), 3 * nanos, "{resolution}");
    }
}

// covers: G-4.2-C-41, G-4.2-C-42, G-4.2-C-43, G-4.2-C-45, G-8-13, G-8-14
#[test]
fn c_multi_costs_a_third_more_in_pro_and_by_default_and_5x_in_4k() {
    let listed = 84_000_000;
    for (mode, factor) in [
        (Some("std"), 100),
        (Some("pro"), 133),
        (None, 133),
        (Some("4k"), 500),
    ] {
        let request = json!({
            "model": "kling-v3-omni", "prompt": "a cat",
            "metadata": { "mode": mode, "aspect_ratio": "1:1", "duration": "10" },
        });
        assert_eq!(
            charge("multi", request),
            10 * listed * factor / 100,
            "{mode:?}"
        );
    }
}

/// Any of these, or none.
fn perhaps(values: Vec<Value>) -> impl Strategy<Value = Option<Value>> {
    prop::option::weighted(0.4, prop::sample::select(values))
}

/// A few objects out of which fields are taken at random.
fn some_of(fields: Vec<(&'static str, Vec<Value>)>) -> impl Strategy<Value = Value> {
    let names: Vec<&'static str> = fields.iter().map(|(name, _)| *name).collect();
    let values: Vec<_> = fields
        .into_iter()
        .map(|(_, values)| perhaps(values))
        .collect();
    values.prop_map(move |values| {
        let named = names.iter().zip(values);
        let there = named.filter_map(|(name, value)| Some(((*name).to_owned(), value?)));
        Value::Object(there.collect::<Map<String, Value>>())
    })
}

fn metadata() -> impl Strategy<Value = Value> {
    let mut fields = words();
    fields.extend(objects());
    some_of(fields)
}

/// Keys that hold a word or a number.
fn words() -> Vec<(&'static str, Vec<Value>)> {
    vec![
        (
            "mode",
            vec![
                json!("std"),
                json!("pro"),
                json!("4k"),
                json!("x"),
                json!(1),
            ],
        ),
        ("sound", vec![json!("on"), json!("off"), json!(true)]),
        ("prompt", vec![json!("a dog"), json!("")]),
        ("negative_prompt", vec![json!("rain"), json!(7)]),
        (
            "image_tail",
            vec![json!("https://a.example/2.png"), json!("")],
        ),
        (
            "aspect_ratio",
            vec![json!("16:9"), json!("1:1"), json!("4:3")],
        ),
        (
            "cfg_scale",
            vec![json!(0.5), json!(1), json!(-1), json!("1")],
        ),
        (
            "duration",
            vec![json!("3"), json!("15"), json!("16"), json!(5), json!("٣")],
        ),
        ("watermark", vec![json!(true), json!("no")]),
        ("callback_url", vec![json!("https://a.example/")]),
    ]
}

/// Keys that hold objects or lists of them.
fn objects() -> Vec<(&'static str, Vec<Value>)> {
    let image = |kind: &str| json!({ "image_url": "https://a.example/1.png", "type": kind });
    let clip = |kind: &str| json!({ "video_url": CLIP, "refer_type": kind });
    let cameras = vec![
        json!({ "type": "simple", "config": { "zoom": 5 } }),
        json!({ "type": "down_back" }),
        json!({ "type": "simple", "config": null }),
        json!([]),
    ];
    let settings = vec![
        json!({ "resolution": "1080p", "duration": 15, "aspect_ratio": "1:1" }),
        json!({ "resolution": "720p", "duration": 2 }),
        json!({ "resolution": null, "duration": 3, "aspect_ratio": "9:16" }),
        json!({ "audio": "off", "fps": 24 }),
        json!(3),
    ];
    let images = vec![
        json!([]),
        json!([image("first_frame")]),
        json!([image("first_frame"), image("end_frame")]),
        json!([image("end_frame")]),
        json!([{ "image_url": "https://a.example/1.png", "weight": 1 }]),
        json!(vec![image("first_frame"); 8]),
        json!([null]),
    ];
    let clips = vec![
        json!([clip("feature")]),
        json!([clip("base")]),
        json!([{ "video_url": CLIP }]),
        json!([]),
        json!({}),
    ];
    vec![
        ("camera_control", cameras),
        ("settings", settings),
        ("image_list", images),
        ("video_list", clips),
    ]
}

fn request() -> impl Strategy<Value = Value> {
    let top = some_of(vec![
        ("image", vec![json!("https://a.example/1.png"), json!("")]),
        ("input_reference", vec![json!("https://a.example/2.png")]),
        (
            "images",
            vec![json!(["https://a.example/3.png"]), json!([])],
        ),
        ("video_url", vec![json!(CLIP)]),
        (
            "size",
            vec![json!("1280x720"), json!("1280*720"), json!("")],
        ),
        (
            "duration",
            vec![
                json!(3),
                json!(5),
                json!(15),
                json!(16),
                json!(-1),
                json!(u64::MAX),
            ],
        ),
        ("seconds", vec![json!("8")]),
        (
            "mode",
            vec![json!("std"), json!("pro"), json!("4k"), json!([])],
        ),
        ("n", vec![json!(2)]),
    ]);
    // Most requests have a text, or little would ever be taken.
    let prompt = prop::sample::select(vec![
        json!("a cat"),
        json!("a cat"),
        json!("a cat"),
        json!(" "),
        Value::Null,
    ]);
    (top, prompt, prop::option::weighted(0.8, metadata())).prop_map(
        |(mut top, prompt, metadata)| {
            let fields = top.as_object_mut().unwrap();
            fields.insert("model".to_owned(), json!("x"));
            fields.insert("prompt".to_owned(), prompt);
            fields.insert("metadata".to_owned(), metadata.unwrap_or(Value::Null));
            top
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn what_is_sent_costs_what_was_planned_and_nothing_stays_unsaid(
        request in request(),
        millis in prop::option::of(0_u64..20_000),
    ) {
        let written = millis.map(|millis| json!({ CLIP: { "millis": millis } }));
        let written = written.as_ref().and_then(Value::as_object).cloned();
        let measured = walk::measurements(&written.unwrap_or_default());
        for (variant, _) in MODELS {
            let family = walk::family("c", variant);
            let specs = specs(variant);
            let Ok(plan) = walk::planned(family, &request, &specs, &measured) else {
                continue;
            };
            let replanned = walk::bill_again(family, &plan, &specs, &measured);
            prop_assert!(replanned.is_ok(), "{variant}: {replanned:?}");
            prop_assert!(plan.bill.exact && plan.bill.output_seconds >= 3);
            prop_assert!(plan.bill.output_seconds <= 15);
            let reported = |path: &str| {
                let inside = format!("{path}.");
                let notes = plan.report.notes().iter();
                let mut fields = notes.map(|note| note.field.as_str());
                fields.any(|field| field == path || field.starts_with(&inside))
            };
            for (name, value) in request.as_object().unwrap() {
                match value {
                    Value::Null => {}
                    Value::Object(inside) => for key in inside.keys() {
                        prop_assert!(reported(&format!("{name}.{key}")), "{variant}: {key}");
                    },
                    Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                        prop_assert!(reported(name), "{variant}: {name}");
                    }
                }
            }
            let text = serde_json::to_string(&plan.outbound.body).unwrap();
            prop_assert!(!text.contains("callback") && !text.contains("model"));
        }
    }
}
