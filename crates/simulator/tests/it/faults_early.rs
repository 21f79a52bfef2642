//! Faults that strike before or instead of an answer.

use serde_json::json;
use trunkline_simulator::Fault;

use crate::client::{always, asking, chat, send, served, started, streaming};

#[tokio::test]
async fn a_connection_closes_without_a_byte() {
    let simulator = started().await;
    simulator.plan(always(Fault::CloseBeforeHeaders));
    let got = chat(&simulator, &asking("hello")).await;
    assert_eq!((got.status, got.is_closed), (0, true));
    let record = served(&simulator, |_| true).await;
    assert_eq!(record.fault, Some(Fault::CloseBeforeHeaders));
    assert_eq!((record.status, record.finished), (0, false));
    assert_eq!((record.client_left, record.completion_tokens), (false, 0));
}

#[tokio::test]
async fn a_connection_hangs_without_a_byte_until_the_client_goes() {
    let simulator = started().await;
    simulator.plan(always(Fault::HangBeforeHeaders));
    let stream = send(&simulator, &asking("hello")).await;
    let record = served(&simulator, |served| served.fault.is_some()).await;
    assert_eq!((record.status, record.client_left), (0, false));
    drop(stream);
    let record = served(&simulator, |served| served.client_left).await;
    assert_eq!((record.status, record.finished), (0, false));
}

#[tokio::test]
async fn a_rate_limit_tells_when_to_come_back() {
    let simulator = started().await;
    simulator.plan(always(Fault::RateLimited {
        retry_after_secs: 7,
    }));
    let got = chat(&simulator, &asking("hello")).await;
    assert_eq!(got.status, 429);
    assert_eq!(got.header("retry-after"), Some("7"));
    assert_eq!(got.header("x-ratelimit-remaining-requests"), Some("0"));
    assert_eq!(got.header("x-ratelimit-reset-requests"), Some("7s"));
    assert_eq!(got.json()["error"]["code"], "rate_limit_exceeded");
    let record = served(&simulator, |served| served.finished).await;
    assert_eq!((record.status, record.prompt_tokens), (429, 0));
}

#[tokio::test]
async fn any_failing_status_comes_with_an_error_body() {
    let simulator = started().await;
    for (status, kind, code) in [
        (400, "invalid_request_error", None),
        (401, "invalid_request_error", Some("invalid_api_key")),
        (402, "insufficient_balance", Some("insufficient_balance")),
        (
            403,
            "request_forbidden",
            Some("unsupported_country_region_territory"),
        ),
        (404, "invalid_request_error", Some("model_not_found")),
        (413, "invalid_request_error", Some("request_too_large")),
        (429, "insufficient_quota", Some("insufficient_quota")),
        (500, "server_error", None),
        (502, "server_error", None),
        (503, "server_error", Some("overloaded")),
        (529, "server_error", Some("overloaded")),
    ] {
        let got = chat(
            &simulator,
            &streaming(&format!("[[fault:status:{status}]]")),
        )
        .await;
        assert_eq!(got.status, status);
        let error = &got.json()["error"];
        assert_eq!(error["type"], kind);
        assert_eq!(error["code"], json!(code));
        assert_eq!(got.header("retry-after"), None);
    }
}

#[tokio::test]
async fn an_error_hides_under_a_good_status() {
    let simulator = started().await;
    simulator.plan(always(Fault::ErrorInside200));
    for body in [asking("hello"), streaming("hello")] {
        simulator.clear_requests();
        let got = chat(&simulator, &body).await;
        assert_eq!((got.status, got.is_whole), (200, true));
        assert_eq!(got.json()["error"]["type"], "server_error");
        let record = served(&simulator, |_| true).await;
        assert_eq!((record.finished, record.client_left), (false, false));
        assert_eq!((record.completion_tokens, record.told_usage), (0, None));
    }
}

#[tokio::test]
async fn minimax_tells_of_a_failure_in_its_own_words_under_a_good_status() {
    let simulator = started().await;
    simulator.plan(always(Fault::BaseResp(2013)));
    for body in [asking("hello"), streaming("hello")] {
        let got = chat(&simulator, &body).await;
        assert_eq!((got.status, got.is_whole), (200, true));
        assert_eq!(got.json()["base_resp"]["status_code"], 2013);
        assert_eq!(got.json()["choices"], json!(null));
    }
}

#[tokio::test]
async fn a_bad_request_does_not_spend_a_rule() {
    let simulator = started().await;
    let mut rule = always(Fault::Status(500));
    rule.times = Some(1);
    simulator.plan(rule);
    let bad = chat(&simulator, &json!({"model": "sim-a"})).await;
    let struck = chat(&simulator, &asking("hello")).await;
    let good = chat(&simulator, &asking("hello")).await;
    assert_eq!((bad.status, struck.status, good.status), (400, 500, 200));
}
