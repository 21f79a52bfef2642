//! What a prompt may ask of Kling's simulated jobs, and how a full lane is told.

use serde_json::json;
use trunkline_simulator::{Settings, Simulator, VideoSettings};

use crate::client::{post, post_as, receive, send_to, started};
use crate::video_kling::{TEXT, TURBO_TEXT, ended, get, text_job};

#[tokio::test]
async fn a_full_lane_and_a_wish_are_told_in_the_vendors_numbers() {
    let settings = Settings {
        video: VideoSettings {
            lane: 1,
            ..VideoSettings::default()
        },
        ..Settings::default()
    };
    let simulator = Simulator::start(settings).await.unwrap();
    for (code, status) in [
        (1301, 400),
        (1102, 429),
        (5000, 500),
        (5001, 503),
        (5002, 504),
        (77, 400),
    ] {
        let got = post(
            &simulator,
            TEXT,
            &text_job(&format!("[[job:refuse:{code}]]")),
        )
        .await;
        assert_eq!(got.status, status, "{code}");
        let reported = if code == 77 { 1200 } else { code };
        assert_eq!(got.json()["code"], reported);
    }
    let directive = text_job("[[id:f]] [[job:full:1]] [[job:stuck]]");
    for status in [429, 200] {
        let got = post(&simulator, TEXT, &directive).await;
        assert_eq!(got.status, status);
    }
    let full = post(&simulator, TURBO_TEXT, &json!({ "prompt": "x" })).await;
    assert_eq!(full.status, 429);
    assert_eq!(full.json()["code"], 1303);
    assert_eq!(
        full.json()["message"],
        "parallel task over resource pack limit"
    );
    let other = post_as(&simulator, "sk-other-9999", TEXT, &text_job("x")).await;
    assert_eq!(other.status, 200, "a lane is a key's own");
}

#[tokio::test]
async fn jobs_fail_linger_and_speak_oddly_on_request() {
    let simulator = started().await;
    let fails = post(
        &simulator,
        TURBO_TEXT,
        &json!({ "prompt": "[[job:fail:9]]" }),
    )
    .await;
    let id = fails.json()["data"]["id"].as_str().unwrap().to_owned();
    let body = ended(
        &simulator,
        &format!("/tasks?task_ids={id}"),
        "/data/0/status",
    )
    .await;
    assert_eq!(body["data"][0]["status"], "failed");
    assert!(body["data"][0]["message"].as_str().unwrap().contains('9'));
    let odd = post(
        &simulator,
        TEXT,
        &text_job("[[job:wait_ms:0]][[job:stuck]][[job:odd]]"),
    )
    .await;
    let id = odd.json()["data"]["task_id"].as_str().unwrap().to_owned();
    let body = get(&simulator, &format!("{TEXT}/{id}")).await.json();
    assert_eq!(body["data"]["task_status"], "dispatching");
}

#[tokio::test]
async fn a_lost_or_silent_answer_leaves_a_job_that_can_be_found_by_its_name() {
    let simulator = started().await;
    for (word, is_closed) in [("lost", true), ("silent", false)] {
        let mut request_body = text_job(&format!("[[job:{word}]]"));
        request_body["external_task_id"] = json!(word);
        let mut stream = send_to(&simulator, TEXT, &request_body).await;
        let got = receive(&mut stream).await;
        assert_eq!((got.status, got.is_closed), (0, is_closed), "{word}");
        let found = get(&simulator, &format!("{TEXT}?external_task_id={word}")).await;
        assert_eq!(found.status, 200, "{word}");
    }
    assert_eq!(simulator.video_jobs().len(), 2);
}
