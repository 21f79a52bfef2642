//! Pictures from a text.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use serde_json::{Value, json};

use crate::generation::harness::{PICTURE, size_of};
use crate::response::GatewayResponse;
use crate::test_gateway::TestGateway;

/// The pictures of an answer, fetched by their links without a key.
async fn fetched(harness: &TestGateway, view: &Value) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for entry in view["data"].as_array().unwrap() {
        let url = entry["url"].as_str().unwrap();
        // The gateway's public address is not the one it listens on.
        let path = url.split_once("/media/").unwrap().1;
        let answer = harness
            .send_as(
                (harness.address, "no key"),
                Method::GET,
                &format!("/media/{path}"),
                bytes::Bytes::new(),
                &[],
            )
            .await;
        let got = GatewayResponse::read(answer).await;
        assert_eq!(got.status.as_u16(), 200, "{url}");
        assert!(got.header("content-type").unwrap().starts_with("image/"));
        all.push(got.body.to_vec());
    }
    all
}

// covers: G-2.4-01, G-2.4-02, G-2.4-03, G-2.4-04, G-2.4-05, G-2.4-06, G-2.4-08, G-2.4-09, G-4.3-03, G-4.3-04
// covers: G-4.3-09, G-4.3-13, D-7-MON-02
// covers: G-1-12, G-2.6-37, G-4-11
#[tokio::test]
async fn one_call_answers_with_one_entry_for_each_picture_and_charges_for_each() {
    let harness = TestGateway::generation().await;
    let mut sum = 0;
    for (model, vendor) in [
        ("brush", "openai"),
        ("mini-brush", "minimax"),
        ("wen-brush", "dashscope"),
        ("sea-brush", "ark"),
    ] {
        for count in [1_i64, 3] {
            let size = match model {
                "wen-brush" => "1024*1024",
                _ => "1024x1024",
            };
            let more = json!({ "n": count, "size": size });
            let got = harness.draw(model, "a cat on a roof", more).await;
            assert_eq!(got.status.as_u16(), 200, "{model}: {}", got.text());
            let view = got.json();
            let entries = view["data"].as_array().unwrap();
            assert_eq!(i64::try_from(entries.len()).unwrap(), count, "{model}");
            assert!(view["created"].as_i64().unwrap() > 1_700_000_000);
            for entry in entries {
                assert_eq!(entry["b64_json"], "", "{model}");
            }
            let metadata = &view["metadata"];
            assert_eq!(metadata["success_count"], json!(count.to_string()));
            assert_eq!(metadata["failed_count"], json!("0"));
            let pictures = fetched(&harness, &view).await;
            assert!(pictures.iter().all(|one| size_of(one) == (1024, 1024)));
            assert!(pictures.windows(2).all(|two| two[0] != two[1]), "{model}");
            sum += PICTURE * count;
            assert_eq!(harness.spent().await, sum, "{model}");
            let call = harness.simulator.image_calls().pop().unwrap();
            assert_eq!((call.vendor, i64::from(call.made)), (vendor, count));
        }
    }
    harness.audit().await;
}

// covers: G-2.4-07, G-4.3-08, D-7-MON-19
#[tokio::test]
async fn pictures_come_inside_the_answer_when_that_is_asked_for() {
    let harness = TestGateway::generation().await;
    for model in [
        "brush",
        "mini-brush",
        "wen-brush",
        "sea-brush",
        "fine-brush",
    ] {
        let more = json!({ "response_format": "b64_json" });
        let got = harness.draw(model, "a dog", more).await;
        assert_eq!(got.status.as_u16(), 200, "{model}: {}", got.text());
        let entry = &got.json()["data"][0];
        assert_eq!(entry["url"], "", "{model}");
        let picture = STANDARD
            .decode(entry["b64_json"].as_str().unwrap())
            .unwrap();
        let (width, height) = size_of(&picture);
        assert!(width >= 256 && height >= 256, "{model}");
    }
    harness.audit().await;
}

// covers: G-4.3-14, G-4.3-15
#[tokio::test]
async fn an_image_costs_the_same_for_any_prompt_and_logs_one_prompt_token() {
    let harness = TestGateway::generation().await;
    let short = harness.draw("brush", "cat", json!({})).await;
    let long = harness
        .draw("brush", &"a very long essay ".repeat(50), json!({}))
        .await;
    for got in [&short, &long] {
        let row = harness.row(got).await;
        assert_eq!(row["cost_usd"], "0.02", "{row}");
        assert_eq!(row["prompt_tokens"], 1);
        assert_eq!(row["completion_tokens"], 0);
        assert_eq!(row["endpoint"], "images");
    }
    assert_eq!(short.header("trunkline-cost-usd").unwrap(), "0.02");
}

// covers: D-4-52, D-4-53, G-4.3-01, G-4.3-02
#[tokio::test]
async fn what_is_missing_or_out_of_bounds_is_refused_before_money_moves() {
    let harness = TestGateway::generation().await;
    for (body, param) in [
        (json!({ "prompt": "x" }), "model"),
        (json!({ "model": "brush" }), "prompt"),
        (json!({ "model": "brush", "prompt": 7 }), "prompt"),
        (json!({ "model": "brush", "prompt": "x", "n": "two" }), "n"),
        (json!({ "model": "brush", "prompt": "x", "n": 0 }), "n"),
        (json!({ "model": "brush", "prompt": "x", "n": 9 }), "n"),
        (
            json!({ "model": "many-brush", "prompt": "x", "n": 129 }),
            "n",
        ),
        (
            json!({ "model": "brush", "prompt": "x", "size": 5 }),
            "size",
        ),
        (
            json!({ "model": "fine-brush", "prompt": "x", "size": "7x7" }),
            "size",
        ),
    ] {
        let got = harness.post("/v1/images/generations", &body).await;
        assert_eq!(got.status.as_u16(), 400, "{body}: {}", got.text());
        assert_eq!(got.json()["error"]["param"], param, "{body}");
    }
    let got = harness.draw("voice", "x", json!({})).await;
    assert_eq!(got.code(), "endpoint_not_supported");
    assert_eq!(harness.spent().await, 0);
    assert!(harness.simulator.image_calls().is_empty());
    // The most that the interface takes, where the record names none: quoted, since no vendor makes it.
    let body = json!({ "model": "many-brush", "prompt": "x", "n": 128 });
    let quote = harness
        .post("/v1/quotes", &json!({ "endpoint": "images", "body": body }))
        .await;
    assert_eq!(quote.json()["price_usd"], "2.56", "{}", quote.text());
}

// covers: G-4.3-05, G-4.3-06, G-4.3-07, D-2-41
#[tokio::test]
async fn a_default_that_moves_the_price_is_sent_and_others_are_omitted() {
    let harness = TestGateway::generation().await;
    let got = harness.draw("fine-brush", "a cat", json!({})).await;
    assert_eq!(got.status.as_u16(), 200, "{}", got.text());
    assert_eq!(harness.spent().await, 10_000_000);
    let call = harness.simulator.image_calls().pop().unwrap();
    assert_eq!((call.width, call.height), (1024, 1024));
    assert_eq!(call.quality.as_deref(), Some("low"));
    let more = json!({ "size": "1024x1024", "quality": "high" });
    harness.draw("fine-brush", "a cat", more).await;
    assert_eq!(harness.spent().await, 60_000_000);
    let call = harness.simulator.image_calls().pop().unwrap();
    assert_eq!(call.quality.as_deref(), Some("high"));
    // What no tier names costs what the list says, and the size reaches the model.
    let more = json!({ "size": "1536x1024", "quality": "low" });
    harness.draw("fine-brush", "a cat", more).await;
    assert_eq!(harness.spent().await, 260_000_000);
    let call = harness.simulator.image_calls().pop().unwrap();
    assert_eq!((call.width, call.height), (1536, 1024));
    // Where the price does not depend on it, the vendor's default holds.
    harness
        .draw("sea-brush", "a cat", json!({ "size": "4K" }))
        .await;
    let call = harness.simulator.image_calls().pop().unwrap();
    assert!(call.width * call.height > 8_000_000, "{call:?}");
    harness.audit().await;
}

// covers: G-4.3-12, D-2-76
#[tokio::test]
async fn a_picture_to_edit_is_ignored_where_none_is_edited() {
    let harness = TestGateway::generation().await;
    let more = json!({ "image": "https://example.com/cat.png" });
    let got = harness.draw("brush", "a cat", more.clone()).await;
    assert_eq!(got.status.as_u16(), 200, "{}", got.text());
    let warnings = got.header("trunkline-warnings").unwrap();
    assert!(warnings.contains("image_ignored"), "{warnings}");
    let mut body = json!({ "model": "brush", "prompt": "a cat" });
    body["image"] = more["image"].clone();
    let strict = [("trunkline-strict", "true")];
    let got = harness
        .post_with("/v1/images/generations", &body, &strict)
        .await;
    assert_eq!(
        (got.status.as_u16(), got.code()),
        (400, "image_ignored".to_owned())
    );
}
