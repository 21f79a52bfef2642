//! The price before the call, and a quote that is kept.

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};

use crate::response::GatewayResponse;
use crate::social::harness::{cell, records};
use crate::test_gateway::TestGateway;

impl TestGateway {
    async fn social_quote(&self, endpoint: &str, params: &Value) -> GatewayResponse {
        let body = json!({ "endpoint": endpoint, "body": params }).to_string();
        GatewayResponse::read(
            self.send(Method::POST, "/v1/quotes", Bytes::from(body))
                .await,
        )
        .await
    }
}

#[tokio::test]
async fn a_quote_is_the_price_of_the_call_with_its_field_report_and_is_kept() {
    let harness = TestGateway::of_social().await;
    let endpoint = "/v1/social/wechat_channels/search";
    let params = json!({ "keyword": "café", "offset": 20 });
    let got = harness.social_quote(endpoint, &params).await;
    assert_eq!(got.status, 200, "{}", got.text());
    let quote = got.json();
    assert_eq!(quote["price_usd"], json!("0.02"));
    assert_eq!(quote["exact"], json!(true));
    let line = &quote["lines"][0];
    assert_eq!(
        (&line["face"], &line["units"]),
        (&json!("per_call"), &json!(1))
    );
    assert_eq!(line["amount_usd"], quote["price_usd"]);
    assert_eq!(quote["lines"][1], Value::Null);
    assert_eq!(quote["model"], json!("social-wechat_channels-search"));
    assert_eq!(quote["warnings"], json!(["cursor_not_offset"]));
    assert_eq!(quote["fields"][0]["field"], json!("keyword"));
    assert!(harness.vendor_calls().is_empty());
    // The price rises; the quote is kept for what was quoted and for nothing else.
    let dearer =
        records([&cell("wechat_channels", "search")]).replace("per_call = 2", "per_call = 5");
    harness.sell(&dearer).await;
    let id = quote["id"].as_str().unwrap();
    let kept = [("trunkline-quote", id)];
    let got = harness
        .look_with(
            "wechat_channels/search",
            "offset=20&keyword=caf%C3%A9",
            &kept,
        )
        .await;
    assert_eq!(
        got.header("trunkline-cost-usd").as_deref(),
        Some("0.02"),
        "{}",
        got.text()
    );
    let got = harness
        .look_with("wechat_channels/search", "keyword=tea", &kept)
        .await;
    assert_eq!(
        (got.status.as_u16(), got.code().as_str()),
        (409, "quote_mismatch")
    );
    let got = harness
        .look_with("wechat_mp/search", "offset=20&keyword=caf%C3%A9", &kept)
        .await;
    assert_eq!(
        (got.status.as_u16(), got.code().as_str()),
        (409, "quote_mismatch")
    );
    let got = harness.look("wechat_channels/search", "keyword=tea").await;
    assert_eq!(got.header("trunkline-cost-usd").as_deref(), Some("0.05"));
    harness.audit().await;
}

#[tokio::test]
async fn what_would_be_refused_is_refused_by_the_quote_too() {
    let harness = TestGateway::of_social().await;
    for (endpoint, params, status, code) in [
        (
            "/v1/social/douyin/search",
            json!({}),
            400,
            "missing_parameter",
        ),
        (
            "social/douyin/search",
            json!({ "keyword": "a", "cursor": "x" }),
            400,
            "invalid_parameter_type",
        ),
        (
            "/v1/social/douyin/search",
            json!({ "keyword": ["a"] }),
            400,
            "invalid_parameter_type",
        ),
        (
            "/v1/social/douyin/search",
            json!([1]),
            400,
            "invalid_request",
        ),
        ("/v1/social/douyin/login", json!({}), 404, "not_found"),
    ] {
        let got = harness.social_quote(endpoint, &params).await;
        assert_eq!(
            (got.status.as_u16(), got.code().as_str()),
            (status, code),
            "{endpoint}"
        );
    }
}
