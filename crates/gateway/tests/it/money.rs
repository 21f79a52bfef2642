//! Too little money, budgets, limits of the caller, and money that runs out on the way.

use serde_json::json;
use trunkline_gateway::Settings;
use trunkline_store::{KeyGroup, PolicyFields};

use crate::test_gateway::{TestGateway, ask, ask_streaming};

// covers: D-3-17, D-2-86, D-2-87, D-7-ERR-02
#[tokio::test]
async fn too_little_money_is_said_with_what_would_fit_and_nothing_is_sent() {
    let harness = TestGateway::with(Settings::default(), 1_000_000, 0).await;
    let mut body = ask("Hello");
    body["max_tokens"] = 10_000.into();
    let got = harness.chat(&body).await;
    assert_eq!(
        (got.status.as_u16(), got.code().as_str()),
        (402, "insufficient_balance")
    );
    let error = got.json()["error"].clone();
    let affordable = error["max_tokens_affordable"].as_i64().unwrap();
    assert!(affordable > 0 && affordable < 10_000, "{error}");
    assert_eq!(error["available_usd"], "0.001");
    assert!(harness.simulator.requests().is_empty());
    body["max_tokens"] = (affordable + 1).into();
    let got = harness.chat(&body).await;
    assert_eq!(got.status, 402, "and not one token more");
    body["max_tokens"] = affordable.into();
    let got = harness.chat(&body).await;
    assert_eq!(got.status, 200, "what is said to fit fits");
    harness.audit().await;
}

// covers: D-2-83, D-2-84
#[tokio::test]
async fn trial_money_fits_the_call_to_the_balance_and_says_so() {
    let harness = TestGateway::with(Settings::default(), 0, 1_000_000).await;
    let mut body = ask("Hello [[tokens:5]]");
    body["max_tokens"] = 10_000.into();
    let got = harness.chat(&body).await;
    assert_eq!(got.status, 200, "{}", got.text());
    assert!(
        got.header("trunkline-warnings")
            .unwrap()
            .contains("max_tokens_fitted")
    );
    let sent: serde_json::Value =
        serde_json::from_slice(&harness.simulator.requests()[0].body).unwrap();
    let sent = sent["max_tokens"].as_i64().unwrap();
    assert!(sent > 0 && sent < 10_000);
    harness.audit().await;
}

#[tokio::test]
async fn a_stream_holds_a_tranche_and_more_as_it_goes() {
    let settings = Settings {
        tranche_tokens: 40,
        ..Settings::default()
    };
    let harness = TestGateway::with(settings, 10_000_000_000, 0).await;
    let got = harness.chat(&ask_streaming("Go on [[tokens:400]]")).await;
    assert!(got.text().ends_with("data: [DONE]\n\n"));
    let (outcome, charged, _, _) = harness.usage(&got.id()).await;
    assert_eq!(outcome, "complete");
    assert!(charged > 400 * 8_000, "far more than the first tranche");
    harness.audit().await;
}

// covers: D-2-49, D-2-50, D-2-54
#[tokio::test]
async fn money_that_runs_out_ends_the_stream_as_if_it_had_reached_its_length() {
    let settings = Settings {
        tranche_tokens: 40,
        ..Settings::default()
    };
    let harness = TestGateway::with(settings, 1_500_000, 0).await;
    let got = harness
        .chat(&ask_streaming("Go on [[tokens:5000]] [[pace:1]]"))
        .await;
    assert_eq!(got.status, 200, "{}", got.text());
    assert!(got.text().ends_with("data: [DONE]\n\n"), "{}", got.text());
    let last = got.frames().pop().unwrap();
    assert_eq!(last["choices"][0]["finish_reason"], "length");
    let usage = harness.get(&format!("/v1/usage/{}", got.id())).await.json();
    assert_eq!(usage["warnings"], json!(["balance_exhausted"]));
    let (outcome, charged, _, _) = harness.usage(&got.id()).await;
    assert_eq!(outcome, "balance_exhausted");
    assert!(charged > 0 && charged <= 1_500_000);
    assert!(harness.posted_at_rest().await >= 0);
    assert!(
        harness.simulator.requests()[0].client_left,
        "the upstream was stopped"
    );
    harness.audit().await;
}

// covers: D-1-29, D-3-19
#[tokio::test]
async fn a_callers_own_limit_is_kept() {
    let harness = TestGateway::new().await;
    let mut body = ask("Hello");
    body["max_tokens"] = 1_000.into();
    let limit = |text| [("trunkline-max-cost-usd", text)];
    let got = harness.chat_with(&body, &limit("0.001")).await;
    assert_eq!(
        (got.status.as_u16(), got.code().as_str()),
        (402, "max_cost_exceeded")
    );
    assert_eq!(harness.chat_with(&body, &limit("0.05")).await.status, 200);
    let got = harness.chat_with(&body, &limit("cheap")).await;
    assert_eq!(
        (got.status.as_u16(), got.code().as_str()),
        (400, "invalid_request")
    );
    assert_eq!(harness.simulator.requests().len(), 1);
    harness.audit().await;
}

#[tokio::test]
async fn a_group_of_lower_prices_pays_lower_prices_and_sells_its_own_models() {
    let mut harness = TestGateway::new().await;
    let plain = harness.chat(&ask("Hello [[tokens:10]]")).await;
    let (_, full, _, _) = harness.usage(&plain.id()).await;
    let own = json!({ "model": "vip-only", "messages": [{ "role": "user", "content": "x" }] });
    let got = harness.chat(&own).await;
    assert_eq!(got.code(), "model_not_allowed");
    harness.key = harness
        .make_key(PolicyFields {
            group: KeyGroup::Named("vip".to_owned()),
            ..PolicyFields::default()
        })
        .await;
    let cheaper = harness.chat(&ask("Hello [[tokens:10]]")).await;
    let (_, half, _, _) = harness.usage(&cheaper.id()).await;
    assert_eq!(half * 2, full, "the group's rate is one half");
    assert_eq!(
        harness.chat(&own).await.code(),
        "no_available_route",
        "sold, and served by no channel"
    );
    harness.audit().await;
}
