//! Kling's video jobs over a real socket. The vendor has no SDK: bodies and answers are held against
//! the examples of its documentation as it stood in September 2026.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Value, json};
use sha2::Sha256;
use trunkline_simulator::{Phase, Settings, Simulator};

use crate::client::{Response, ask, post, post_as, started};

pub(crate) const TEXT: &str = "/v1/videos/text2video";
const IMAGE: &str = "/v1/videos/image2video";
const OMNI: &str = "/v1/videos/omni-video";
pub(crate) const TURBO_TEXT: &str = "/text-to-video/kling-3.0-turbo";
const TURBO_IMAGE: &str = "/image-to-video/kling-3.0-turbo";
const BEARER: &str = "authorization: Bearer sk-test-1234\r\n";

pub(crate) async fn get(simulator: &Simulator, path: &str) -> Response {
    ask(simulator, "GET", path, BEARER, b"").await
}

/// Asks until it is no longer on its way.
pub(crate) async fn ended(simulator: &Simulator, path: &str, pointer: &str) -> Value {
    for _ in 0..400 {
        let body = get(simulator, path).await.json();
        let word = body
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap()
            .to_owned();
        if !["submitted", "processing", "dispatching"].contains(&word.as_str()) {
            return body;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("it never ends");
}

/// A token as the vendor's documentation makes it.
fn token(access_key: &str, secret: &str, exp: i64, nbf: i64, alg: &str) -> String {
    let part = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let head = part(json!({ "alg": alg, "typ": "JWT" }));
    let claims = part(json!({ "iss": access_key, "exp": exp, "nbf": nbf }));
    let signed = format!("{head}.{claims}");
    let mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    let signature = mac.chain_update(signed.as_bytes()).finalize().into_bytes();
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
}

#[expect(
    clippy::disallowed_methods,
    reason = "the simulator's clock is the system's"
)]
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from(since.as_secs()).unwrap()
}

pub(crate) fn text_job(prompt: &str) -> Value {
    json!({ "model_name": "kling-v3", "prompt": prompt })
}

#[tokio::test]
async fn a_job_of_the_older_design_is_taken_runs_and_ends_with_a_file() {
    let simulator = started().await;
    let request_body = json!({
        "model_name": "kling-v3", "prompt": "a cat", "negative_prompt": "rain", "cfg_scale": 0.5,
        "mode": "std", "sound": "off", "aspect_ratio": "16:9", "duration": "10",
        "callback_url": "", "external_task_id": "mine-1", "watermark_info": { "enabled": false },
    });
    let taken = post(&simulator, TEXT, &request_body).await;
    assert_eq!(taken.status, 200);
    let taken = taken.json();
    assert_eq!(taken["code"], 0);
    assert_eq!(taken["message"], "SUCCEED");
    assert!(taken["request_id"].is_string());
    assert_eq!(taken["data"]["task_status"], "submitted");
    assert_eq!(taken["data"]["task_info"]["external_task_id"], "mine-1");
    assert!(taken["data"]["created_at"].as_u64().unwrap() > 1_700_000_000_000);
    let id = taken["data"]["task_id"].as_str().unwrap();
    assert!(id.bytes().all(|byte| byte.is_ascii_digit()));
    let body = ended(&simulator, &format!("{TEXT}/{id}"), "/data/task_status").await;
    assert_eq!(body["data"]["task_status"], "succeed");
    let video = &body["data"]["task_result"]["videos"][0];
    let url = video["url"].as_str().unwrap();
    let expected = format!("http://simulator/_media/{id}.mp4?Expires=");
    assert!(url.starts_with(&expected), "{url}");
    assert_eq!(video["watermark_url"], "");
    assert_eq!(video["duration"], "10.041");
    let jobs = simulator.video_jobs();
    assert_eq!(
        (jobs[0].vendor, jobs[0].model.as_str(), jobs[0].seconds),
        ("kling", "kling-v3", 10)
    );
    assert_eq!(jobs[0].body, request_body);
    assert_eq!(jobs[0].phase(), Phase::Succeeded);
}

#[tokio::test]
async fn a_job_of_the_newer_design_is_taken_and_asked_for_in_a_list() {
    let simulator = started().await;
    let text = json!({
        "prompt": "a cat",
        "settings": { "resolution": "720p", "aspect_ratio": "16:9", "duration": 8 },
        "options": { "external_task_id": "mine-2", "watermark_info": { "enabled": false } },
    });
    let image = json!({
        "contents": [
            { "type": "prompt", "text": "a cat" },
            { "type": "first_frame", "url": "https://a.example/1.png" },
        ],
        "settings": { "resolution": "1080p", "duration": 10 },
        "options": { "watermark_info": { "enabled": true } },
    });
    let mut ids = Vec::new();
    for (path, request_body) in [(TURBO_TEXT, &text), (TURBO_IMAGE, &image)] {
        let taken = post(&simulator, path, request_body).await.json();
        assert_eq!(
            (&taken["code"], &taken["data"]["status"]),
            (&json!(0), &json!("submitted"))
        );
        assert!(taken["data"]["create_time"].is_u64());
        ids.push(taken["data"]["id"].as_str().unwrap().to_owned());
    }
    let path = format!("/tasks?task_ids={},{}", ids[0], ids[1]);
    ended(&simulator, &path, "/data/0/status").await;
    let body = ended(&simulator, &path, "/data/1/status").await;
    for (place, seconds) in [(0, "8"), (1, "10")] {
        let job = &body["data"][place];
        assert_eq!(
            (&job["id"], &job["status"]),
            (&json!(ids[place]), &json!("succeeded"))
        );
        assert_eq!(job["outputs"][0]["duration"], seconds);
        assert!(
            job["outputs"][0]["url"]
                .as_str()
                .unwrap()
                .contains("/_media/")
        );
        assert_eq!(job["outputs"][0]["watermark_url"] == "", place == 0);
    }
    let found = get(&simulator, "/tasks?external_task_ids=mine-2")
        .await
        .json();
    assert_eq!(found["data"].as_array().unwrap().len(), 1);
    assert_eq!(found["data"][0]["external_id"], "mine-2");
    let unknown = get(&simulator, "/tasks?task_ids=1").await;
    assert_eq!((unknown.status, &unknown.json()["data"]), (200, &json!([])));
    let both = get(&simulator, "/tasks").await;
    assert_eq!((both.status, &both.json()["code"]), (400, &json!(1201)));
}

#[tokio::test]
async fn what_is_left_out_is_read_as_the_vendor_reads_it() {
    let simulator = started().await;
    for (path, request_body, seconds, model) in [
        (TEXT, json!({ "prompt": "x" }), 5, "kling-v1"),
        (
            IMAGE,
            json!({ "image": "https://a.example/1.png" }),
            5,
            "kling-v1",
        ),
        (
            OMNI,
            json!({ "prompt": "x", "aspect_ratio": "1:1" }),
            5,
            "kling-video-o1",
        ),
        (TURBO_TEXT, json!({ "prompt": "x" }), 5, "kling-3.0-turbo"),
        // A clip without a kind is edited, and sets the length whatever was asked for.
        (
            OMNI,
            json!({ "prompt": "x", "duration": "5", "video_list": [{ "video_url": "https://a.example/1.mp4" }] }),
            10,
            "kling-video-o1",
        ),
    ] {
        let taken = post(&simulator, path, &request_body).await;
        assert_eq!(taken.status, 200, "{}", taken.text());
        let job = simulator.video_jobs().pop().unwrap();
        assert_eq!(
            (job.seconds, job.model.as_str()),
            (seconds, model),
            "{request_body}"
        );
    }
}

#[tokio::test]
async fn what_the_vendor_rejects_is_rejected_and_makes_no_job() {
    let simulator = started().await;
    let image = |kind: &str| json!({ "image_url": "https://a.example/1.png", "type": kind });
    let clip = json!({ "video_url": "https://a.example/1.mp4", "refer_type": "feature" });
    let omni = |more: Value| {
        let mut body = json!({ "model_name": "kling-v3-omni", "prompt": "x" });
        body.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        body
    };
    let rows = [
        (TEXT, json!({})),
        (TEXT, json!([])),
        (TEXT, json!({ "prompt": "x", "duration": 5 })),
        (TEXT, json!({ "prompt": "x", "duration": "2" })),
        (TEXT, json!({ "prompt": "x", "duration": "16" })),
        (TEXT, json!({ "prompt": "x", "mode": "ultra" })),
        (TEXT, json!({ "prompt": "x", "sound": true })),
        (TEXT, json!({ "prompt": "x", "aspect_ratio": "4:3" })),
        (TEXT, json!({ "prompt": "x".repeat(2_501) })),
        (IMAGE, json!({ "prompt": "x" })),
        (IMAGE, json!({ "image": "data:image/png;base64,AAAA" })),
        (OMNI, omni(json!({}))),
        (
            OMNI,
            omni(json!({ "aspect_ratio": "1:1", "image_list": [image("reference")] })),
        ),
        (
            OMNI,
            omni(json!({ "aspect_ratio": "1:1", "image_list": [image("end_frame")] })),
        ),
        (
            OMNI,
            omni(json!({ "aspect_ratio": "1:1", "image_list": [image("first_frame")] })),
        ),
        (
            OMNI,
            omni(json!({ "aspect_ratio": "1:1", "image_list": [{}] })),
        ),
        (
            OMNI,
            omni(json!({ "aspect_ratio": "1:1", "video_list": [clip], "sound": "on" })),
        ),
        (
            OMNI,
            omni(json!({ "aspect_ratio": "1:1", "video_list": [clip, clip] })),
        ),
        (
            OMNI,
            omni(json!({ "image_list": vec![image("first_frame"); 8] })),
        ),
        (
            TURBO_TEXT,
            json!({ "contents": [{ "type": "prompt", "text": "x" }] }),
        ),
        (
            TURBO_TEXT,
            json!({ "prompt": "x", "settings": { "duration": 2 } }),
        ),
        (
            TURBO_TEXT,
            json!({ "prompt": "x", "settings": { "duration": "5" } }),
        ),
        (
            TURBO_TEXT,
            json!({ "prompt": "x", "settings": { "resolution": "4k" } }),
        ),
        (
            TURBO_TEXT,
            json!({ "prompt": "x", "settings": { "aspect_ratio": "4:3" } }),
        ),
        (TURBO_IMAGE, json!({ "prompt": "x" })),
        (
            TURBO_IMAGE,
            json!({ "contents": [{ "type": "prompt", "text": "x" }] }),
        ),
    ];
    for (path, request_body) in rows {
        let got = post(&simulator, path, &request_body).await;
        assert_eq!(
            (got.status, &got.json()["code"]),
            (400, &json!(1201)),
            "{request_body}"
        );
        assert!(got.json()["request_id"].is_string());
    }
    let strange = post(
        &simulator,
        TEXT,
        &json!({ "model_name": "other", "prompt": "x" }),
    )
    .await;
    assert_eq!(
        (strange.status, &strange.json()["code"]),
        (404, &json!(1203))
    );
    assert!(simulator.video_jobs().is_empty());
}

#[tokio::test]
async fn a_job_is_found_at_its_path_by_its_account_and_by_the_callers_name() {
    let simulator = started().await;
    let mut request_body = text_job("x");
    request_body["external_task_id"] = json!("mine/3");
    let id = post(&simulator, TEXT, &request_body).await.json()["data"]["task_id"].clone();
    let id = id.as_str().unwrap();
    assert_eq!(get(&simulator, &format!("{TEXT}/{id}")).await.status, 200);
    let other = get(&simulator, &format!("{IMAGE}/{id}")).await;
    assert_eq!((other.status, &other.json()["code"]), (404, &json!(1203)));
    let found = get(&simulator, &format!("{TEXT}?external_task_id=mine%2F3"))
        .await
        .json();
    assert_eq!(found["data"]["task_id"], id);
    let lost = get(&simulator, &format!("{TEXT}?external_task_id=mine")).await;
    assert_eq!((lost.status, &lost.json()["code"]), (404, &json!(1203)));
    let list = get(&simulator, &format!("{TEXT}?pageNum=1&pageSize=30"))
        .await
        .json();
    assert_eq!(list["data"][0]["task_id"], id);
    let stranger = "authorization: Bearer sk-other-9999\r\n";
    let got = ask(&simulator, "GET", &format!("{TEXT}/{id}"), stranger, b"").await;
    assert_eq!(got.status, 404);
    let repeated = post(&simulator, TEXT, &request_body).await;
    assert_eq!(
        (repeated.status, &repeated.json()["code"]),
        (400, &json!(1201))
    );
    assert!(repeated.text().contains("external_task_id"));
    assert_eq!(simulator.video_jobs().len(), 1);
    let wrong = ask(&simulator, "DELETE", &format!("{TEXT}/{id}"), BEARER, b"").await;
    assert_eq!((wrong.status, &wrong.json()["code"]), (404, &json!(1202)));
}

#[tokio::test]
async fn a_small_picture_passes_and_fails_the_job_later() {
    let simulator = started().await;
    let request_body = json!({
        "model_name": "kling-v3-omni", "prompt": "x", "aspect_ratio": "1:1",
        "image_list": [{ "image_url": "https://a.example/338x191.png" }],
    });
    let taken = post(&simulator, OMNI, &request_body).await;
    assert_eq!(taken.status, 200);
    let id = taken.json()["data"]["task_id"].as_str().unwrap().to_owned();
    let body = ended(&simulator, &format!("{OMNI}/{id}"), "/data/task_status").await;
    assert_eq!(body["code"], 0, "the question went well");
    assert_eq!(body["data"]["task_status"], "failed");
    assert_eq!(body["data"]["task_status_msg"], "Image pixel is invalid");
    assert_eq!(body["data"].get("task_result"), None);
}

#[tokio::test]
async fn a_pair_of_keys_signs_for_the_older_design_alone() {
    let settings = Settings {
        keys: vec!["sk-test-1234".to_owned(), "AK1:SK1".to_owned()],
        ..Settings::default()
    };
    let simulator = Simulator::start(settings).await.unwrap();
    let now = now();
    let (later, before) = (now + 1_800, now - 5);
    let good = token("AK1", "SK1", later, before, "HS256");
    let rows = [
        (TEXT, good.clone(), 200, 0),
        (TURBO_TEXT, good, 401, 1002),
        (
            TEXT,
            token("AK1", "other", later, before, "HS256"),
            401,
            1002,
        ),
        (TEXT, token("AK2", "SK1", later, before, "HS256"), 401, 1002),
        (TEXT, token("AK1", "SK1", later, before, "none"), 401, 1002),
        (
            TEXT,
            token("AK1", "SK1", later, now + 100, "HS256"),
            401,
            1003,
        ),
        (
            TEXT,
            token("AK1", "SK1", now - 1, before, "HS256"),
            401,
            1004,
        ),
        (TEXT, "a.b.c".to_owned(), 401, 1002),
        (TEXT, "AK1:SK1".to_owned(), 401, 1002),
        (TEXT, "sk-wrong".to_owned(), 401, 1002),
        (TEXT, "sk-test-1234".to_owned(), 200, 0),
        (TURBO_TEXT, "sk-test-1234".to_owned(), 200, 0),
    ];
    for (path, key, status, code) in rows {
        let got = post_as(&simulator, &key, path, &text_job("x")).await;
        assert_eq!(
            (got.status, &got.json()["code"]),
            (status, &json!(code)),
            "{path} {key}"
        );
    }
    let unknown = ask(&simulator, "POST", TEXT, "", b"{}").await;
    assert_eq!(
        (unknown.status, &unknown.json()["code"]),
        (401, &json!(1001))
    );
    assert_eq!(simulator.video_jobs().len(), 3);
    assert_eq!(simulator.video_jobs()[0].key, "AK1");
    // Without keys the simulator knows one pair, so that a signature is always checked.
    let simulator = started().await;
    let good = token(
        "AKKLINGSIMULATOR",
        "simulator-secret-key",
        later,
        before,
        "HS256",
    );
    let wrong = token("AKKLINGSIMULATOR", "x", later, before, "HS256");
    for (key, status) in [(good, 200), (wrong, 401)] {
        assert_eq!(
            post_as(&simulator, &key, TEXT, &text_job("x")).await.status,
            status
        );
    }
}
