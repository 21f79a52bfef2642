//! Limits of social data: of a platform, of every page, and of the channel to the source.

use serde_json::json;
use trunkline_store::limits::{self, RateLimit, Rates, Scope};

use crate::social::harness::{PAID, cells, records};
use crate::social::pages::split;
use crate::test_gateway::{ChannelOptions, TestGateway, TestOptions};

const PAIR: &str = "kuaishou/search";

async fn limit(harness: &TestGateway, platform: &str, requests: i64) {
    let limit = RateLimit {
        account: Some(harness.account),
        scope: Scope::Platform,
        name: platform.to_owned(),
        rates: Rates {
            requests_per_minute: Some(requests),
            ..Rates::default()
        },
    };
    let mut tx = harness.console.begin().await.unwrap();
    limits::set(&mut tx, &limit).await.unwrap();
    tx.commit().await.unwrap();
    harness.gateway.refresh().await.unwrap();
}

#[tokio::test]
async fn a_platform_is_asked_no_more_than_its_limit_and_every_page_counts() {
    let harness = TestGateway::of_social().await;
    limit(&harness, "kuaishou", 2).await;
    // What is wrong with the request comes first, and does not count.
    for _ in 0..3 {
        assert_eq!(harness.look(PAIR, "").await.status, 400);
    }
    let got = harness.look(PAIR, "keyword=a").await;
    assert_eq!(got.status, 200, "{}", got.text());
    assert_eq!(got.header("x-ratelimit-limit-requests").unwrap(), "2");
    assert_eq!(got.header("x-ratelimit-remaining-requests").unwrap(), "1");
    let got = harness.look(&format!("{PAIR}/pages"), "keyword=a").await;
    let (pages, end) = split(&got);
    assert_eq!(pages.len(), 1, "the second page is over the limit");
    assert_eq!(end["error"]["code"], json!("rate_limit_exceeded"), "{end}");
    let paid = harness.posted_at_rest().await;
    let got = harness.look(PAIR, "keyword=a").await;
    assert_eq!(
        (got.status.as_u16(), got.code().as_str()),
        (429, "rate_limit_exceeded")
    );
    let text = got.text();
    assert!(text.contains("this account with platform"), "{text}");
    assert_eq!(harness.posted_at_rest().await, paid, "nothing was charged");
    assert_eq!(
        harness.vendor_calls().len(),
        2,
        "the source was asked for what was paid"
    );
    harness.audit().await;
}

#[tokio::test]
async fn a_source_that_is_asked_enough_is_busy() {
    let options = TestOptions {
        paid: PAID,
        ..TestOptions::default()
    };
    let harness = TestGateway::build(options).await;
    harness.sell(&records(cells().all())).await;
    let base = format!("http://{}", harness.simulator.address());
    let all = cells();
    let models: Vec<(&str, &str)> = all
        .all()
        .map(|cell| (cell.model.as_str(), cell.model.as_str()))
        .collect();
    let options = ChannelOptions {
        provider: Some("tikhub"),
        requests_per_minute: Some(1),
        ..ChannelOptions::default()
    };
    harness
        .channel_with("source", &base, &models, options)
        .await;
    assert_eq!(harness.look(PAIR, "keyword=a").await.status, 200);
    let got = harness.look(PAIR, "keyword=a").await;
    assert_eq!(got.status, 429, "{}", got.text());
    assert_eq!(got.code(), "social_data_capacity_reached");
    assert_eq!(got.json()["error"]["reason"], json!("busy"));
    let wait: u64 = got.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
    harness.posted_at_rest().await;
    harness.audit().await;
}
