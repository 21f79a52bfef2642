//! Realtime connections: sessions, responses in text and in audio, and what is written down of them.

use serde_json::json;
use tokio_tungstenite::tungstenite::Error;
use trunkline_simulator::{
    RealtimeEnd, RealtimeSettings, RealtimeTrigger, RealtimeUsage, Settings, Simulator,
};

use crate::client::{ask, started};
use crate::realtime_client::{
    BEARER, PATH, connect, greeted, logged, silence, speech, talking, texting, types,
};

async fn refused(simulator: &Simulator, path: &str, headers: &[(&'static str, &str)]) -> u16 {
    match connect(simulator, path, headers)
        .await
        .map_err(|error| *error)
    {
        Err(Error::Http(response)) => response.status().as_u16(),
        Err(error) => panic!("{error}"),
        Ok(_) => 101,
    }
}

#[tokio::test]
async fn a_client_with_a_bearer_key_is_greeted_with_its_session() {
    let simulator = started().await;
    let (client, created) = greeted(&simulator, PATH).await;
    let protocol = client.handshake.headers().get("sec-websocket-protocol");
    assert_eq!(protocol, None);
    let session = &created["session"];
    assert_eq!(session["type"], "realtime");
    assert_eq!(session["model"], "sim-voice");
    assert_eq!(session["output_modalities"], json!(["audio"]));
    let detection = &session["audio"]["input"]["turn_detection"];
    assert_eq!(detection["type"], "server_vad");
    assert!(session["expires_at"].as_u64().unwrap() > 0);
    assert_eq!(simulator.requests()[0].status, 101);
}

#[tokio::test]
async fn a_browser_sends_its_key_as_a_sub_protocol_and_never_gets_it_back() {
    let simulator = started().await;
    let offered = "realtime, openai-insecure-api-key.sk-browser-9876";
    let headers = [("sec-websocket-protocol", offered)];
    let mut client = connect(&simulator, PATH, &headers).await.unwrap();
    let selected = client.handshake.headers()["sec-websocket-protocol"].clone();
    assert_eq!(selected, "realtime");
    client.until("session.created").await;
    let connection = logged(&simulator, |_| true).await;
    assert_eq!(connection.key, "9876");
    let kept = format!("{:?}", simulator.requests());
    assert!(!kept.contains("sk-browser"), "{kept}");
}

#[tokio::test]
async fn a_client_without_a_good_key_or_model_is_refused_before_the_upgrade() {
    let settings = Settings {
        keys: vec!["sk-test-1234".to_owned()],
        ..Settings::default()
    };
    let simulator = Simulator::start(settings).await.unwrap();
    let wrong = ("authorization", "Bearer sk-wrong");
    assert_eq!(refused(&simulator, PATH, &[]).await, 401);
    assert_eq!(refused(&simulator, PATH, &[wrong]).await, 401);
    assert_eq!(refused(&simulator, "/v1/realtime", &[BEARER]).await, 400);
    let unknown = "/v1/realtime?model=unknown";
    assert_eq!(refused(&simulator, unknown, &[BEARER]).await, 404);
    assert_eq!(refused(&simulator, PATH, &[BEARER]).await, 101);
    let plain = ask(
        &simulator,
        "GET",
        PATH,
        "authorization: Bearer sk-test-1234\r\n",
        b"",
    )
    .await;
    assert_eq!(plain.status, 400);
}

#[tokio::test]
async fn a_browser_with_a_wrong_key_is_told_so_by_an_event_and_a_close() {
    let settings = Settings {
        keys: vec!["sk-test-1234".to_owned()],
        ..Settings::default()
    };
    let simulator = Simulator::start(settings).await.unwrap();
    let offered = "realtime, openai-insecure-api-key.sk-wrong";
    let headers = [("sec-websocket-protocol", offered)];
    let mut client = connect(&simulator, PATH, &headers).await.unwrap();
    assert_eq!(client.error().await["code"], "invalid_api_key");
    assert_eq!(client.closed().await, Some(3000));
}

#[tokio::test]
async fn a_client_changes_its_session_and_a_wrong_change_leaves_it_as_it_was() {
    let simulator = started().await;
    let (mut client, _) = greeted(&simulator, PATH).await;
    let session = json!({"type": "realtime", "instructions": "Be brief.", "max_output_tokens": 50});
    let updated = client.update(session).await;
    assert_eq!(updated["session"]["instructions"], "Be brief.");
    for (session, code) in [
        (json!({"instructions": "x"}), "missing_required_parameter"),
        (
            json!({"type": "realtime", "model": "sim-other"}),
            "cannot_update_model",
        ),
        (
            json!({"type": "realtime", "colour": 1}),
            "unknown_parameter",
        ),
        (
            json!({"type": "realtime", "max_output_tokens": 5000}),
            "invalid_value",
        ),
        (json!({"type": "transcription"}), "invalid_value"),
        (
            json!({"type": "realtime", "output_modalities": []}),
            "invalid_value",
        ),
        (
            json!({"type": "realtime", "audio": {"input": {"format": {"type": "audio/pcm", "rate": 16000}}}}),
            "invalid_value",
        ),
    ] {
        let event = json!({"type": "session.update", "event_id": "mine", "session": session});
        client.send(event).await;
        let error = client.error().await;
        assert_eq!(
            (&error["code"], &error["event_id"]),
            (&json!(code), &json!("mine"))
        );
    }
    let same = client.update(json!({"type": "realtime"})).await;
    assert_eq!(same["session"]["max_output_tokens"], 50);
    assert_eq!(same["session"]["instructions"], "Be brief.");
}

#[tokio::test]
async fn a_text_response_sends_its_events_in_order_and_its_usage() {
    let simulator = started().await;
    let mut client = texting(&simulator, "Answer.").await;
    client.write("[[id:first]] say six words to me now").await;
    let added = client.until("conversation.item.done").await;
    let item_events = ["conversation.item.added", "conversation.item.done"];
    assert!(types(&added).ends_with(&item_events));
    client.send(json!({"type": "response.create"})).await;
    let events = client.until("response.done").await;
    let names = types(&events);
    let deltas = names
        .iter()
        .filter(|name| **name == "response.output_text.delta");
    assert_eq!(deltas.count(), 6);
    let others: Vec<&str> = names
        .into_iter()
        .filter(|name| *name != "response.output_text.delta")
        .collect();
    let expected = [
        "response.created",
        "rate_limits.updated",
        "response.output_item.added",
        "conversation.item.added",
        "response.content_part.added",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "conversation.item.done",
        "response.done",
    ];
    assert_eq!(others, expected);
    let response = &events.last().unwrap()["response"];
    assert_eq!(response["status"], "completed");
    let content = &response["output"][0]["content"][0];
    assert_eq!(content["text"], "sim1 sim2 sim3 sim4 sim5 sim6");
    let usage = &response["usage"];
    assert_eq!(usage["output_tokens"], 6);
    assert_eq!(
        usage["output_token_details"],
        json!({"text_tokens": 6, "audio_tokens": 0})
    );
    let connection = logged(&simulator, |log| log.responses[0].status.is_some()).await;
    let served = &connection.responses[0];
    assert_eq!(served.marker.as_deref(), Some("first"));
    assert_eq!(served.trigger, RealtimeTrigger::Client);
    assert_eq!(served.reported, [served.usage]);
    assert_eq!(usage["input_tokens"], served.usage.input());
    assert_eq!((served.status, served.done_events), (Some("completed"), 1));
}

#[tokio::test]
async fn server_voice_detection_ends_a_turn_and_answers_it_in_audio() {
    let simulator = started().await;
    let mut client = talking(&simulator, "Answer.").await;
    client.append(&silence(400)).await;
    client.append(&speech(1_000)).await;
    client.append(&silence(490)).await;
    assert_eq!(
        client.event().await["type"],
        "input_audio_buffer.speech_started"
    );
    assert!(client.is_silent().await);
    client.append(&silence(10)).await;
    let events = client.until("response.done").await;
    let expected = [
        "input_audio_buffer.speech_stopped",
        "input_audio_buffer.committed",
        "conversation.item.added",
        "conversation.item.done",
        "response.created",
    ];
    assert!(
        types(&events).starts_with(&expected),
        "{:?}",
        types(&events)
    );
    assert_eq!(events[0]["audio_end_ms"], 1_900);
    let response = &events.last().unwrap()["response"];
    let usage = &response["usage"];
    // 300 ms before the speech, the speech, and the silence behind it.
    assert_eq!(usage["input_token_details"]["audio_tokens"], 18);
    let audio = events
        .iter()
        .filter(|event| event["type"] == "response.output_audio.delta");
    let bytes: usize = audio
        .map(|event| event["delta"].as_str().unwrap().len() * 3 / 4)
        .sum();
    let connection = logged(&simulator, |log| log.responses[0].status.is_some()).await;
    let served = &connection.responses[0];
    assert_eq!(served.trigger, RealtimeTrigger::Voice);
    let millis = usize::try_from(served.audio_millis).unwrap();
    assert!(bytes.abs_diff(millis * 48) < 100, "{bytes} {millis}");
    assert_eq!(served.usage.output_audio, served.audio_millis.div_ceil(50));
    assert_eq!(
        usage["output_token_details"]["audio_tokens"],
        served.usage.output_audio
    );
    assert_eq!(connection.audio_in_millis, 1_900);
}

#[tokio::test]
async fn the_whole_conversation_is_input_of_every_response_and_its_start_is_cached() {
    let simulator = started().await;
    let mut client = talking(&simulator, &"Be kind. ".repeat(60)).await;
    client.say(8_000).await;
    let first = client.done().await["usage"].clone();
    client.say(2_000).await;
    let second = client.done().await["usage"].clone();
    assert_eq!(first["input_token_details"]["cached_tokens"], 0);
    let cached = &second["input_token_details"]["cached_tokens_details"];
    assert_eq!(
        (&cached["text_tokens"], &cached["audio_tokens"]),
        (&json!(128), &json!(64))
    );
    let input = |usage: &serde_json::Value| usage["input_tokens"].as_u64().unwrap();
    let before = input(&first) + first["output_tokens"].as_u64().unwrap();
    // The new turn: 2.8 seconds at most, and what an item costs.
    assert!(input(&second) > before && input(&second) <= before + 28 + 3);
}

#[tokio::test]
async fn a_response_stops_at_its_most_output_tokens_as_incomplete() {
    let simulator = started().await;
    let mut client = texting(&simulator, "[[tokens:40]]").await;
    let response = json!({"max_output_tokens": 12});
    client
        .send(json!({"type": "response.create", "response": response}))
        .await;
    let done = client.done().await;
    assert_eq!(done["status"], "incomplete");
    assert_eq!(done["status_details"]["reason"], "max_output_tokens");
    assert_eq!(done["usage"]["output_tokens"], 12);
    assert_eq!(done["output"][0]["status"], "incomplete");
    let response = json!({"max_output_tokens": 30, "output_modalities": ["audio"]});
    client
        .send(json!({"type": "response.create", "response": response}))
        .await;
    let done = client.done().await;
    assert_eq!(done["status"], "incomplete");
    assert!(done["usage"]["output_tokens"].as_u64().unwrap() <= 30);
}

#[tokio::test]
async fn a_cancelled_response_ends_with_the_usage_of_what_was_sent() {
    let simulator = started().await;
    let mut client = texting(&simulator, "[[tokens:500]] [[pace:5]]").await;
    client.ask("go").await;
    for _ in 0..3 {
        client.until("response.output_text.delta").await;
    }
    client.send(json!({"type": "response.cancel"})).await;
    let done = client.done().await;
    assert_eq!(done["status"], "cancelled");
    assert_eq!(done["status_details"]["reason"], "client_cancelled");
    let tokens = done["usage"]["output_tokens"].as_u64().unwrap();
    let connection = logged(&simulator, |log| log.responses[0].status.is_some()).await;
    assert_eq!(connection.responses[0].usage.output_text, tokens);
    assert!((3..500).contains(&tokens));
    client.send(json!({"type": "response.cancel"})).await;
    assert_eq!(client.error().await["code"], "response_cancel_not_active");
}

#[tokio::test]
async fn speech_interrupts_the_response_that_is_being_spoken() {
    let simulator = started().await;
    let mut client = talking(&simulator, "[[tokens:300]] [[pace:5]]").await;
    client.say(500).await;
    client.until("response.output_audio.delta").await;
    client.append(&speech(200)).await;
    let done = client.done().await;
    assert_eq!(done["status"], "cancelled");
    assert_eq!(done["status_details"]["reason"], "turn_detected");
}

#[tokio::test]
async fn a_connection_is_written_down_with_how_it_ended() {
    let simulator = started().await;
    let mut client = texting(&simulator, "").await;
    client.ask("hello").await;
    client.done().await;
    client.socket.close(None).await.unwrap();
    let connection = logged(&simulator, |log| log.end.is_some()).await;
    assert_eq!(connection.end, Some(RealtimeEnd::ClientClosed(None)));
    assert!(connection.closed_at_micros >= Some(connection.opened_at_micros));
    let counted = ("response.create".to_owned(), 1);
    assert!(connection.events_in.contains(&counted));
    let page = ask(&simulator, "GET", "/_simulator/realtime", "", b"")
        .await
        .json();
    let served = &page["connections"][0]["responses"][0];
    let usage: RealtimeUsage = connection.responses[0].usage;
    assert_eq!(served["usage"]["input_text"], usage.input_text);
    assert_eq!(served["status"], "completed");
}

#[tokio::test]
async fn a_session_ends_at_its_maximum_duration_with_an_error_and_a_close() {
    let settings = Settings {
        realtime: RealtimeSettings {
            session_millis: 300,
            ..RealtimeSettings::default()
        },
        ..Settings::default()
    };
    let simulator = Simulator::start(settings).await.unwrap();
    let (mut client, _) = greeted(&simulator, PATH).await;
    let error = client.error().await;
    assert_eq!(error["code"], "session_expired");
    assert_eq!(client.closed().await, Some(1001));
    let connection = logged(&simulator, |log| log.end.is_some()).await;
    assert_eq!(connection.end, Some(RealtimeEnd::Closed(1001)));
}
