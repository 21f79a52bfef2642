//! `MiniMax`'s pictures over a real socket. It has no SDK: the requests and answers of
//! `fixtures/minimax_images.jsonl` are those of the vendor's documents as of October 2026.

use serde_json::{Value, json};
use trunkline_simulator::{Settings, Simulator};

use crate::client::{post, post_as, started};
use crate::pictures::{blocks, decoded, fetched, last, merged, seen, source};

const PATH: &str = "/v1/image_generation";

fn request_body(more: &Value) -> Value {
    merged(json!({"model": "image-01", "prompt": "a fox"}), more)
}

/// Keys and types, with counts and codes as they are.
fn shape(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let shaped = fields.iter().map(|(name, inner)| {
                let is_told = name.ends_with("_count") || name.starts_with("status_");
                let inner = if is_told { inner.clone() } else { shape(inner) };
                (name.clone(), inner)
            });
            Value::Object(shaped.collect())
        }
        Value::Array(list) => json!(list.iter().map(shape).collect::<Vec<_>>()),
        Value::String(_) => json!("text"),
        Value::Number(_) => json!("number"),
        Value::Bool(_) | Value::Null => value.clone(),
    }
}

#[tokio::test]
async fn the_examples_of_the_documents_are_answered_in_their_shape() {
    let simulator = started().await;
    let examples = include_str!("../fixtures/minimax_images.jsonl");
    let mut count = 0;
    for line in examples.lines() {
        let example: Value = serde_json::from_str(line).expect("a line is JSON");
        let got = post(&simulator, PATH, &example["request"]).await;
        assert_eq!(got.status, 200);
        assert_eq!(shape(&got.json()), example["answer"], "{}", example["name"]);
        count += 1;
    }
    assert_eq!(count, 5);
}

#[tokio::test]
async fn a_ratio_or_two_sides_give_the_size_and_a_ratio_wins() {
    let simulator = started().await;
    for (more, size) in [
        (json!({}), ("jpeg", 1024, 1024)),
        (json!({"aspect_ratio": "21:9"}), ("jpeg", 1344, 576)),
        (json!({"width": 512, "height": 2048}), ("jpeg", 512, 2048)),
        (
            json!({"aspect_ratio": "3:4", "width": 512, "height": 512}),
            ("jpeg", 864, 1152),
        ),
        (
            json!({"invented": 1, "seed": 7, "prompt_optimizer": true}),
            ("jpeg", 1024, 1024),
        ),
    ] {
        let reported = post(&simulator, PATH, &request_body(&more)).await.json();
        let link = &reported["data"]["image_urls"][0];
        assert_eq!(fetched(&simulator, link).await, size, "{more}");
    }
    let reported = post(
        &simulator,
        PATH,
        &request_body(&json!({"n": 9, "response_format": "base64"})),
    )
    .await
    .json();
    let files = reported["data"]["image_base64"].as_array().unwrap();
    assert_eq!(files.len(), 9);
    let file = decoded(&files[8]);
    assert_eq!(seen(&file), ("jpeg", 1024, 1024));
    // Three numbers for each block of eight by eight pixels, and nothing behind them.
    assert_eq!(blocks(&file), 3 * 128 * 128);
    let call = last(&simulator);
    assert_eq!((call.vendor, call.requested, call.made), ("minimax", 9, 9));
    assert!(!call.by_link && !call.has_watermark);
}

#[tokio::test]
async fn a_jpeg_of_odd_sides_is_filled_up_to_whole_blocks() {
    let simulator = started().await;
    for (name, expected) in [
        ("a-1x1.jpg", 3),
        ("a-8x9.jpg", 6),
        ("a-1023x771.jpg", 3 * 128 * 97),
    ] {
        let file = source(&simulator, name).await;
        assert_eq!(blocks(&file), expected, "{name}");
    }
}

#[tokio::test]
async fn everything_is_refused_with_a_number_under_status_200() {
    let simulator = started().await;
    for more in [
        json!({"model": "image-02"}),
        json!({"prompt": null}),
        json!({"prompt": "x".repeat(1_501)}),
        json!({"n": 0}),
        json!({"n": 10}),
        json!({"n": "2"}),
        json!({"aspect_ratio": "5:4"}),
        json!({"model": "image-01-live", "aspect_ratio": "21:9"}),
        json!({"width": 512}),
        json!({"width": 510, "height": 512}),
        json!({"width": 512, "height": 2056}),
        json!({"response_format": "b64_json"}),
        json!({"aigc_watermark": "yes"}),
        json!({"subject_reference": [{"type": "dog", "image_file": "https://a.example"}]}),
        json!({"subject_reference": [{"type": "character", "image_file": "x"}]}),
        json!({"prompt": "[[image:no]]"}),
    ] {
        let got = post(&simulator, PATH, &request_body(&more)).await;
        assert_eq!(
            (got.status, &got.json()["base_resp"]["status_code"]),
            (200, &json!(2013)),
            "{more}"
        );
    }
    assert!(simulator.image_calls().is_empty());
    let settings = Settings {
        keys: vec!["sk-known".to_owned()],
        ..Settings::default()
    };
    let strict = Simulator::start(settings).await.unwrap();
    let got = post_as(&strict, "sk-other", PATH, &request_body(&json!({}))).await;
    assert_eq!(
        (got.status, &got.json()["base_resp"]["status_code"]),
        (200, &json!(2049))
    );
}
