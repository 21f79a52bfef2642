//! `vendor_list`: what vendors ask, by source, and how our price stands to it.

use serde_json::{Value, json};

use super::{chat_entry, entry, fixture, served};

fn list(name: &str) -> Value {
    served(&fixture(name))["vendor_list"].clone()
}

/// The list of a model that sells input at 1 USD a million, with these sources.
fn with(sources: &Value) -> Result<Value, String> {
    let prices =
        r#""prices":{"billing_unit":"tokens","standard":{"input":1000000,"output":2000000}}"#;
    let book = entry(&format!(r#"{prices},"list":{sources}"#))?;
    Ok(served(&book)["vendor_list"].clone())
}

fn source(faces: &Value) -> Value {
    json!({ "source": "s", "read_on": "2026-11-15", "unit": "1M tokens", "per": 1_000_000, "faces": faces })
}

fn verdict(input: &str) -> Value {
    with(&json!([source(&json!({ "input": input }))])).unwrap()["verdict"].clone()
}

// covers: G-2.6-58, G-2.6-61, G-2.6-65, G-2.6-66, G-2.6-67
#[test]
fn the_vendor_list_says_where_it_stands_for_what_and_since_when() {
    let speech = list("speech");
    assert!(speech.is_object());
    assert_eq!(speech["list_currency"], "USD");
    assert_eq!(speech["unit"], "1M characters");
    assert_eq!(speech["list_source"], "one.example; two.example");
    // The oldest of its days: no face is younger than this says.
    assert_eq!(speech["verified_at"], "2026-11-01");
    assert_eq!(list("image")["list_currency"], "CNY");
    assert!(served(&fixture("minimal")).get("vendor_list").is_none());
}

// covers: G-2.6-62, G-2.6-63, G-2.6-64
#[test]
fn list_input_is_in_the_lists_currency_and_list_input_usd_in_ours() {
    let image = list("image");
    assert_eq!(image["list_input"], json!(0.07));
    assert_eq!(image["list_input_usd"], json!(0.01));
    assert_eq!(image["selling_usd"], json!(0.02));
    let chat = list("chat");
    assert_eq!(chat["list_input"], json!(2.5));
    assert_eq!(chat["list_input_usd"], json!(2.5));
    assert_eq!(chat["selling_usd"], json!(2));
}

// covers: G-2.6-59
#[test]
fn the_verdict_is_one_of_five_words() {
    assert_eq!(verdict("1"), "at_list");
    assert_eq!(verdict("1.000000"), "at_list");
    assert_eq!(verdict("1.000001"), "below_list");
    assert_eq!(verdict("0.999999"), "above_list");
    assert_eq!(list("disagreement")["verdict"], "sources_disagree");
    let other = with(&json!([source(&json!({ "image_output": "1" }))])).unwrap();
    assert_eq!(other["verdict"], "unverified");
}

#[test]
fn the_worst_face_decides_and_other_amounts_of_the_same_price_agree() {
    let both = |output: &str| {
        with(&json!([source(&json!({ "input": "1", "output": output }))])).unwrap()["verdict"]
            .clone()
    };
    assert_eq!(both("2"), "at_list");
    assert_eq!(both("3"), "below_list");
    assert_eq!(both("1"), "above_list");
    let by_thousand = json!({ "source": "t", "read_on": "2026-11-14", "unit": "1000 tokens", "per": 1_000, "faces": { "input": "0.001" } });
    let agreed = with(&json!([source(&json!({ "input": "1" })), by_thousand])).unwrap();
    assert_eq!(agreed["verdict"], "at_list");
}

// covers: G-2.6-60
#[test]
fn discount_pct_is_how_far_our_price_lies_below_and_negative_above() {
    assert_eq!(list("chat")["discount_pct"], json!(20));
    assert_eq!(list("speech")["discount_pct"], json!(33.33));
    assert_eq!(list("image")["discount_pct"], json!(-100));
    let free = with(&json!([source(&json!({ "input": "0" }))])).unwrap();
    assert_eq!(free["verdict"], "above_list");
    assert!(
        free.get("discount_pct").is_none(),
        "nothing is a part of nothing"
    );
}

// covers: G-2.6-68
#[test]
fn faces_are_compared_one_by_one() {
    assert_eq!(
        list("chat")["faces"],
        json!([
            { "face": "input", "list_usd": 2.5, "selling_usd": 2, "discount_pct": 20, "verdict": "below_list" },
            { "face": "output", "list_usd": 10, "selling_usd": 10, "discount_pct": 0, "verdict": "at_list" },
        ])
    );
    let disputed = list("disagreement")["faces"].clone();
    assert_eq!(disputed[0]["verdict"], "sources_disagree");
    assert_eq!(disputed[1]["verdict"], "at_list");
    // Listed and not sold.
    assert_eq!(
        disputed[2],
        json!({ "face": "image_output", "list_usd": 40, "selling_usd": null, "discount_pct": null, "verdict": "unverified" })
    );
}

// covers: G-2.6-69
#[test]
fn unverified_faces_are_neither_sold_nor_listed() {
    assert_eq!(
        list("disagreement")["unverified_faces"],
        json!(["cache_read"])
    );
    assert_eq!(list("speech")["unverified_faces"], json!([]));
}

#[test]
fn prices_of_a_tier_stay_out_of_the_vendor_list() {
    let disputed = list("disagreement");
    assert_eq!(disputed["list_source"], "one.example; two.example");
    assert_eq!(disputed["verified_at"], "2026-11-01");
    let of_tier = json!({ "tier": "priority", "source": "s", "read_on": "2026-11-15", "unit": "u", "per": 1, "faces": { "input": "9" } });
    let alone = with(&json!([of_tier])).unwrap();
    assert_eq!(alone["verdict"], "unverified");
    assert_eq!(alone["faces"], json!([]));
}

#[test]
fn a_list_price_that_cannot_be_compared_is_refused() {
    let broken = [
        ("source", json!(" "), "no source"),
        ("read_on", json!("15.11.2026"), "is no day"),
        ("currency", json!("usd"), "three capital letters"),
        ("currency", json!("EUR"), "it needs usd_rate"),
        ("usd_rate", json!("2"), "usd_rate of USD is 1"),
        ("per", json!(0), "for which unit"),
        ("unit", json!(""), "for which unit"),
        ("faces", json!({}), "lists no face"),
        ("faces", json!({ "input": "-1" }), "is no decimal"),
        ("faces", json!({ "input": "1e3" }), "is no decimal"),
        ("faces", json!({ "minutes": "1" }), "unknown face"),
        ("usd_rate", json!("0"), "above zero"),
        ("colour", json!("red"), "unknown field"),
    ];
    for (key, value, expected) in broken {
        let mut price = source(&json!({ "input": "1" }));
        price[key] = value.clone();
        let refused = with(&json!([price])).unwrap_err();
        assert!(refused.contains(expected), "{key} {value}: {refused}");
    }
    let many: Vec<Value> = (0..65).map(|_| source(&json!({ "input": "1" }))).collect();
    assert!(with(&json!(many)).unwrap_err().contains("more than 64"));
    assert!(chat_entry(r#""list":[]"#).is_ok());
}
