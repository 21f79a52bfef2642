//! Pages go on only while a call of their own would be served: not for a cell that was paused, a key
//! that was revoked or a node that is stopping.

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use trunkline_store::keys;
use trunkline_types::KeyId;

use crate::social::harness::{cell, escaped, path, records};
use crate::test_gateway::TestGateway;

/// What a page costs, in nano-USD.
const PAGE: i64 = 20_000_000;
/// The source takes so long for a page that things change in the meantime.
const SLOW: &str = "[[social:slow:2000]]";

impl TestGateway {
    /// Asks for pages, lets something happen behind the first, and reads on to the last line: how many
    /// pages there were, and the line.
    async fn pages_while(&self, keyword: &str, act: impl AsyncFnOnce()) -> (usize, Value) {
        let keyword = escaped(keyword);
        let path = path("kuaishou/search/pages", &format!("keyword={keyword}"));
        let mut answer = self.send(Method::GET, &path, Bytes::new()).await;
        assert_eq!(answer.status, 200);
        let mut text = Vec::new();
        let first = answer.piece().await.unwrap().unwrap();
        text.extend_from_slice(&first);
        act().await;
        while let Some(piece) = answer.piece().await.unwrap() {
            text.extend_from_slice(&piece);
        }
        let text = String::from_utf8(text).unwrap();
        let lines: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let (end, pages) = lines.split_last().unwrap();
        assert_eq!(end["object"], json!("social.end"));
        assert_eq!(end["pages"], json!(pages.len()));
        (pages.len(), end.clone())
    }

    /// Of three pages two were delivered: the one before the change, and the one that was under way.
    /// Neither the source nor the money was moved for the third, and it says how to go on.
    async fn stopped_behind_two(&self, (pages, end): (usize, Value), before: i64) -> Value {
        assert_eq!((pages, &end["reason"]), (2, &json!("error")), "{end}");
        assert_eq!(end["cost_usd"], json!("0.04"));
        assert_eq!(end["error"]["charged"], json!(false));
        assert!(end["next"]["pcursor"].is_string(), "{end}");
        assert_eq!(self.vendor_calls().len(), 2);
        assert_eq!(self.posted_at_rest().await, before - 2 * PAGE);
        end["error"].clone()
    }

    async fn revoke_own_key(&self) {
        let id = self.get("/v1/key").await.json()["id"].as_i64().unwrap();
        let mut tx = self.console.begin().await.unwrap();
        let done = keys::revoke(&mut tx, KeyId::new(id)).await;
        tx.finish(done).await.unwrap();
        self.gateway.refresh().await.unwrap();
    }
}

#[tokio::test]
async fn pages_of_a_cell_that_is_paused_meanwhile_stop() {
    let harness = TestGateway::of_social().await;
    let before = harness.posted_at_rest().await;
    let reported = harness
        .pages_while(SLOW, async || harness.pause("kuaishou", "search").await)
        .await;
    let error = harness.stopped_behind_two(reported, before).await;
    assert_eq!(error["code"], json!("social_data_unavailable"));
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("is paused"), "{message}");
    harness.audit().await;
}

#[tokio::test]
async fn pages_of_a_cell_that_is_not_sold_any_more_stop() {
    let harness = TestGateway::of_social().await;
    let before = harness.posted_at_rest().await;
    let elsewhere = records([&cell("kuaishou", "search")]).replace("\"default\"", "\"vip\"");
    let reported = harness
        .pages_while(SLOW, async || harness.sell(&elsewhere).await)
        .await;
    let error = harness.stopped_behind_two(reported, before).await;
    assert_eq!(error["code"], json!("social_data_unavailable"));
}

#[tokio::test]
async fn pages_for_a_key_that_is_revoked_meanwhile_stop() {
    let harness = TestGateway::of_social().await;
    let before = harness.posted_at_rest().await;
    let reported = harness
        .pages_while(SLOW, async || harness.revoke_own_key().await)
        .await;
    let error = harness.stopped_behind_two(reported, before).await;
    assert_eq!(error["code"], json!("revoked_api_key"));
    assert_eq!(error["retryable"], json!(false));
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("was revoked"), "{message}");
    harness.audit().await;
}

#[tokio::test]
async fn pages_of_a_node_that_is_stopping_end_so_that_another_can_go_on() {
    let harness = TestGateway::of_social().await;
    let before = harness.posted_at_rest().await;
    let reported = harness
        .pages_while(SLOW, async || harness.gateway.drain())
        .await;
    let error = harness.stopped_behind_two(reported, before).await;
    assert_eq!(error["code"], json!("temporarily_unavailable"));
    assert_eq!(error["retryable"], json!(true));
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("this node is shutting down"), "{message}");
}

#[tokio::test]
async fn a_busy_platform_is_not_asked_again_once_its_cell_is_paused() {
    let harness = TestGateway::of_social().await;
    let before = harness.posted_at_rest().await;
    let plan = json!({ "fault": { "social": "429:3" }, "one_in": 2, "times": 1 });
    harness
        .simulator
        .plan(serde_json::from_value(plan).unwrap());
    let (pages, end) = harness
        .pages_while("a", async || harness.pause("kuaishou", "search").await)
        .await;
    assert_eq!((pages, &end["reason"]), (1, &json!("error")), "{end}");
    assert_eq!(end["error"]["code"], json!("social_data_unavailable"));
    assert_eq!(harness.vendor_calls().len(), 2);
    assert_eq!(harness.posted_at_rest().await, before - PAGE);
    assert!(end["next"]["pcursor"].is_string(), "{end}");
}
