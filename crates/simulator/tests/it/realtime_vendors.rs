//! Realtime connections of Azure and of vendors that spell usage otherwise, and secrets for browsers.

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Error;
use trunkline_simulator::{RealtimeUsage, Simulator};

use crate::client::{post, started};
use crate::realtime_client::{BEARER, PATH, Realtime, connect, greeted, logged, types};

async fn status(simulator: &Simulator, path: &str, headers: &[(&'static str, &str)]) -> u16 {
    match connect(simulator, path, headers)
        .await
        .map_err(|error| *error)
    {
        Err(Error::Http(response)) => response.status().as_u16(),
        Err(error) => panic!("{error}"),
        Ok(_) => 101,
    }
}

/// One response of a vendor, its events.
async fn answered(client: &mut Realtime) -> Vec<Value> {
    client.ask("hello").await;
    client.until("response.done").await
}

#[tokio::test]
async fn azure_takes_its_own_header_on_both_addresses_and_names_the_dated_model() {
    let simulator = started().await;
    let key = [("api-key", "azure-4321")];
    for path in [
        "/openai/v1/realtime?model=sim-deployed",
        "/openai/realtime?api-version=2025-04-01-preview&deployment=sim-deployed",
    ] {
        let mut client = connect(&simulator, path, &key).await.unwrap();
        let created = client.until("session.created").await.pop().unwrap();
        let model = created["session"]["model"].as_str().unwrap();
        assert!(model.starts_with("sim-deployed-2026"), "{model}");
        let events = answered(&mut client).await;
        assert!(events.last().unwrap()["response"]["usage"]["total_tokens"].as_u64() > Some(0));
    }
    let log = simulator.realtime_connections();
    assert!(
        log.iter()
            .all(|one| one.vendor == "azure" && one.key == "4321")
    );
    let no_version = "/openai/realtime?deployment=sim-deployed";
    assert_eq!(status(&simulator, no_version, &key).await, 404);
    let whisper = "/openai/v1/realtime?model=gpt-realtime-whisper";
    assert_eq!(status(&simulator, whisper, &key).await, 400);
    let path = "/openai/v1/realtime?model=sim-deployed";
    assert_eq!(status(&simulator, path, &[]).await, 401);
}

#[tokio::test]
async fn zhipu_reports_zeros_under_the_names_of_the_beta() {
    let simulator = started().await;
    let (mut client, _) = greeted(&simulator, "/api/paas/v4/realtime").await;
    let session = json!({
        "beta_fields": {"chat_mode": "audio"},
        "turn_detection": {"type": "client_vad"},
        "modalities": ["text", "audio"],
    });
    client.update(session).await;
    let events = answered(&mut client).await;
    assert!(types(&events).contains(&"response.audio.delta"));
    assert!(types(&events).contains(&"conversation.item.created"));
    let usage = &events.last().unwrap()["response"]["usage"];
    assert_eq!(
        (&usage["total_tokens"], &usage["input_tokens"]),
        (&json!(0), &json!(0))
    );
    let connection = logged(&simulator, |log| log.responses[0].status.is_some()).await;
    let served = &connection.responses[0];
    assert_eq!(served.reported, [RealtimeUsage::default()]);
    assert!(served.usage.output_audio > 0 && served.audio_millis > 0);
}

#[tokio::test]
async fn xai_reports_an_empty_usage_and_answers_no_turn_unasked() {
    let simulator = started().await;
    let path = "/v1/realtime?model=grok-voice-latest";
    let mut client = connect(&simulator, path, &[BEARER]).await.unwrap();
    assert_eq!(client.event().await["type"], "conversation.created");
    client.until("session.created").await;
    client.say(500).await;
    client.until("conversation.item.done").await;
    assert!(client.is_silent().await);
    client.send(json!({"type": "response.create"})).await;
    assert_eq!(client.done().await["usage"], json!({}));
    let connection = logged(&simulator, |log| log.responses[0].status.is_some()).await;
    assert_eq!(connection.vendor, "xai");
}

#[tokio::test]
async fn alibaba_spells_the_details_of_usage_in_the_plural() {
    let simulator = started().await;
    let path = "/api-ws/v1/realtime?model=qwen3.5-omni-plus-realtime";
    let (mut client, _) = greeted(&simulator, path).await;
    client
        .update(json!({"modalities": ["text"], "turn_detection": null}))
        .await;
    let events = answered(&mut client).await;
    assert!(types(&events).contains(&"response.text.delta"));
    let usage = &events.last().unwrap()["response"]["usage"];
    assert_eq!(usage["output_tokens_details"]["text_tokens"], 5);
}

#[tokio::test]
async fn a_client_secret_opens_sessions_that_its_maker_set() {
    let simulator = started().await;
    let session = json!({"type": "realtime", "model": "sim-voice", "instructions": "Be brief."});
    let body = json!({
        "expires_after": {"anchor": "created_at", "seconds": 60},
        "session": session,
    });
    let path = "/v1/realtime/client_secrets";
    let minted = post(&simulator, path, &body).await.json();
    let secret = minted["value"].as_str().unwrap();
    assert!(secret.starts_with("ek_"));
    assert_eq!(minted["session"]["instructions"], "Be brief.");
    let offered = format!("realtime, openai-insecure-api-key.{secret}");
    let bearer = format!("Bearer {secret}");
    for header in [
        ("sec-websocket-protocol", offered.as_str()),
        ("authorization", &bearer),
    ] {
        let mut client = connect(&simulator, PATH, &[header]).await.unwrap();
        let created = client.until("session.created").await.pop().unwrap();
        assert_eq!(created["session"]["instructions"], "Be brief.");
    }
    let unknown = ("authorization", "Bearer ek_unknown");
    assert_eq!(status(&simulator, PATH, &[unknown]).await, 401);
    for seconds in [9, 7_201] {
        let body = json!({"expires_after": {"anchor": "created_at", "seconds": seconds}});
        assert_eq!(post(&simulator, path, &body).await.status, 400);
    }
}
