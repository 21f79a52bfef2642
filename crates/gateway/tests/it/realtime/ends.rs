//! Connections that end before their responses do.

use std::time::{Duration, Instant};

use http::StatusCode;
use serde_json::json;
use trunkline_edge::settings::AcceptSettings;
use trunkline_gateway::{RealtimeSettings, Settings};
use trunkline_simulator::{Fault, Rule};

use super::harness::{PATH, cost};
use crate::test_gateway::TestGateway;

const MONEY: i64 = 10_000_000_000;

#[tokio::test]
async fn an_upstream_that_closes_in_the_middle_is_not_charged_and_the_client_may_connect_anew() {
    let harness = TestGateway::realtime(MONEY).await;
    let mut client = harness.connect().await;
    client.until("session.created").await;
    client.text_session("Answer.").await;
    let first = client.ask("Whole").await;
    client
        .write("Broken [[fault:close_mid_stream:7]] [[tokens:60]]")
        .await;
    client.send(json!({ "type": "response.create" })).await;
    let (events, code) = client.rest().await;
    let last = events.last().unwrap();
    assert_eq!(
        (last["type"].as_str(), code),
        (Some("error"), Some(1011)),
        "{last}"
    );
    assert_eq!(last["error"]["code"], "upstream_error");
    assert_eq!(MONEY - harness.at_rest().await, cost(&first));
}

#[tokio::test]
async fn a_client_that_vanishes_pays_for_what_was_made_and_the_response_is_cancelled() {
    let harness = TestGateway::realtime(MONEY).await;
    let mut client = harness.connect().await;
    client.until("session.created").await;
    client.text_session("Answer.").await;
    client.write("At length [[tokens:400]] [[pace:20]]").await;
    client.send(json!({ "type": "response.create" })).await;
    client.until("response.output_text.delta").await;
    drop(client);
    let spent = MONEY - harness.at_rest().await;
    assert!(spent > 0 && spent < 400 * 24_000, "{spent}");
    let outcomes = "SELECT outcome FROM ledger.usage WHERE outcome <> 'cancelled'";
    assert_eq!(harness.db.ask(outcomes).await, ["client_gone"]);
    let served = harness.served();
    assert_eq!(served.responses[0].status, Some("cancelled"));
}

// covers: D-3-75
#[tokio::test]
async fn an_upgrade_that_fails_after_it_was_sent_is_not_tried_at_another_channel() {
    let harness = TestGateway::realtime(MONEY).await;
    let base = format!("http://{}/v1", harness.simulator.address());
    harness
        .before("openai", &base, &[("live-voice", "sim-voice")])
        .await;
    harness.simulator.plan(Rule {
        fault: Fault::Status(500),
        times: Some(2),
        model: None,
        key: None,
        one_in: 1,
    });
    let bearer = format!("Bearer {}", harness.key);
    let refused = harness
        .connect_as(PATH, &[("authorization", &bearer)])
        .await;
    assert_eq!(
        refused.err().unwrap().status,
        StatusCode::BAD_GATEWAY.as_u16()
    );
    // One of the two faults is left: a second submission would have used it up.
    let refused = harness
        .connect_as(PATH, &[("authorization", &bearer)])
        .await;
    assert_eq!(
        refused.err().unwrap().status,
        StatusCode::BAD_GATEWAY.as_u16()
    );
    harness.connect().await.close().await;
    harness.at_rest().await;
}

#[tokio::test]
async fn a_draining_node_says_so_when_no_response_runs() {
    let harness = TestGateway::realtime(MONEY).await;
    let mut client = harness.connect().await;
    client.until("session.created").await;
    client.text_session("Answer.").await;
    let done = client.ask("Before the end").await;
    harness.gateway.drain();
    let (events, code) = client.rest().await;
    assert_eq!((events.len(), code), (1, Some(1012)));
    assert_eq!(events[0]["error"]["code"], "temporarily_unavailable");
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(MONEY - harness.at_rest().await, cost(&done));
}

#[tokio::test]
async fn a_frame_that_a_node_has_no_memory_for_ends_the_connection_of_its_client() {
    let settings = Settings {
        accept: AcceptSettings {
            max_buffered_bytes: 1 << 20,
            ..AcceptSettings::default()
        },
        ..Settings::default()
    };
    let harness = TestGateway::realtime_with(settings, MONEY).await;
    let mut client = harness.connect().await;
    client.until("session.created").await;
    for (bytes, fits) in [(1 << 19, true), (1 << 21, false)] {
        let audio = "A".repeat(bytes);
        client
            .send(json!({ "type": "input_audio_buffer.append", "audio": audio }))
            .await;
        if fits {
            client.text_session("Answer.").await;
        }
    }
    let (events, code) = client.rest().await;
    let last = events.last().unwrap();
    assert_eq!(
        (last["error"]["code"].as_str(), code),
        (Some("overloaded"), Some(1013))
    );
    harness.at_rest().await;
}

fn limited(longest: Duration, idle: Duration) -> Settings {
    Settings {
        realtime: RealtimeSettings {
            longest,
            idle,
            ..RealtimeSettings::default()
        },
        ..Settings::default()
    }
}

#[tokio::test]
async fn a_client_that_sends_nothing_for_long_is_closed_with_1001_and_a_pong_is_nothing() {
    let mut settings = limited(Duration::from_secs(60), Duration::from_millis(1_500));
    settings.realtime.ping = Duration::from_millis(400);
    let harness = TestGateway::realtime_with(settings, MONEY).await;
    let mut client = harness.connect().await;
    client.until("session.created").await;
    client.text_session("Answer.").await;
    let done = client.ask("Before the silence").await;
    let began = Instant::now();
    // Reading answers the pings.
    let (events, code) = client.rest().await;
    assert!(began.elapsed() > Duration::from_millis(1_200));
    assert_eq!((events.len(), code), (1, Some(1001)), "{events:?}");
    assert_eq!(events[0]["error"]["code"], "session_expired");
    assert_eq!(MONEY - harness.at_rest().await, cost(&done));
}

#[tokio::test]
async fn a_client_that_is_busy_is_closed_with_1001_when_its_connection_is_as_old_as_it_may_be() {
    let settings = limited(Duration::from_secs(2), Duration::from_secs(60));
    let harness = TestGateway::realtime_with(settings, MONEY).await;
    let mut client = harness.connect().await;
    client.until("session.created").await;
    client.text_session("Answer.").await;
    let began = Instant::now();
    let (mut charged, mut dearest, mut last) = (0, 0, json!(null));
    let code = 'open: loop {
        client.write("Go on").await;
        client.send(json!({ "type": "response.create" })).await;
        loop {
            match client.next().await {
                Ok(event) if event["type"] == "response.done" => {
                    charged += cost(&event);
                    dearest = dearest.max(cost(&event));
                    break;
                }
                Ok(event) => last = event,
                Err(code) => break 'open code,
            }
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    };
    assert!(began.elapsed() > Duration::from_millis(1_500));
    assert_eq!(code, Some(1001));
    assert_eq!(last["error"]["code"], "session_expired", "{last}");
    // A response that is cut is charged as far as it was written.
    let of_cut = MONEY - harness.at_rest().await - charged;
    assert!((0..=dearest).contains(&of_cut), "{of_cut} of {dearest}");
}
