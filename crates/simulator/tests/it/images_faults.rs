//! What goes wrong with pictures on demand, for each vendor in its own words.

use std::time::Instant;

use serde_json::{Value, json};
use trunkline_simulator::{Fault, ImageFault, Rule, Simulator};

use crate::client::{Response, always, ask, post, receive, send_to, started};
use crate::pictures::{followed, last};

const OPENAI: &str = "/v1/images/generations";
const MINIMAX: &str = "/v1/image_generation";
const DASHSCOPE: &str = "/api/v1/services/aigc/multimodal-generation/generation";
const ARK: &str = "/api/v3/images/generations";
const PATHS: [&str; 4] = [OPENAI, MINIMAX, DASHSCOPE, ARK];

/// A good request for three pictures; `OpenAI`'s by link too.
fn good(path: &str, prompt: &str) -> Value {
    match path {
        OPENAI => json!({"model": "dall-e-2", "prompt": prompt, "n": 3}),
        MINIMAX => json!({"model": "image-01", "prompt": prompt, "n": 3}),
        DASHSCOPE => json!({"model": "qwen-image-2.0", "parameters": {"n": 3, "size": "512*512"},
            "input": {"messages": [{"role": "user", "content": [{"text": prompt}]}]}}),
        _ => json!({"model": "doubao-seedream-4-0-250828", "prompt": prompt,
            "sequential_image_generation": "auto",
            "sequential_image_generation_options": {"max_images": 3}}),
    }
}

async fn struck(simulator: &Simulator, path: &str, fault: &str) -> Response {
    post(
        simulator,
        path,
        &good(path, &format!("a fox [[fault:{fault}]]")),
    )
    .await
}

/// Every link of an answer.
fn links(reported: &Value) -> Vec<Value> {
    match reported {
        Value::String(text) if text.starts_with("http://") => vec![reported.clone()],
        Value::Array(list) => list.iter().flat_map(links).collect(),
        Value::Object(fields) => fields.values().flat_map(links).collect(),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

/// The vendor's code of a refusal.
fn code(path: &str, reported: &Value) -> Value {
    match path {
        MINIMAX => reported["base_resp"]["status_code"].clone(),
        DASHSCOPE => reported["code"].clone(),
        _ => reported["error"]["code"].clone(),
    }
}

#[tokio::test]
async fn a_limit_is_told_with_its_time_and_in_the_vendors_words() {
    let simulator = started().await;
    for (path, status, word) in [
        (OPENAI, 429, json!("rate_limit_exceeded")),
        (MINIMAX, 200, json!(1002)),
        (DASHSCOPE, 429, json!("Throttling.RateQuota")),
        (ARK, 429, json!("ModelAccountRpmRateLimitExceeded")),
    ] {
        let got = struck(&simulator, path, "rate_limited:7").await;
        assert_eq!(
            (got.status, got.header("retry-after")),
            (status, Some("7")),
            "{path}"
        );
        assert_eq!(code(path, &got.json()), word);
        let call = last(&simulator);
        assert_eq!((call.requested, call.made, call.failed), (3, 0, 0));
        assert_eq!(
            call.fault,
            Some(Fault::RateLimited {
                retry_after_secs: 7
            })
        );
    }
}

#[tokio::test]
async fn a_status_is_a_status_and_an_error_can_hide_under_200() {
    let simulator = started().await;
    for path in PATHS {
        for status in [500, 503, 429] {
            let got = struck(&simulator, path, &format!("status:{status}")).await;
            assert_eq!(got.status, status, "{path}");
            assert!(!code(path, &got.json()).is_null() || path == OPENAI);
        }
        let got = struck(&simulator, path, "error_inside200").await;
        assert_eq!(got.status, 200, "{path}");
        assert_eq!(links(&got.json()), Vec::<Value>::new());
        assert!(!simulator.requests().pop().unwrap().finished);
        assert_eq!(last(&simulator).made, 0);
    }
    let got = struck(&simulator, MINIMAX, "base_resp:1008").await;
    assert_eq!(code(MINIMAX, &got.json()), 1008);
}

#[tokio::test]
async fn a_body_can_be_late_slow_cut_short_or_never_come() {
    let simulator = started().await;
    for path in PATHS {
        let begun = Instant::now();
        let got = struck(&simulator, path, "slow_first_byte:300").await;
        assert!(begun.elapsed().as_millis() >= 300 && got.is_whole, "{path}");
        let got = struck(&simulator, path, "slow_drip:1").await;
        assert!(got.is_whole && links(&got.json()).len() == 3, "{path}");
        let got = struck(&simulator, path, "close_mid_stream").await;
        assert!(
            !got.is_whole && got.is_closed && !got.body.is_empty(),
            "{path}"
        );
        assert_eq!(last(&simulator).made, 3);
        assert!(!simulator.requests().pop().unwrap().finished);
        let got = struck(&simulator, path, "close_before_headers").await;
        assert!(got.status == 0 && got.is_closed, "{path}");
        let prompt = "a fox [[fault:hang_before_headers]]";
        let mut stream = send_to(&simulator, path, &good(path, prompt)).await;
        let got = receive(&mut stream).await;
        assert!(got.status == 0 && !got.is_closed, "{path}");
        let call = last(&simulator);
        assert_eq!((call.requested, call.made), (3, 0), "{path}");
    }
}

#[tokio::test]
async fn some_of_the_pictures_fail_and_if_none_is_left_the_vendor_refuses() {
    let simulator = started().await;
    for (path, status, word) in [
        (OPENAI, 400, json!("content_policy_violation")),
        (MINIMAX, 200, json!(1027)),
        (DASHSCOPE, 400, json!("DataInspectionFailed")),
        (ARK, 400, json!("OutputImageSensitiveContentDetected")),
    ] {
        let prompt = "a fox [[id:some]] [[image:fail_some:2]]";
        let got = post(&simulator, path, &good(path, prompt)).await;
        assert_eq!((got.status, links(&got.json()).len()), (200, 1), "{path}");
        let call = last(&simulator);
        assert_eq!(
            (call.requested, call.made, call.failed),
            (3, 1, 2),
            "{path}"
        );
        assert_eq!(call.marker.as_deref(), Some("some"));
        let got = post(&simulator, path, &good(path, "a fox [[image:fail_some:3]]")).await;
        assert_eq!(
            (got.status, code(path, &got.json())),
            (status, word),
            "{path}"
        );
        let call = last(&simulator);
        assert_eq!((call.made, call.failed), (0, 3));
    }
}

#[tokio::test]
async fn a_prompt_that_is_not_allowed_is_blocked_by_the_vendors_code() {
    let simulator = started().await;
    for (path, status, word) in [
        (OPENAI, 400, json!("content_policy_violation")),
        (MINIMAX, 200, json!(1026)),
        (DASHSCOPE, 400, json!("DataInspectionFailed")),
        (ARK, 400, json!("InputTextSensitiveContentDetected")),
    ] {
        let got = post(&simulator, path, &good(path, "a fox [[image:refused]]")).await;
        assert_eq!(
            (got.status, code(path, &got.json())),
            (status, word),
            "{path}"
        );
        assert_eq!((last(&simulator).made, last(&simulator).failed), (0, 0));
    }
    let gpt = json!({"model": "gpt-image-2", "prompt": "[[image:refused]]"});
    let error = &post(&simulator, OPENAI, &gpt).await.json()["error"];
    assert_eq!(error["code"], "moderation_blocked");
    assert_eq!(error["moderation_details"]["moderation_stage"], "input");
}

#[tokio::test]
async fn a_link_can_be_dead_lead_to_garbage_or_be_too_old() {
    let simulator = started().await;
    for path in PATHS {
        let reported = post(&simulator, path, &good(path, "a fox [[image:dead_link]]"))
            .await
            .json();
        assert_eq!(links(&reported).len(), 3);
        for link in links(&reported) {
            assert_eq!(followed(&simulator, &link).await.status, 404, "{path}");
        }
        let reported = post(
            &simulator,
            path,
            &good(path, "a fox [[image:garbage_link]]"),
        )
        .await
        .json();
        let got = followed(&simulator, &links(&reported)[0]).await;
        assert_eq!(
            (got.status, got.header("content-type")),
            (200, Some("image/png"))
        );
        assert!(!got.body.starts_with(b"\x89PNG") && !got.body.starts_with(b"\xff\xd8"));
    }
    let old = ask(&simulator, "GET", "/_images/fox-8x8.png?Expires=1", "", b"").await;
    assert_eq!(old.status, 403);
    for unknown in ["fox.png", "fox-8x8.gif", "fox-9000x1.png", "img-1-0.png"] {
        let got = ask(&simulator, "GET", &format!("/_images/{unknown}"), "", b"").await;
        assert_eq!(got.status, 404, "{unknown}");
    }
}

#[tokio::test]
async fn usage_can_be_a_lie_or_missing() {
    let simulator = started().await;
    let reported = struck(&simulator, ARK, "lying_usage:10").await.json();
    assert_eq!(reported["usage"]["generated_images"], 30);
    let reported = struck(&simulator, DASHSCOPE, "lying_usage:10").await.json();
    assert_eq!(reported["usage"]["image_count"], 30);
    let reported = struck(&simulator, MINIMAX, "lying_usage:10").await.json();
    assert_eq!(reported["metadata"]["success_count"], "30");
    assert_eq!(last(&simulator).made, 3);
    for (path, name) in [(ARK, "usage"), (DASHSCOPE, "usage"), (MINIMAX, "metadata")] {
        let reported = struck(&simulator, path, "no_usage").await.json();
        assert_eq!(reported.get(name), None, "{path}");
    }
}

#[tokio::test]
async fn rules_match_images_by_model_and_the_control_api_lists_requests() {
    let simulator = started().await;
    let rule = json!({"fault": {"image": "fail_some:1"}, "times": 1, "model": "image-01"});
    let added = ask(
        &simulator,
        "POST",
        "/_simulator/rules",
        "",
        rule.to_string().as_bytes(),
    )
    .await;
    assert_eq!(added.status, 200);
    simulator.plan(Rule {
        model: Some("dall-e-2".to_owned()),
        ..always(Fault::Status(503))
    });
    let chat = json!({"model": "sim-small", "messages": [{"role": "user", "content": "a fox"}]});
    assert_eq!(
        post(&simulator, "/v1/chat/completions", &chat).await.status,
        200
    );
    assert_eq!(
        post(&simulator, OPENAI, &good(OPENAI, "a fox"))
            .await
            .status,
        503
    );
    for made in [2, 3] {
        post(&simulator, MINIMAX, &good(MINIMAX, "a fox")).await;
        assert_eq!(last(&simulator).made, made);
    }
    let listed = ask(&simulator, "GET", "/_simulator/images", "", b"")
        .await
        .json();
    let calls = listed["calls"].as_array().unwrap();
    assert_eq!(calls.len(), 3);
    assert_eq!(calls[0]["fault"], json!({"status": 503}));
    assert_eq!(calls[1]["fault"], json!({"image": "fail_some:1"}));
    assert_eq!(
        (&calls[1]["made"], &calls[1]["failed"]),
        (&json!(2), &json!(1))
    );
    let image = Fault::Image(ImageFault::FailSome { count: 1 });
    assert_eq!(simulator.image_calls()[1].fault, Some(image));
    simulator.clear_requests();
    assert!(simulator.image_calls().is_empty());
}
