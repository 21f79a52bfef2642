//! OpenAI's speech and recognition over a real socket: what is sent when, and what the records say.

use std::time::{Duration, Instant};

use serde_json::json;
use trunkline_simulator::{
    AudioSettings, AudioWork, Fault, Rule, Settings, Simulator, speech_millis, transcript,
    translation,
};

use crate::audio::{KEY, MILLIS, TEXT, form, only_call, sha256, speak, upload, wav};
use crate::client::{always, ask, served, started};

const HEAR: &str = "/v1/audio/transcriptions";

#[tokio::test]
async fn speech_comes_in_pieces_and_the_records_tell_its_length() {
    let simulator = started().await;
    let got = speak(
        &simulator,
        json!({"response_format": "pcm", "input": "[[id:one]] hello there"}),
    )
    .await;
    let millis = speech_millis("[[id:one]] hello there", 1_000_000);
    assert_eq!(millis, 22 * 60);
    assert_eq!(got.status, 200);
    assert_eq!(got.header("content-type"), Some("audio/pcm"));
    assert_eq!(got.header("content-length"), None);
    assert_eq!(got.body.len(), usize::try_from(millis).unwrap() * 48);
    assert!(got.pieces.len() >= 7, "{}", got.pieces.len());
    let call = only_call(&simulator);
    assert_eq!((call.vendor, call.work), ("openai", AudioWork::Speech));
    assert_eq!((call.characters, call.millis), (22, millis));
    assert_eq!((call.format, call.key.as_str()), (Some("pcm"), "1234"));
    assert_eq!(call.marker.as_deref(), Some("one"));
    let record = served(&simulator, |record| record.finished).await;
    assert_eq!((record.number, record.status), (call.number, 200));
    // Milliseconds of audio that were handed over stand where tokens stand.
    assert_eq!(record.completion_tokens, millis);
    assert_eq!(record.model, "gpt-4o-mini-tts");
}

#[tokio::test]
async fn a_pace_can_be_set_for_all_speech() {
    let settings = Settings {
        audio: AudioSettings {
            pace_millis: 60,
            ..AudioSettings::default()
        },
        ..Settings::default()
    };
    let simulator = Simulator::start(settings).await.unwrap();
    let began = Instant::now();
    // 1560 ms are eight pieces of 200 ms, with seven pauses between them.
    let got = speak(&simulator, json!({"response_format": "pcm"})).await;
    assert!(began.elapsed() >= Duration::from_millis(7 * 60));
    assert_eq!(got.pieces.len(), 8);
}

#[tokio::test]
async fn a_cut_and_a_silence_inside_audio_leave_a_part_of_it() {
    for (fault, is_closed) in [
        (Fault::CloseMidStream { after_frames: 3 }, true),
        (Fault::HangMidStream { after_frames: 3 }, false),
    ] {
        let simulator = started().await;
        simulator.plan(always(fault));
        let got = speak(&simulator, json!({"response_format": "pcm"})).await;
        assert_eq!((got.status, got.is_whole), (200, false));
        assert_eq!(got.is_closed, is_closed);
        assert_eq!(got.body.len(), 3 * 9_600);
        let handed_over = MILLIS * 3 / 8;
        let record = served(&simulator, |record| record.completion_tokens > 0).await;
        assert_eq!(record.completion_tokens, handed_over);
        assert!(!record.finished);
        // It was made all the same.
        assert_eq!(only_call(&simulator).millis, MILLIS);
    }
}

#[tokio::test]
async fn faults_of_speech_are_in_the_vendors_words() {
    let simulator = started().await;
    let rule = |fault| {
        simulator.clear_plans();
        simulator.plan(Rule {
            model: Some("gpt-4o-mini-tts".to_owned()),
            ..always(fault)
        });
    };
    rule(Fault::RateLimited {
        retry_after_secs: 9,
    });
    let got = speak(&simulator, json!({})).await;
    assert_eq!((got.status, got.header("retry-after")), (429, Some("9")));
    assert_eq!(got.json()["error"]["code"], "rate_limit_exceeded");
    for status in [413, 500, 503] {
        rule(Fault::Status(status));
        let got = speak(&simulator, json!({})).await;
        assert_eq!(got.status, status);
        assert!(got.json()["error"]["message"].is_string());
    }
    rule(Fault::CloseBeforeHeaders);
    assert_eq!(speak(&simulator, json!({})).await.status, 0);
    rule(Fault::SlowFirstByte { millis: 300 });
    let began = Instant::now();
    assert_eq!(speak(&simulator, json!({})).await.status, 200);
    assert!(began.elapsed() >= Duration::from_millis(300));
    rule(Fault::ErrorInside200);
    let got = speak(&simulator, json!({})).await;
    assert_eq!(
        (got.status, got.json()["error"]["type"].as_str()),
        (200, Some("server_error"))
    );
    rule(Fault::ErrorFrameMidStream { after_frames: 2 });
    let got = speak(&simulator, json!({"stream_format": "sse"})).await;
    let chunks = got.chunks();
    assert_eq!(chunks.len(), 3);
    assert_eq!(chunks[1]["type"], "speech.audio.delta");
    assert_eq!(chunks[2]["error"]["type"], "server_error");
    // Another model does not meet these rules.
    let other = json!({"model": "tts-1", "response_format": "wav"});
    assert_eq!(speak(&simulator, other).await.status, 200);
    // What was refused or cut before it was made is no call.
    let calls = simulator.audio_calls();
    assert_eq!(calls.len(), 3, "{calls:#?}");
}

#[tokio::test]
async fn what_is_heard_is_a_function_of_the_file() {
    let simulator = started().await;
    let file = wav(1_500, 3);
    let got = upload(&simulator, HEAR, &[("model", "whisper-1")], &file).await;
    let expected = transcript(&sha256(&file), "en");
    let usage = json!({"type": "duration", "seconds": 2});
    assert_eq!(got.json(), json!({"text": expected, "usage": usage}));
    let call = only_call(&simulator);
    assert_eq!((call.work, call.millis), (AudioWork::Transcription, 1_500));
    assert_eq!(call.bytes, u64::try_from(file.len()).unwrap());
    assert_eq!(call.text.as_deref(), Some(expected.as_str()));
    let record = served(&simulator, |record| record.finished).await;
    assert_eq!((record.completion_tokens, record.body.len()), (12, 0));
    let body = form(&[("model", "whisper-1")], Some(("a.wav", &file)));
    assert_eq!(record.body_sha256, sha256(&body));
    simulator.clear_requests();
    assert_eq!(simulator.audio_calls(), []);
    let fields = [("model", "whisper-1"), ("language", "fr")];
    let got = upload(&simulator, HEAR, &fields, &file).await;
    assert_eq!(got.json()["text"], transcript(&sha256(&file), "fr"));
    let path = "/v1/audio/translations";
    let got = upload(&simulator, path, &[("model", "whisper-1")], &file).await;
    assert_eq!(got.json(), json!({"text": translation(&sha256(&file))}));
}

#[tokio::test]
async fn a_broken_form_and_a_missing_field_are_refused() {
    let simulator = started().await;
    let file = wav(500, 0);
    let head = format!("{KEY}content-type: multipart/form-data; boundary=b0undary\r\n");
    let model = [("model", "whisper-1")];
    let whole = form(&model, Some(("a.wav", &file)));
    let cut = &whole[..whole.len() - 20];
    let without_file = form(&model, None);
    let without_model = form(&[], Some(("a.wav", &file)));
    let long = "x".repeat(70_000);
    let long = form(&[("prompt", &long), model[0]], Some(("a.wav", &file)));
    for (body, param) in [
        (cut, json!(null)),
        (&without_file, json!("file")),
        (&without_model, json!("model")),
        (&long, json!(null)),
    ] {
        let got = ask(&simulator, "POST", HEAR, &head, body).await;
        assert_eq!((got.status, &got.json()["error"]["param"]), (400, &param));
    }
    let got = ask(&simulator, "POST", HEAR, KEY, &whole).await;
    assert_eq!(got.status, 400);
    let got = ask(&simulator, "GET", HEAR, KEY, b"").await;
    assert_eq!(got.status, 405);
    let got = ask(&simulator, "POST", HEAR, &head[KEY.len()..], &whole).await;
    assert_eq!(got.status, 401);
}

#[tokio::test]
async fn an_upload_may_be_larger_than_any_body_that_is_held() {
    let simulator = started().await;
    // A little more than the 64 MiB at which other bodies end.
    let file = wav(2_200_000, 1);
    assert!(file.len() > 64 * 1024 * 1024);
    let got = upload(&simulator, HEAR, &[("model", "whisper-1")], &file).await;
    assert_eq!(got.json()["text"], transcript(&sha256(&file), "en"));
    assert_eq!(got.json()["usage"]["seconds"], 2_200);
    let rule = Fault::Status(413);
    simulator.plan(always(rule));
    let small = wav(500, 1);
    let got = upload(&simulator, HEAR, &[("model", "whisper-1")], &small).await;
    assert_eq!(got.status, 413);
    assert_eq!(only_call(&simulator).millis, 2_200_000);
}

#[tokio::test]
async fn usage_can_be_left_out_and_lied_about() {
    let simulator = started().await;
    let file = wav(1_500, 3);
    let fields = [("model", "gpt-4o-transcribe")];
    simulator.plan(always(Fault::NoUsage));
    let got = upload(&simulator, HEAR, &fields, &file).await;
    assert!(got.json().get("usage").is_none());
    simulator.clear_plans();
    simulator.plan(always(Fault::LyingUsage { factor: 3 }));
    let got = upload(&simulator, HEAR, &fields, &file).await;
    assert_eq!(got.json()["usage"]["output_tokens"], 36);
    assert_eq!(got.json()["usage"]["input_tokens"], 60);
    simulator.clear_plans();
    simulator.plan(always(Fault::TruncatedJson));
    let got = upload(&simulator, HEAR, &fields, &file).await;
    assert!(got.is_whole && serde_json::from_slice::<serde_json::Value>(&got.body).is_err());
    simulator.clear_plans();
    simulator.plan(always(Fault::TruncatedJson));
    let got = speak(&simulator, json!({"response_format": "pcm"})).await;
    // Half of the audio under a good end.
    assert!(got.is_whole && got.body.len() == 4 * 9_600, "{TEXT}");
}
