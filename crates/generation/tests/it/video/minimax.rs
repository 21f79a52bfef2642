//! Family D.

use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};
use trunkline_catalog::{Book, FieldTreatment, Scalar, Specs, starter};
use trunkline_generation::video::{KnownMedia, family_of};

use crate::video::price;
use crate::video::walk;

const CLIPS: [&str; 2] = ["https://media.example/c.mp4", "https://media.example/d.mp4"];

/// The records of the starter catalog, in short.
fn specs(variant: &str) -> Specs {
    match variant {
        "native" => Specs {
            max_duration_seconds: Some(15),
            min_duration_seconds: Some(4),
            max_reference_images: Some(9),
            ..Specs::default()
        },
        _ => Specs {
            max_duration_seconds: Some(10),
            min_duration_seconds: Some(6),
            ..Specs::default()
        },
    }
}

// covers: D-6-15, D-6-20, D-6-23, D-6-24, D-6-25, D-6-26, D-6-27, D-6-28, D-6-29, D-6-D-01
// covers: D-6-D-02, D-6-D-03, D-6-D-04, D-6-D-05, D-6-D-06, D-6-D-07, D-6-D-08, D-6-D-09
// covers: D-6-M-01, D-6-M-05, D-7-VID-01, D-7-VID-02, D-7-VID-25, G-4.2-01, G-4.2-02
// covers: G-4.2-03, G-4.2-04, G-4.2-05, G-4.2-06, G-4.2-07, G-4.2-08, G-4.2-09, G-4.2-10
// covers: G-4.2-11, G-4.2-15, G-4.2-D-01, G-4.2-D-02, G-4.2-D-03, G-4.2-D-04, G-4.2-D-05
// covers: G-4.2-D-06, G-4.2-D-07, G-4.2-D-08, G-4.2-D-09, G-4.2-D-10, G-4.2-D-11, G-4.2-D-12
// covers: G-4.2-D-13, G-4.2-D-14, G-4.2-D-15, G-4.2-D-16, G-4.2-D-17, G-4.2-D-18, G-4.2-D-19
// covers: G-4.2-D-20, G-4.2-D-21, G-4.2-D-22, G-4.2-D-23, G-4.2-D-24, G-4.2-D-25, G-8-06
#[test]
fn every_case_of_family_d_comes_out_as_written() {
    let walked = walk::folder("d", specs);
    assert!(walked.refused > 0 && walked.refused < walked.cases);
    for line in 1..=25 {
        let id = format!("G-4.2-D-{line:02}");
        assert!(walked.covers.contains(&id), "{id} has no case");
    }
}

// covers: D-6-07
#[test]
fn strict_mode_finds_each_kind_of_media_that_the_older_models_drop() {
    for variant in ["legacy", "legacy_fast", "legacy_oldest"] {
        let family = walk::family("d", variant);
        for (field, value) in [
            ("image", json!("https://media.example/a.png")),
            ("input_reference", json!("https://media.example/a.png")),
            ("images", json!(["https://media.example/a.png"])),
            ("video_url", json!("https://media.example/c.mp4")),
        ] {
            let mut request = json!({
                "model": "m",
                "prompt": "a fox",
                "metadata": { "first_frame_image": "https://media.example/b.png" },
            });
            request[field] = value;
            let known = KnownMedia::default();
            let plan = walk::planned(family, &request, &specs(variant), &known).unwrap();
            let trap = plan.report.first_pitfall().unwrap();
            assert_eq!(
                (trap.field.as_str(), trap.fate),
                (field, FieldTreatment::Ignored)
            );
            assert_eq!(trap.code.as_deref(), Some("media_dropped"));
            assert!(trap.fix.is_some());
        }
    }
}

#[test]
fn the_starter_records_price_what_is_planned() {
    let book = Book::check(starter().unwrap()).unwrap();
    let clip = json!({ CLIPS[0]: { "millis": 5_800 } });
    let measured = walk::measurements(clip.as_object().unwrap());
    let images = vec!["https://media.example/a.png"; 7];
    let frame = json!({ "first_frame_image": "https://media.example/a.png" });
    let ratio = json!({ "ratio": "16:9" });
    // In thousandths of a US dollar.
    for (model, more, price) in [
        ("MiniMax-H3", json!({ "metadata": ratio }), 5 * 80),
        (
            "MiniMax-H3",
            json!({ "metadata": ratio, "size": "2K", "duration": 15 }),
            15 * 130,
        ),
        ("MiniMax-H3", json!({ "images": images }), 5 * 80 + 2 * 40),
        (
            "MiniMax-H3",
            json!({ "images": images, "video_url": CLIPS[0], "size": "2K", "duration": 10 }),
            16 * 130 + 2 * 40,
        ),
        (
            "MiniMax-H3",
            json!({ "video_url": CLIPS[1], "duration": 4 }),
            19 * 80,
        ),
        ("MiniMax-Hailuo-2.3", json!({}), 280),
        ("MiniMax-Hailuo-2.3", json!({ "duration": 10 }), 560),
        (
            "MiniMax-Hailuo-2.3",
            json!({ "size": "1080P", "image": "https://media.example/a" }),
            490,
        ),
        ("MiniMax-Hailuo-2.3-Fast", json!({ "metadata": frame }), 190),
        (
            "MiniMax-Hailuo-2.3-Fast",
            json!({ "metadata": frame, "duration": 10 }),
            320,
        ),
        (
            "MiniMax-Hailuo-2.3-Fast",
            json!({ "metadata": frame, "size": "1080P" }),
            330,
        ),
        (
            "MiniMax-Hailuo-02",
            json!({ "metadata": frame, "size": "512P" }),
            100,
        ),
        (
            "MiniMax-Hailuo-02",
            json!({ "metadata": frame, "size": "512P", "duration": 10 }),
            150,
        ),
        ("MiniMax-Hailuo-02", json!({ "size": "1080P" }), 490),
    ] {
        let mut request = json!({ "model": model, "prompt": "a fox" });
        let fields = request.as_object_mut().unwrap();
        fields.extend(more.as_object().unwrap().clone());
        let specs = &book.model(model).unwrap().entry().specs;
        let family = family_of(specs.video_family.as_deref().unwrap()).unwrap();
        let plan = walk::planned(family, &request, specs, &measured).unwrap();
        assert_eq!(
            price::nanos(&book, model, &plan),
            price * 1_000_000,
            "{request}"
        );
    }
}

/// Values that fields may have, good and bad.
fn field(name: &'static str) -> impl Strategy<Value = Option<(&'static str, Value)>> {
    let image = "https://media.example/a.png";
    let values = match name {
        "prompt" => vec![
            json!("a fox"),
            json!(""),
            json!("x".repeat(2_001)),
            json!(1),
        ],
        "image" | "input_reference" => vec![json!(image), json!(""), json!([image])],
        "images" => vec![
            json!([]),
            json!([image]),
            json!(vec![image; 5]),
            json!(vec![image; 6]),
            json!(vec![image; 9]),
            json!(vec![image; 10]),
            json!([""]),
        ],
        "video_url" => vec![json!(CLIPS[0]), json!(CLIPS[1]), json!("")],
        "size" => ["512P", "768P", "1080P", "2K", "1280*720"]
            .map(Value::from)
            .to_vec(),
        "duration" => vec![
            json!(4),
            json!(6),
            json!(10),
            json!(15),
            json!(16),
            json!(-1),
        ],
        "seconds" => vec![json!("8"), json!("x")],
        "metadata.ratio" => vec![json!("16:9"), json!("adaptive"), json!("2:1")],
        "metadata.first_frame_image" | "metadata.last_frame_image" => {
            vec![json!(image), json!(""), json!(3)]
        }
        "metadata.subject_reference" => vec![
            json!([{"type": "character", "image": [image]}]),
            json!([]),
            json!(image),
        ],
        _ => vec![json!(true), json!(false), json!("yes")],
    };
    option::weighted(0.35, select(values)).prop_map(move |value| value.map(|value| (name, value)))
}

fn request() -> impl Strategy<Value = Value> {
    let fields = [
        "image",
        "input_reference",
        "images",
        "video_url",
        "size",
        "duration",
        "seconds",
        "other",
        "metadata.ratio",
        "metadata.first_frame_image",
        "metadata.last_frame_image",
        "metadata.subject_reference",
        "metadata.prompt_optimizer",
        "metadata.fast_pretreatment",
        "metadata.watermark",
        "metadata.aigc_watermark",
        "metadata.invented",
    ];
    let others: Vec<_> = fields.into_iter().map(field).collect();
    (
        prop_oneof![4 => Just(Some(("prompt", json!("a fox")))), 1 => field("prompt")],
        others,
    )
        .prop_map(|(prompt, others)| {
            let mut request = Map::new();
            let mut metadata = Map::new();
            request.insert("model".to_owned(), json!("m"));
            for (name, value) in prompt.into_iter().chain(others.into_iter().flatten()) {
                match name.strip_prefix("metadata.") {
                    Some(inner) => metadata.insert(inner.to_owned(), value),
                    None => request.insert(name.to_owned(), value),
                };
            }
            request.insert("metadata".to_owned(), Value::Object(metadata));
            Value::Object(request)
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn what_is_sent_is_billed_as_it_was_planned(
        request in request(),
        variant in select(vec!["native", "legacy", "legacy_fast", "legacy_oldest"]),
        millis in option::of(0_u64..20_000),
    ) {
        let written: Map<String, Value> = millis
            .map(|millis| (CLIPS[0].to_owned(), json!({ "millis": millis })))
            .into_iter()
            .collect();
        let measured = walk::measurements(&written);
        let family = walk::family("d", variant);
        let specs = specs(variant);
        let Ok(plan) = walk::planned(family, &request, &specs, &measured) else {
            return Ok(());
        };
        walk::bill_again(family, &plan, &specs, &measured).map_err(TestCaseError::fail)?;
        // What moves the price is written out, and every field of the request is accounted for.
        let body = &plan.outbound.body;
        let resolution = body["resolution"].as_str().map(Scalar::from);
        prop_assert_eq!(plan.bill.attributes.get("resolution"), resolution.as_ref());
        prop_assert_eq!(Some(plan.bill.output_seconds), body["duration"].as_u64());
        prop_assert_eq!(plan.bill.exact, plan.to_probe.is_empty());
        prop_assert!(!body.contains_key("model"));
        let fields: Vec<&str> = plan.report.notes().iter().map(|note| note.field.as_str()).collect();
        for name in request.as_object().unwrap().keys().filter(|name| *name != "metadata") {
            prop_assert!(fields.contains(&name.as_str()), "{} of {:?}", name, fields);
        }
        for name in request["metadata"].as_object().unwrap().keys() {
            let path = format!("metadata.{name}");
            prop_assert!(fields.contains(&path.as_str()), "{} of {:?}", path, fields);
        }
    }
}
