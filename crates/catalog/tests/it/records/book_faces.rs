//! `book_faces`: the prices of a record, with and without tiers and conditions.

use serde_json::{Value, json};
use trunkline_catalog::{Attributes, GroupChoice, PriceClass, PricingContext, quote};
use trunkline_types::{Face, Timestamp, Units};

use super::{fixture, served};

fn faces(name: &str) -> Value {
    served(&fixture(name))["book_faces"].clone()
}

// covers: G-2.6-70, G-2.6-73
#[test]
fn book_faces_is_an_object_with_prices_and_a_route_count() {
    assert_eq!(
        faces("minimal"),
        json!({ "standard": { "input": 1, "output": 2 }, "paid": null, "route_count": 0 })
    );
    let chat = faces("chat");
    assert!(chat["route_count"].is_u64());
    for column in ["standard", "paid"] {
        let prices = chat[column].as_object().unwrap();
        assert_eq!(prices.len(), 8, "{column}");
        assert!(prices.values().all(Value::is_u64), "{column}: {prices:?}");
    }
}

// covers: G-2.6-74
#[test]
fn tier_count_is_there_with_tiers_and_left_out_without() {
    assert_eq!(faces("tiers")["tier_count"], json!(4));
    assert_eq!(faces("peak")["tier_count"], json!(2));
    assert!(faces("chat").get("tier_count").is_none());
}

// covers: G-2.6-75
#[test]
fn has_request_condition_is_true_if_a_request_field_moves_the_price() {
    assert_eq!(faces("tiers")["has_request_condition"], json!(true));
    assert_eq!(faces("peak")["has_request_condition"], json!(false));
    assert!(faces("chat").get("has_request_condition").is_none());
}

// covers: G-2.6-76
#[test]
fn has_time_condition_tells_whether_the_hour_moves_the_price() {
    assert_eq!(faces("peak")["has_time_condition"], json!(true));
    assert_eq!(faces("tiers")["has_time_condition"], json!(false));
    assert!(faces("chat").get("has_time_condition").is_none());
}

#[test]
fn tiers_come_with_the_default_first_and_conditions_as_they_were_written() {
    let tiers = faces("tiers")["tiers"].clone();
    let names: Vec<&str> = tiers
        .as_array()
        .unwrap()
        .iter()
        .map(|tier| tier["tier"].as_str().unwrap())
        .collect();
    assert_eq!(names.first(), Some(&"standard"));
    assert_eq!(names.last(), Some(&"priority_long_context"));
    assert!(tiers[0].get("when").is_none());
    let peak = faces("peak")["tiers"][1].clone();
    assert_eq!(
        peak["when"],
        json!([{ "dim": "wall_clock", "timezone": "Asia/Shanghai", "weekdays": [1, 2, 3, 4, 5], "hours": [9, 10] }])
    );
    assert!(faces("minimal").get("tiers").is_none());
}

// covers: G-2.6-49
#[test]
fn a_record_billed_by_tokens_is_charged_for_each_token() {
    let book = fixture("chat");
    let (_, offer) = book
        .offer("acme-large", GroupChoice::Named("default"))
        .unwrap();
    let attributes = Attributes::none();
    let context = PricingContext {
        attributes: &attributes,
        at: Timestamp::from_micros(0),
    };
    let charged = |input: u64, output: u64| {
        let units = Units::none().plus(Face::Input, input).unwrap();
        let units = units.plus(Face::Output, output).unwrap();
        quote(offer, PriceClass::Standard, &units, context)
            .unwrap()
            .total
            .nanos()
    };
    // 2 USD and 10 USD a million.
    assert_eq!(charged(1_000_000, 0), 2_000_000_000);
    assert_eq!(charged(1_000, 500), 2_000_000 + 5_000_000);
    assert_eq!(charged(1, 0), 2_000);
    assert_eq!(served(&book)["billing_unit"], "tokens");
}
