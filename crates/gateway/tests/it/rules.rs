//! Rules of keys, of strictness, of what is in flight, and of a database that is away.

use std::time::Duration;

use bytes::Bytes;
use http::Method;
use trunkline_edge::settings::AcceptSettings;
use trunkline_gateway::Settings;
use trunkline_ledger::accounts::{self, Period};
use trunkline_simulator::{Fault, Rule};
use trunkline_store::{PolicyFields, keys};
use trunkline_types::{Clock as _, Money};

use crate::test_gateway::{GatewayResponse, TestGateway, ask, ask_streaming};

const PATH: &str = "/v1/chat/completions";

fn code(got: &GatewayResponse) -> (u16, String) {
    (got.status.as_u16(), got.code())
}

fn is(status: u16, code: &str) -> (u16, String) {
    (status, code.to_owned())
}

// covers: D-3-11, D-3-12
#[tokio::test]
async fn expired_and_revoked_keys_are_told_apart() {
    let mut harness = TestGateway::new().await;
    let soon = trunkline_db::SystemClock.now().plus_seconds(2);
    harness.key = harness
        .make_key(PolicyFields {
            expires_at: Some(soon),
            ..PolicyFields::default()
        })
        .await;
    assert_eq!(harness.chat(&ask("Hello")).await.status, 200);
    tokio::time::sleep(Duration::from_millis(2_200)).await;
    assert_eq!(
        code(&harness.chat(&ask("Hello")).await),
        is(401, "expired_api_key")
    );
    harness.key = harness.make_key(PolicyFields::default()).await;
    let id = harness.get("/v1/key").await.json()["id"].as_i64().unwrap();
    let mut tx = harness.console.begin().await.unwrap();
    keys::revoke(&mut tx, trunkline_types::KeyId::new(id))
        .await
        .unwrap();
    tx.commit().await.unwrap();
    harness.gateway.refresh().await.unwrap();
    assert_eq!(
        code(&harness.chat(&ask("Hello")).await),
        is(401, "revoked_api_key")
    );
}

// covers: D-3-18
#[tokio::test]
async fn a_budget_of_the_account_refuses_what_would_pass_it() {
    let harness = TestGateway::new().await;
    let mut tx = harness.console.begin().await.unwrap();
    let limit = Some(Money::from_nanos(1_000_000));
    let set = accounts::set_budget(&mut tx, harness.account, None, Period::Daily, "UTC", limit);
    assert!(set.await.unwrap());
    tx.commit().await.unwrap();
    let mut body = ask("Hello");
    body["max_tokens"] = 10_000.into();
    let got = harness.chat(&body).await;
    assert_eq!(code(&got), is(402, "budget_exceeded"));
    assert_eq!(got.json()["error"]["available_usd"], "0.001");
    assert!(harness.simulator.requests().is_empty());
    harness.audit().await;
}

// covers: D-1-27, D-1-33, D-7-CHAT-06, D-7-CHAT-07, D-7-CHAT-08, D-7-CHAT-09, D-7-CHAT-10, D-7-CHAT-19, G-2.1-10, G-2.1-12, G-2.1-14
#[tokio::test]
async fn strict_mode_refuses_what_would_be_ignored_and_without_it_that_is_named() {
    let harness = TestGateway::new().await;
    let mut body = ask("Hello");
    body["max_tokens"] = 9.into();
    body["reasoning_effort"] = "high".into();
    let got = harness.chat(&body).await;
    assert_eq!(got.status, 200, "{}", got.text());
    let warnings = got.header("trunkline-warnings").unwrap();
    assert_eq!(warnings, "1;codes=reasoning_effort_ignored");
    let strict = [("trunkline-strict", "true")];
    let got = harness.chat_with(&body, &strict).await;
    assert_eq!(code(&got), is(400, "reasoning_effort_ignored"));
    assert_eq!(got.json()["error"]["param"], "reasoning_effort");
    let mut earlier = ask("Hello");
    earlier["previous_response_id"] = "resp_1".into();
    let got = harness.chat(&earlier).await;
    assert_eq!(
        got.header("trunkline-warnings").as_deref(),
        Some("2;codes=previous_response_id_ignored,max_tokens_defaulted")
    );
    let got = harness.chat_with(&earlier, &strict).await;
    assert_eq!(got.json()["error"]["param"], "previous_response_id");
    let mut nothing = ask("Hello");
    nothing["max_tokens"] = 9.into();
    nothing["previous_response_id"] = serde_json::Value::Null;
    let got = harness.chat_with(&nothing, &strict).await;
    assert_eq!(
        got.status,
        200,
        "null says as much as nothing: {}",
        got.text()
    );
    assert_eq!(got.header("trunkline-warnings"), None);
    for served in harness.simulator.requests() {
        let text = String::from_utf8(served.body.to_vec()).unwrap();
        assert!(!text.contains("reasoning_effort") && !text.contains("previous_response_id"));
    }
    body["model"] = "sim-reason".into();
    body.as_object_mut().unwrap().remove("max_tokens");
    for effort in ["low", "medium", "high"] {
        body["reasoning_effort"] = effort.into();
        let got = harness.chat(&body).await;
        assert_eq!(got.status, 200, "{}", got.text());
        let served = harness.simulator.requests().pop().unwrap();
        let sent: serde_json::Value = serde_json::from_slice(&served.body).unwrap();
        assert_eq!(sent["reasoning_effort"], effort);
    }
    body["reasoning_effort"] = "enormous".into();
    let got = harness.chat(&body).await;
    assert_eq!(code(&got), is(400, "invalid_request"));
    assert_eq!(got.json()["error"]["param"], "reasoning_effort");
    harness.audit().await;
}

// covers: D-3-54, D-3-55
#[tokio::test]
async fn too_many_calls_are_refused_and_one_account_cannot_block_others() {
    let settings = Settings {
        accept: AcceptSettings {
            max_in_flight: 10,
            account_share: 5,
            ..AcceptSettings::default()
        },
        ..Settings::default()
    };
    let harness = TestGateway::with(settings, 10_000_000_000, 0).await;
    let body = || Bytes::from(ask_streaming("Wait [[tokens:400]] [[pace:20]]").to_string());
    let first = harness.send(Method::POST, PATH, body()).await;
    let second = harness.send(Method::POST, PATH, body()).await;
    assert_eq!((first.status.as_u16(), second.status.as_u16()), (200, 200));
    let third = GatewayResponse::read(harness.send(Method::POST, PATH, body()).await).await;
    assert_eq!(code(&third), is(503, "overloaded"));
    assert!(third.header("retry-after").is_some());
    drop((first, second));
    harness.posted_at_rest().await;
    assert_eq!(
        harness.chat(&ask("Hello")).await.status,
        200,
        "capacity is released"
    );
    harness.audit().await;
}

// covers: D-3-53
#[tokio::test]
async fn a_model_without_a_channel_has_no_route() {
    let harness = TestGateway::new().await;
    let mut body = ask("Hello");
    body["model"] = "unserved".into();
    assert_eq!(
        code(&harness.chat(&body).await),
        is(503, "no_available_route")
    );
    assert_eq!(harness.posted_at_rest().await, 10_000_000_000);
}

// covers: D-3-79
#[tokio::test]
async fn caller_errors_spare_the_channel_and_a_429_cools_its_credential() {
    let harness = TestGateway::new().await;
    let mut wrong = ask("Hello");
    wrong["temperature"] = 9.into();
    for _ in 0..12 {
        assert_eq!(harness.chat(&wrong).await.status, 400);
    }
    assert_eq!(
        harness.chat(&ask("Hello")).await.status,
        200,
        "the channel stays"
    );
    harness.simulator.plan(Rule {
        fault: Fault::RateLimited {
            retry_after_secs: 2,
        },
        times: Some(1),
        model: None,
        key: None,
        one_in: 1,
    });
    assert_eq!(
        code(&harness.chat(&ask("Hello")).await),
        is(429, "upstream_rate_limited")
    );
    let seen = harness.simulator.requests().len();
    assert_eq!(harness.chat(&ask("Hello")).await.status, 503);
    assert_eq!(harness.simulator.requests().len(), seen, "it is left alone");
    tokio::time::sleep(Duration::from_millis(2_200)).await;
    assert_eq!(
        harness.chat(&ask("Hello")).await.status,
        200,
        "and used again"
    );
}

// covers: D-3-56, D-3-57, D-3-58
#[tokio::test]
async fn a_database_outage_is_503_within_a_second_and_recovery_is_immediate() {
    let harness = TestGateway::through_a_wire().await;
    let wire = harness.wire.as_ref().unwrap();
    assert_eq!(harness.chat(&ask("Hello")).await.status, 200);
    for hole in [false, true] {
        if hole {
            wire.black_hole();
        } else {
            wire.refuse();
        }
        for _ in 0..3 {
            let began = std::time::Instant::now();
            let got = harness.chat(&ask("Hello")).await;
            assert_eq!(code(&got), is(503, "temporarily_unavailable"));
            assert!(got.header("retry-after").is_some());
            assert!(
                began.elapsed() < Duration::from_millis(1_500),
                "{:?}",
                began.elapsed()
            );
        }
        wire.pass();
        let mut tries = 0;
        while harness.chat(&ask("Hello")).await.status != 200 {
            tries += 1;
            assert!(tries < 100, "it comes back without a restart");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
    harness.posted_at_rest().await;
    harness.audit().await;
}
