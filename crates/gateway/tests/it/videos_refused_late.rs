//! What is refused before any money moves, and what an upstream refuses after it took it.

use std::net::TcpListener;
use std::time::Duration;

use serde_json::{Value, json};

use crate::test_gateway::TestGateway;
use crate::videos::{ended, generation, made, make, moved, quick, spent};
use crate::videos_shapes::relay;

const PNG: &str = "https://example.com/a.png";

async fn holds(harness: &TestGateway) -> String {
    let query = "SELECT count(*)::text FROM ledger.any_hold";
    harness.db.ask(query).await.swap_remove(0)
}

// covers: D-7-VID-03
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_value_outside_its_set_or_range_is_refused_before_any_money_is_held() {
    let harness = generation(quick()).await;
    let b = "doubao-seedance-2-0-260128";
    let wrong: [(&str, Value, &str, &str); 14] = [
        (
            "wan2.7-t2v",
            json!({ "size": "1280x720" }),
            "size_separator",
            "size",
        ),
        (
            "wan2.7-t2v",
            json!({ "duration": 1 }),
            "invalid_request",
            "duration",
        ),
        (
            "wan2.7-t2v",
            json!({ "duration": 16 }),
            "invalid_request",
            "duration",
        ),
        (
            "wan2.7-i2v",
            json!({ "input_reference": PNG, "size": "832*480" }),
            "tier_unpriced",
            "size",
        ),
        (
            "wan2.7-i2v",
            json!({ "input_reference": PNG, "size": "1000*1000" }),
            "invalid_request",
            "size",
        ),
        (
            "happyhorse-1.1-t2v",
            json!({ "size": "1000*1000" }),
            "invalid_request",
            "size",
        ),
        (
            "wan2.7-r2v",
            json!({ "images": [PNG, PNG, PNG, PNG, PNG, PNG] }),
            "reference_count",
            "images",
        ),
        (
            b,
            json!({ "metadata": { "resolution": "1080p" } }),
            "invalid_request",
            "metadata.resolution",
        ),
        (b, json!({ "seconds": "3" }), "invalid_request", "seconds"),
        (b, json!({ "seconds": "-1" }), "unpriceable", "seconds"),
        (
            "kling-v3",
            json!({ "mode": "best" }),
            "invalid_request",
            "mode",
        ),
        (
            "kling-v3-omni",
            json!({}),
            "ratio_required",
            "metadata.aspect_ratio",
        ),
        (
            "MiniMax-H3",
            json!({ "size": "1080P" }),
            "invalid_request",
            "size",
        ),
        (
            "MiniMax-Hailuo-2.3",
            json!({ "duration": 7 }),
            "invalid_request",
            "duration",
        ),
    ];
    for (model, fields, code, param) in wrong {
        let mut body = fields;
        body["model"] = json!(model);
        body["prompt"] = json!("x");
        let got = make(&harness, &body).await;
        let error = got.json()["error"].clone();
        assert_eq!(
            (got.status.as_u16(), &error["code"]),
            (400, &json!(code)),
            "{body}"
        );
        assert_eq!(error["param"], param, "{body}");
    }
    assert_eq!(holds(&harness).await, "0");
    assert!(harness.simulator.requests().is_empty());
    assert_eq!(spent(&harness).await, 0);
}

// covers: G-4.2-A-34
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_size_that_is_rejected_after_it_was_taken_fails_and_is_refunded() {
    let harness = generation(quick()).await;
    let clip = format!("http://{}/_media/clip-7s.mp4", harness.simulator.address());
    let late = "x [[job:fail:InvalidParameter]]";
    let bodies = [
        json!({ "model": "wan2.7-i2v", "prompt": late, "input_reference": PNG, "size": "1920*1080" }),
        json!({ "model": "wan2.7-r2v", "prompt": late, "images": [PNG], "size": "960*960" }),
        json!({ "model": "wan2.7-videoedit", "prompt": late, "video_url": clip }),
    ];
    for body in bodies {
        let id = made(&harness, &body).await;
        let charged = moved(&harness, &id, "charge").await;
        assert!(charged > 0);
        let task = ended(&harness, &id).await;
        assert_eq!(task["error"]["code"], "InvalidParameter", "{task}");
        assert_eq!(moved(&harness, &id, "refund").await, charged);
    }
    assert_eq!(spent(&harness).await, 0);
    harness.audit().await;
}

// covers: G-4.2-C-55, G-4.2-C-56, G-7-06, G-7-07
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reference_picture_that_is_too_small_fails_its_task_and_is_refunded() {
    let harness = generation(quick()).await;
    let small = json!({ "image_url": "https://example.com/a-100x100.png" });
    let metadata = json!({ "aspect_ratio": "1:1", "image_list": [small] });
    let body = json!({ "model": "kling-v3-omni", "prompt": "x", "metadata": metadata });
    let id = made(&harness, &body).await;
    let charged = moved(&harness, &id, "charge").await;
    let task = ended(&harness, &id).await;
    assert_eq!(task["status"], "failed");
    let message = task["error"]["message"].as_str().unwrap();
    assert!(message.contains("Image pixel is invalid"), "{message}");
    assert_eq!(moved(&harness, &id, "refund").await, charged);
    assert_eq!(spent(&harness).await, 0);
    harness.audit().await;
}

// covers: D-7-VID-32
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_a_submission_that_never_left_is_a_timeout_of_the_caller() {
    let mut settings = quick();
    settings.video.call_wait = Duration::from_secs(1);
    let harness = generation(settings).await;
    // It takes connections and never shakes hands: nothing can have been sent.
    let mute = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("https://{}/v1", mute.local_addr().unwrap());
    relay(&harness, &base).await;
    let got = make(&harness, &json!({ "model": "sim-clip", "prompt": "x" })).await;
    assert_eq!(
        (got.status.as_u16(), got.code().as_str()),
        (504, "upstream_timeout")
    );
    assert_eq!(harness.get("/v1/videos").await.json()["data"], json!([]));
    assert_eq!(spent(&harness).await, 0);
    let silent = json!({ "model": "wan2.7-t2v", "prompt": "x [[job:silent]]" });
    let got = make(&harness, &silent).await;
    assert_eq!(
        (got.status.as_u16(), &got.json()["status"]),
        (200, &json!("queued"))
    );
    let [_, held, _, _] = harness.wallets().await;
    assert!(held > 0);
    harness.audit().await;
}
