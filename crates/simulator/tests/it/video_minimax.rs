//! `MiniMax`'s video jobs over a real socket. The requests are those of the vendor's documents as of
//! October 2026, with values of our own.

use std::time::Duration;

use serde_json::{Value, json};
use trunkline_simulator::{Settings, Simulator, VideoSettings};

use crate::client::{Response, ask, post, post_as, receive, send_to, started};

const FIRST: &str = "/v1/video_generation";
const SECOND: &str = "/v2/video_generation";
const KEY: &str = "authorization: Bearer sk-test-1234\r\n";
const IMAGE: &str = "https://media.example/a.png";

async fn get(simulator: &Simulator, path: &str) -> Response {
    ask(simulator, "GET", path, KEY, b"").await
}

fn hailuo(more: Value) -> Value {
    let base = json!({"model": "MiniMax-Hailuo-02", "prompt": "a fox", "duration": 6,
        "resolution": "768P", "aigc_watermark": false});
    merged(base, more)
}

fn h3(more: Value) -> Value {
    let base = json!({"model": "MiniMax-H3", "content": [{"type": "text", "text": "a fox"}],
        "resolution": "768P", "duration": 5, "ratio": "16:9"});
    merged(base, more)
}

/// The same with other fields; null takes one away.
fn merged(mut base: Value, more: Value) -> Value {
    let fields = base.as_object_mut().unwrap();
    for (name, value) in more.as_object().unwrap() {
        if value.is_null() {
            fields.remove(name);
        } else {
            fields.insert(name.clone(), value.clone());
        }
    }
    base
}

fn reply(text: &str, parts: Value) -> Value {
    let mut content = vec![json!({"type": "text", "text": text})];
    content.extend(parts.as_array().unwrap().iter().cloned());
    json!({ "content": content })
}

fn image(role: &str) -> Value {
    json!({"type": "image_url", "image_url": {"url": IMAGE}, "role": role})
}

/// Asks until it is so.
async fn until(simulator: &Simulator, path: &str, is: impl Fn(&Value) -> bool) -> Value {
    for _ in 0..400 {
        let reported = get(simulator, path).await.json();
        if is(&reported) {
            return reported;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{path} never comes to it");
}

#[tokio::test]
async fn a_job_of_the_first_interface_tells_its_file_by_another_question() {
    let simulator = started().await;
    let taken = post(&simulator, FIRST, &hailuo(json!({}))).await.json();
    assert_eq!(
        taken["base_resp"],
        json!({"status_code": 0, "status_msg": "success"})
    );
    let id = taken["task_id"].as_str().unwrap();
    assert!(
        id.len() == 15 && id.bytes().all(|byte| byte.is_ascii_digit()),
        "{id}"
    );
    let path = format!("/v1/query/video_generation?task_id={id}");
    let done = until(&simulator, &path, |reported| {
        reported["status"] == "Success"
    })
    .await;
    assert_eq!(
        (&done["video_width"], &done["video_height"]),
        (&json!(1366), &json!(768))
    );
    let file = done["file_id"].as_str().unwrap();
    let found = get(&simulator, &format!("/v1/files/retrieve?file_id={file}"))
        .await
        .json();
    assert_eq!(found["file"]["file_id"].as_u64().unwrap().to_string(), file);
    let url = found["file"]["download_url"].as_str().unwrap();
    assert!(
        url.starts_with(&format!("http://simulator/_media/{id}.mp4?Expires=")),
        "{url}"
    );
    let missing = get(&simulator, "/v1/files/retrieve?file_id=21").await;
    assert_eq!(
        (missing.status, &missing.json()["base_resp"]["status_code"]),
        (200, &json!(2013))
    );
}

#[tokio::test]
async fn what_the_first_interface_is_not_told_it_makes_up() {
    let simulator = started().await;
    let bare = hailuo(json!({"duration": null, "resolution": null, "invented": 1}));
    assert_eq!(
        post(&simulator, FIRST, &bare).await.json()["base_resp"]["status_code"],
        0
    );
    let long = hailuo(json!({"duration": 10}));
    post(&simulator, FIRST, &long).await;
    let jobs = simulator.video_jobs();
    let seconds: Vec<u64> = jobs.iter().map(|job| job.seconds).collect();
    assert_eq!(seconds, [6, 10]);
    assert_eq!((jobs[0].vendor, jobs[0].key.as_str()), ("minimax", "1234"));
}

#[tokio::test]
async fn the_first_interface_refuses_with_a_number_under_status_200() {
    let simulator = started().await;
    let fast = "MiniMax-Hailuo-2.3-Fast";
    for wrong in [
        json!({"model": "MiniMax-H3"}),
        json!({"prompt": null}),
        json!({"prompt": ""}),
        json!({"prompt": "x".repeat(2_001)}),
        json!({"duration": 5}),
        json!({"duration": "6"}),
        json!({"resolution": "720P"}),
        json!({"resolution": "1080P", "duration": 10}),
        json!({"resolution": "512P"}),
        json!({"resolution": "512P", "model": "MiniMax-Hailuo-2.3", "first_frame_image": IMAGE}),
        json!({"model": fast}),
        json!({"first_frame_image": "a.png"}),
        json!({"prompt_optimizer": "yes"}),
    ] {
        let got = post(&simulator, FIRST, &hailuo(wrong.clone())).await;
        assert_eq!(got.status, 200, "{wrong}");
        assert_eq!(got.json()["base_resp"]["status_code"], 2013, "{wrong}");
    }
    for good in [
        json!({"resolution": "1080P"}),
        json!({"resolution": "512P", "first_frame_image": IMAGE}),
        json!({"model": fast, "first_frame_image": IMAGE, "prompt": null}),
    ] {
        let got = post(&simulator, FIRST, &hailuo(good.clone())).await.json();
        assert_eq!(got["base_resp"]["status_code"], 0, "{good}");
    }
    assert_eq!(simulator.video_jobs().len(), 3);
    let unknown = ask(&simulator, "POST", FIRST, "", b"{}").await.json();
    assert_eq!(unknown["base_resp"]["status_code"], 1004);
}

#[tokio::test]
async fn a_job_of_the_second_interface_counts_what_went_in() {
    let simulator = started().await;
    let clip = json!({"type": "video_url", "role": "reference_video",
        "video_url": {"url": "https://media.example/c.mp4?ms=5800"}});
    let parts = json!([image("reference_image"), image("reference_image"), clip]);
    let body = merged(h3(reply("a fox", parts)), json!({"ratio": null}));
    let taken = post(&simulator, SECOND, &body).await.json();
    let id = taken["task_id"].as_str().unwrap().to_owned();
    let path = format!("/v2/query/video_generation/{id}");
    let reported = until(&simulator, &path, |reported| {
        reported["task"]["status"] == "succeeded"
    })
    .await;
    let task = &reported["task"];
    assert_eq!(
        task["usage"],
        json!({"total_seconds": 11, "input_seconds": 6, "output_seconds": 5,
            "input_image_count": 2, "input_audio_seconds": 0})
    );
    assert_eq!(
        (&task["resolution"], &task["duration"]),
        (&json!("768P"), &json!(5))
    );
    assert!(
        task["content"]["url"]
            .as_str()
            .unwrap()
            .contains("/_media/")
    );
    let gone = ask(&simulator, "DELETE", &format!("{SECOND}/{id}"), KEY, b"")
        .await
        .json();
    assert_eq!(
        (&gone["action"], &gone["status"]),
        (&json!("deleted"), &json!("succeeded"))
    );
    assert_eq!(get(&simulator, &path).await.status, 400);
    // Who leaves the resolution out gets the dearer one.
    let bare = post(&simulator, SECOND, &h3(json!({"resolution": null})))
        .await
        .json();
    let id = bare["task_id"].as_str().unwrap();
    let reported = get(&simulator, &format!("/v2/query/video_generation/{id}"))
        .await
        .json();
    assert_eq!(reported["task"]["resolution"], "2K");
}

#[tokio::test]
async fn the_second_interface_refuses_by_status() {
    let simulator = started().await;
    let frame = image("first_frame");
    let reference = image("reference_image");
    for wrong in [
        json!({"model": "MiniMax-Hailuo-02"}),
        json!({"duration": null}),
        json!({"duration": 3}),
        json!({"duration": 16}),
        json!({"resolution": "1080P"}),
        json!({"ratio": null}),
        json!({"ratio": "adaptive"}),
        json!({"ratio": "2:1"}),
        json!({"content": []}),
        reply("", json!([])),
        reply("a fox", json!([{"type": "text", "text": "another"}])),
        reply("a fox", json!([frame.clone(), reference.clone()])),
        reply("a fox", json!([frame.clone(), frame.clone()])),
        reply("a fox", json!(vec![reference.clone(); 10])),
        reply(
            "a fox",
            json!([{"type": "image_url", "image_url": {"url": IMAGE}}]),
        ),
    ] {
        let got = post(&simulator, SECOND, &h3(wrong.clone())).await;
        assert_eq!(got.status, 400, "{wrong}");
        let error = &got.json()["error"];
        assert_eq!(
            (&error["type"], &error["http_code"]),
            (&json!("bad_request_error"), &json!("400"))
        );
        assert!(
            error["message"].as_str().unwrap().ends_with("(2013)"),
            "{error}"
        );
    }
    for (code, status, kind) in [
        ("1008", 402, "insufficient_balance_error"),
        ("1026", 422, "unprocessable_entity_error"),
        ("1000", 500, "server_error"),
    ] {
        let body = h3(reply(&format!("[[job:refuse:{code}]]"), json!([])));
        let got = post(&simulator, SECOND, &body).await;
        assert_eq!(
            (got.status, &got.json()["error"]["type"]),
            (status, &json!(kind))
        );
    }
    let unknown = ask(&simulator, "POST", SECOND, "", b"{}").await;
    assert_eq!(
        (unknown.status, &unknown.json()["error"]["type"]),
        (401, &json!("authorized_error"))
    );
    assert!(simulator.video_jobs().is_empty());
}

#[tokio::test]
async fn a_waiting_job_is_stopped_and_a_running_one_is_not() {
    let simulator = started().await;
    let take = |text: &'static str| {
        let simulator = simulator.clone();
        async move {
            let body = h3(reply(text, json!([])));
            let taken = post(&simulator, SECOND, &body).await.json();
            format!("{SECOND}/{}", taken["task_id"].as_str().unwrap())
        }
    };
    let waits = take("[[job:wait_ms:60000]]").await;
    let stopped = ask(&simulator, "DELETE", &waits, KEY, b"").await.json();
    assert_eq!(
        (&stopped["action"], &stopped["status"]),
        (&json!("cancelled"), &json!("cancelled"))
    );
    let runs = take("[[job:wait_ms:0]][[job:stuck]]").await;
    assert_eq!(ask(&simulator, "DELETE", &runs, KEY, b"").await.status, 400);
}

#[tokio::test]
async fn the_prompt_decides_how_a_job_ends() {
    let simulator = started().await;
    let one = |id: &Value| {
        format!(
            "/v1/query/video_generation?task_id={}",
            id.as_str().unwrap()
        )
    };
    let two = |id: &Value| format!("/v2/query/video_generation/{}", id.as_str().unwrap());
    let bad = "a fox [[job:fail:1027]]";
    let taken = post(&simulator, FIRST, &hailuo(json!({"prompt": bad})))
        .await
        .json();
    let reported = until(&simulator, &one(&taken["task_id"]), |reported| {
        reported["status"] == "Fail"
    })
    .await;
    assert_eq!(reported["base_resp"]["status_code"], 1027);
    let taken = post(&simulator, SECOND, &h3(reply(bad, json!([]))))
        .await
        .json();
    let path = two(&taken["task_id"]);
    let reported = until(&simulator, &path, |reported| {
        reported["task"]["status"] == "failed"
    })
    .await;
    assert_eq!(reported["task"]["error"]["code"], "1027");
    let odd = "[[job:wait_ms:0]][[job:stuck]][[job:odd]]";
    let taken = post(&simulator, FIRST, &hailuo(json!({"prompt": odd})))
        .await
        .json();
    let reported = get(&simulator, &one(&taken["task_id"])).await.json();
    assert_eq!(reported["status"], "Polishing");
    let taken = post(&simulator, SECOND, &h3(reply(odd, json!([]))))
        .await
        .json();
    let reported = get(&simulator, &two(&taken["task_id"])).await.json();
    assert_eq!(reported["task"]["status"], "polishing");
}

#[tokio::test]
async fn an_answer_can_be_lost_or_never_come_while_the_job_is_taken() {
    let simulator = started().await;
    for (directive, is_closed) in [("[[job:lost]]", true), ("[[job:silent]]", false)] {
        for (path, body) in [
            (FIRST, hailuo(json!({ "prompt": directive }))),
            (SECOND, h3(reply(directive, json!([])))),
        ] {
            let before = simulator.video_jobs().len();
            let mut stream = send_to(&simulator, path, &body).await;
            let got = receive(&mut stream).await;
            assert_eq!(
                (got.status, got.is_closed),
                (0, is_closed),
                "{directive} {path}"
            );
            assert_eq!(simulator.video_jobs().len(), before + 1);
        }
    }
}

#[tokio::test]
async fn a_full_lane_is_told_as_each_interface_does_and_only_to_its_key() {
    let settings = Settings {
        video: VideoSettings {
            lane: 1,
            ..VideoSettings::default()
        },
        ..Settings::default()
    };
    let simulator = Simulator::start(settings).await.unwrap();
    let stuck = hailuo(json!({"prompt": "[[job:stuck]]"}));
    let id = post(&simulator, FIRST, &stuck).await.json()["task_id"].clone();
    let full = post(&simulator, FIRST, &stuck).await;
    assert_eq!(
        (full.status, &full.json()["base_resp"]["status_code"]),
        (200, &json!(1002))
    );
    let full = post(&simulator, SECOND, &h3(json!({}))).await;
    assert_eq!(
        (full.status, &full.json()["error"]["type"]),
        (429, &json!("rate_limit_error"))
    );
    let other = "sk-other-9999";
    assert_eq!(
        post_as(&simulator, other, SECOND, &h3(json!({})))
            .await
            .status,
        200
    );
    // Nor does another key see the job.
    let path = format!(
        "/v1/query/video_generation?task_id={}",
        id.as_str().unwrap()
    );
    let head = format!("authorization: Bearer {other}\r\n");
    let reported = ask(&simulator, "GET", &path, &head, b"").await.json();
    assert_eq!(reported["base_resp"]["status_code"], 2013);
}
