//! Ark's video jobs over HTTP: what the vendor takes, refuses at once, refuses later and counts.

use std::time::Duration;

use serde_json::{Value, json};
use trunkline_simulator::{Settings, Simulator, VideoJob, VideoSettings};

use crate::client::{Response, ask, post, post_as, receive, send_to, started};

const TASKS: &str = "/api/v3/contents/generations/tasks";
const NEWEST: &str = "doubao-seedance-2-5-260628";
const PLAIN: &str = "doubao-seedance-2-0-260128";
const KEY: &str = "authorization: Bearer sk-test-1234\r\n";

fn text(reply: &str) -> Value {
    json!({"type": "text", "text": reply})
}

fn media(kind: &str, role: Option<&str>) -> Value {
    let mut part = json!({"type": kind});
    part[kind] = json!({"url": "https://media.example/1"});
    if let Some(role) = role {
        part["role"] = json!(role);
    }
    part
}

fn asking(model: &str, reply: &str) -> Value {
    json!({"model": model, "content": [text(reply)]})
}

async fn poll(simulator: &Simulator, id: &str) -> Response {
    ask(simulator, "GET", &format!("{TASKS}/{id}"), KEY, b"").await
}

async fn taken(simulator: &Simulator, body: &Value) -> String {
    let got = post(simulator, TASKS, body).await;
    assert_eq!(got.status, 200, "{}: {body}", got.text());
    assert_eq!(
        got.json().as_object().unwrap().len(),
        1,
        "an id and nothing else"
    );
    got.json()["id"].as_str().unwrap().to_owned()
}

/// The last answer of a job that ends.
async fn ended(simulator: &Simulator, id: &str) -> Value {
    for _ in 0..400 {
        let reported = poll(simulator, id).await.json();
        let word = reported["status"].as_str().unwrap();
        if !["queued", "running"].contains(&word) {
            return reported;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{id} does not end");
}

async fn refused(simulator: &Simulator, body: &Value, status: u16, code: &str) -> String {
    let got = post(simulator, TASKS, body).await;
    assert_eq!(got.status, status, "{}: {body}", got.text());
    let error = &got.json()["error"];
    assert_eq!(error["code"], code, "{body}");
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("Request id: 0217")
    );
    error["param"].as_str().unwrap().to_owned()
}

fn only(simulator: &Simulator) -> VideoJob {
    let jobs = simulator.video_jobs();
    assert_eq!(jobs.len(), 1);
    jobs[0].clone()
}

/// The body of the vendor's page "Create a video generation task", read in stored form in 2026-10.
#[tokio::test]
async fn the_vendors_own_example_comes_to_a_file() {
    let simulator = started().await;
    let body = json!({"model": NEWEST, "content": [
            text("a cat"), media("image_url", Some("reference_image")),
            media("video_url", Some("reference_video")), media("audio_url", Some("reference_audio"))],
        "resolution": "720p", "ratio": "16:9", "duration": 10, "generate_audio": true,
        "watermark": false, "return_last_frame": true, "output_format": "mp4",
        "omni_reference_task_type": "auto", "callback_url": "https://caller.example",
        "execution_expires_after": 172_800, "priority": 0, "safety_identifier": "one"});
    let id = taken(&simulator, &body).await;
    assert!(id.starts_with("cgt-"));
    let reported = ended(&simulator, &id).await;
    assert_eq!(reported["status"], "succeeded");
    for (name, value) in [
        ("model", json!(NEWEST)),
        ("duration", json!(10)),
        ("resolution", json!("720p")),
        ("ratio", json!("16:9")),
        ("framespersecond", json!(24)),
        ("generate_audio", json!(true)),
        ("service_tier", json!("default")),
        ("error", Value::Null),
    ] {
        assert_eq!(reported[name], value, "{name}");
    }
    assert_eq!(
        reported["usage"]["total_tokens"],
        1280 * 720 * 24 * 10 / 1024
    );
    let link = reported["content"]["video_url"].as_str().unwrap();
    let start = format!("http://simulator/_media/{id}.mp4?Expires=");
    assert!(
        link.starts_with(&start) && link.ends_with("&Signature=x"),
        "{link}"
    );
    assert!(reported["content"]["last_frame_url"].is_string());
    assert!(reported["updated_at"].as_u64() >= reported["created_at"].as_u64());
    let job = only(&simulator);
    assert_eq!(
        (job.vendor, job.seconds, job.key.as_str()),
        ("ark", 10, "1234")
    );
    assert_eq!(job.body, body);
}

#[tokio::test]
async fn what_is_left_out_is_read_as_the_vendor_does() {
    let simulator = started().await;
    let id = taken(&simulator, &asking(PLAIN, "a cat")).await;
    let reported = ended(&simulator, &id).await;
    assert_eq!(
        (&reported["duration"], &reported["resolution"]),
        (&json!(5), &json!("720p"))
    );
    assert_eq!(reported["generate_audio"], true);
    assert_eq!(reported["content"].get("last_frame_url"), None);
    assert_eq!(only(&simulator).seconds, 5);
    let mut body = asking(NEWEST, "a cat");
    body["duration"] = json!(-1);
    body["resolution"] = Value::Null;
    taken(&simulator, &body).await;
    assert_eq!(simulator.video_jobs()[1].seconds, 10, "the vendor chose");
}

#[tokio::test]
async fn each_version_has_its_limits() {
    let simulator = started().await;
    let mini = "dreamina-seedance-2-0-mini-260615";
    let many = |kind: &str, role: &str, count: usize| {
        let mut all = vec![text("a"), media("image_url", Some("reference_image"))];
        all.extend((0..count).map(|_| media(kind, Some(role))));
        json!(all)
    };
    let images = |count: usize| many("image_url", "reference_image", count - 1);
    let videos = |count: usize| many("video_url", "reference_video", count);
    let audios = |count: usize| many("audio_url", "reference_audio", count);
    for (model, name, good, bad) in [
        (NEWEST, "duration", json!(30), json!(31)),
        (NEWEST, "duration", json!(4), json!(3)),
        (PLAIN, "duration", json!(15), json!(16)),
        (PLAIN, "duration", json!(4), json!(2)),
        (PLAIN, "duration", json!(4), json!("4")),
        (NEWEST, "resolution", json!("480p"), json!("1080p")),
        (PLAIN, "resolution", json!("4k"), json!("8k")),
        (mini, "resolution", json!("720p"), json!("1080p")),
        (mini, "ratio", json!("21:9"), json!("2:1")),
        (NEWEST, "output_format", json!("mov"), json!("webm")),
        (PLAIN, "output_format", Value::Null, json!("mov")),
        (
            PLAIN,
            "omni_reference_task_type",
            Value::Null,
            json!("reference"),
        ),
        (PLAIN, "frames", Value::Null, json!(29)),
        (PLAIN, "generate_audio", json!(false), json!("no")),
        (NEWEST, "content", images(30), images(31)),
        (NEWEST, "content", videos(10), videos(11)),
        (NEWEST, "content", audios(10), audios(11)),
        (mini, "content", images(9), images(10)),
        (mini, "content", videos(3), videos(4)),
        (mini, "content", audios(3), audios(4)),
    ] {
        let mut body = asking(model, "a cat");
        body[name] = good;
        taken(&simulator, &body).await;
        body[name] = bad;
        assert_eq!(
            refused(&simulator, &body, 400, "InvalidParameter").await,
            name
        );
    }
}

#[tokio::test]
async fn parts_are_checked_one_by_one_and_together() {
    let simulator = started().await;
    let reference = media("image_url", Some("reference_image"));
    let alone = media("audio_url", Some("reference_audio"));
    let missing = "MissingParameter";
    let invalid = "InvalidParameter";
    for (model, content, code, param) in [
        (NEWEST, Value::Null, invalid, "content"),
        (NEWEST, json!([]), invalid, "content"),
        (NEWEST, json!([{"type": "poem"}]), invalid, "content[0]"),
        (NEWEST, json!([{"type": "text"}]), missing, "content[0]"),
        (
            NEWEST,
            json!([{"type": "image_url"}]),
            missing,
            "content[0].image_url.url",
        ),
        (
            NEWEST,
            json!([media("video_url", None)]),
            invalid,
            "content[0].role",
        ),
        (NEWEST, json!([text("a"), text("b")]), invalid, "content"),
        (
            NEWEST,
            json!([reference, media("image_url", None)]),
            invalid,
            "content",
        ),
        (PLAIN, json!([text("a"), alone]), invalid, "content"),
    ] {
        let body = json!({"model": model, "content": content});
        assert_eq!(refused(&simulator, &body, 400, code).await, param, "{body}");
    }
    let audio = json!({"model": NEWEST, "content": [alone]});
    taken(&simulator, &audio).await;
    refused(&simulator, &json!({"content": []}), 400, missing).await;
    let strange = asking("doubao-seedream-5", "a");
    refused(&simulator, &strange, 404, "InvalidEndpointOrModel.NotFound").await;
}

#[tokio::test]
async fn a_first_frame_takes_no_ratio_on_the_newest_model() {
    let simulator = started().await;
    for role in [None, Some("first_frame")] {
        let mut body = json!({"model": NEWEST, "content": [media("image_url", role)]});
        taken(&simulator, &body).await;
        body["ratio"] = json!("adaptive");
        taken(&simulator, &body).await;
        body["ratio"] = json!("16:9");
        let code = "InvalidParameter.TaskTypeConstraint";
        assert_eq!(refused(&simulator, &body, 400, code).await, "ratio");
        body["model"] = json!(PLAIN);
        taken(&simulator, &body).await;
    }
}

#[tokio::test]
async fn an_edit_inferred_from_the_prompt_fails_later_unlike_a_reference() {
    let simulator = started().await;
    let constraint = "InvalidParameter.TaskTypeConstraint";
    let clip = media("video_url", Some("reference_video"));
    let mut body =
        json!({"model": NEWEST, "duration": 5, "content": [text("Replace the cat"), clip]});
    let id = taken(&simulator, &body).await;
    let reported = ended(&simulator, &id).await;
    assert_eq!(reported["status"], "failed");
    assert_eq!(reported["error"]["code"], constraint);
    assert_eq!(reported.get("content"), None);
    body["omni_reference_task_type"] = json!("reference");
    let id = taken(&simulator, &body).await;
    assert_eq!(ended(&simulator, &id).await["status"], "succeeded");
    body["omni_reference_task_type"] = json!("edit");
    refused(&simulator, &body, 400, constraint).await;
    body["duration"] = json!(-1);
    taken(&simulator, &body).await;
    let mut empty = asking(NEWEST, "a cat");
    empty["omni_reference_task_type"] = json!("extend");
    let id = taken(&simulator, &empty).await;
    let reported = ended(&simulator, &id).await;
    assert_eq!(
        reported["error"]["code"],
        "InvalidParameter.TaskTypeMismatch"
    );
}

#[tokio::test]
async fn prompts_can_wish_for_fates() {
    let simulator = started().await;
    let directive = |reply: &str| asking(NEWEST, reply);
    let failing = directive("[[job:fail:OutputVideoSensitiveContentDetected]]");
    let id = taken(&simulator, &failing).await;
    let reported = ended(&simulator, &id).await;
    assert_eq!(
        reported["error"]["code"],
        "OutputVideoSensitiveContentDetected"
    );
    for (code, status) in [
        ("InputTextSensitiveContentDetected", 400),
        ("AuthenticationError", 401),
        ("AccountOverdueError", 403),
        ("ModelNotOpen", 404),
        ("RateLimitExceeded.EndpointRPMExceeded", 429),
        ("InternalServiceError", 500),
    ] {
        let body = directive(&format!("[[job:refuse:{code}]]"));
        refused(&simulator, &body, status, code).await;
    }
    let full = directive("[[id:full]][[job:full:2]]");
    refused(&simulator, &full, 429, "QuotaExceeded").await;
    refused(&simulator, &full, 429, "QuotaExceeded").await;
    taken(&simulator, &full).await;
    let before = simulator.video_jobs().len();
    let lost = post(&simulator, TASKS, &directive("[[id:lost]][[job:lost]]")).await;
    assert_eq!((lost.status, lost.is_closed), (0, true));
    let mut silent = send_to(&simulator, TASKS, &directive("[[id:silent]][[job:silent]]")).await;
    let silent = receive(&mut silent).await;
    assert_eq!((silent.status, silent.is_closed), (0, false));
    let jobs = simulator.video_jobs();
    let markers: Vec<_> = jobs[before..]
        .iter()
        .map(|job| job.marker.as_deref())
        .collect();
    assert_eq!(markers, [Some("lost"), Some("silent")], "both were taken");
    let odd = taken(
        &simulator,
        &directive("[[job:wait_ms:0]][[job:ms:60000]][[job:odd]]"),
    )
    .await;
    assert_eq!(poll(&simulator, &odd).await.json()["status"], "polishing");
    let stuck = taken(
        &simulator,
        &directive("[[job:wait_ms:0]][[job:ms:1]][[job:stuck]]"),
    )
    .await;
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert_eq!(poll(&simulator, &stuck).await.json()["status"], "running");
}

#[tokio::test]
async fn only_waiting_jobs_are_stopped_and_ended_ones_lose_their_record() {
    let simulator = started().await;
    let delete =
        async |id: &str| ask(&simulator, "DELETE", &format!("{TASKS}/{id}"), KEY, b"").await;
    let waits = taken(&simulator, &asking(NEWEST, "[[job:wait_ms:60000]]")).await;
    let stopped = delete(&waits).await;
    assert_eq!((stopped.status, stopped.json()), (200, json!({})));
    assert_eq!(poll(&simulator, &waits).await.json()["status"], "cancelled");
    assert_eq!(delete(&waits).await.status, 403, "it is stopped already");
    let runs = taken(
        &simulator,
        &asking(NEWEST, "[[job:wait_ms:0]][[job:stuck]]"),
    )
    .await;
    let denied = delete(&runs).await;
    assert_eq!(denied.status, 403);
    assert_eq!(denied.json()["error"]["code"], "OperationDenied.TaskStatus");
    let ends = taken(&simulator, &asking(NEWEST, "[[job:wait_ms:0]][[job:ms:1]]")).await;
    ended(&simulator, &ends).await;
    let deleted = delete(&ends).await;
    assert_eq!(
        (deleted.status, deleted.json()),
        (200, json!({})),
        "the same words"
    );
    assert_eq!(
        poll(&simulator, &ends).await.json()["error"]["code"],
        "ResourceNotFound"
    );
    assert_eq!(simulator.video_jobs().len(), 3, "the truth forgets nothing");
}

#[tokio::test]
async fn keys_slots_and_lists_belong_to_one_account() {
    let settings = Settings {
        keys: vec!["sk-test-1234".to_owned(), "sk-test-5678".to_owned()],
        video: VideoSettings {
            lane: 2,
            ..VideoSettings::default()
        },
        ..Settings::default()
    };
    let simulator = Simulator::start(settings).await.unwrap();
    let body = asking(NEWEST, "[[job:stuck]]");
    for key in ["", "authorization: Bearer sk-wrong\r\n"] {
        let got = ask(&simulator, "GET", TASKS, key, b"").await;
        assert_eq!(
            (got.status, &got.json()["error"]["code"]),
            (401, &json!("AuthenticationError"))
        );
    }
    let id = taken(&simulator, &body).await;
    taken(&simulator, &body).await;
    refused(&simulator, &body, 429, "QuotaExceeded").await;
    assert_eq!(
        post_as(&simulator, "sk-test-5678", TASKS, &body)
            .await
            .status,
        200
    );
    let other = "authorization: Bearer sk-test-5678\r\n";
    let path = format!("{TASKS}/{id}");
    assert_eq!(ask(&simulator, "GET", &path, other, b"").await.status, 404);
    assert_eq!(
        ask(&simulator, "DELETE", &path, other, b"").await.status,
        404
    );
    let list = async |query: &str| {
        let path = format!("{TASKS}?{query}");
        let got = ask(&simulator, "GET", &path, KEY, b"").await.json();
        (
            got["total"].as_u64().unwrap(),
            got["items"].as_array().unwrap().len(),
        )
    };
    assert_eq!(list("page_num=1&page_size=10").await, (2, 2));
    assert_eq!(list("page_num=2&page_size=1").await, (2, 1));
    assert_eq!(list(&format!("filter.task_ids={id}")).await, (1, 1));
    assert_eq!(list("filter.status=succeeded").await, (0, 0));
    assert_eq!(list(&format!("filter.model={PLAIN}")).await, (0, 0));
    assert_eq!(ask(&simulator, "PUT", TASKS, KEY, b"").await.status, 405);
}

/// What the gateway's family B makes of requests, as its own cases write it.
#[tokio::test]
async fn every_body_of_the_gateways_cases_makes_a_job_of_the_billed_length() {
    let simulator = started().await;
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../generation/tests/fixtures/video/b");
    let mut refused = Vec::new();
    let mut made = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let case: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let mut body = case["expect"]["body"].clone();
        if !body.is_object() {
            continue;
        }
        let is_newest = case["variant"] == "2_5";
        body["model"] = json!(if is_newest { NEWEST } else { PLAIN });
        let got = post(&simulator, TASKS, &body).await;
        if got.status == 200 {
            made += 1;
            let job = simulator.video_jobs().pop().unwrap();
            let bill = &case["expect"]["bill"];
            assert_eq!(bill["output_seconds"], job.seconds, "{path:?}");
            assert_eq!(bill["attributes"]["resolution"], job.body["resolution"]);
            assert_eq!(job.fails, None, "{path:?}");
        } else {
            assert_eq!(got.json()["error"]["code"], "InvalidParameter", "{path:?}");
            refused.push(path.file_stem().unwrap().to_str().unwrap().to_owned());
        }
    }
    refused.sort();
    // Frames beside references, a clip without a role, and a record of other limits: what the
    // specification leaves to the vendor.
    let known = [
        "clip_roleless",
        "content_one_roleless",
        "length_of_the_record",
        "top_two_beside_roleless_image",
    ];
    assert_eq!(refused, known);
    assert!(made >= 60, "{made}");
}
