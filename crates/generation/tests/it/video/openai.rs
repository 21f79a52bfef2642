//! Models outside the families, by what their records say.

use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};
use trunkline_catalog::{Book, Specs};
use trunkline_generation::video::KnownMedia;

use crate::video::price;
use crate::video::walk;

/// A record with two sizes, the upright one first.
fn specs(_variant: &str) -> Specs {
    Specs {
        resolutions: Some(vec!["720x1280".to_owned(), "1280x720".to_owned()]),
        ..Specs::default()
    }
}

// covers: G-4.2-20, G-4.2-22, D-7-VID-30
#[test]
fn every_case_outside_the_families_comes_out_as_written() {
    let walked = walk::folder("openai", specs);
    assert!(walked.refused > 0 && walked.refused < walked.cases);
}

// covers: G-4.2-20, G-4.2-21
#[test]
fn a_record_by_the_call_costs_one_call_and_one_by_the_second_its_seconds() {
    let book = Book::from_json(
        r#"{"groups": {"default": {"rate": "1"}}, "models": {
            "by-second": {"groups": ["default"], "prices": {"billing_unit": "per_second",
                "standard": {"video_second": 100000000000}, "tiers": [{"tier": "wide",
                "standard": {"video_second": 300000000000}, "when":
                [{"dim": "request_attr", "path": "resolution", "equals": "1280x720"}]}]}},
            "by-call": {"groups": ["default"], "prices": {"billing_unit": "per_call",
                "standard": {"per_call": 250000000000}}}}}"#,
    )
    .unwrap();
    let family = walk::family("openai", "videos");
    let known = KnownMedia::default();
    // In thousandths of a US dollar.
    for (model, more, price) in [
        (
            "by-second",
            json!({ "seconds": "8", "size": "1280x720" }),
            8 * 300,
        ),
        ("by-second", json!({ "size": "1280x720" }), 4 * 300),
        ("by-call", json!({ "seconds": "12" }), 250),
        ("by-call", json!({}), 250),
    ] {
        let mut request = json!({ "model": model, "prompt": "a fox" });
        let fields = request.as_object_mut().unwrap();
        fields.extend(more.as_object().unwrap().clone());
        let plan = walk::planned(family, &request, &specs("videos"), &known).unwrap();
        assert_eq!(
            price::nanos(&book, model, &plan),
            price * 1_000_000,
            "{request}"
        );
    }
}

fn fields() -> impl Strategy<Value = Map<String, Value>> {
    let one = |name: &'static str, values: Vec<Value>| {
        option::of(select(values)).prop_map(move |value| value.map(|value| (name, value)))
    };
    let all = vec![
        one("prompt", vec![json!("a fox"), json!("a cat")]).boxed(),
        one(
            "seconds",
            vec![json!("4"), json!("8"), json!("12"), json!("x"), json!("")],
        )
        .boxed(),
        one(
            "duration",
            vec![json!(4), json!(8), json!(-4), json!(u64::MAX)],
        )
        .boxed(),
        one(
            "size",
            vec![json!("1280x720"), json!("720x1280"), json!("4k"), json!("")],
        )
        .boxed(),
        one(
            "input_reference",
            vec![json!("https://media.example/a.png"), json!("")],
        )
        .boxed(),
        one(
            "quality",
            vec![json!("high"), json!(1), json!(1.5), json!([1]), json!(true)],
        )
        .boxed(),
        one("resolution", vec![json!("720p"), json!(7)]).boxed(),
        one(
            "metadata",
            vec![json!({"style": "noir", "model": "x"}), json!({})],
        )
        .boxed(),
    ];
    all.prop_map(|all| {
        let all = all.into_iter().flatten();
        all.map(|(name, value)| (name.to_owned(), value)).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn what_is_sent_is_billed_as_it_was_planned(
        mut request in fields(),
        listed in select(vec![
            json!({}),
            json!({"request_fields": ["quality", "metadata.style", "resolution"]}),
            json!({"resolutions": null, "request_fields": ["resolution", "metadata.resolution", "seconds"]}),
            json!({"durations": [10, 8], "max_duration_seconds": 9}),
            json!({"durations": []}),
        ]),
    ) {
        request.insert("model".to_owned(), json!("m"));
        let mut specs = serde_json::to_value(specs("videos")).unwrap();
        specs.as_object_mut().unwrap().extend(listed.as_object().unwrap().clone());
        let specs: Specs = serde_json::from_value(specs).unwrap();
        let family = walk::family("openai", "videos");
        let known = KnownMedia::default();
        let Ok(plan) = walk::planned(family, &Value::Object(request), &specs, &known) else {
            return Ok(());
        };
        walk::bill_again(family, &plan, &specs, &known).map_err(TestCaseError::fail)?;
        let body = &plan.outbound.body;
        let seconds = plan.bill.output_seconds.to_string();
        prop_assert_eq!(body["seconds"].as_str(), Some(seconds.as_str()));
        prop_assert!(!body.contains_key("model") && !body.contains_key("metadata"));
    }
}
