//! Which callers may use the endpoints, and in which order a call is checked.

use std::time::Duration;

use bytes::Bytes;
use http::Method;
use serde_json::json;
use trunkline_gateway::{Settings, SocialSettings};
use trunkline_store::PolicyFields;
use trunkline_types::{Clock as _, Timestamp};

use crate::response::GatewayResponse;
use crate::social::harness::{PAID, cells, path};
use crate::test_gateway::{TestGateway, account};

const GOOD: (&str, &str) = ("douyin/search", "keyword=coffee");

impl TestGateway {
    async fn look_as(&self, key: &str, pair: &str, query: &str) -> GatewayResponse {
        let sender = (self.address, key);
        let path = path(pair, query);
        GatewayResponse::read(
            self.send_as(sender, Method::GET, &path, Bytes::new(), &[])
                .await,
        )
        .await
    }
}

fn reply(got: &GatewayResponse) -> (u16, String) {
    (got.status.as_u16(), got.code())
}

fn is(status: u16, code: &str) -> (u16, String) {
    (status, code.to_owned())
}

// covers: S-4.1-01, S-4.1-02, S-4.1-03, S-4.1-08, S-5-01, D-7-ERR-07
// covers: S-1-02
#[tokio::test]
async fn social_data_is_got_with_a_key_and_by_get_alone() {
    let harness = TestGateway::of_social().await;
    let (pair, query) = GOOD;
    assert_eq!(harness.look(pair, query).await.status, 200);
    assert_eq!(
        reply(&harness.look_as("nonsense", pair, query).await),
        is(401, "invalid_api_key")
    );
    for method in [Method::POST, Method::PUT, Method::DELETE, Method::HEAD] {
        let is_head = method == Method::HEAD;
        let answer = harness.send(method, &path(pair, query), Bytes::new()).await;
        let got = GatewayResponse::read(answer).await;
        assert_eq!(got.status, 405);
        assert_eq!(got.header("allow").as_deref(), Some("GET"));
        assert!(is_head || got.code() == "method_not_allowed");
    }
    // A parameter in a body is not read.
    let body = Bytes::from_static(b"{\"keyword\":\"coffee\"}");
    let got = GatewayResponse::read(harness.send(Method::GET, &path(pair, ""), body).await).await;
    assert_eq!(reply(&got), is(400, "missing_parameter"));
}

// covers: S-4.2-01, S-4-03, S-7-08, D-3-64, S-1-09, S-1-10, S-1-11
// covers: S-4.2-P02-17, S-4.2-P06-06, S-4.2-P07-21, S-4.2-P08-17, S-4.2-P09-04, S-4.2-P10-04
// covers: S-4.2-P11-06, S-4.2-P15-11, S-4.2-P18-05, S-4.2-P19-05, S-4.2-P20-06
#[tokio::test]
async fn a_pair_that_is_not_listed_does_not_exist() {
    let harness = TestGateway::of_social().await;
    let all = cells();
    let mut platforms: Vec<String> = all.all().map(|cell| cell.platform.key.clone()).collect();
    platforms.dedup();
    let words = [
        "search",
        "post",
        "user",
        "comments",
        "user-posts",
        "trending",
    ];
    let mut missing = 0;
    for platform in &platforms {
        for word in words
            .iter()
            .filter(|word| all.get(platform, word).is_none())
        {
            let got = harness.look(&format!("{platform}/{word}"), "").await;
            assert_eq!(reply(&got), is(404, "not_found"), "{platform}/{word}");
            missing += 1;
        }
    }
    assert_eq!(missing, 19);
    for pair in [
        "myspace/search",
        "douyin/login",
        "douyin/contacts",
        "douyin/like",
        "douyin/Search",
        "Douyin/search",
        "douyin/private",
        "douyin",
        "douyin/search/more",
        "douyin/search/",
    ] {
        assert_eq!(
            reply(&harness.look(pair, "").await),
            is(404, "not_found"),
            "{pair}"
        );
    }
    assert!(harness.vendor_calls().is_empty());
}

// covers: S-5-02, S-5-03, S-5-04, S-7-07, D-2-21, D-2-22, D-2-23, D-3-16, D-7-ERR-01
#[tokio::test]
async fn only_paid_money_of_accounts_that_topped_up_is_spent() {
    let trial = 5_000_000_000;
    let harness = TestGateway::social_with(Settings::default(), 0, trial).await;
    let (pair, query) = GOOD;
    let got = harness.look(pair, query).await;
    assert_eq!(reply(&got), is(403, "model_requires_topup"));
    assert_eq!(harness.wallets().await, [0, 0, trial, 0]);
    // Topped up once, with both wallets filled: the paid one pays.
    let harness = TestGateway::social_with(Settings::default(), 50_000_000, trial).await;
    for left in [30_000_000, 10_000_000] {
        assert_eq!(harness.look(pair, query).await.status, 200);
        harness.posted_at_rest().await;
        assert_eq!(harness.wallets().await, [left, 0, trial, 0]);
    }
    let got = harness.look(pair, query).await;
    assert_eq!(reply(&got), is(402, "insufficient_balance"));
    let error = &got.json()["error"];
    assert_eq!(error["required_usd"], json!("0.02"));
    assert_eq!(error["available_usd"], json!("0.01"));
    assert_eq!(error["reserved_usd"], json!("0"));
    assert_eq!(harness.wallets().await, [10_000_000, 0, trial, 0]);
    harness.audit().await;
}

// covers: S-1-01, G-5-05, G-5-06
#[tokio::test]
async fn one_key_and_one_balance_pay_for_models_and_for_social_data() {
    let harness = TestGateway::of_social().await;
    let before = harness.posted_at_rest().await;
    let chat = harness.chat(&crate::test_gateway::ask("hello")).await;
    assert_eq!(chat.status, 200);
    assert_eq!(harness.look(GOOD.0, GOOD.1).await.status, 200);
    let (_, chat_cost, _, _) = harness.usage(&chat.id()).await;
    assert!(chat_cost > 0);
    assert_eq!(
        harness.posted_at_rest().await,
        before - chat_cost - 20_000_000
    );
    harness.audit().await;
}

// covers: D-7-SOC-12, D-7-SOC-13, D-7-SOC-14, D-7-SOC-15, D-7-SOC-16, D-7-SOC-17, D-7-SOC-18
#[tokio::test]
async fn a_call_is_looked_at_in_the_decided_order() {
    let settings = Settings {
        social: SocialSettings {
            daily_capacity: 0,
            ..SocialSettings::default()
        },
        ..Settings::default()
    };
    let harness = TestGateway::social_with(settings, PAID, 0).await;
    let elsewhere = PolicyFields {
        platforms: Some(vec!["reddit".to_owned()]),
        ..PolicyFields::default()
    };
    let soon = trunkline_db::SystemClock.now().millis() + 500;
    let expired = PolicyFields {
        expires_at: Some(Timestamp::from_micros(soon * 1_000)),
        ..elsewhere.clone()
    };
    let fresh = account(&harness.console, 0, 1_000_000_000).await;
    let poor = account(&harness.console, 1, 0).await;
    let expired = harness.make_key(expired).await;
    let elsewhere = harness.make_key(elsewhere).await;
    let fresh = harness.key_of(fresh, PolicyFields::default()).await;
    let poor = harness.key_of(poor, PolicyFields::default()).await;
    harness.pause("douyin", "post").await;
    tokio::time::sleep(Duration::from_millis(600)).await;
    for (key, pair, query, expected) in [
        (
            &expired,
            "douyin/search",
            "keyword=a",
            is(401, "expired_api_key"),
        ),
        (
            &elsewhere,
            "douyin/login",
            "",
            is(403, "endpoint_not_allowed"),
        ),
        (
            &elsewhere,
            "douyin/search",
            "keyword=a",
            is(403, "endpoint_not_allowed"),
        ),
        (&fresh, "douyin/login", "", is(404, "not_found")),
        (
            &fresh,
            "douyin/post",
            "share_url=a",
            is(403, "model_requires_topup"),
        ),
        (
            &harness.key,
            "douyin/post",
            "colour=red",
            is(503, "social_data_unavailable"),
        ),
        (
            &poor,
            "douyin/search",
            "keyword=a&colour=red",
            is(400, "unknown_parameter"),
        ),
        (
            &poor,
            "douyin/search",
            "keyword=a",
            is(402, "insufficient_balance"),
        ),
        (
            &harness.key,
            "douyin/search",
            "keyword=a",
            is(429, "social_data_capacity_reached"),
        ),
    ] {
        let got = harness.look_as(key, pair, query).await;
        assert_eq!(reply(&got), expected, "{pair}?{query}: {}", got.text());
    }
    assert!(harness.vendor_calls().is_empty());
}

#[tokio::test]
async fn a_key_may_be_kept_to_endpoints_platforms_and_cells() {
    let harness = TestGateway::of_social().await;
    let list = |words: &[&str]| Some(words.iter().map(|word| (*word).to_owned()).collect());
    let platform = PolicyFields {
        platforms: list(&["reddit", "douyin"]),
        ..PolicyFields::default()
    };
    let model = PolicyFields {
        models: list(&["social-douyin-search"]),
        ..PolicyFields::default()
    };
    let endpoint = PolicyFields {
        endpoints: list(&["chat"]),
        ..PolicyFields::default()
    };
    let [platform, model, endpoint] = [
        harness.make_key(platform).await,
        harness.make_key(model).await,
        harness.make_key(endpoint).await,
    ];
    for (key, pair, expected) in [
        (&platform, "douyin/search", 200),
        (&platform, "kuaishou/search", 403),
        (&model, "douyin/search", 200),
        (&model, "kuaishou/search", 403),
        (&endpoint, "douyin/search", 403),
    ] {
        assert_eq!(
            harness.look_as(key, pair, "keyword=a").await.status,
            expected,
            "{pair}"
        );
    }
}

#[tokio::test]
async fn a_caller_may_say_what_a_call_may_cost() {
    let harness = TestGateway::of_social().await;
    let name = "trunkline-max-cost-usd";
    let got = harness.look_with(GOOD.0, GOOD.1, &[(name, "0.019")]).await;
    assert_eq!(reply(&got), is(402, "max_cost_exceeded"));
    assert!(harness.vendor_calls().is_empty());
    let got = harness.look_with(GOOD.0, GOOD.1, &[(name, "0.02")]).await;
    assert_eq!(got.status, 200);
}
