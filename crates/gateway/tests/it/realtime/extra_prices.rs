//! Prices beside the faces: the time of a connection, and cached audio.

use std::time::Duration;

use bytes::Bytes;
use http::Method;
use serde_json::json;
use trunkline_gateway::{RealtimeSettings, Settings};

use super::harness::{cost, price_with};
use crate::nodes::nanos;
use crate::response::GatewayResponse;
use crate::test_gateway::TestGateway;

const TEN_USD: i64 = 10_000_000_000;
/// Nano-USD of a second, and of a token of cached audio.
const SECOND: i64 = 833_333;
const CACHED_AUDIO: u64 = 700;

fn charged_by(period: Duration) -> Settings {
    Settings {
        realtime: RealtimeSettings {
            charged_time: period,
            ..RealtimeSettings::default()
        },
        ..Settings::default()
    }
}

/// The seconds of each charge of time, smallest first.
async fn seconds_charged(harness: &TestGateway) -> Vec<i64> {
    let rows = "SELECT measured->>'connection_seconds' FROM ledger.usage
        WHERE measured ? 'connection_seconds' AND paid > 0";
    let rows = harness.db.ask(rows).await;
    let mut seconds: Vec<i64> = rows.iter().map(|row| row.parse().unwrap()).collect();
    seconds.sort_unstable();
    seconds
}

#[tokio::test]
async fn a_customer_pays_the_seconds_of_a_connection_and_cached_audio_at_prices_of_their_own() {
    let harness = TestGateway::realtime_with(charged_by(Duration::from_secs(1)), TEN_USD).await;
    let mut client = harness.connect_to("live-line").await;
    client.until("session.created").await;
    let mut charged = 0;
    for millis in [8_000, 500] {
        client.speak(millis).await;
        charged += cost(&client.until("response.done").await);
    }
    tokio::time::sleep(Duration::from_millis(2_300)).await;
    client.close().await;
    let spent = TEN_USD - harness.at_rest().await;
    let served = harness.ended().await;
    let cached: u64 = served
        .responses
        .iter()
        .map(|one| one.usage.cached_audio)
        .sum();
    assert!(cached > 0, "{:?}", served.responses);
    let tokens: i64 = served
        .responses
        .iter()
        .map(|one| price_with(&one.usage, CACHED_AUDIO))
        .sum();
    assert_eq!(charged, tokens, "each response is charged what was served");
    let seconds = seconds_charged(&harness).await;
    let whole = seconds.iter().filter(|seconds| **seconds == 1).count();
    assert!(whole >= 2, "a charge for each second: {seconds:?}");
    let sum: i64 = seconds.iter().sum();
    assert_eq!(spent, tokens + sum * SECOND);
    let open = served.closed_at_micros.unwrap() - served.opened_at_micros;
    let vendors = i64::try_from(open.div_ceil(1_000_000)).unwrap();
    assert!((vendors - 1..=vendors).contains(&sum), "{sum} of {vendors}");
}

#[tokio::test]
async fn a_wallet_that_pays_for_two_seconds_is_closed_after_them_and_pays_no_more() {
    let wallet = 2 * SECOND + SECOND / 2;
    let harness = TestGateway::realtime_with(charged_by(Duration::from_secs(1)), wallet).await;
    let mut client = harness.connect_to("live-time").await;
    client.until("session.created").await;
    let (events, code) = client.rest().await;
    let last = events.last().unwrap();
    assert_eq!(
        (last["error"]["code"].as_str(), code),
        (Some("insufficient_balance"), Some(1008)),
        "{last}"
    );
    assert_eq!(wallet - harness.at_rest().await, 2 * SECOND);
    assert_eq!(seconds_charged(&harness).await, [1, 1]);
}

#[tokio::test]
async fn a_wallet_without_the_first_second_is_refused_before_the_upgrade() {
    let harness = TestGateway::realtime(SECOND / 2).await;
    let bearer = format!("Bearer {}", harness.key);
    let path = "/v1/realtime?model=live-time";
    let refused = harness
        .connect_as(path, &[("authorization", &bearer)])
        .await;
    assert_eq!(refused.err().unwrap().status, 402);
    assert_eq!(harness.at_rest().await, SECOND / 2);
}

#[tokio::test]
async fn a_quote_of_realtime_has_a_line_for_the_seconds_of_the_connection() {
    let harness = TestGateway::realtime(TEN_USD).await;
    let body = json!({ "endpoint": "realtime", "body": { "model": "live-line", "seconds": 90 } });
    let sent = harness
        .send(Method::POST, "/v1/quotes", Bytes::from(body.to_string()))
        .await;
    let got = GatewayResponse::read(sent).await;
    assert_eq!(got.status.as_u16(), 200, "{}", got.text());
    let quote = got.json();
    let lines = quote["lines"].as_array().unwrap();
    let time = lines
        .iter()
        .find(|line| line["extra"] == "connection_second");
    let time = time.unwrap();
    assert_eq!(
        (&time["units"], nanos(&time["amount_usd"])),
        (&json!(90), 90 * SECOND)
    );
    assert_eq!(nanos(&quote["minimum_usd"]), 90 * SECOND);
    let sum: i64 = lines.iter().map(|line| nanos(&line["amount_usd"])).sum();
    assert_eq!(nanos(&quote["maximum_usd"]), sum, "{quote}");
    // 4,096 tokens of speech, and input ahead.
    assert!(sum > 90 * SECOND + 4_096 * 64_000, "{quote}");
    harness.at_rest().await;
}
