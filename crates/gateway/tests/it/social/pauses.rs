//! Cells that are paused, by their operator or because the source has retired their path.

use std::time::Duration;

use trunkline_store::cell_pauses::{self, PauseAction, PausedBy};

use crate::social::harness::{cell, records};
use crate::test_gateway::TestGateway;

impl TestGateway {
    pub(crate) async fn pause(&self, platform: &str, capability: &str) {
        let mut tx = self.console.begin().await.unwrap();
        let done =
            cell_pauses::pause(&mut tx, platform, capability, "a test", PausedBy::Operator).await;
        tx.finish(done).await.unwrap();
        self.gateway.refresh().await.unwrap();
    }

    pub(crate) async fn resume(&self, platform: &str, capability: &str) {
        let mut tx = self.console.begin().await.unwrap();
        let done =
            cell_pauses::resume(&mut tx, platform, capability, "a test", PausedBy::Operator).await;
        tx.finish(done).await.unwrap();
        self.gateway.refresh().await.unwrap();
    }

    pub(crate) fn is_paused(&self, model: &str) -> bool {
        let cells = trunkline_gateway::social_cells(&self.gateway);
        let found = cells.iter().find(|(cell, _)| cell.model == model);
        found.unwrap().1
    }
}

// covers: S-3-01, S-3-02, S-7-16, S-4.1-07, S-7-17
#[tokio::test]
async fn a_paused_cell_answers_503_and_costs_nothing_until_it_is_resumed() {
    let harness = TestGateway::of_social().await;
    let before = harness.posted_at_rest().await;
    assert!(!harness.is_paused("social-douyin-search"));
    harness.pause("douyin", "search").await;
    assert!(harness.is_paused("social-douyin-search"));
    let got = harness.look("douyin/search", "keyword=a").await;
    assert_eq!(
        (got.status.as_u16(), got.code().as_str()),
        (503, "social_data_unavailable")
    );
    assert_eq!(harness.posted_at_rest().await, before);
    assert!(harness.vendor_calls().is_empty());
    // Others go on.
    assert_eq!(harness.look("douyin/trending", "").await.status, 200);
    harness.resume("douyin", "search").await;
    assert_eq!(harness.look("douyin/search", "keyword=a").await.status, 200);
}

// covers: D-4-70, S-8-08
#[tokio::test]
async fn a_cell_without_a_price_is_paused_until_it_is_priced() {
    let harness = TestGateway::new().await;
    harness.source("source").await;
    let priced = cell("reddit", "trending");
    let got = harness.look("reddit/trending", "").await;
    assert_eq!(
        (got.status.as_u16(), got.code().as_str()),
        (503, "social_data_unavailable")
    );
    harness.sell(&records([&priced])).await;
    let got = harness.look("reddit/trending", "").await;
    assert_eq!(got.status, 200, "{}", got.text());
    let dearer = records([&priced]).replace("per_call = ", "per_call = 1");
    harness.sell(&dearer).await;
    let got = harness.look("reddit/trending", "").await;
    let (_, charged, _, _) = harness.usage(&got.id()).await;
    assert_eq!(Some(charged.to_string()), dearer_nanos(&dearer));
    harness.audit().await;
}

#[tokio::test]
async fn a_cell_that_is_not_sold_in_the_callers_group_is_paused_for_it() {
    let harness = TestGateway::of_social().await;
    let elsewhere = records([&cell("reddit", "trending")]).replace("\"default\"", "\"vip\"");
    harness.sell(&elsewhere).await;
    let got = harness.look("reddit/trending", "").await;
    assert_eq!(
        (got.status.as_u16(), got.code().as_str()),
        (503, "social_data_unavailable")
    );
    assert!(harness.vendor_calls().is_empty());
}

fn dearer_nanos(record: &str) -> Option<String> {
    let (_, rest) = record.split_once("per_call = ")?;
    let pico: i64 = rest.split(' ').next()?.parse().ok()?;
    Some((pico / 1_000).to_string())
}

#[tokio::test]
async fn a_path_that_is_gone_pauses_its_cell_with_an_event() {
    let harness = TestGateway::of_social().await;
    let retired = cell("douyin", "trending");
    harness.simulator.retire_social_path(retired.source_path());
    let got = harness.look("douyin/trending", "").await;
    assert_eq!(
        (got.status.as_u16(), got.code().as_str()),
        (502, "upstream_error")
    );
    for _ in 0..500 {
        harness.gateway.refresh().await.unwrap();
        if harness.is_paused(&retired.model) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(harness.is_paused(&retired.model));
    let got = harness.look("douyin/trending", "").await;
    assert_eq!(
        (got.status.as_u16(), got.code().as_str()),
        (503, "social_data_unavailable")
    );
    let mut session = harness.console.session().await.unwrap();
    let events = cell_pauses::events(&mut session, 10).await.unwrap();
    let [event] = events.as_slice() else {
        panic!("{events:?}");
    };
    assert_eq!(
        (event.platform.as_str(), event.capability.as_str()),
        ("douyin", "trending")
    );
    assert_eq!(
        (event.action, event.by),
        (PauseAction::Paused, PausedBy::Gateway)
    );
    drop(session);
    harness.simulator.restore_social_paths();
    harness.resume("douyin", "trending").await;
    assert_eq!(harness.look("douyin/trending", "").await.status, 200);
}
