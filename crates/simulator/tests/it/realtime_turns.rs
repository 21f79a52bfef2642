//! Turns, transcripts, items and calls of realtime connections.

use serde_json::json;
use trunkline_simulator::{
    Fault, RealtimeFault, RealtimeSettings, RealtimeTrigger, RealtimeWork, Rule, Settings,
    Simulator,
};

use crate::client::{always, started};
use crate::realtime_client::{
    PATH, Realtime, greeted, logged, silence, speech, talking, texting, types,
};

async fn simulator_with(realtime: RealtimeSettings) -> Simulator {
    let settings = Settings {
        realtime,
        ..Settings::default()
    };
    Simulator::start(settings).await.unwrap()
}

/// A session with voice detection that writes down what it hears.
async fn transcribing(simulator: &Simulator, model: &str) -> Realtime {
    let mut client = talking(simulator, "").await;
    let input = json!({"transcription": {"model": model}});
    let session = json!({"type": "realtime", "audio": {"input": input}});
    client.update(session).await;
    client
}

#[tokio::test]
async fn a_client_that_marks_its_own_turns_commits_what_it_appended() {
    let simulator = started().await;
    let mut client = texting(&simulator, "").await;
    client.append(&speech(50)).await;
    client
        .send(json!({"type": "input_audio_buffer.commit"}))
        .await;
    let code = client.error().await["code"].clone();
    assert_eq!(code, "input_audio_buffer_commit_empty");
    client.append(&speech(950)).await;
    client.append(&silence(1_000)).await;
    client
        .send(json!({"type": "input_audio_buffer.commit"}))
        .await;
    let events = client.until("conversation.item.done").await;
    assert_eq!(events[0]["type"], "input_audio_buffer.committed");
    // No response comes by itself.
    assert!(client.is_silent().await);
    client.send(json!({"type": "response.create"})).await;
    let usage = client.done().await["usage"].clone();
    assert_eq!(usage["input_token_details"]["audio_tokens"], 20);
}

#[tokio::test]
async fn a_client_clears_what_it_appended() {
    let simulator = started().await;
    let mut client = talking(&simulator, "").await;
    client.append(&speech(1_000)).await;
    client.until("input_audio_buffer.speech_started").await;
    client
        .send(json!({"type": "input_audio_buffer.clear"}))
        .await;
    client.until("input_audio_buffer.cleared").await;
    client.append(&silence(2_000)).await;
    assert!(client.is_silent().await);
}

#[tokio::test]
async fn semantic_voice_detection_waits_by_its_eagerness() {
    let simulator = started().await;
    let mut client = talking(&simulator, "").await;
    for (eagerness, millis) in [("high", 500), ("auto", 1_000), ("low", 2_000)] {
        let detection = json!({"type": "semantic_vad", "eagerness": eagerness});
        let input = json!({"turn_detection": detection});
        let session = json!({"type": "realtime", "audio": {"input": input}});
        client.update(session).await;
        client.append(&speech(500)).await;
        client.append(&silence(millis - 10)).await;
        client.until("input_audio_buffer.speech_started").await;
        assert!(client.is_silent().await, "{eagerness}");
        client.append(&silence(10)).await;
        assert_eq!(client.done().await["status"], "completed", "{eagerness}");
    }
}

#[tokio::test]
async fn a_turn_makes_no_response_where_the_session_says_so() {
    let simulator = started().await;
    let mut client = talking(&simulator, "").await;
    let detection = json!({"type": "server_vad", "create_response": false});
    let input = json!({"turn_detection": detection});
    client
        .update(json!({"type": "realtime", "audio": {"input": input}}))
        .await;
    client.say(500).await;
    client.until("conversation.item.done").await;
    assert!(client.is_silent().await);
}

#[tokio::test]
async fn telephone_audio_is_heard_and_spoken() {
    let simulator = started().await;
    let mut client = talking(&simulator, "").await;
    let format = json!({"type": "audio/pcmu"});
    let audio = json!({"input": {"format": format}, "output": {"format": format}});
    client
        .update(json!({"type": "realtime", "audio": audio}))
        .await;
    client.append(&[0xff; 8_000]).await;
    client.append(&[0x20; 8_000]).await;
    client.append(&[0xff; 4_000]).await;
    let events = client.until("response.done").await;
    assert_eq!(events[0]["audio_start_ms"], 700);
    let connection = logged(&simulator, |log| log.responses[0].status.is_some()).await;
    assert_eq!(connection.audio_in_millis, 2_500);
    assert_eq!(connection.responses[0].usage.input_audio, 18);
}

#[tokio::test]
async fn a_silent_client_is_spoken_to_after_its_idle_timeout() {
    let simulator = simulator_with(RealtimeSettings {
        min_idle_timeout_millis: 50,
        ..RealtimeSettings::default()
    })
    .await;
    let mut client = talking(&simulator, "").await;
    let detection = json!({"type": "server_vad", "idle_timeout_ms": 100});
    let input = json!({"turn_detection": detection});
    client
        .update(json!({"type": "realtime", "audio": {"input": input}}))
        .await;
    client.say(500).await;
    client.done().await;
    client.until("input_audio_buffer.timeout_triggered").await;
    client.done().await;
    let connection = logged(&simulator, |log| log.responses.len() > 1).await;
    let triggers: Vec<_> = connection.responses.iter().map(|one| one.trigger).collect();
    assert_eq!(
        triggers[..2],
        [RealtimeTrigger::Voice, RealtimeTrigger::Idle]
    );
}

#[tokio::test]
async fn a_transcriber_that_is_paid_by_tokens_reports_its_own_usage_before_the_response() {
    let simulator = started().await;
    let mut client = transcribing(&simulator, "gpt-4o-mini-transcribe").await;
    client.say(1_500).await;
    let events = client.until("response.done").await;
    let completed = "conversation.item.input_audio_transcription.completed";
    let names = types(&events);
    let at = names.iter().position(|name| *name == completed).unwrap();
    let created = names.iter().position(|name| *name == "response.created");
    assert!(Some(at) < created);
    assert_eq!(events[at]["transcript"], "heard1 heard2 heard3 heard4");
    let usage = &events[at]["usage"];
    let details = json!({"text_tokens": 0, "audio_tokens": 20});
    assert_eq!(usage["input_token_details"], details);
    assert_eq!(
        (&usage["type"], &usage["output_tokens"]),
        (&json!("tokens"), &json!(4))
    );
    let connection = logged(&simulator, |log| log.transcriptions.len() == 1).await;
    let served = &connection.transcriptions[0];
    assert_eq!((served.input_audio, served.output_text), (20, 4));
    assert!(served.is_reported && !served.is_by_duration);
}

#[tokio::test]
async fn a_transcriber_that_is_paid_by_time_reports_seconds() {
    let simulator = started().await;
    let mut client = transcribing(&simulator, "whisper-1").await;
    client.say(1_500).await;
    let completed = "conversation.item.input_audio_transcription.completed";
    let event = client.until(completed).await.pop().unwrap();
    assert_eq!(event["usage"], json!({"type": "duration", "seconds": 2.0}));
}

#[tokio::test]
async fn a_transcription_comes_late_fails_or_lacks_its_usage_on_demand() {
    let simulator = started().await;
    let mut client = transcribing(&simulator, "gpt-4o-mini-transcribe").await;
    let once = |fault| Rule {
        times: Some(1),
        ..always(Fault::Realtime(fault))
    };
    simulator.plan(once(RealtimeFault::LateTranscription));
    client.say(500).await;
    client.done().await;
    let completed = "conversation.item.input_audio_transcription.completed";
    client.until(completed).await;
    simulator.plan(once(RealtimeFault::TranscriptionFails));
    client.say(500).await;
    let failed = "conversation.item.input_audio_transcription.failed";
    client.until(failed).await;
    client.done().await;
    simulator.plan(once(RealtimeFault::NoTranscriptionUsage));
    client.say(500).await;
    let event = client.until(completed).await.pop().unwrap();
    assert_eq!(event.get("usage"), None);
    let connection = logged(&simulator, |log| log.transcriptions.len() == 3).await;
    let flags: Vec<_> = connection
        .transcriptions
        .iter()
        .map(|one| (one.is_reported, one.has_failed))
        .collect();
    assert_eq!(flags, [(true, false), (false, true), (false, false)]);
}

#[tokio::test]
async fn a_transcription_session_writes_down_turns_and_makes_no_response() {
    let simulator = started().await;
    let path = "/v1/realtime?intent=transcription";
    let (mut client, created) = greeted(&simulator, path).await;
    assert_eq!(created["session"]["type"], "transcription");
    let transcription = json!({"model": "gpt-realtime-whisper"});
    let input = json!({"transcription": transcription});
    let session = json!({"type": "transcription", "audio": {"input": input}});
    client
        .send(json!({"type": "session.update", "session": session}))
        .await;
    // This transcriber takes no voice detection.
    assert_eq!(client.error().await["code"], "invalid_value");
    let input = json!({"transcription": transcription, "turn_detection": null});
    client
        .update(json!({"type": "transcription", "audio": {"input": input}}))
        .await;
    client.append(&speech(3_200)).await;
    client
        .send(json!({"type": "input_audio_buffer.commit"}))
        .await;
    let completed = "conversation.item.input_audio_transcription.completed";
    let event = client.until(completed).await.pop().unwrap();
    assert_eq!(event["usage"], json!({"type": "duration", "seconds": 3.2}));
    client.send(json!({"type": "response.create"})).await;
    assert_eq!(client.error().await["code"], "invalid_event");
    let connection = logged(&simulator, |_| true).await;
    assert_eq!(connection.work, RealtimeWork::Transcription);
}

#[tokio::test]
async fn a_model_calls_a_function_and_answers_its_output() {
    let simulator = started().await;
    let mut client = texting(&simulator, "").await;
    let parameters = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    let tool = json!({"type": "function", "name": "weather", "parameters": parameters});
    client
        .update(json!({"type": "realtime", "tools": [tool]}))
        .await;
    client
        .ask(r#"[[call:weather {"city": "Paris or Rome"}]]"#)
        .await;
    let events = client.until("response.done").await;
    let names = types(&events);
    assert!(names.contains(&"response.function_call_arguments.delta"));
    let done = "response.function_call_arguments.done";
    let call = events.iter().find(|event| event["type"] == done).unwrap();
    assert_eq!(call["arguments"], r#"{"city": "Paris or Rome"}"#);
    let response = &events.last().unwrap()["response"];
    assert_eq!(response["output"][0]["type"], "function_call");
    assert_eq!(response["usage"]["output_tokens"], 4);
    let output =
        json!({"type": "function_call_output", "call_id": call["call_id"], "output": "ok"});
    client
        .send(json!({"type": "conversation.item.create", "item": output}))
        .await;
    client.send(json!({"type": "response.create"})).await;
    let done = client.done().await;
    assert_eq!(done["output"][0]["type"], "message");
}

#[tokio::test]
async fn an_item_is_retrieved_and_deleted_and_an_unknown_one_is_refused() {
    let simulator = started().await;
    let mut client = texting(&simulator, "").await;
    client.write("hello").await;
    let added = client.until("conversation.item.done").await.pop().unwrap();
    let id = added["item"]["id"].clone();
    for (kind, answer, code) in [
        ("retrieve", "retrieved", "item_retrieve_invalid_item_id"),
        ("delete", "deleted", "item_delete_invalid_item_id"),
    ] {
        let kind = format!("conversation.item.{kind}");
        client.send(json!({"type": kind, "item_id": id})).await;
        client.until(&format!("conversation.item.{answer}")).await;
        client
            .send(json!({"type": kind, "item_id": "item_none"}))
            .await;
        assert_eq!(client.error().await["code"], code);
    }
    client.send(json!({"type": "response.create"})).await;
    let usage = client.done().await["usage"].clone();
    // The instructions alone, which are empty.
    assert_eq!(usage["input_tokens"], 3);
}

#[tokio::test]
async fn audio_that_was_not_heard_is_truncated_and_costs_no_more() {
    let simulator = started().await;
    let mut client = talking(&simulator, "").await;
    client.say(500).await;
    let response = client.done().await;
    let id = response["output"][0]["id"].clone();
    let truncate = json!({
        "type": "conversation.item.truncate",
        "item_id": id,
        "content_index": 0,
        "audio_end_ms": 100,
    });
    client.send(truncate.clone()).await;
    let truncated = client
        .until("conversation.item.truncated")
        .await
        .pop()
        .unwrap();
    assert_eq!(truncated["audio_end_ms"], 100);
    client.send(json!({"type": "response.create"})).await;
    let usage = client.done().await["usage"].clone();
    // One second of the client's, and a tenth of the model's.
    assert_eq!(usage["input_token_details"]["audio_tokens"], 10 + 2);
    let mut longer = truncate;
    longer["audio_end_ms"] = json!(200);
    client.send(longer).await;
    assert_eq!(client.error().await["code"], "invalid_value");
}

#[tokio::test]
async fn a_conversation_that_is_too_long_is_truncated_or_refused() {
    let simulator = simulator_with(RealtimeSettings {
        context_tokens: 800,
        ..RealtimeSettings::default()
    })
    .await;
    let mut client = texting(&simulator, "").await;
    for _ in 0..4 {
        client.write(&"word ".repeat(160)).await;
    }
    client
        .send(json!({"type": "response.create", "response": {"max_output_tokens": 5}}))
        .await;
    let usage = client.done().await["usage"].clone();
    // Three of four messages of 203 tokens and the instructions would be 612, all are 815; 700 fit.
    assert_eq!(usage["input_tokens"], 3 + 3 * 203);
    client
        .update(json!({"type": "realtime", "truncation": "disabled"}))
        .await;
    client.write(&"word ".repeat(160)).await;
    client.send(json!({"type": "response.create"})).await;
    let done = client.done().await;
    assert_eq!(done["status"], "failed");
    assert_eq!(done["usage"]["total_tokens"], 0);
}

#[tokio::test]
async fn a_response_out_of_band_runs_beside_the_conversation_with_its_own_input() {
    let simulator = started().await;
    let mut client = texting(&simulator, "").await;
    client.ask("[[tokens:30]] [[pace:10]] go").await;
    client.until("response.output_text.delta").await;
    client.send(json!({"type": "response.create"})).await;
    let code = client.error().await["code"].clone();
    assert_eq!(code, "conversation_already_has_active_response");
    let content = json!([{"type": "input_text", "text": "[[tokens:2]] classify"}]);
    let item = json!({"type": "message", "role": "user", "content": content});
    let response = json!({"conversation": "none", "input": [item], "metadata": {"topic": "x"}});
    client
        .send(json!({"type": "response.create", "response": response}))
        .await;
    let first = client.done().await;
    assert_eq!(first["metadata"]["topic"], "x");
    assert_eq!(
        (&first["conversation_id"], &first["usage"]["output_tokens"]),
        (&json!(null), &json!(2))
    );
    let second = client.done().await;
    assert_eq!(second["usage"]["output_tokens"], 30);
}

#[tokio::test]
async fn a_voice_is_fixed_once_it_was_heard() {
    let simulator = started().await;
    let (mut client, _) = greeted(&simulator, PATH).await;
    let voice = |name: &str| json!({"type": "realtime", "audio": {"output": {"voice": name}}});
    client.update(voice("cedar")).await;
    client.say(500).await;
    client.done().await;
    client
        .send(json!({"type": "session.update", "session": voice("marin")}))
        .await;
    assert_eq!(client.error().await["code"], "cannot_update_voice");
    client.update(voice("cedar")).await;
}

#[tokio::test]
async fn fifteen_mebibytes_of_audio_fit_into_one_event() {
    let simulator = started().await;
    let mut client = texting(&simulator, "").await;
    client.append(&vec![0; 15 * 1024 * 1024]).await;
    client
        .send(json!({"type": "input_audio_buffer.commit"}))
        .await;
    client.until("input_audio_buffer.committed").await;
    let connection = logged(&simulator, |_| true).await;
    assert_eq!(connection.audio_in_millis, 15 * 1024 * 1024 / 48);
}
