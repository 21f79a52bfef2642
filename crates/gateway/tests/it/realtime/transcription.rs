//! Sessions that make transcripts and nothing else.

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use trunkline_simulator::{RealtimeTranscription, RealtimeWork};

use super::harness::{Client, Refused, cost};
use crate::response::GatewayResponse;
use crate::test_gateway::TestGateway;

const TEN_USD: i64 = 10_000_000_000;
const PATH: &str = "/v1/realtime?intent=transcription";
const COMPLETED: &str = "conversation.item.input_audio_transcription.completed";

async fn connect(harness: &TestGateway) -> Result<Client, Refused> {
    let bearer = format!("Bearer {}", harness.key);
    harness
        .connect_as(PATH, &[("authorization", &bearer)])
        .await
}

async fn transcribe_by(client: &mut Client, model: &str) {
    let session = json!({
        "type": "transcription",
        "audio": { "input": {
            "transcription": { "model": model },
            "turn_detection": { "type": "server_vad" },
        } },
    });
    client
        .send(json!({ "type": "session.update", "session": session }))
        .await;
}

/// What a transcript costs, in nano-USD.
fn price(one: &RealtimeTranscription) -> i64 {
    let nanos = if one.is_by_duration {
        one.audio_millis.div_ceil(1_000) * 100_000
    } else {
        one.input_audio * 6_000 + one.input_text * 2_500 + one.output_text * 10_000
    };
    i64::try_from(nanos).unwrap()
}

async fn charged(harness: &TestGateway, event: &Value) -> i64 {
    let id = event["trunkline"]["request_id"].as_str().unwrap();
    let (outcome, paid, _, estimated) = harness.usage(id).await;
    assert_eq!((outcome.as_str(), estimated), ("complete", false));
    assert_eq!(paid, cost(event), "written before it is passed on");
    paid
}

#[tokio::test]
async fn a_client_that_only_transcribes_pays_each_transcript_before_it_gets_it() {
    let harness = TestGateway::realtime(TEN_USD).await;
    let mut client = connect(&harness).await.unwrap();
    let created = client.until("session.created").await;
    assert_eq!(created["session"]["type"], "transcription");
    assert!(harness.simulator.realtime_connections().is_empty());
    assert_eq!(harness.wallets().await[1], 0, "nothing is held yet");
    transcribe_by(&mut client, "live-ears").await;
    let updated = client.next().await.unwrap();
    assert_eq!(
        updated["type"], "session.updated",
        "one greeting: {updated}"
    );
    let input = &updated["session"]["audio"]["input"];
    assert_eq!(input["transcription"]["model"], "live-ears");
    assert!(harness.wallets().await[1] > 0, "held before audio is sent");
    let mut all = Vec::new();
    for millis in [2_000, 1_500] {
        client.speak(millis).await;
        let completed = client.until(COMPLETED).await;
        all.push(charged(&harness, &completed).await);
    }
    // Another transcriber of the same upstream, at its own price.
    transcribe_by(&mut client, "live-words").await;
    client.until("session.updated").await;
    client.speak(1_000).await;
    let completed = client.until(COMPLETED).await;
    all.push(charged(&harness, &completed).await);
    client.close().await;
    let spent = TEN_USD - harness.at_rest().await;
    let served = harness.ended().await;
    assert_eq!(served.work, RealtimeWork::Transcription);
    assert!(served.responses.is_empty());
    let prices: Vec<i64> = served.transcriptions.iter().map(price).collect();
    assert_eq!(all, prices);
    assert_eq!(spent, prices.iter().sum::<i64>());
}

#[tokio::test]
async fn a_client_secret_of_a_transcription_session_opens_one() {
    let harness = TestGateway::realtime(TEN_USD).await;
    let body = json!({ "session": {
        "type": "transcription",
        "audio": { "input": { "transcription": { "model": "live-words" }, "turn_detection": null } },
    } });
    let path = "/v1/realtime/client_secrets";
    let sent = harness
        .send(Method::POST, path, Bytes::from(body.to_string()))
        .await;
    let made = GatewayResponse::read(sent).await.json();
    let bearer = format!("Bearer {}", made["value"].as_str().unwrap());
    let connected = harness
        .connect_as("/v1/realtime", &[("authorization", &bearer)])
        .await;
    let mut client = connected.unwrap();
    client.until("session.created").await;
    client.speak(900).await;
    client
        .send(json!({ "type": "input_audio_buffer.commit" }))
        .await;
    let completed = client.until(COMPLETED).await;
    let paid = charged(&harness, &completed).await;
    client.close().await;
    assert_eq!(TEN_USD - harness.at_rest().await, paid);
    let served = harness.ended().await;
    assert_eq!(served.transcriptions.iter().map(price).sum::<i64>(), paid);
}

#[tokio::test]
async fn a_client_that_names_no_transcriber_or_asks_for_a_response_is_told_and_may_go_on() {
    let harness = TestGateway::realtime(TEN_USD).await;
    let mut client = connect(&harness).await.unwrap();
    client.until("session.created").await;
    for event in [
        json!({ "type": "input_audio_buffer.append", "audio": "AAAA" }),
        json!({ "type": "session.update", "session": { "type": "transcription" } }),
    ] {
        client.send(event).await;
        let error = client.until("error").await;
        assert_eq!(error["error"]["code"], "invalid_event");
    }
    assert!(harness.simulator.realtime_connections().is_empty());
    transcribe_by(&mut client, "live-ears").await;
    client.until("session.updated").await;
    client
        .send(json!({ "type": "response.create", "event_id": "mine" }))
        .await;
    let error = client.until("error").await;
    assert_eq!(error["error"]["event_id"], "mine");
    transcribe_by(&mut client, "unknown").await;
    let error = client.until("error").await;
    assert_eq!(error["error"]["code"], "model_not_found");
    client.speak(500).await;
    client.until(COMPLETED).await;
    client.close().await;
    harness.at_rest().await;
}

#[tokio::test]
async fn a_transcription_session_that_cannot_be_sold_ends_with_an_error_and_1008() {
    let harness = TestGateway::realtime(0).await;
    for (model, code) in [
        ("unknown", "model_not_found"),
        ("live-voice", "endpoint_not_supported"),
        ("live-ears", "insufficient_balance"),
    ] {
        let mut client = connect(&harness).await.unwrap();
        client.until("session.created").await;
        transcribe_by(&mut client, model).await;
        let (events, close) = client.rest().await;
        let last = events.last().unwrap();
        assert_eq!(
            (last["error"]["code"].as_str(), close),
            (Some(code), Some(1008)),
            "{model}: {last}"
        );
    }
    assert!(harness.simulator.realtime_connections().is_empty());
    harness.at_rest().await;
}

#[tokio::test]
async fn a_wallet_that_transcripts_use_up_is_closed_and_never_overdrawn() {
    // 31 seconds: half a minute is held ahead, and later what there is.
    let wallet = 3_100_000;
    let harness = TestGateway::realtime(wallet).await;
    let mut client = connect(&harness).await.unwrap();
    client.until("session.created").await;
    transcribe_by(&mut client, "live-ears").await;
    client.until("session.updated").await;
    let (mut paid, mut made, mut last) = (Vec::new(), 0, Value::Null);
    let close = 'open: loop {
        client.speak(4_000).await;
        made += 1;
        while paid.len() < made {
            match client.next().await {
                Ok(event) if event["type"] == COMPLETED => paid.push(cost(&event)),
                Ok(event) => last = event,
                Err(code) => break 'open code,
            }
        }
    };
    assert_eq!(
        (last["error"]["code"].as_str(), close),
        (Some("insufficient_balance"), Some(1008)),
        "{last}"
    );
    assert!(paid.len() >= 4, "{paid:?}");
    assert_eq!(wallet - harness.at_rest().await, paid.iter().sum::<i64>());
}
