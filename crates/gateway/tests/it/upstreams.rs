//! What upstreams do wrong, and what it costs the customer: nothing.

use std::time::Duration;

use trunkline_gateway::Settings;
use trunkline_simulator::{Fault, Rule};
use trunkline_store::channels;

use crate::test_gateway::{CANARY, TestGateway, ask, ask_streaming};

pub(crate) fn always(fault: Fault) -> Rule {
    Rule {
        fault,
        times: None,
        model: None,
        key: None,
        one_in: 1,
    }
}

fn hasty() -> Settings {
    Settings {
        whole_wait: Duration::from_millis(700),
        stream_idle: Duration::from_millis(700),
        ..Settings::default()
    }
}

async fn nothing_was_charged(harness: &TestGateway) {
    assert_eq!(harness.posted_at_rest().await, 10_000_000_000);
    harness.audit().await;
}

// covers: D-2-43, D-3-47, D-3-51
#[tokio::test]
async fn a_failure_before_the_answer_has_a_status_and_costs_nothing() {
    let cases = [
        (Fault::CloseBeforeHeaders, 502, "upstream_error"),
        (Fault::HangBeforeHeaders, 504, "upstream_timeout"),
        (Fault::TruncatedJson, 502, "upstream_error"),
        (Fault::Status(500), 502, "upstream_error"),
        (Fault::Status(503), 502, "upstream_error"),
        (Fault::Status(529), 502, "upstream_error"),
        (Fault::ErrorInside200, 502, "upstream_error"),
        (Fault::WrongContentLength, 502, "upstream_error"),
        (
            Fault::RateLimited {
                retry_after_secs: 7,
            },
            429,
            "upstream_rate_limited",
        ),
    ];
    for (fault, status, code) in cases {
        let harness = TestGateway::with(hasty(), 10_000_000_000, 0).await;
        harness.simulator.plan(always(fault));
        let got = harness.chat(&ask("Hello")).await;
        assert_eq!(
            (got.status.as_u16(), got.code().as_str()),
            (status, code),
            "{fault:?}"
        );
        assert_eq!(got.json()["error"]["charged"], false);
        if status == 429 {
            assert_eq!(got.header("retry-after").as_deref(), Some("7"));
        }
        let (outcome, charged, _, _) = harness.usage(&got.id()).await;
        assert_ne!(outcome, "complete");
        assert_eq!(charged, 0);
        nothing_was_charged(&harness).await;
    }
}

// covers: D-2-44, D-3-76
#[tokio::test]
async fn a_stream_that_breaks_ends_with_an_error_event_and_costs_nothing() {
    let cases = [
        Fault::HangMidStream { after_frames: 3 },
        Fault::CloseMidStream { after_frames: 3 },
        Fault::GarbageFrame { after_frames: 3 },
        Fault::ErrorFrameMidStream { after_frames: 3 },
        Fault::GiganticFrame { bytes: 9_000_000 },
    ];
    for fault in cases {
        let harness = TestGateway::with(hasty(), 10_000_000_000, 0).await;
        harness.simulator.plan(always(fault));
        let got = harness.chat(&ask_streaming("Tell me [[tokens:20]]")).await;
        let text = got.text();
        assert!(!text.contains("[DONE]"), "{fault:?}: {text}");
        if got.status == 200 {
            let last = got.frames().pop().unwrap();
            assert_eq!(last["error"]["charged"], false, "{fault:?}: {text}");
        }
        nothing_was_charged(&harness).await;
    }
}

#[tokio::test]
async fn strange_but_whole_streams_are_charged_once() {
    let cases = [
        Fault::NoDone,
        Fault::SplitUsage,
        Fault::SplitBytes { chunk: 3 },
        Fault::CrLf,
        Fault::SlowDrip { millis: 5 },
    ];
    for fault in cases {
        let harness = TestGateway::new().await;
        harness.simulator.plan(always(fault));
        let got = harness.chat(&ask_streaming("Tell me [[tokens:9]]")).await;
        assert!(
            got.text().ends_with("data: [DONE]\n\n"),
            "{fault:?}: {}",
            got.text()
        );
        let (outcome, charged, _, estimated) = harness.usage(&got.id()).await;
        assert_eq!(
            (outcome.as_str(), estimated),
            ("complete", false),
            "{fault:?}"
        );
        assert_eq!(harness.posted_at_rest().await, 10_000_000_000 - charged);
        assert!(charged > 9 * 8_000);
        harness.audit().await;
    }
}

#[tokio::test]
async fn usage_that_is_missing_is_counted_and_marked() {
    for stream in [false, true] {
        let harness = TestGateway::new().await;
        harness.simulator.plan(always(Fault::NoUsage));
        let mut body = ask("Tell me a little more than nothing [[tokens:20]]");
        body["stream"] = stream.into();
        let got = harness.chat(&body).await;
        assert_eq!(got.status, 200, "{}", got.text());
        let (outcome, charged, _, estimated) = harness.usage(&got.id()).await;
        assert_eq!((outcome.as_str(), estimated), ("complete", true));
        assert!(charged > 0);
        harness.audit().await;
    }
}

#[tokio::test]
async fn usage_that_lies_is_charged_no_further_than_the_wallet_goes() {
    let harness = TestGateway::with(Settings::default(), 3_000_000, 0).await;
    harness
        .simulator
        .plan(always(Fault::LyingUsage { factor: 1_000_000 }));
    let mut body = ask("Hi [[tokens:10]]");
    body["max_tokens"] = 20.into();
    let got = harness.chat(&body).await;
    assert_eq!(got.status, 200, "{}", got.text());
    assert!(harness.posted_at_rest().await >= 0);
    harness.audit().await;
}

// covers: D-3-69
#[tokio::test]
async fn another_channel_answers_when_the_first_one_does_not() {
    for fault in [
        Fault::CloseBeforeHeaders,
        Fault::Status(500),
        Fault::Status(401),
        Fault::RateLimited {
            retry_after_secs: 1,
        },
    ] {
        let harness = TestGateway::new().await;
        let broken = trunkline_simulator::Simulator::start(Default::default())
            .await
            .unwrap();
        broken.plan(always(fault));
        harness
            .channel("broken", &broken.base_url(), 0, &[("sim-fast", "sim-fast")])
            .await;
        let got = harness.chat(&ask("Hello [[tokens:4]]")).await;
        assert_eq!(got.status, 200, "{fault:?}: {}", got.text());
        assert_eq!(broken.requests().len(), 1, "{fault:?}");
        assert_eq!(harness.simulator.requests().len(), 1);
        let (outcome, charged, _, _) = harness.usage(&got.id()).await;
        assert_eq!(outcome, "complete");
        assert_eq!(harness.posted_at_rest().await, 10_000_000_000 - charged);
        harness.audit().await;
        broken.stop().await;
    }
}

// covers: D-3-78
#[tokio::test]
async fn a_credential_that_was_refused_is_paused_after_a_probe_until_an_operator_resumes_it() {
    let harness = TestGateway::new().await;
    let settings = trunkline_simulator::Settings {
        keys: vec!["another key".to_owned()],
        ..Default::default()
    };
    let broken = trunkline_simulator::Simulator::start(settings)
        .await
        .unwrap();
    harness
        .channel("broken", &broken.base_url(), 0, &[("sim-fast", "sim-fast")])
        .await;
    for _ in 0..3 {
        assert_eq!(harness.chat(&ask("Hello")).await.status, 200);
    }
    assert_eq!(broken.requests().len(), 1);
    // The probe is refused too, and every node is told.
    harness.gateway.probe_channels().await;
    assert_eq!(broken.requests().len(), 2);
    let paused = async || {
        let mut session = harness.console.session().await.unwrap();
        let found = channels::find(&mut session, "broken")
            .await
            .unwrap()
            .unwrap();
        (found.id, found.credentials[0].paused_reason.clone())
    };
    while paused().await.1.is_none() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    harness.gateway.refresh().await.unwrap();
    assert_eq!(harness.chat(&ask("Hello")).await.status, 200);
    assert_eq!(broken.requests().len(), 2);
    let (id, reason) = paused().await;
    assert!(reason.unwrap().contains("401"));
    let mut tx = harness.console.begin().await.unwrap();
    assert_eq!(channels::resume(&mut tx, id).await.unwrap(), ["main"]);
    assert!(channels::resume(&mut tx, id).await.unwrap().is_empty());
    tx.commit().await.unwrap();
    harness.gateway.refresh().await.unwrap();
    assert_eq!(harness.chat(&ask("Hello")).await.status, 200);
    assert_eq!(broken.requests().len(), 3, "it is asked again");
    broken.stop().await;
}

#[tokio::test]
async fn what_the_upstream_says_about_the_request_goes_back_without_its_secrets() {
    let harness = TestGateway::new().await;
    let mut body = ask("Hello");
    body["temperature"] = 9.into();
    let got = harness.chat(&body).await;
    assert_eq!(got.status, 400, "{}", got.text());
    let error = got.json()["error"].clone();
    assert_eq!(error["param"], "temperature");
    assert_eq!(error["charged"], false);
    assert!(!got.text().contains(CANARY));
    for fault in [Fault::Status(401), Fault::Status(404), Fault::Status(413)] {
        let harness = TestGateway::new().await;
        harness.simulator.plan(always(fault));
        let got = harness.chat(&ask("Hello")).await;
        assert!(!got.text().contains(CANARY) && !format!("{:?}", got.headers).contains(CANARY));
        nothing_was_charged(&harness).await;
    }
    nothing_was_charged(&harness).await;
}

#[tokio::test]
async fn a_gigantic_answer_is_cut_off_and_costs_nothing() {
    let settings = Settings {
        max_answer_bytes: 1_000_000,
        ..Settings::default()
    };
    let harness = TestGateway::with(settings, 10_000_000_000, 0).await;
    harness
        .simulator
        .plan(always(Fault::GiganticBody { bytes: 50_000_000 }));
    let got = harness.chat(&ask("Hello")).await;
    assert_eq!(
        (got.status.as_u16(), got.code().as_str()),
        (502, "upstream_error")
    );
    nothing_was_charged(&harness).await;
}
