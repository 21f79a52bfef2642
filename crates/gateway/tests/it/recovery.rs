//! What failed is tried again by itself, carefully.

use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::net::TcpListener;
use trunkline_simulator::{Fault, Settings as SimulatorSettings, Simulator};

use crate::format_pairs::CoolDowns;
use crate::isolation::with_hands;
use crate::test_gateway::{TestGateway, ask};
use crate::upstreams::always;

const FAST: [(&str, &str); 1] = [("sim-fast", "sim-fast")];

async fn simulator(settings: SimulatorSettings) -> Simulator {
    Simulator::start(settings).await.unwrap()
}

#[tokio::test]
async fn one_call_at_a_time_tries_a_channel_that_was_skipped_and_the_others_are_served_elsewhere() {
    let rests = CoolDowns::new();
    let harness = with_hands(&rests).await;
    let failing = simulator(SimulatorSettings::default()).await;
    harness
        .channel("failing", &failing.base_url(), 0, &FAST)
        .await;
    failing.plan(always(Fault::Status(503)));
    let mut customers = Vec::new();
    for _ in 0..5 {
        customers.push(harness.customer().await);
    }
    for key in &customers {
        assert_eq!(harness.chat_as(key, "Hello").await.status, 200);
    }
    let skipped = failing.requests().len();
    assert_eq!(harness.chat(&ask("Hello")).await.status, 200);
    assert_eq!(failing.requests().len(), skipped, "it is skipped");
    // Healed, but slow: while one call tries it, the others do not wait for it.
    failing.clear_plans();
    failing.plan(always(Fault::SlowFirstByte { millis: 1_500 }));
    rests.rest();
    let calls = (0..6).map(|number| {
        let prompt = format!("Hello {number}");
        let harness = &harness;
        async move { harness.chat(&ask(&prompt)).await.status }
    });
    for status in futures_util::future::join_all(calls).await {
        assert_eq!(status, 200);
    }
    assert_eq!(failing.requests().len(), skipped + 1, "one trial");
    // The trial went well: all traffic is back.
    failing.clear_plans();
    for number in 0..3 {
        let got = harness.chat(&ask(&format!("Again {number}"))).await;
        assert_eq!(got.status, 200);
    }
    assert_eq!(failing.requests().len(), skipped + 4);
    failing.stop().await;
}

#[tokio::test]
async fn a_paused_credential_that_may_not_list_models_resumes_by_the_smallest_call() {
    let rests = CoolDowns::new();
    let harness = with_hands(&rests).await;
    let strict = simulator(SimulatorSettings {
        keys: vec!["another key".to_owned()],
        ..SimulatorSettings::default()
    })
    .await;
    let address = strict.address();
    harness
        .channel("first paused", &strict.base_url(), 0, &FAST)
        .await;
    assert_eq!(harness.chat(&ask("Hello")).await.status, 200);
    harness.gateway.probe_channels().await;
    harness.becomes_paused("first paused", true).await;
    strict.stop().await;
    let open = simulator(SimulatorSettings {
        bind: address,
        hides_models: true,
        ..SimulatorSettings::default()
    })
    .await;
    rests.rest();
    harness.gateway.probe_channels().await;
    harness.becomes_paused("first paused", false).await;
    let probes = open.requests();
    assert_eq!(probes.len(), 2, "the list and the smallest call");
    let body: Value = serde_json::from_slice(&probes[1].body).unwrap();
    assert_eq!(body["max_tokens"], 1);
    assert_eq!(harness.chat(&ask("Hello")).await.status, 200);
    assert_eq!(open.requests().len(), 3, "it is used again");
    open.stop().await;
}

#[tokio::test]
async fn a_channel_that_does_not_connect_within_its_providers_time_is_left_for_the_next() {
    let harness = TestGateway::new().await;
    // TCP stands, and the TLS handshake gets no answer.
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("https://{}/v1", silent.local_addr().unwrap());
    harness.channel("silent", &base, 0, &FAST).await;
    let began = Instant::now();
    assert_eq!(harness.chat(&ask("Hello")).await.status, 200);
    // The simulator's provider allows one second, the client two.
    let took = began.elapsed();
    assert!(took > Duration::from_millis(900), "{took:?}");
    assert!(took < Duration::from_millis(1_800), "{took:?}");
}
