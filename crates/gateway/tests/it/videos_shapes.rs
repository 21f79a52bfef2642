//! Both paths and both shapes of a task: the same row in every state, its errors, pages, waiting and
//! progress.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};

use crate::test_gateway::{ChannelOptions, GatewayResponse, TestGateway};
use crate::videos::{cat, ended, generation, made, make, quick, task_view, until};

const OLDER: &str = "/v1/video/generations";
/// A model behind a relay that tells how far it is.
const RELAYED: &str = r#"
[models.sim-clip]
groups = ["default"]
endpoints = ["openai-video"]
specs = { type = "video", video_family = "openai_videos" }
[models.sim-clip.prices]
billing_unit = "per_second"
standard = { video_second = 100000000000 }
"#;

/// Sells it, from an address.
pub(crate) async fn relay(harness: &TestGateway, base: &str) {
    harness.sell(RELAYED).await;
    let openai = ChannelOptions {
        provider: Some("openai"),
        ..ChannelOptions::default()
    };
    let models = [("sim-clip", "sim-clip")];
    harness.channel_with("relay", base, &models, openai).await;
}

async fn legacy(harness: &TestGateway, id: &str) -> Value {
    let got = harness.get(&format!("{OLDER}/{id}")).await;
    assert_eq!(got.status, 200, "{}", got.text());
    let reported = got.json();
    assert_eq!(reported["code"], "success");
    reported["data"].clone()
}

fn without_query(url: &Value) -> &str {
    url.as_str().unwrap().split('?').next().unwrap()
}

// covers: D-4-01, D-4-02, D-4-03, D-4-04, D-4-05, D-7-VID-26, D-7-VID-27, G-2.3-01, G-2.3-02, G-2.3-03
// covers: G-2.3-04, G-2.3-05, G-2.3-06, G-2.3-07, G-3.2-01, G-3.2-02, G-3.2-03, G-3.1-10, G-1-10, G-4-10
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_shapes_show_the_same_row_in_every_state() {
    let harness = generation(quick()).await;
    let no_capacity =
        json!({ "model": "doubao-seedance-2-5-260628", "prompt": "x [[id:w]][[job:full:1000]]" });
    let lost = json!({ "model": "MiniMax-Hailuo-2.3", "prompt": "x [[job:lost]]" });
    let at_once = "[[job:wait_ms:0]]";
    let cases = [
        (no_capacity, "queued", "NOT_START"),
        (lost, "queued", "SUBMITTED"),
        (cat("[[job:wait_ms:600000]]"), "queued", "QUEUED"),
        (
            cat(&format!("{at_once}[[job:stuck]]")),
            "in_progress",
            "IN_PROGRESS",
        ),
        (cat(""), "completed", "SUCCESS"),
        (cat("[[job:wait_ms:0]][[job:ms:0]]"), "completed", "SUCCESS"),
        (cat("[[job:fail:InvalidParameter]]"), "failed", "FAILURE"),
        (
            cat("[[job:wait_ms:0]][[job:ms:0]][[job:fail:Bad]]"),
            "failed",
            "FAILURE",
        ),
    ];
    for (body, status, word) in cases {
        let id = made(&harness, &body).await;
        let task = until(&harness, &id, status).await;
        let older = legacy(&harness, &id).await;
        assert_eq!(older["status"], word, "{body}");
        assert_eq!((&task["id"], &task["task_id"]), (&json!(id), &json!(id)));
        assert_eq!(older["task_id"], json!(id));
        let reported = older["progress"].as_str().unwrap().strip_suffix('%');
        let reported: u64 = reported.unwrap().parse().unwrap();
        assert!(reported >= task["progress"].as_u64().unwrap());
        let (reason, url) = (&older["fail_reason"], &older["result_url"]);
        match status {
            "completed" => {
                assert_eq!((reported, reason), (100, &json!("")));
                assert_eq!(without_query(url), without_query(&task["metadata"]["url"]));
            }
            "failed" => {
                assert_eq!(url, "");
                assert_eq!(reason, &task["error"]["message"]);
                assert_ne!(reason, "");
            }
            _ => {
                assert_eq!((reason, url), (&json!(""), &json!("")));
                assert_eq!(task.get("error"), None);
            }
        }
    }
}

// covers: G-3.1-02, G-4.2-19, D-4-06
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_paths_create_the_same_task_and_hide_the_upstreams_id() {
    let harness = generation(quick()).await;
    let body = Bytes::from(cat("").to_string());
    let got = GatewayResponse::read(harness.send(Method::POST, OLDER, body).await).await;
    assert_eq!(got.status, 200, "{}", got.text());
    assert_eq!(got.header("trunkline-cost-usd").as_deref(), Some("0.5"));
    let older = got.json();
    assert_eq!(
        (&older["object"], &older["status"]),
        (&json!("video"), &json!("queued"))
    );
    let newer = make(&harness, &cat("")).await.json();
    let keys = |task: &Value| {
        let fields = task.as_object().unwrap().keys().cloned();
        fields.collect::<Vec<String>>()
    };
    assert_eq!(keys(&older), keys(&newer));
    let id = older["id"].as_str().unwrap();
    let done = ended(&harness, id).await;
    let theirs = harness.simulator.video_jobs().swap_remove(0).id;
    let both = format!("{older}{done}{}", legacy(&harness, id).await);
    assert!(!both.contains(&theirs), "{both}");
}

// covers: D-3-05, D-3-23, D-3-24, D-7-ERR-09, D-7-ERR-10
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn errors_have_the_shape_of_the_path_and_a_foreign_task_is_an_unknown_one() {
    let harness = generation(quick()).await;
    let id = made(&harness, &cat("")).await;
    let stranger = harness.make_account_key().await;
    let unknown = "task_00000000000000000000000000000000";
    let ask = async |key: &str, method: Method, path: &str| {
        let sent = harness.send_as((harness.address, key), method, path, Bytes::new(), &[]);
        GatewayResponse::read(sent.await).await
    };
    let all = [
        (Method::GET, "/v1/videos/", ""),
        (Method::DELETE, "/v1/videos/", ""),
        (Method::GET, "/v1/videos/", "/content"),
        (Method::GET, "/v1/video/generations/", ""),
    ];
    for (method, before, after) in all {
        let path = |id: &str| format!("{before}{id}{after}");
        let foreign = ask(&stranger, method.clone(), &path(&id)).await;
        let absent = ask(&harness.key, method, &path(unknown)).await;
        assert_eq!(
            (foreign.status.as_u16(), absent.status.as_u16()),
            (404, 404)
        );
        let mended = foreign.text().replace(&id, unknown);
        let mended = mended.replace(&foreign.id(), &absent.id());
        assert_eq!(mended, absent.text());
        let reported = absent.json();
        if before.contains("generations") {
            assert_eq!(reported["code"], "task_not_found");
            assert_eq!(reported["data"], Value::Null);
            assert_eq!(reported.as_object().unwrap().len(), 3, "{reported}");
        } else {
            assert_eq!(absent.code(), "task_not_found");
        }
    }
    let older = format!("{OLDER}/{id}");
    let no_key = ask("sk-tl-nobody", Method::GET, &older).await;
    assert_eq!(no_key.status, 401);
    assert_eq!(no_key.json()["code"], "invalid_api_key");
    let bad_wait = ask(&harness.key, Method::GET, &format!("{older}?wait=soon")).await;
    assert_eq!(bad_wait.status, 400);
    assert_eq!(bad_wait.json()["code"], "invalid_request");
    let wrong = ask(&harness.key, Method::DELETE, &older).await;
    assert_eq!(
        (wrong.status.as_u16(), wrong.code().as_str()),
        (405, "method_not_allowed")
    );
    let body = json!({ "model": "wan2.7-t2v", "prompt": "x", "size": "1280x720" });
    let sent = harness.send(Method::POST, OLDER, Bytes::from(body.to_string()));
    let refused = GatewayResponse::read(sent.await).await;
    assert_eq!(refused.status, 400);
    assert_eq!(refused.json()["error"]["param"], "size");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_are_listed_page_by_page_in_either_order() {
    let harness = generation(quick()).await;
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(made(&harness, &cat("")).await);
    }
    let page = async |query: &str| {
        let reported = harness.get(&format!("/v1/videos?{query}")).await.json();
        let data = reported["data"].as_array().unwrap().iter();
        let names = data.map(|task| task["id"].as_str().unwrap().to_owned());
        let names: Vec<String> = names.collect();
        assert_eq!(reported["first_id"], json!(names.first()));
        assert_eq!(reported["last_id"], json!(names.last()));
        (names, reported["has_more"].as_bool().unwrap())
    };
    let newest: Vec<String> = ids.iter().rev().cloned().collect();
    assert_eq!(page("").await, (newest.clone(), false));
    assert_eq!(page("order=asc&limit=5").await, (ids.clone(), false));
    assert_eq!(page("limit=2").await, (newest[..2].to_vec(), true));
    let after = format!("limit=2&after={}", newest[1]);
    assert_eq!(page(&after).await, (newest[2..4].to_vec(), true));
    let last = format!("limit=2&after={}", newest[3]);
    assert_eq!(page(&last).await, (newest[4..].to_vec(), false));
    let up = format!("order=asc&after={}", ids[3]);
    assert_eq!(page(&up).await, (ids[4..].to_vec(), false));
    for wrong in ["limit=0", "limit=101", "limit=x"] {
        assert_eq!(
            harness.get(&format!("/v1/videos?{wrong}")).await.status,
            400
        );
    }
    assert_eq!(
        harness.get("/v1/videos?after=x").await.code(),
        "task_not_found"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_waiting_caller_is_answered_when_the_task_or_the_wait_ends() {
    let harness = generation(quick()).await;
    let id = made(&harness, &cat("")).await;
    let path = format!("/v1/videos/{id}?wait=30");
    let began = Instant::now();
    let (waited, _) = tokio::join!(harness.get(&path), ended(&harness, &id));
    assert_eq!(waited.json()["status"], "completed");
    assert!(began.elapsed() < Duration::from_secs(20));
    let stuck = made(&harness, &cat("[[job:stuck]]")).await;
    let began = Instant::now();
    let got = harness.get(&format!("{OLDER}/{stuck}?wait=1")).await;
    assert_eq!(got.json()["data"]["status"], "QUEUED");
    assert!(began.elapsed() >= Duration::from_secs(1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn progress_is_passed_on_or_estimated_and_marked() {
    let harness = generation(quick()).await;
    let base = format!("http://{}/v1", harness.simulator.address());
    relay(&harness, &base).await;
    let body = json!({ "model": "sim-clip", "prompt": "x [[job:wait_ms:0]][[job:ms:4000]]" });
    let reported = made(&harness, &body).await;
    let task = until(&harness, &reported, "in_progress").await;
    assert_eq!(task["metadata"].get("progress_estimated"), None);
    let mut seen = Vec::new();
    while seen.last() != Some(&100) {
        assert!(seen.len() < 400, "it never ended");
        trunkline_gateway::claim_video_jobs(&harness.gateway, trunkline_gateway::VideoJob::Poll)
            .await
            .unwrap();
        let task = task_view(&harness, &reported).await;
        assert_eq!(task["metadata"].get("progress_estimated"), None);
        seen.push(task["progress"].as_u64().unwrap());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(seen.is_sorted(), "{seen:?}");
    assert!(seen.iter().any(|part| (1..100).contains(part)), "{seen:?}");
    let first = made(&harness, &cat("")).await;
    assert_eq!(ended(&harness, &first).await["status"], "completed");
    let body = cat("[[job:wait_ms:0]][[job:stuck]]");
    let stuck = made(&harness, &body).await;
    let mut task = until(&harness, &stuck, "in_progress").await;
    assert_eq!(task["metadata"]["progress_estimated"], true);
    for _ in 0..200 {
        task = task_view(&harness, &stuck).await;
        if task["progress"] == 95 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
    assert_eq!(task["progress"], 95, "a guess goes no further");
}
