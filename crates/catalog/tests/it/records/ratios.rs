//! Ratios and unit prices, worked out from faces for clients that expect them.

use serde_json::json;
use trunkline_types::BillingUnit;

use super::{entry, fixture, served};

// covers: G-2.6-22, D-2-35
#[test]
fn ratio_one_is_two_dollars_a_million_input_tokens() {
    assert_eq!(served(&fixture("chat"))["model_ratio"], json!(1));
    let ratio = |input: u64| {
        let fields = format!(
            r#""prices":{{"billing_unit":"tokens","standard":{{"input":{input},"output":0}}}}"#
        );
        served(&entry(&fields).unwrap())["model_ratio"].clone()
    };
    assert_eq!(ratio(3_000_000), json!(1.5));
    assert_eq!(ratio(150_000), json!(0.075));
    assert_eq!(ratio(0), json!(0));
    assert_eq!(ratio(1), json!(5e-7));
}

// covers: G-2.6-24, G-2.6-25, G-2.6-26, G-2.6-27, G-2.6-28, G-2.6-29
#[test]
fn other_ratios_divide_by_input_and_audio_output_by_audio_input() {
    let record = served(&fixture("chat"));
    assert_eq!(record["completion_ratio"], json!(5));
    assert_eq!(record["cache_ratio"], json!(0.1));
    assert_eq!(record["create_cache_ratio"], json!(1.25));
    assert_eq!(record["image_ratio"], json!(1.5));
    assert_eq!(record["audio_ratio"], json!(2));
    assert_eq!(record["audio_completion_ratio"], json!(3));
    let least = served(&fixture("minimal"));
    for absent in [
        "cache_ratio",
        "create_cache_ratio",
        "image_ratio",
        "audio_ratio",
        "audio_completion_ratio",
        "model_price",
    ] {
        assert!(least.get(absent).is_none(), "{absent}");
    }
}

#[test]
fn a_ratio_to_a_free_input_is_left_out() {
    let free = r#""prices":{"billing_unit":"tokens","standard":{"input":0,"output":5}}"#;
    let record = served(&entry(free).unwrap());
    assert!(record.get("completion_ratio").is_none());
    assert_eq!(record["model_ratio"], json!(0));
}

// covers: G-2.6-23
#[test]
fn model_price_is_the_price_of_one_unit_by_call_and_by_second() {
    assert_eq!(served(&fixture("image"))["model_price"], json!(0.02));
    assert_eq!(served(&fixture("video"))["model_price"], json!(0.1));
    assert_eq!(served(&fixture("social"))["model_price"], json!(0.02));
    for by_amount in ["chat", "speech", "transcription"] {
        assert!(served(&fixture(by_amount)).get("model_price").is_none());
    }
}

// covers: G-2.6-21, D-2-36
#[test]
fn quota_type_is_0_for_tokens_and_1_for_everything_else() {
    for unit in BillingUnit::ALL {
        let faces: Vec<String> = unit
            .required_faces()
            .iter()
            .map(|face| format!(r#""{face}":1"#))
            .collect();
        let fields = format!(
            r#""prices":{{"billing_unit":"{unit}","standard":{{{}}}}}"#,
            faces.join(",")
        );
        let record = served(&entry(&fields).unwrap());
        let expected = u8::from(unit != BillingUnit::Tokens);
        assert_eq!(record["quota_type"], json!(expected), "{unit}");
        assert_eq!(record["billing_unit"], json!(unit.name()));
    }
    let refused = entry(r#""prices":{"billing_unit":"per_minute","standard":{"input":1}}"#);
    assert!(refused.is_err());
}
