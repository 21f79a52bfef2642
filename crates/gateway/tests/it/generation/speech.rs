//! Text that is spoken.

use serde_json::{Value, json};
use trunkline_simulator::speech_millis;

use crate::generation::harness::CHARACTER;
use crate::test_gateway::TestGateway;

// covers: G-2.5-01, G-4.4-06, G-4.4-07, G-4.4-08, G-4.4-09, G-4.4-13, G-4.4-14
// covers: G-1-13, G-1-16, G-2.6-38, G-4-14
#[tokio::test]
async fn the_body_is_the_audio_and_its_type_follows_the_format() {
    let harness = TestGateway::generation().await;
    let text = "Good morning to you all.";
    let mut spent = 0;
    for (model, format, kind) in [
        ("voice", "mp3", "audio/mpeg"),
        ("voice", "opus", "audio/ogg"),
        ("voice", "aac", "audio/aac"),
        ("voice", "flac", "audio/flac"),
        ("voice", "wav", "audio/wav"),
        ("voice", "pcm", "audio/pcm"),
        ("mini-voice", "mp3", "audio/mpeg"),
        ("mini-voice", "flac", "audio/flac"),
        ("mini-voice", "wav", "audio/wav"),
        ("mini-voice", "pcm", "audio/pcm"),
        ("wen-voice", "wav", "audio/wav"),
        ("wen-voice", "pcm", "audio/pcm"),
    ] {
        let got = harness
            .say(model, text, json!({ "response_format": format }))
            .await;
        let what = format!("{model} {format}");
        assert_eq!(got.status.as_u16(), 200, "{what}: {:?}", got.body);
        assert_eq!(got.header("content-type").unwrap(), kind, "{what}");
        let magic: &[u8] = match format {
            "mp3" => b"\xff",
            "opus" => b"OggS",
            "aac" => b"\xff",
            "flac" => b"fLaC",
            "wav" => b"RIFF",
            _ => b"",
        };
        assert!(got.body.starts_with(magic), "{what}: {:?}", &got.body[..8]);
        spent += CHARACTER * 24;
        assert_eq!(harness.spent().await, spent, "{what}");
        let row = harness.row(&got).await;
        assert_eq!(row["prompt_tokens"], 24, "{what}");
        // A thousand a minute, rounded up; whole frames and a rate may add a little.
        let millis = speech_millis(text, 1_000_000);
        let least = millis.div_ceil(60);
        let tokens = row["completion_tokens"].as_u64().unwrap();
        assert!(
            (least..=least + 2).contains(&tokens),
            "{what}: {tokens} of {least}"
        );
        assert_eq!(row["units"], json!({ "input": 24 }), "{what}");
    }
    harness.audit().await;
}

// covers: G-4.4-03, G-4.4-04, D-2-11, D-2-12
#[tokio::test]
async fn each_character_is_one_billed_token_punctuation_and_spaces_too() {
    let harness = TestGateway::generation().await;
    let mut spent = 0;
    for (text, count) in [("a, b", 4), ("0123456789", 10), ("🙂é你", 3)] {
        let got = harness.say("voice", text, json!({})).await;
        assert_eq!(got.status.as_u16(), 200);
        spent += CHARACTER * count;
        assert_eq!(harness.spent().await, spent, "{text}");
        assert_eq!(harness.row(&got).await["prompt_tokens"], json!(count));
    }
}

// covers: G-4.4-01, G-4.4-02, G-4.4-05, G-4.4-07, G-4.4-10, G-4.4-11, G-8-19, G-8-20
// covers: D-7-MON-16
#[tokio::test]
async fn what_a_voice_does_not_take_is_refused_before_money_moves() {
    let harness = TestGateway::generation().await;
    let whole = json!({ "model": "voice", "input": "x", "voice": "alloy" });
    let without = |name: &str| {
        let mut body = whole.clone();
        body.as_object_mut().unwrap().remove(name);
        body
    };
    let with = |name: &str, value: Value| {
        let mut body = whole.clone();
        body[name] = value;
        body
    };
    let mut long = with("model", json!("short-voice"));
    long["input"] = json!("x".repeat(1001));
    for (body, param) in [
        (without("model"), "model"),
        (without("input"), "input"),
        (without("voice"), "voice"),
        (with("voice", json!("nobody")), "voice"),
        (with("response_format", json!("midi")), "response_format"),
        (with("speed", json!("fast")), "speed"),
        (with("instructions", json!(5)), "instructions"),
        (with("stream_format", json!("sse")), "stream_format"),
        (long, "input"),
    ] {
        let got = harness.post("/v1/audio/speech", &body).await;
        assert_eq!(got.status.as_u16(), 400, "{body}: {}", got.text());
        assert_eq!(got.json()["error"]["param"], param, "{body}");
    }
    assert_eq!(harness.spent().await, 0);
    assert!(harness.simulator.audio_calls().is_empty());
    let got = harness
        .say("short-voice", &"x".repeat(1000), json!({}))
        .await;
    assert_eq!(got.status.as_u16(), 200);
    let got = harness.say("voice", &"x".repeat(1001), json!({})).await;
    assert_eq!(got.status.as_u16(), 200, "another model has another limit");
}

// covers: D-7-MON-18, G-4.4-10, G-4.4-11
#[tokio::test]
async fn a_missing_format_is_the_records_and_speed_reaches_the_vendor() {
    let harness = TestGateway::generation().await;
    let got = harness.say("short-voice", "Good morning.", json!({})).await;
    assert_eq!(got.header("content-type").unwrap(), "audio/wav");
    let call = harness.simulator.audio_calls().pop().unwrap();
    assert_eq!(call.format, Some("wav"));
    let slow = call.millis;
    let more = json!({ "speed": 2.0, "instructions": "softly" });
    let got = harness.say("short-voice", "Good morning.", more).await;
    assert_eq!(got.status.as_u16(), 200, "{}", got.text());
    let call = harness.simulator.audio_calls().pop().unwrap();
    assert_eq!(call.millis * 2, slow);
}
