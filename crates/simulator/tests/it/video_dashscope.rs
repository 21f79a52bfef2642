//! `DashScope`'s video jobs over a real socket: the examples of its documentation, what it refuses at
//! once, what it finds out too late, and the fates that a prompt may ask for.

use std::time::Duration;

use serde_json::{Value, json};
use trunkline_simulator::{Settings, Simulator, VideoSettings};

use crate::client::{Response, ask, started};

const SUBMIT: &str = "/api/v1/services/aigc/video-generation/video-synthesis";
const HEAD: &str = "authorization: Bearer sk-test-1234\r\ncontent-type: application/json\r\n";

async fn submit(simulator: &Simulator, body: &Value) -> Response {
    let head = format!("{HEAD}x-dashscope-async: enable\r\n");
    let body = body.to_string();
    ask(simulator, "POST", SUBMIT, &head, body.as_bytes()).await
}

async fn task(simulator: &Simulator, id: &str) -> Value {
    let path = format!("/api/v1/tasks/{id}");
    let got = ask(simulator, "GET", &path, HEAD, b"").await;
    assert_eq!(got.status, 200);
    got.json()
}

fn id_of(got: &Response) -> String {
    assert_eq!(got.status, 200, "{}", got.text());
    got.json()["output"]["task_id"].as_str().unwrap().to_owned()
}

/// Asks until the job has ended.
async fn ended(simulator: &Simulator, id: &str) -> Value {
    for _ in 0..400 {
        let answer = task(simulator, id).await;
        let state = answer["output"]["task_status"].as_str().unwrap().to_owned();
        if !["PENDING", "RUNNING"].contains(&state.as_str()) {
            return answer;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{id} does not end");
}

fn wan(prompt: &str) -> Value {
    json!({"model": "wan2.7-t2v", "input": {"prompt": prompt},
        "parameters": {"resolution": "720P", "ratio": "16:9", "duration": 5, "watermark": false}})
}

#[tokio::test]
async fn a_job_goes_from_pending_to_a_file() {
    let simulator = started().await;
    let got = submit(
        &simulator,
        &wan("a cat [[id:first]] [[job:wait_ms:300]][[job:ms:400]]"),
    )
    .await;
    let answer = got.json();
    assert_eq!(answer["output"]["task_status"], "PENDING");
    assert!(answer["request_id"].is_string());
    let id = id_of(&got);
    let waiting = task(&simulator, &id).await;
    assert_eq!(waiting["output"]["task_status"], "PENDING");
    let mut seen = Vec::new();
    for _ in 0..200 {
        let state = task(&simulator, &id).await["output"]["task_status"].clone();
        if seen.last() != Some(&state) {
            seen.push(state);
        }
        if seen.last() == Some(&json!("SUCCEEDED")) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(seen.last(), Some(&json!("SUCCEEDED")));
    assert!(seen.contains(&json!("RUNNING")), "{seen:?}");
    let done = task(&simulator, &id).await;
    let usage = json!({"video_count": 1, "duration": 5, "input_video_duration": 0,
        "output_video_duration": 5, "SR": 720, "ratio": "16:9"});
    assert_eq!(done["usage"], usage);
    let link = done["output"]["video_url"].as_str().unwrap();
    assert!(
        link.starts_with(&format!("http://simulator/_media/{id}.mp4?Expires=")),
        "{link}"
    );
    for name in ["submit_time", "scheduled_time", "end_time", "orig_prompt"] {
        assert!(done["output"][name].is_string(), "{name}: {done}");
    }
    let job = simulator.video_jobs().pop().unwrap();
    assert_eq!(
        (job.vendor, job.model.as_str(), job.seconds),
        ("dashscope", "wan2.7-t2v", 5)
    );
    assert_eq!(
        (job.marker.as_deref(), job.key.as_str()),
        (Some("first"), "1234")
    );
    assert!(job.polls >= 3);
}

/// The curl of the vendor's page "Wan video editing API reference", 3 April 2026.
#[tokio::test]
async fn the_documented_edit_is_taken_and_keeps_the_length_of_its_source() {
    let simulator = started().await;
    let body = json!({"model": "wan2.7-videoedit",
        "input": {"prompt": "Convert the entire scene to a claymation style",
            "media": [{"type": "video", "url": "https://example.com/style-change-7s.mp4"}]},
        "parameters": {"resolution": "720P", "prompt_extend": true, "watermark": true}});
    let id = id_of(&submit(&simulator, &body).await);
    let done = ended(&simulator, &id).await;
    assert_eq!(done["usage"]["output_video_duration"], 7);
    let mut cut = body;
    cut["parameters"]["duration"] = json!(3);
    let id = id_of(&submit(&simulator, &cut).await);
    assert_eq!(
        ended(&simulator, &id).await["usage"]["output_video_duration"],
        3
    );
}

#[tokio::test]
async fn what_is_left_out_takes_the_vendors_defaults_and_size_is_not_looked_at() {
    let simulator = started().await;
    let body = json!({"model": "wan2.7-t2v-2026-04-25", "input": {"prompt": "a cat"},
        "parameters": {"size": "1280*720"}});
    let id = id_of(&submit(&simulator, &body).await);
    let done = ended(&simulator, &id).await;
    assert_eq!(
        (&done["usage"]["SR"], &done["usage"]["duration"]),
        (&json!(1080), &json!(5))
    );
}

#[tokio::test]
async fn seconds_of_reference_clips_are_counted_apart() {
    let simulator = started().await;
    let body = json!({"model": "wan2.7-r2v", "input": {"prompt": "they meet", "media": [
        {"type": "reference_image", "url": "https://example.com/1.png"},
        {"type": "reference_video", "url": "https://example.com/clip-8s.mp4"}]},
        "parameters": {"resolution": "1080P", "ratio": "9:16", "duration": 3}});
    let id = id_of(&submit(&simulator, &body).await);
    let usage = ended(&simulator, &id).await["usage"].clone();
    let expected = json!({"video_count": 1, "duration": 11, "input_video_duration": 8,
        "output_video_duration": 3, "SR": 1080, "ratio": "9:16"});
    assert_eq!(usage, expected);
}

#[tokio::test]
async fn a_bad_body_is_refused_at_once() {
    let simulator = started().await;
    let media = |role: &str, count: usize| {
        let entry = json!({"type": role, "url": "https://example.com/1.png"});
        json!(vec![entry; count])
    };
    for (model, place, value, status, code) in [
        ("wan9", "", json!(null), 404, "ModelNotFound"),
        (
            "wan2.7-t2v",
            "/input/prompt",
            json!(""),
            400,
            "InvalidParameter",
        ),
        (
            "wan2.7-t2v",
            "/input/media",
            media("first_frame", 1),
            400,
            "InvalidParameter",
        ),
        ("wan2.7-i2v", "", json!(null), 400, "InvalidParameter"),
        (
            "wan2.7-i2v",
            "/input/media",
            media("first_frame", 2),
            400,
            "InvalidParameter",
        ),
        (
            "wan2.7-r2v",
            "/input/media",
            media("reference_image", 6),
            400,
            "InvalidParameter",
        ),
        (
            "wan2.7-r2v",
            "/input/media",
            media("stranger", 1),
            400,
            "InvalidParameter",
        ),
        (
            "wan2.7-r2v",
            "/input/media",
            json!([{"type": "reference_image", "url": "x"}]),
            400,
            "InvalidURL",
        ),
        (
            "wan2.7-r2v",
            "/input/media",
            json!([{"type": "reference_image"}]),
            400,
            "InvalidParameter",
        ),
        ("wan2.7-videoedit", "", json!(null), 400, "InvalidParameter"),
        (
            "happyhorse-1.1-r2v",
            "/input/media",
            media("reference_image", 10),
            400,
            "InvalidParameter",
        ),
        (
            "happyhorse-1.1-r2v",
            "/input/media",
            media("reference_video", 1),
            400,
            "InvalidParameter",
        ),
        (
            "happyhorse-1.1-t2v",
            "/input/negative_prompt",
            json!("x"),
            400,
            "InvalidParameter",
        ),
        (
            "happyhorse-1.1-t2v",
            "/parameters/prompt_extend",
            json!(true),
            400,
            "InvalidParameter",
        ),
        (
            "happyhorse-1.1-t2v",
            "/parameters/duration",
            json!(2),
            400,
            "InvalidParameter",
        ),
        (
            "wan2.7-t2v",
            "/parameters/duration",
            json!(16),
            400,
            "InvalidParameter",
        ),
        (
            "wan2.7-t2v",
            "/parameters/duration",
            json!("5"),
            400,
            "InvalidParameter",
        ),
        (
            "wan2.7-t2v",
            "/parameters/resolution",
            json!("720p"),
            400,
            "InvalidParameter",
        ),
        (
            "wan2.7-t2v",
            "/parameters/ratio",
            json!("2:1"),
            400,
            "InvalidParameter",
        ),
        (
            "wan2.7-t2v",
            "/parameters/seed",
            json!(2_147_483_648u64),
            400,
            "InvalidParameter",
        ),
        (
            "wan2.7-t2v",
            "/parameters/watermark",
            json!("no"),
            400,
            "InvalidParameter",
        ),
    ] {
        let mut body = json!({"model": model, "input": {"prompt": "a"}, "parameters": {}});
        if let Some((parent, name)) = place.rsplit_once('/') {
            body.pointer_mut(parent).unwrap()[name] = value;
        }
        let got = submit(&simulator, &body).await;
        let answer = got.json();
        assert_eq!(
            (got.status, &answer["code"]),
            (status, &json!(code)),
            "{body} {answer}"
        );
        assert!(answer["message"].is_string() && answer["request_id"].is_string());
        assert_eq!(answer.get("output"), None);
    }
    assert!(simulator.video_jobs().is_empty());
}

#[tokio::test]
async fn what_it_finds_out_too_late_fails_the_job() {
    let simulator = started().await;
    let edit = |url: &str| {
        json!({"model": "wan2.7-videoedit", "parameters": {},
            "input": {"media": [{"type": "video", "url": url}]}})
    };
    let frame = json!([{"type": "first_frame", "url": "https://example.com/1.png"}]);
    for body in [
        json!({"model": "wan2.7-i2v", "input": {"media": frame}, "parameters": {"resolution": "480P"}}),
        edit("https://example.com/clip-1s.mp4"),
        edit("https://example.com/clip-11s.mov"),
        edit("https://example.com/clip-5s.webm"),
    ] {
        let id = id_of(&submit(&simulator, &body).await);
        let failed = ended(&simulator, &id).await;
        assert_eq!(failed["output"]["task_status"], "FAILED", "{body}");
        assert_eq!(failed["output"]["code"], "InvalidParameter");
        assert!(failed["output"]["message"].is_string());
        assert_eq!(
            (failed.get("usage"), failed["output"].get("video_url")),
            (None, None)
        );
    }
    let horse = json!({"model": "happyhorse-1.1-i2v", "input": {"media": frame},
        "parameters": {"resolution": "480P"}});
    let id = id_of(&submit(&simulator, &horse).await);
    assert_eq!(ended(&simulator, &id).await["usage"]["SR"], 480);
}

#[tokio::test]
async fn keys_headers_and_paths_are_checked_in_the_vendors_words() {
    let settings = Settings {
        keys: vec!["sk-test-1234".to_owned(), "sk-other-5678".to_owned()],
        ..Settings::default()
    };
    let simulator = Simulator::start(settings).await.unwrap();
    let body = wan("a cat").to_string();
    let other = "authorization: Bearer sk-other-5678\r\n";
    for (method, path, head, status, code) in [
        (
            "POST",
            SUBMIT,
            "x-dashscope-async: enable\r\n",
            401,
            "InvalidApiKey",
        ),
        (
            "POST",
            SUBMIT,
            "authorization: Bearer unknown\r\n",
            401,
            "InvalidApiKey",
        ),
        ("GET", "/api/v1/tasks/1", "", 401, "InvalidApiKey"),
        ("POST", SUBMIT, HEAD, 403, "AccessDenied"),
        ("GET", SUBMIT, HEAD, 400, "InvalidURL"),
        ("DELETE", "/api/v1/tasks/1", HEAD, 400, "InvalidURL"),
        (
            "POST",
            "/api/v1/services/aigc/image2video/video-synthesis",
            HEAD,
            400,
            "InvalidURL",
        ),
        (
            "POST",
            "/api/v1/tasks/1/cancel",
            HEAD,
            400,
            "UnsupportedOperation",
        ),
    ] {
        let got = ask(&simulator, method, path, head, body.as_bytes()).await;
        assert_eq!(
            (got.status, &got.json()["code"]),
            (status, &json!(code)),
            "{method} {path}"
        );
    }
    let id = id_of(&submit(&simulator, &wan("a cat")).await);
    let path = format!("/api/v1/tasks/{id}");
    let strange = ask(&simulator, "GET", &path, other, b"").await.json();
    assert_eq!(strange["output"]["task_status"], "UNKNOWN");
    assert_eq!(
        task(&simulator, "no-such-id").await["output"]["task_status"],
        "UNKNOWN"
    );
}

#[tokio::test]
async fn a_job_can_be_cancelled_only_while_it_waits() {
    let simulator = started().await;
    let cancel = async |id: &str| {
        let path = format!("/api/v1/tasks/{id}/cancel");
        ask(&simulator, "POST", &path, HEAD, b"").await
    };
    let waiting = id_of(&submit(&simulator, &wan("[[job:wait_ms:60000]]")).await);
    assert_eq!(cancel(&waiting).await.status, 200);
    assert_eq!(
        task(&simulator, &waiting).await["output"]["task_status"],
        "CANCELED"
    );
    let running = id_of(&submit(&simulator, &wan("[[job:wait_ms:0]][[job:stuck]]")).await);
    let got = cancel(&running).await;
    assert_eq!(
        (got.status, &got.json()["code"]),
        (400, &json!("UnsupportedOperation"))
    );
    assert_eq!(
        task(&simulator, &running).await["output"]["task_status"],
        "RUNNING"
    );
}

#[tokio::test]
async fn a_prompt_may_ask_for_any_fate() {
    let simulator = started().await;
    let failing = id_of(&submit(&simulator, &wan("[[job:fail:DataInspectionFailed]]")).await);
    let failed = ended(&simulator, &failing).await;
    assert_eq!(failed["output"]["code"], "DataInspectionFailed");
    for (code, status) in [
        ("InvalidParameter", 400),
        ("Arrearage", 400),
        ("AccessDenied.Unpurchased", 403),
        ("Throttling.AllocationQuota", 429),
        ("InternalError.Timeout", 500),
    ] {
        let got = submit(&simulator, &wan(&format!("[[job:refuse:{code}]]"))).await;
        assert_eq!((got.status, &got.json()["code"]), (status, &json!(code)));
    }
    let odd = id_of(
        &submit(
            &simulator,
            &wan("[[job:wait_ms:0]][[job:odd]][[job:ms:60000]]"),
        )
        .await,
    );
    assert_eq!(
        task(&simulator, &odd).await["output"]["task_status"],
        "REVIEWING"
    );
    let full = wan("[[id:full]][[job:full:2]]");
    for status in [429, 429, 200] {
        assert_eq!(submit(&simulator, &full).await.status, status);
    }
    let before = simulator.video_jobs().len();
    let lost = submit(&simulator, &wan("[[id:lost]][[job:lost]]")).await;
    assert_eq!((lost.status, lost.is_closed), (0, true));
    let silent = submit(&simulator, &wan("[[id:silent]][[job:silent]]")).await;
    assert_eq!((silent.status, silent.is_closed), (0, false));
    assert_eq!(simulator.video_jobs().len(), before + 2);
}

#[tokio::test]
async fn a_full_lane_refuses_one_more_job_of_the_same_key() {
    let settings = Settings {
        video: VideoSettings {
            lane: 2,
            run_millis: 60_000,
            ..VideoSettings::default()
        },
        ..Settings::default()
    };
    let simulator = Simulator::start(settings).await.unwrap();
    for status in [200, 200, 429] {
        assert_eq!(submit(&simulator, &wan("a cat")).await.status, status);
    }
    let got = submit(&simulator, &wan("a cat")).await;
    assert_eq!(got.json()["code"], "Throttling.RateQuota");
}
