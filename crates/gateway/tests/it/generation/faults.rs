//! What breaks, and what that costs: nothing that was not handed over, and nothing twice.

use std::time::Duration;

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use trunkline_gateway::Settings;
use trunkline_simulator::Rule;

use crate::generation::form::{Form, wav};
use crate::generation::harness::{CHARACTER, PICTURE};
use crate::response::GatewayResponse;
use crate::test_gateway::TestGateway;

/// Strikes once.
fn once(fault: Value) -> Rule {
    serde_json::from_value(json!({ "fault": fault, "times": 1 })).unwrap()
}

/// A credential that was told to rest for a second has done so.
async fn rested(fault: &Value) {
    if fault.get("rate_limited").is_some() {
        tokio::time::sleep(Duration::from_millis(1_200)).await;
    }
}

/// A second channel to the same vendor.
async fn doubled(harness: &TestGateway) {
    let base = format!("http://{}/v1", harness.simulator.address());
    let models = [
        ("brush", "dall-e-2"),
        ("voice", "tts-1"),
        ("ears", "whisper-1"),
    ];
    harness.before("openai", &base, &models).await;
}

async fn transcribed(harness: &TestGateway, model: &str) -> GatewayResponse {
    let form =
        Form::default()
            .text("model", model)
            .file("file", "a.wav", "audio/wav", &wav(16_000));
    form.send(harness, "/v1/audio/transcriptions").await
}

// covers: D-2-76, G-2.4-03, D-7-MON-02
#[tokio::test]
async fn of_a_call_that_failed_in_part_the_pictures_that_succeeded_are_charged() {
    let harness = TestGateway::generation().await;
    let mut spent = 0;
    for model in ["mini-brush", "sea-brush"] {
        let got = harness
            .draw(model, "cats [[image:fail_some:1]]", json!({ "n": 3 }))
            .await;
        assert_eq!(got.status.as_u16(), 200, "{model}: {}", got.text());
        let view = got.json();
        assert_eq!(view["data"].as_array().unwrap().len(), 2, "{model}");
        let counts = json!({ "success_count": "2", "failed_count": "1" });
        assert_eq!(view["metadata"], counts, "{model}");
        spent += PICTURE * 2;
        assert_eq!(harness.spent().await, spent, "{model}");
    }
    harness.audit().await;
}

#[tokio::test]
async fn a_picture_that_cannot_be_fetched_is_not_sold() {
    let harness = TestGateway::generation().await;
    for model in ["brush", "mini-brush", "wen-brush", "sea-brush"] {
        for fault in ["dead_link", "garbage_link"] {
            let prompt = format!("a cat [[image:{fault}]]");
            let got = harness.draw(model, &prompt, json!({})).await;
            assert_eq!(got.status.as_u16(), 502, "{model} {fault}: {}", got.text());
            assert_eq!(got.json()["error"]["charged"], false);
        }
    }
    assert_eq!(harness.spent().await, 0);
    harness.audit().await;
}

// covers: D-2-43, D-3-75
#[tokio::test]
async fn images_with_an_unknown_outcome_are_not_requested_again() {
    let settings = Settings {
        whole_wait: Duration::from_secs(2),
        ..Settings::default()
    };
    let harness = TestGateway::generation_with(settings).await;
    doubled(&harness).await;
    for (fault, status) in [
        ("status:500", 502),
        ("status:502", 502),
        ("close_before_headers", 502),
        ("hang_before_headers", 504),
        ("truncated_json", 502),
        ("wrong_content_length", 502),
    ] {
        let before = harness.simulator.requests().len();
        let got = harness
            .draw("brush", &format!("a cat [[fault:{fault}]]"), json!({}))
            .await;
        assert_eq!(got.status.as_u16(), status, "{fault}: {}", got.text());
        assert_eq!(
            harness.simulator.requests().len() - before,
            1,
            "{fault}: asked once"
        );
    }
    assert_eq!(harness.spent().await, 0);
    harness.audit().await;
}

#[tokio::test]
async fn pictures_that_were_refused_or_never_sent_go_to_another_channel() {
    let harness = TestGateway::generation().await;
    doubled(&harness).await;
    let mut spent = 0;
    for fault in [
        json!({ "rate_limited": { "retry_after_secs": 1 } }),
        json!({ "status": 503 }),
    ] {
        harness.simulator.plan(once(fault.clone()));
        let got = harness.draw("brush", "a cat", json!({})).await;
        assert_eq!(got.status.as_u16(), 200, "{fault}: {}", got.text());
        spent += PICTURE;
        assert_eq!(harness.spent().await, spent, "{fault}");
        rested(&fault).await;
    }
    let unknown = "http://127.0.0.1:9";
    harness
        .before(
            "ark",
            unknown,
            &[("sea-brush", "doubao-seedream-4-0-250828")],
        )
        .await;
    let got = harness.draw("sea-brush", "a cat", json!({})).await;
    assert_eq!(got.status.as_u16(), 200, "{}", got.text());
    assert_eq!(harness.spent().await, spent + PICTURE);
    harness.audit().await;
}

// covers: D-2-43
#[tokio::test]
async fn a_vendors_refusal_is_told_in_its_words_and_costs_nothing() {
    let harness = TestGateway::generation().await;
    for model in ["brush", "mini-brush", "wen-brush", "sea-brush"] {
        let got = harness
            .draw(model, "a cat [[image:refused]]", json!({}))
            .await;
        assert_eq!(got.status.as_u16(), 400, "{model}: {}", got.text());
        let error = &got.json()["error"];
        assert_eq!(
            (&error["charged"], &error["retryable"]),
            (&json!(false), &json!(false))
        );
        assert!(!error["message"].as_str().unwrap().is_empty());
    }
    assert_eq!(harness.spent().await, 0);
    harness.audit().await;
}

/// What another channel is asked for after.
fn passing() -> [Value; 4] {
    [
        json!({ "status": 500 }),
        json!({ "status": 503 }),
        json!({ "rate_limited": { "retry_after_secs": 1 } }),
        json!("close_before_headers"),
    ]
}

// covers: D-3-72, D-3-73
#[tokio::test]
async fn speech_fails_over_as_chat_does() {
    let harness = TestGateway::generation().await;
    doubled(&harness).await;
    let mut spent = 0;
    for fault in passing() {
        harness.simulator.plan(once(fault.clone()));
        let got = harness.say("voice", "Hello.", json!({})).await;
        assert_eq!(got.status.as_u16(), 200, "{fault}: {:?}", got.body);
        spent += CHARACTER * 6;
        assert_eq!(harness.spent().await, spent, "{fault}");
        rested(&fault).await;
    }
    harness.audit().await;
}

// covers: D-7-CHAT-16
#[tokio::test]
async fn transcripts_fail_over_as_chat_does() {
    let harness = TestGateway::generation().await;
    doubled(&harness).await;
    let mut spent = 0;
    for fault in passing() {
        harness.simulator.plan(once(fault.clone()));
        let got = transcribed(&harness, "ears").await;
        assert_eq!(got.status.as_u16(), 200, "{fault}: {}", got.text());
        spent += 200_000;
        assert_eq!(harness.spent().await, spent, "{fault}");
        rested(&fault).await;
    }
    harness.audit().await;
}

// covers: D-2-44
#[tokio::test]
async fn audio_that_breaks_off_is_cut_and_costs_nothing() {
    let harness = TestGateway::generation().await;
    let text = "A rather long sentence that takes its time. ".repeat(8);
    for (model, fault) in [
        ("voice", "close_mid_stream"),
        ("mini-voice", "close_mid_stream"),
        ("mini-voice", "error_frame_mid_stream"),
        ("wen-voice", "close_mid_stream"),
    ] {
        let body = json!({
            "model": model,
            "input": format!("{text}[[fault:{fault}:3]]"),
            "voice": match model { "voice" => "alloy", "wen-voice" => "Cherry", _ => "English_expressive_narrator" },
        });
        let body = Bytes::from(body.to_string());
        let mut answer = harness.send(Method::POST, "/v1/audio/speech", body).await;
        let what = format!("{model} {fault}");
        assert_eq!(answer.status.as_u16(), 200, "{what}");
        assert!(
            answer.whole(50_000_000).await.is_err(),
            "{what}: a part looks whole"
        );
    }
    assert_eq!(harness.spent().await, 0);
    harness.audit().await;
}

#[tokio::test]
async fn errors_inside_a_good_status_are_found_before_the_answer_begins() {
    let harness = TestGateway::generation().await;
    // The limit comes last: its credential rests afterwards.
    for (fault, status) in [
        ("base_resp:2013", 400),
        ("garbage_audio", 502),
        ("base_resp:1002", 429),
    ] {
        let text = format!("Hello. [[fault:{fault}]]");
        let got = harness.say("mini-voice", &text, json!({})).await;
        assert_eq!(got.status.as_u16(), status, "{fault}: {}", got.text());
    }
    assert_eq!(harness.spent().await, 0);
    harness.audit().await;
}

// covers: D-2-45, D-2-46
#[tokio::test]
async fn a_client_gone_in_mid_speech_pays_for_the_text() {
    let harness = TestGateway::generation().await;
    let text = format!("{}[[fault:slow_drip:100]]", "A long essay. ".repeat(200));
    let body = json!({ "model": "voice", "input": text, "voice": "alloy" });
    let body = Bytes::from(body.to_string());
    let mut answer = harness.send(Method::POST, "/v1/audio/speech", body).await;
    assert_eq!(answer.status.as_u16(), 200);
    answer.piece().await.unwrap().unwrap();
    drop(answer);
    let characters = i64::try_from(text.chars().count()).unwrap();
    assert_eq!(harness.spent().await, CHARACTER * characters);
    let served = harness.simulator.requests().pop().unwrap();
    assert!(
        served.client_left && !served.finished,
        "the vendor is stopped"
    );
    harness.audit().await;
}

#[tokio::test]
async fn a_caller_gone_before_the_first_byte_pays_nothing() {
    let settings = Settings {
        whole_wait: Duration::from_secs(2),
        ..Settings::default()
    };
    let harness = TestGateway::generation_with(settings).await;
    let body = json!({ "model": "brush", "prompt": "x [[fault:hang_before_headers]]" });
    let path = "/v1/images/generations";
    let sent = harness.send(Method::POST, path, Bytes::from(body.to_string()));
    let left = tokio::time::timeout(Duration::from_millis(700), sent).await;
    assert!(left.is_err(), "no upstream answers so soon");
    assert_eq!(harness.spent().await, 0);
    harness.audit().await;
}

// covers: G-4.5-04
#[tokio::test]
async fn a_task_inside_is_one_call_outside() {
    let harness = TestGateway::generation().await;
    let rule = |word: &str| once(json!({ "audio": word }));
    harness.simulator.plan(rule("task_slow:1500"));
    let began = std::time::Instant::now();
    let got = transcribed(&harness, "wen-file-ears").await;
    assert_eq!(got.status.as_u16(), 200, "{}", got.text());
    assert!(began.elapsed() >= Duration::from_millis(1_400));
    harness.simulator.plan(rule("task_odd"));
    let got = transcribed(&harness, "wen-file-ears").await;
    assert_eq!(
        got.status.as_u16(),
        200,
        "an unknown word means that it goes on: {}",
        got.text()
    );
    let spent = harness.spent().await;
    assert_eq!(spent, 400_000);
    for word in ["task_fails", "dead_transcript"] {
        harness.simulator.plan(rule(word));
        let got = transcribed(&harness, "wen-file-ears").await;
        assert!(
            matches!(got.status.as_u16(), 400 | 502),
            "{word}: {}",
            got.text()
        );
        assert_eq!(got.json()["error"]["charged"], false, "{word}");
    }
    assert_eq!(harness.spent().await, spent);
    // What was lent to the vendor is gone.
    let mut left = usize::MAX;
    for _ in 0..100 {
        left = files_in(harness.files.path());
        if left == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(left, 0, "recordings in the media store");
    harness.audit().await;
}

fn files_in(folder: &std::path::Path) -> usize {
    let entries = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let count = |path: std::path::PathBuf| if path.is_dir() { files_in(&path) } else { 1 };
    entries.map(count).sum()
}

#[tokio::test]
async fn a_task_that_never_ends_is_given_up_when_a_call_must_be() {
    let settings = Settings {
        whole_wait: Duration::from_secs(3),
        ..Settings::default()
    };
    let harness = TestGateway::generation_with(settings).await;
    harness
        .simulator
        .plan(once(json!({ "audio": "task_stuck" })));
    let got = transcribed(&harness, "wen-file-ears").await;
    assert_eq!(got.status.as_u16(), 504, "{}", got.text());
    assert_eq!(harness.spent().await, 0);
    harness.audit().await;
}

#[tokio::test]
async fn an_insufficient_balance_error_names_the_cost() {
    let harness = TestGateway::generation_of(crate::test_gateway::TestOptions {
        paid: PICTURE * 2,
        ..crate::test_gateway::TestOptions::default()
    })
    .await;
    let got = harness.draw("brush", "cats", json!({ "n": 3 })).await;
    assert_eq!(
        (got.status.as_u16(), got.code()),
        (402, "insufficient_balance".to_owned())
    );
    let error = &got.json()["error"];
    assert_eq!(error["required_usd"], "0.06", "{error}");
    let got = harness.draw("brush", "cats", json!({ "n": 2 })).await;
    assert_eq!(got.status.as_u16(), 200);
    assert_eq!(harness.posted_at_rest().await, 0);
    harness.audit().await;
}
