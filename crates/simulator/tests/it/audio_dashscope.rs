//! `DashScope`'s recognition tasks and events over a real socket: faults, times, and what on shared
//! paths is not audio. The SDK tells the rest.

use std::time::Duration;

use serde_json::{Value, json};
use trunkline_simulator::{AudioFault, AudioSettings, Fault, Settings, Simulator, transcript};

use crate::audio::{KEY, MILLIS, TEXT, audio, follow, only_call, sha256};
use crate::client::{Response, always, ask, post, post_as, started};

const MULTIMODAL: &str = "/api/v1/services/aigc/multimodal-generation/generation";
const FILES: &str = "/api/v1/services/audio/asr/transcription";

async fn with_header(simulator: &Simulator, path: &str, header: &str, body: &Value) -> Response {
    let head = format!("{KEY}content-type: application/json\r\n{header}: enable\r\n");
    ask(simulator, "POST", path, &head, body.to_string().as_bytes()).await
}

fn speech() -> Value {
    json!({"model": "qwen3-tts-flash", "input": {"text": TEXT, "voice": "Cherry"}})
}

/// The address of a spoken file, as an outside client reaches it.
async fn spoken(simulator: &Simulator) -> (String, Vec<u8>) {
    let reported = post(simulator, MULTIMODAL, &speech()).await.json();
    let link = reported["output"]["audio"]["url"].as_str().unwrap();
    let link = link.replace("//simulator/", &format!("//{}/", simulator.address()));
    let file = follow(simulator, &link).await.body;
    (link, file)
}

async fn submitted(simulator: &Simulator, link: &str) -> String {
    let body = json!({"model": "paraformer-v2", "input": {"file_urls": [link]}});
    let reported = with_header(simulator, FILES, "x-dashscope-async", &body)
        .await
        .json();
    assert_eq!(reported["output"]["task_status"], "PENDING", "{reported}");
    reported["output"]["task_id"].as_str().unwrap().to_owned()
}

async fn polled(simulator: &Simulator, id: &str) -> Value {
    let path = format!("/api/v1/tasks/{id}");
    ask(simulator, "GET", &path, KEY, b"").await.json()
}

/// Asks until the state is another one; gives the states that were seen and the last answer.
async fn ended(simulator: &Simulator, id: &str) -> (Vec<String>, Value) {
    let mut states: Vec<String> = Vec::new();
    for _ in 0..2_000 {
        let reported = polled(simulator, id).await;
        let state = reported["output"]["task_status"]
            .as_str()
            .unwrap()
            .to_owned();
        let is_over = ["SUCCEEDED", "FAILED"].contains(&state.as_str());
        if states.last() != Some(&state) {
            states.push(state);
        }
        if is_over {
            return (states, reported);
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("it never ends: {states:?}");
}

#[tokio::test]
async fn a_task_waits_runs_and_names_its_transcript() {
    let settings = Settings {
        audio: AudioSettings {
            wait_millis: 400,
            run_millis: 400,
            ..AudioSettings::default()
        },
        ..Settings::default()
    };
    let simulator = Simulator::start(settings).await.unwrap();
    let (link, file) = spoken(&simulator).await;
    simulator.clear_requests();
    let id = submitted(&simulator, &link).await;
    let (states, reported) = ended(&simulator, &id).await;
    assert_eq!(states, ["PENDING", "RUNNING", "SUCCEEDED"]);
    assert_eq!(reported["usage"], json!({"duration": 2}));
    let result = &reported["output"]["results"][0];
    assert_eq!(result["file_url"], link);
    let got = follow(&simulator, result["transcription_url"].as_str().unwrap()).await;
    let text = transcript(&sha256(&file), "en");
    assert_eq!(got.json()["transcripts"][0]["text"], text);
    let call = only_call(&simulator);
    assert_eq!(
        (call.task.as_deref(), call.millis),
        (Some(id.as_str()), MILLIS)
    );
    assert_eq!(call.text, Some(text));
    let other = format!("/api/v1/tasks/{id}");
    let got = ask(
        &simulator,
        "GET",
        &other,
        "authorization: Bearer another-9999\r\n",
        b"",
    )
    .await;
    assert_eq!(got.json()["output"]["task_status"], "UNKNOWN");
}

#[tokio::test]
async fn tasks_fail_get_lost_and_say_odd_things_on_demand() {
    let settings = Settings {
        audio: AudioSettings {
            // Long enough to be seen running on a busy machine.
            run_millis: 1_000,
            ..AudioSettings::default()
        },
        ..Settings::default()
    };
    let simulator = Simulator::start(settings).await.unwrap();
    let (link, _) = spoken(&simulator).await;
    let repeated = |fault| {
        simulator.clear_plans();
        simulator.plan(always(audio(fault)));
    };
    repeated(AudioFault::TaskFails);
    let id = submitted(&simulator, &link).await;
    let (_, reported) = ended(&simulator, &id).await;
    assert_eq!(reported["output"]["code"], "InternalError.Algo");
    assert!(reported.get("usage").is_none());
    repeated(AudioFault::TaskOdd);
    let id = submitted(&simulator, &link).await;
    let (states, _) = ended(&simulator, &id).await;
    assert!(states.contains(&"REVIEWING".to_owned()), "{states:?}");
    assert_eq!(states.last().map(String::as_str), Some("SUCCEEDED"));
    repeated(AudioFault::TaskStuck);
    let id = submitted(&simulator, &link).await;
    tokio::time::sleep(Duration::from_millis(1_300)).await;
    assert_eq!(
        polled(&simulator, &id).await["output"]["task_status"],
        "RUNNING"
    );
    repeated(AudioFault::TaskSlow { millis: 1_700 });
    let began = std::time::Instant::now();
    let id = submitted(&simulator, &link).await;
    ended(&simulator, &id).await;
    assert!(began.elapsed() >= Duration::from_millis(1_700));
    repeated(AudioFault::DeadTranscript);
    let id = submitted(&simulator, &link).await;
    let (_, reported) = ended(&simulator, &id).await;
    let link = reported["output"]["results"][0]["transcription_url"].as_str();
    assert_eq!(follow(&simulator, link.unwrap()).await.status, 404);
    simulator.clear_plans();
    let gone = format!("http://{}/_audio/x.wav", simulator.address());
    let id = submitted(&simulator, &gone).await;
    let (_, reported) = ended(&simulator, &id).await;
    assert_eq!(reported["output"]["code"], "InvalidFile.DownloadFailed");
}

#[tokio::test]
async fn a_task_is_taken_only_as_the_vendor_takes_it() {
    let simulator = started().await;
    let body = json!({"model": "paraformer-v2", "input": {"file_urls": ["http://a/b"]}});
    let got = post(&simulator, FILES, &body).await;
    assert_eq!(
        (got.status, got.json()["code"].as_str()),
        (403, Some("AccessDenied"))
    );
    let got = post_as(&simulator, "", FILES, &body).await;
    assert_eq!(
        (got.status, got.json()["code"].as_str()),
        (401, Some("InvalidApiKey"))
    );
    simulator.plan(always(Fault::Status(503)));
    let got = with_header(&simulator, FILES, "x-dashscope-async", &body).await;
    assert_eq!(
        (got.status, got.json()["code"].as_str()),
        (503, Some("ServiceUnavailable"))
    );
    simulator.clear_plans();
    for input in [
        json!({}),
        json!({"file_urls": []}),
        json!({"file_url": "http://a/b"}),
    ] {
        let body = json!({"model": "paraformer-v2", "input": input});
        let got = with_header(&simulator, FILES, "x-dashscope-async", &body).await;
        assert_eq!(got.status, 400, "{input}");
    }
    assert_eq!(simulator.audio_calls(), []);
}

#[tokio::test]
async fn events_of_speech_fail_on_demand() {
    let simulator = started().await;
    simulator.plan(always(audio(AudioFault::GarbageAudio)));
    let got = with_header(&simulator, MULTIMODAL, "x-dashscope-sse", &speech()).await;
    assert!(
        got.text()
            .starts_with("id:1\nevent:result\n:HTTP_STATUS/200\ndata:{")
    );
    assert!(got.text().contains("!!not base64!!"));
    simulator.clear_plans();
    simulator.plan(always(Fault::CloseMidStream { after_frames: 2 }));
    let got = with_header(&simulator, MULTIMODAL, "x-dashscope-sse", &speech()).await;
    assert!(!got.is_whole && got.text().contains("id:2\n") && !got.text().contains("id:3\n"));
    simulator.clear_plans();
    simulator.plan(always(audio(AudioFault::CutFile)));
    let (link, file) = spoken(&simulator).await;
    assert_eq!(file.len(), (44 + usize::try_from(MILLIS).unwrap() * 48) / 2);
    // Nor can the vendor itself hear a file that breaks off.
    simulator.clear_plans();
    let id = submitted(&simulator, &link).await;
    let (_, reported) = ended(&simulator, &id).await;
    assert_eq!(reported["output"]["task_status"], "FAILED");
}

#[tokio::test]
async fn what_on_shared_paths_is_no_audio_is_left_to_others() {
    let simulator = started().await;
    let image = json!({"model": "qwen-image", "input": {"messages": [
        {"role": "user", "content": [{"text": "a fox"}]}
    ]}});
    post(&simulator, MULTIMODAL, &image).await;
    let chat = json!({"model": "qwen-max", "messages": [{"role": "user", "content": "hi"}]});
    post(&simulator, "/compatible-mode/v1/chat/completions", &chat).await;
    let got = ask(&simulator, "GET", "/api/v1/tasks/nothing", KEY, b"").await;
    assert_eq!(got.json()["output"]["task_status"], "UNKNOWN");
    assert_eq!(simulator.audio_calls(), []);
    let wrong = json!({"model": "qwen3-asr-flash", "messages": []});
    let got = post(&simulator, "/compatible-mode/v1/chat/completions", &wrong).await;
    let code = &got.json()["error"]["code"];
    assert_eq!((got.status, code), (400, &json!("invalid_parameter_error")));
}
