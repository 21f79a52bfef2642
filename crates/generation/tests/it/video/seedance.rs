//! Family B: its folder of cases, and random requests.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use trunkline_catalog::{Entry, Specs, starter};
use trunkline_generation::video::{KnownMedia, family_of};

use crate::video::walk;

/// The models of the starter catalog that are of this family.
fn records() -> Vec<(String, Entry)> {
    let is_ours = |entry: &Entry| {
        let word = entry.specs.video_family.as_deref();
        word.is_some_and(|word| word.starts_with("b_"))
    };
    let all = starter().unwrap().models.into_iter();
    all.filter(|(_, entry)| is_ours(entry)).collect()
}

/// A record of a variant.
fn specs(variant: &str) -> Specs {
    let word = format!("b_{variant}");
    let mut all = records().into_iter();
    let found = all.find(|(_, entry)| entry.specs.video_family.as_deref() == Some(&word));
    found.map(|(_, entry)| entry.specs).unwrap()
}

// covers: D-6-11
// covers: D-6-16, D-6-22, D-6-24, D-6-25, D-6-26, D-6-27, D-6-28, D-6-29, D-6-B-01, D-6-B-02, D-6-B-03
// covers: D-6-B-04, D-6-B-05, D-6-B-06, D-6-B-07, D-6-B-08, D-6-B-09, D-6-B-10, D-6-B-11, D-6-B-12
// covers: D-6-B-13, D-6-B-14, D-6-B-15, D-6-B-16, D-6-M-01, D-6-M-04, D-6-M-05, D-7-VID-01, D-7-VID-02
// covers: D-7-VID-16, D-7-VID-17, D-7-VID-38, D-7-VID-39, G-4.2-01, G-4.2-02, G-4.2-03, G-4.2-04
// covers: G-4.2-08, G-4.2-09, G-4.2-10, G-4.2-11, G-4.2-15, G-4.2-B-01, G-4.2-B-02, G-4.2-B-03
// covers: G-4.2-B-04, G-4.2-B-05, G-4.2-B-06, G-4.2-B-07, G-4.2-B-08, G-4.2-B-09, G-4.2-B-10, G-4.2-B-11
// covers: G-4.2-B-12, G-4.2-B-13, G-4.2-B-14, G-4.2-B-15, G-4.2-B-16, G-4.2-B-17, G-4.2-B-18, G-4.2-B-19
// covers: G-4.2-B-20, G-4.2-B-21, G-4.2-B-22, G-4.2-B-23, G-4.2-B-24, G-4.2-B-25, G-4.2-B-26, G-4.2-B-27
// covers: G-4.2-B-28, G-4.2-B-29, G-4.2-B-30, G-4.2-B-31, G-4.2-B-33, G-4.2-B-34, G-4.2-B-35
// covers: G-4.2-B-36, G-4.2-B-37, G-4.2-B-38, G-4.2-B-39, G-7-05, G-8-07, G-8-08, G-8-09, G-8-10
#[test]
fn every_case_of_family_b_comes_out_as_written() {
    let walked = walk::folder("b", specs);
    assert!(walked.cases >= 150 && walked.refused >= 60);
    assert!(walked.covers.len() >= 80);
}

// covers: G-4.2-B-01, G-4.2-B-39
#[test]
fn four_records_are_bound_to_the_family_and_each_has_its_own_price() {
    let request = json!({"model": "any", "prompt": "a cat", "seconds": "15",
        "images": (0..9).map(|n| format!("https://media.example/{n}.png")).collect::<Vec<_>>()});
    let mut prices = BTreeSet::new();
    let mut variants = Vec::new();
    for (name, entry) in records() {
        let family = family_of(entry.specs.video_family.as_deref().unwrap()).unwrap();
        let plan = walk::planned(family, &request, &entry.specs, &KnownMedia::default()).unwrap();
        assert_eq!(plan.bill.output_seconds, 15, "{name}");
        prices.insert(serde_json::to_string(&entry.prices).unwrap());
        variants.push(family.1);
    }
    assert_eq!(variants, ["2_0", "2_0", "2_0", "2_5"]);
    assert_eq!(prices.len(), 4);
}

/// Something of this list or, now and then, something else.
fn mostly(values: Vec<Value>) -> impl Strategy<Value = Value> {
    let strange = vec![
        json!(null),
        json!(""),
        json!(7),
        json!(-1),
        json!(true),
        json!([]),
        json!({}),
    ];
    prop_oneof![
        9 => proptest::sample::select(values),
        1 => proptest::sample::select(strange),
    ]
}

fn url() -> impl Strategy<Value = Value> {
    mostly(
        (0..4)
            .map(|n| json!(format!("https://media.example/{n}")))
            .collect(),
    )
}

fn part() -> impl Strategy<Value = Value> {
    let kinds = ["image_url", "video_url", "audio_url", "text", "other"];
    let roles = [
        "reference_image",
        "reference_video",
        "reference_audio",
        "first_frame",
    ];
    let kind = proptest::sample::select(kinds.to_vec());
    let role = mostly(roles.map(Value::from).to_vec());
    (kind, url(), proptest::option::of(role)).prop_map(|(kind, url, role)| {
        let mut part = json!({ "type": kind });
        part[kind] = if kind == "text" {
            url
        } else {
            json!({ "url": url })
        };
        if let Some(role) = role {
            part["role"] = role;
        }
        part
    })
}

fn words(words: &[&str]) -> Vec<Value> {
    words.iter().copied().map(Value::from).collect()
}

fn fields(all: Vec<(&'static str, BoxedStrategy<Value>)>) -> impl Strategy<Value = Value> {
    let each: Vec<_> = all
        .into_iter()
        .map(|(name, value)| proptest::option::of(value).prop_map(move |value| (name, value)))
        .collect();
    each.prop_map(|chosen| {
        let there = chosen
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?)));
        Value::Object(there.collect::<Map<_, _>>())
    })
}

fn request() -> impl Strategy<Value = Value> {
    let flag = || mostly(vec![json!(true), json!(false)]).boxed();
    let parts = proptest::collection::vec(part(), 0..5).prop_map(Value::from);
    let urls = proptest::collection::vec(url(), 0..4).prop_map(Value::from);
    let lengths = ["4", "5", "15", "16", "30", "31", "-1"];
    let tasks = ["auto", "reference", "edit"];
    let metadata = fields(vec![
        ("resolution", mostly(words(&["480p", "720p"])).boxed()),
        ("ratio", mostly(words(&["16:9", "adaptive"])).boxed()),
        ("generate_audio", flag()),
        ("watermark", flag()),
        ("return_last_frame", flag()),
        ("output_format", mostly(words(&["mp4", "mov"])).boxed()),
        ("omni_reference_task_type", mostly(words(&tasks)).boxed()),
        ("content", parts.boxed()),
        ("callback_url", url().boxed()),
    ]);
    fields(vec![
        ("prompt", mostly(words(&["a cat", "a dog"])).boxed()),
        ("seconds", mostly(words(&lengths)).boxed()),
        (
            "duration",
            mostly((3..32).map(Value::from).collect()).boxed(),
        ),
        ("input_reference", url().boxed()),
        ("images", urls.boxed()),
        ("size", mostly(words(&["1280*720"])).boxed()),
        ("metadata", metadata.boxed()),
    ])
    .prop_map(|mut request| {
        request["model"] = json!("any");
        request
    })
}

fn measured() -> impl Strategy<Value = KnownMedia> {
    let clip = (
        0_u64..12_000,
        proptest::sample::select(vec!["mp4", "mov", "mkv"]),
    );
    let known = proptest::collection::vec(proptest::option::weighted(0.7, clip), 4);
    known.prop_map(|known| {
        let mut written = Map::new();
        for (place, clip) in known.into_iter().enumerate() {
            if let Some((millis, container)) = clip {
                let url = format!("https://media.example/{place}");
                written.insert(url, json!({ "millis": millis, "container": container }));
            }
        }
        walk::measurements(&written)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn whatever_is_asked_the_body_that_is_sent_costs_what_was_planned(
        request in request(),
        measured in measured(),
        variant in proptest::sample::select(vec!["2_5", "2_0"]),
    ) {
        let family = walk::family("b", variant);
        let specs = Specs::default();
        if let Ok(plan) = walk::planned(family, &request, &specs, &measured) {
            if let Err(text) = walk::bill_again(family, &plan, &specs, &measured) {
                return Err(TestCaseError::fail(text));
            }
            let usage = plan.bill.output_seconds + plan.bill.input_seconds;
            let most = if variant == "2_5" { 60 } else { 30 };
            prop_assert!(usage <= most);
            prop_assert!(!plan.outbound.body.contains_key("callback_url"));
            for field in ["duration", "resolution", "generate_audio"] {
                prop_assert!(plan.outbound.body.contains_key(field), "{field} is left to the vendor");
            }
            // All fields are told of, each once.
            let notes = plan.report.notes();
            let sent = request.as_object().unwrap().iter();
            let sent = sent.filter(|(name, value)| *name != "metadata" && !value.is_null());
            for (name, _) in sent {
                let of_it = notes.iter().filter(|note| note.field == *name).count();
                prop_assert_eq!(of_it, 1, "{}", name);
            }
        }
    }
}
