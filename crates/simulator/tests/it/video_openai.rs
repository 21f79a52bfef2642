//! OpenAI's video jobs over a real socket; the vendor's SDK has a test of its own.

use serde_json::{Value, json};
use trunkline_simulator::Simulator;

use crate::client::{Response, ask, post, receive, send_to, started};

const PATH: &str = "/v1/videos";
const KEY: &str = "authorization: Bearer sk-test-1234\r\n";

async fn get(simulator: &Simulator, path: &str) -> Response {
    ask(simulator, "GET", path, KEY, b"").await
}

#[tokio::test]
async fn what_is_left_out_is_filled_in_as_the_vendor_does() {
    let simulator = started().await;
    let got = post(&simulator, PATH, &json!({"prompt": "a fox"})).await;
    let reported = got.json();
    assert_eq!(got.status, 200);
    assert_eq!(
        (&reported["model"], &reported["seconds"]),
        (&json!("sora-2"), &json!("4"))
    );
    assert_eq!(
        (&reported["size"], &reported["status"]),
        (&json!("720x1280"), &json!("queued"))
    );
    assert_eq!(
        (&reported["error"], &reported["completed_at"]),
        (&Value::Null, &Value::Null)
    );
    let jobs = simulator.video_jobs();
    assert_eq!((jobs[0].vendor, jobs[0].seconds), ("openai", 4));
}

#[tokio::test]
async fn a_relay_takes_what_the_vendor_does_not_know() {
    let simulator = started().await;
    let body = json!({"model": "sim-video", "prompt": "a fox", "seconds": "10", "size": "4k",
        "style": "noir", "input_reference": {"image_url": "https://media.example/a.png"}});
    assert_eq!(post(&simulator, PATH, &body).await.status, 200);
    let jobs = simulator.video_jobs();
    assert_eq!(
        (jobs[0].seconds, &jobs[0].body["style"]),
        (10, &json!("noir"))
    );
    let mut vendors = body.clone();
    vendors["model"] = json!("sora-2");
    assert_eq!(post(&simulator, PATH, &vendors).await.status, 400);
}

#[tokio::test]
async fn bad_fields_are_refused_by_name() {
    let simulator = started().await;
    for (name, value) in [
        ("prompt", json!("")),
        ("prompt", json!(1)),
        ("model", json!("gpt-x")),
        ("seconds", json!("5")),
        ("seconds", json!(8)),
        ("size", json!("1792x1024")),
        ("input_reference", json!("https://media.example/a.png")),
        ("style", json!("noir")),
    ] {
        let mut body = json!({"model": "sora-2", "prompt": "a fox"});
        body[name] = value;
        let got = post(&simulator, PATH, &body).await;
        assert_eq!(
            (got.status, &got.json()["error"]["param"]),
            (400, &json!(name)),
            "{body}"
        );
    }
    let pro = json!({"model": "sora-2-pro", "prompt": "a fox", "size": "1792x1024"});
    assert_eq!(post(&simulator, PATH, &pro).await.status, 200);
    assert_eq!(ask(&simulator, "POST", PATH, "", b"{}").await.status, 401);
    assert_eq!(get(&simulator, "/v1/videos/video_none").await.status, 404);
    assert_eq!(ask(&simulator, "PUT", PATH, KEY, b"{}").await.status, 405);
}

#[tokio::test]
async fn a_file_is_served_once_its_job_is_done() {
    let simulator = started().await;
    let stuck = json!({"prompt": "[[job:wait_ms:0]][[job:stuck]][[job:odd]]"});
    let reported = post(&simulator, PATH, &stuck).await.json();
    let path = format!("{PATH}/{}", reported["id"].as_str().unwrap());
    assert_eq!(get(&simulator, &path).await.json()["status"], "polishing");
    assert_eq!(
        get(&simulator, &format!("{path}/content")).await.status,
        404
    );
    let quick = json!({"prompt": "[[job:wait_ms:0]][[job:ms:0]]"});
    let reported = post(&simulator, PATH, &quick).await.json();
    let path = format!("{PATH}/{}/content", reported["id"].as_str().unwrap());
    let got = get(&simulator, &path).await;
    assert_eq!(
        (got.status, got.header("content-type")),
        (200, Some("video/mp4"))
    );
    assert_eq!(&got.body[4..8], b"ftyp");
    // The head of a movie counts a thousand ticks a second; four seconds are made unless asked otherwise.
    let head = got
        .body
        .windows(4)
        .position(|word| word == b"mvhd")
        .unwrap();
    assert_eq!(&got.body[head + 20..head + 24], 4_000_u32.to_be_bytes());
    let anonymous = ask(&simulator, "GET", &path, "", b"").await;
    assert_eq!(anonymous.status, 401);
    let other = get(&simulator, &format!("{path}?variant=other")).await;
    assert_eq!(other.status, 400);
}

#[tokio::test]
async fn an_answer_can_be_lost_or_never_come_while_the_job_is_taken() {
    let simulator = started().await;
    for (directive, is_closed) in [("[[job:lost]]", true), ("[[job:silent]]", false)] {
        let before = simulator.video_jobs().len();
        let mut stream = send_to(&simulator, PATH, &json!({ "prompt": directive })).await;
        let got = receive(&mut stream).await;
        assert_eq!((got.status, got.is_closed), (0, is_closed), "{directive}");
        assert_eq!(simulator.video_jobs().len(), before + 1);
    }
}
