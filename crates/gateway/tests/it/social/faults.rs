//! What the source does, and what the caller is told: nothing of the source, and nothing is charged.

use std::time::Duration;

use bytes::Bytes;
use http::Method;
use serde_json::json;
use trunkline_gateway::{Settings, SocialSettings};

use crate::response::GatewayResponse;
use crate::social::harness::{PAID, escaped, path};
use crate::test_gateway::{CANARY, TestGateway};

fn case(text: &str) -> String {
    escaped(&format!("[[social:{text}]]"))
}

/// Texts that only the source or our requests to it contain.
const SECRETS: [&str; 6] = [
    "tikhub",
    "TikHub",
    "router",
    "request failed",
    "cache_url",
    CANARY,
];

fn check_silent(got: &GatewayResponse) {
    let text = format!("{:?} {}", got.headers, got.text());
    for secret in SECRETS {
        assert!(
            !text.to_lowercase().contains(&secret.to_lowercase()),
            "{secret}: {text}"
        );
    }
}

// covers: S-7-14, S-7-15, S-7-18, D-3-48, D-3-52, D-7-SOC-01, D-7-SOC-03, D-7-SOC-04, D-7-SOC-05, D-7-SOC-32
// covers: D-7-SOC-33
#[tokio::test]
async fn each_answer_of_the_source_has_its_own_and_nothing_is_charged_or_told() {
    let settings = Settings {
        social: SocialSettings {
            wait: Duration::from_secs(2),
            ..SocialSettings::default()
        },
        ..Settings::default()
    };
    let harness = TestGateway::social_with(settings, PAID, 0).await;
    let before = harness.posted_at_rest().await;
    // An item's cell says that a 400 is about the item, a search that it is about the moment.
    let (item, search) = ("kuaishou/user", "kuaishou/search");
    let (by_item, by_search) = ("user_id", "keyword");
    for (pair, param, fault, status, code) in [
        (item, by_item, "null", 404, "social_data_no_result"),
        (item, by_item, "inner", 404, "social_data_no_result"),
        (item, by_item, "400", 404, "social_data_no_result"),
        (item, by_item, "400_flat", 404, "social_data_no_result"),
        (item, by_item, "410", 404, "social_data_no_result"),
        (item, by_item, "404_item", 404, "social_data_no_result"),
        (search, by_search, "400", 502, "upstream_error"),
        (search, by_search, "410", 502, "upstream_error"),
        (item, by_item, "422", 502, "upstream_error"),
        (item, by_item, "405", 502, "upstream_error"),
        (item, by_item, "no_code", 502, "upstream_error"),
        (item, by_item, "code_400_in_200", 502, "upstream_error"),
        (item, by_item, "no_data", 502, "upstream_error"),
        (item, by_item, "html", 502, "upstream_error"),
        (item, by_item, "cut", 502, "upstream_error"),
        (item, by_item, "close", 502, "upstream_error"),
        (item, by_item, "500", 502, "upstream_error"),
        (item, by_item, "502", 502, "upstream_error"),
        (item, by_item, "503", 502, "upstream_error"),
        (item, by_item, "hang", 502, "upstream_error"),
        (search, by_search, "marker", 502, "upstream_error"),
    ] {
        let got = harness
            .look(pair, &format!("{param}={}", case(fault)))
            .await;
        let name = format!("{pair} {fault}: {}", got.text());
        assert_eq!(
            (got.status.as_u16(), got.code().as_str()),
            (status, code),
            "{name}"
        );
        assert_eq!(got.json()["error"]["charged"], json!(false), "{name}");
        check_silent(&got);
        let (_, charged, _, _) = harness.usage(&got.id()).await;
        assert_eq!(charged, 0, "{name}");
    }
    assert_eq!(harness.posted_at_rest().await, before);
    // None of these opened the way out of service.
    assert_eq!(harness.look(search, "keyword=a").await.status, 200);
    harness.audit().await;
}

// covers: D-7-SOC-05, D-7-SOC-06, D-7-SOC-07, D-7-SOC-08, D-3-53
#[tokio::test]
async fn an_account_refused_by_the_source_rests_with_an_internal_alert() {
    for status in ["401", "402", "403"] {
        let harness = TestGateway::of_social().await;
        let got = harness
            .look("kuaishou/search", &format!("keyword={}", case(status)))
            .await;
        assert_eq!(
            (got.status.as_u16(), got.code().as_str()),
            (502, "upstream_error")
        );
        check_silent(&got);
        let metrics = harness.metrics().await;
        let cooling_down = metrics.lines().any(|line| {
            line.contains("source") && line.contains("cooling_down") && line.ends_with(" 1")
        });
        assert!(cooling_down, "{metrics}");
        // The source is not asked now, and that is no 503 either.
        let calls = harness.vendor_calls().len();
        let got = harness.look("kuaishou/search", "keyword=a").await;
        assert_eq!(
            (got.status.as_u16(), got.code().as_str()),
            (502, "upstream_error")
        );
        assert_eq!(harness.vendor_calls().len(), calls);
    }
}

// covers: S-7-12, S-7-13, D-3-47, D-3-67, D-3-68, D-7-SOC-02, D-7-ERR-03
#[tokio::test]
async fn a_busy_platform_is_told_apart_and_asked_once() {
    let harness = TestGateway::of_social().await;
    let got = harness
        .look("kuaishou/search", &format!("keyword={}", case("429:7")))
        .await;
    assert_eq!(
        (got.status.as_u16(), got.code().as_str()),
        (429, "social_data_capacity_reached")
    );
    let error = &got.json()["error"];
    assert_eq!(error["reason"], json!("busy"));
    assert_eq!(error["retryable"], json!(true));
    assert_eq!(got.header("retry-after").as_deref(), Some("7"));
    assert_eq!(harness.vendor_calls().len(), 1);
    assert_eq!(
        harness.look("kuaishou/search", "keyword=a").await.status,
        200
    );
    assert_eq!(harness.vendor_calls().len(), 2);
}

#[tokio::test]
async fn a_platform_that_this_node_asks_too_much_at_once_is_busy() {
    let settings = Settings {
        social: SocialSettings {
            at_once_per_platform: 1,
            ..SocialSettings::default()
        },
        ..Settings::default()
    };
    let harness = TestGateway::social_with(settings, PAID, 0).await;
    let slow = format!("keyword={}", case("slow:1500"));
    let (first, (second, third)) = tokio::join!(harness.look("kuaishou/search", &slow), async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let second = harness.look("kuaishou/search", "keyword=a").await;
        (second, harness.look("douyin/trending", "").await)
    });
    assert_eq!(first.status, 200);
    assert_eq!(
        (second.status.as_u16(), second.code().as_str()),
        (429, "social_data_capacity_reached")
    );
    assert_eq!(second.json()["error"]["reason"], json!("busy"));
    assert_eq!(third.status, 200);
    harness.posted_at_rest().await;
    harness.audit().await;
}

// covers: D-7-SOC-47, D-7-SOC-48, D-3-69, D-3-71
#[tokio::test]
async fn what_did_not_leave_is_tried_once_more_and_what_left_is_not() {
    let harness = TestGateway::build(crate::test_gateway::TestOptions {
        paid: PAID,
        ..crate::test_gateway::TestOptions::default()
    })
    .await;
    harness
        .sell(&crate::social::harness::records(
            crate::social::harness::cells().all(),
        ))
        .await;
    // Nothing listens behind the first; the second serves.
    harness.source_at("deaf", "http://127.0.0.1:9", 1).await;
    harness.source("source").await;
    let before = harness.posted_at_rest().await;
    assert_eq!(
        harness.look("kuaishou/search", "keyword=a").await.status,
        200
    );
    assert_eq!(harness.vendor_calls().len(), 1);
    for fault in ["429", "500", "503", "close"] {
        let calls = harness.vendor_calls().len();
        let got = harness
            .look("kuaishou/search", &format!("keyword={}", case(fault)))
            .await;
        assert!(got.status.as_u16() >= 429, "{fault}");
        assert_eq!(harness.vendor_calls().len(), calls + 1, "{fault}");
    }
    assert_eq!(harness.posted_at_rest().await, before - 20_000_000);
    // With no server behind any, two attempts and no third.
    let harness = TestGateway::build(crate::test_gateway::TestOptions {
        paid: PAID,
        ..crate::test_gateway::TestOptions::default()
    })
    .await;
    harness
        .sell(&crate::social::harness::records(
            crate::social::harness::cells().all(),
        ))
        .await;
    for name in ["one", "two", "three"] {
        harness.source_at(name, "http://127.0.0.1:9", 1).await;
    }
    let got = harness.look("kuaishou/search", "keyword=a").await;
    assert_eq!(
        (got.status.as_u16(), got.code().as_str()),
        (502, "upstream_error")
    );
    let query = format!(
        "SELECT jsonb_array_length(attempts)::text FROM ledger.usage WHERE request_id = '{}'::uuid",
        uuid_of(&got.id())
    );
    assert_eq!(harness.db.ask(&query).await, ["2"]);
}

fn uuid_of(id: &str) -> String {
    let request: trunkline_types::RequestId = id.parse().unwrap();
    request.uuid().to_string()
}

// covers: D-7-SOC-52
#[tokio::test]
async fn our_own_outage_is_503_here_too() {
    let harness = TestGateway::social_built(crate::test_gateway::TestOptions {
        paid: PAID,
        breakable: true,
        ..crate::test_gateway::TestOptions::default()
    })
    .await;
    harness.wire.as_ref().unwrap().refuse();
    let answer = harness
        .send(
            Method::GET,
            &path("kuaishou/search", "keyword=a"),
            Bytes::new(),
        )
        .await;
    let got = GatewayResponse::read(answer).await;
    assert_eq!(
        (got.status.as_u16(), got.code().as_str()),
        (503, "temporarily_unavailable")
    );
    assert!(harness.vendor_calls().is_empty());
}

// covers: S-1-04, S-1-05, S-1-06, D-4-75, D-4-76
#[tokio::test]
async fn data_pass_unchanged_and_are_always_an_object() {
    let harness = TestGateway::of_social().await;
    let got = harness.look("wechat_channels/search", "keyword=a").await;
    assert_eq!(got.status, 200);
    let text = got.text();
    let digits = |text: &str| {
        let mut longest = 0;
        let mut run = 0;
        for c in text.chars() {
            run = if c.is_ascii_digit() { run + 1 } else { 0 };
            longest = longest.max(run);
        }
        longest
    };
    assert!(digits(&text) >= 17, "{text}");
    check_silent(&got);
    let got = harness
        .look("kuaishou/search", &format!("keyword={}", case("array")))
        .await;
    assert!(got.json()["data"]["items"].is_array(), "{}", got.text());
    let got = harness
        .look("kuaishou/search", &format!("keyword={}", case("scalar")))
        .await;
    assert!(got.json()["data"]["value"].is_number(), "{}", got.text());
    let got = harness
        .look("kuaishou/search", &format!("keyword={}", case("big")))
        .await;
    assert_eq!(got.status, 200);
    assert!(got.body.len() > 5_000_000);
    harness.audit().await;
}
