//! Too little money, budgets, limits of the caller, and money that runs out on the way.

use serde_json::json;
use trunkline_gateway::Settings;
use trunkline_store::{KeyGroup, PolicyFields};

use crate::test_gateway::{TestGateway, ask, ask_streaming};

// covers: D-3-17, D-2-86, D-2-87, D-7-ERR-02
#[tokio::test]
async fn too_little_money_is_said_with_what_would_fit_and_nothing_is_sent() {
    let house = TestGateway::with(Settings::default(), 1_000_000, 0).await;
    let mut body = ask("Hello");
    body["max_tokens"] = 10_000.into();
    let got = house.chat(&body).await;
    assert_eq!(
        (got.status.as_u16(), got.code().as_str()),
        (402, "insufficient_balance")
    );
    let error = got.json()["error"].clone();
    let affordable = error["max_tokens_affordable"].as_i64().unwrap();
    assert!(affordable > 0 && affordable < 10_000, "{error}");
    assert_eq!(error["available_usd"], "0.001");
    assert!(house.simulator.requests().is_empty());
    body["max_tokens"] = (affordable + 1).into();
    let got = house.chat(&body).await;
    assert_eq!(got.status, 402, "and not one token more");
    body["max_tokens"] = affordable.into();
    let got = house.chat(&body).await;
    assert_eq!(got.status, 200, "what is said to fit fits");
    house.audit().await;
}

// covers: D-2-83, D-2-84, D-2-85
#[tokio::test]
async fn trial_money_fits_the_call_to_the_balance_and_says_so() {
    let house = TestGateway::with(Settings::default(), 0, 1_000_000).await;
    let mut body = ask("Hello [[tokens:5]]");
    body["max_tokens"] = 10_000.into();
    let got = house.chat(&body).await;
    assert_eq!(got.status, 200, "{}", got.text());
    assert!(
        got.header("trunkline-warnings")
            .unwrap()
            .contains("max_tokens_fitted")
    );
    let sent: serde_json::Value =
        serde_json::from_slice(&house.simulator.requests()[0].body).unwrap();
    let sent = sent["max_tokens"].as_i64().unwrap();
    assert!(sent > 0 && sent < 10_000);
    house.audit().await;
}

#[tokio::test]
async fn a_stream_holds_a_tranche_and_more_as_it_goes() {
    let settings = Settings {
        tranche_tokens: 40,
        ..Settings::default()
    };
    let house = TestGateway::with(settings, 10_000_000_000, 0).await;
    let got = house.chat(&ask_streaming("Go on [[tokens:400]]")).await;
    assert!(got.text().ends_with("data: [DONE]\n\n"));
    let (outcome, charged, _, _) = house.usage(&got.id()).await;
    assert_eq!(outcome, "complete");
    assert!(charged > 400 * 8_000, "far more than the first tranche");
    house.audit().await;
}

// covers: D-2-49, D-2-50, D-2-54
#[tokio::test]
async fn money_that_runs_out_ends_the_stream_as_if_it_had_reached_its_length() {
    let settings = Settings {
        tranche_tokens: 40,
        ..Settings::default()
    };
    let house = TestGateway::with(settings, 1_500_000, 0).await;
    let got = house
        .chat(&ask_streaming("Go on [[tokens:5000]] [[pace:1]]"))
        .await;
    assert_eq!(got.status, 200, "{}", got.text());
    assert!(got.text().ends_with("data: [DONE]\n\n"), "{}", got.text());
    let last = got.frames().pop().unwrap();
    assert_eq!(last["choices"][0]["finish_reason"], "length");
    let usage = house.get(&format!("/v1/usage/{}", got.id())).await.json();
    assert_eq!(usage["warnings"], json!(["balance_exhausted"]));
    let (outcome, charged, _, _) = house.usage(&got.id()).await;
    assert_eq!(outcome, "balance_exhausted");
    assert!(charged > 0 && charged <= 1_500_000);
    assert!(house.posted_at_rest().await >= 0);
    assert!(
        house.simulator.requests()[0].client_left,
        "the upstream was stopped"
    );
    house.audit().await;
}

// covers: D-1-29, D-3-19
#[tokio::test]
async fn a_callers_own_limit_is_kept() {
    let house = TestGateway::new().await;
    let mut body = ask("Hello");
    body["max_tokens"] = 1_000.into();
    let limit = |text| [("trunkline-max-cost-usd", text)];
    let got = house.chat_with(&body, &limit("0.001")).await;
    assert_eq!(
        (got.status.as_u16(), got.code().as_str()),
        (402, "max_cost_exceeded")
    );
    assert_eq!(house.chat_with(&body, &limit("0.05")).await.status, 200);
    let got = house.chat_with(&body, &limit("cheap")).await;
    assert_eq!(
        (got.status.as_u16(), got.code().as_str()),
        (400, "invalid_request")
    );
    assert_eq!(house.simulator.requests().len(), 1);
    house.audit().await;
}

#[tokio::test]
async fn a_group_of_lower_prices_pays_lower_prices_and_sells_its_own_models() {
    let mut house = TestGateway::new().await;
    let plain = house.chat(&ask("Hello [[tokens:10]]")).await;
    let (_, full, _, _) = house.usage(&plain.id()).await;
    let own = json!({ "model": "vip-only", "messages": [{ "role": "user", "content": "x" }] });
    let got = house.chat(&own).await;
    assert_eq!(got.code(), "model_not_allowed");
    house.key = house
        .make_key(PolicyFields {
            group: KeyGroup::Named("vip".to_owned()),
            ..PolicyFields::default()
        })
        .await;
    let cheaper = house.chat(&ask("Hello [[tokens:10]]")).await;
    let (_, half, _, _) = house.usage(&cheaper.id()).await;
    assert_eq!(half * 2, full, "the group's rate is one half");
    assert_eq!(
        house.chat(&own).await.code(),
        "no_available_route",
        "sold, and served by nobody"
    );
    house.audit().await;
}
