//! Many pages by one request: they advance, end, do not repeat, stop at a cap, and each is paid for.

use std::time::Duration;

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use trunkline_social::Cell;

use crate::response::GatewayResponse;
use crate::social::harness::{cells, escaped, needed, pair, path, price, query};
use crate::test_gateway::TestGateway;

/// Pages that the source has of everything.
pub(crate) const PAGES: usize = 3;

fn lines(got: &GatewayResponse) -> Vec<Value> {
    assert_eq!(got.status, 200, "{}", got.text());
    assert_eq!(
        got.header("content-type").as_deref(),
        Some("application/x-ndjson; charset=utf-8")
    );
    let text = got.text();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The pages and the last line.
pub(crate) fn split(got: &GatewayResponse) -> (Vec<Value>, Value) {
    let mut all = lines(got);
    let end = all.pop().unwrap();
    assert_eq!(end["object"], json!("social.end"));
    for (number, page) in all.iter().enumerate() {
        assert_eq!(page["object"], json!("social.page"));
        assert_eq!(page["page"], json!(number + 1));
        assert!(page["data"].is_object());
    }
    assert_eq!(end["pages"], json!(all.len()));
    (all, end)
}

/// The query that a last line says to go on with.
pub(crate) fn going_on(end: &Value) -> String {
    let next = end["next"].as_object().unwrap();
    let pairs: Vec<String> = next
        .iter()
        .map(|(name, value)| format!("{name}={}", escaped(value.as_str().unwrap())))
        .collect();
    pairs.join("&")
}

impl TestGateway {
    pub(crate) async fn pages(&self, cell: &Cell, query: &str) -> GatewayResponse {
        self.look(&format!("{}/pages", pair(cell)), query).await
    }

    async fn paid_pages(&self, pages: &[Value]) -> i64 {
        let mut sum = 0;
        for page in pages {
            let (_, charged, _, _) = self.usage(page["request_id"].as_str().unwrap()).await;
            sum += charged;
        }
        sum
    }
}

// covers: S-2.1-06, S-4.1-19, S-4.1-24, S-8-03, D-7-SOC-29, S-4.2-P01-06, S-4.2-P02-05, S-4.2-P08-11, S-4.2-P08-15
// covers: S-4.2-P13-02, S-4.2-P14-08, S-4.2-P03-02, S-4.2-P15-02
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_pages_of_every_cell_advance_to_their_end_and_each_is_paid_for() {
    let harness = TestGateway::of_social().await;
    let (mut paged, mut platforms) = (0, Vec::new());
    let mut wrong = Vec::new();
    for cell in cells().all().filter(|cell| cell.has_pages()) {
        let name = &cell.model;
        let before = harness.posted_at_rest().await;
        let calls = harness.vendor_calls().len();
        let got = harness.pages(cell, &query(cell, &needed(cell))).await;
        let is_whole = got.status == 200
            && split(&got).1["reason"] == json!("end")
            && split(&got).0.len() == PAGES;
        if !is_whole {
            println!("{name}: {}", got.text().lines().last().unwrap_or_default());
            wrong.push(name.clone());
            continue;
        }
        let (pages, end) = split(&got);
        assert_eq!(end["next"], Value::Null, "{name}");
        let cost = price(cell).nanos() * 3;
        assert_eq!(harness.posted_at_rest().await, before - cost, "{name}");
        assert_eq!(harness.paid_pages(&pages).await, cost, "{name}");
        assert_eq!(
            end["cost_usd"],
            json!(trunkline_types::Money::from_nanos(cost).to_string())
        );
        let data: Vec<String> = pages.iter().map(|page| page["data"].to_string()).collect();
        assert!(data[0] != data[1] && data[1] != data[2], "{name}");
        // Three questions, each with what the page before gave out; and one more where pages are counted
        // and only an empty one tells the end.
        let questions = harness.vendor_calls().len() - calls;
        assert!(
            (PAGES..=PAGES + 1).contains(&questions),
            "{name}: {questions}"
        );
        paged += 1;
        platforms.push(cell.platform.key.clone());
    }
    platforms.dedup();
    println!("{paged} cells of {} platforms have pages", platforms.len());
    assert!(wrong.is_empty(), "{wrong:?}");
    assert!(paged >= 50, "{paged}");
    harness.audit().await;
}

#[tokio::test]
async fn a_cap_stops_it_and_says_how_to_go_on() {
    let harness = TestGateway::of_social().await;
    let before = harness.posted_at_rest().await;
    let got = harness
        .look("kuaishou/search/pages", "keyword=a&max_pages=2")
        .await;
    let (pages, end) = split(&got);
    assert_eq!((pages.len(), &end["reason"]), (2, &json!("max_pages")));
    assert_eq!(end["cost_usd"], json!("0.04"));
    assert_eq!(harness.posted_at_rest().await, before - 40_000_000);
    // What it says is the third page.
    let got = harness.look("kuaishou/search/pages", &going_on(&end)).await;
    let (third, end) = split(&got);
    assert_eq!((third.len(), &end["reason"]), (1, &json!("end")));
    assert!(!pages.iter().any(|page| page["data"] == third[0]["data"]));
    let before = harness.posted_at_rest().await;
    let got = harness
        .look("kuaishou/search/pages", "keyword=a&max_usd=0.059")
        .await;
    let (pages, end) = split(&got);
    assert_eq!((pages.len(), &end["reason"]), (2, &json!("max_usd")));
    assert_eq!(harness.posted_at_rest().await, before - 40_000_000);
    // A cap below one page is told before anything moves.
    let got = harness
        .look("kuaishou/search/pages", "keyword=a&max_usd=0.019")
        .await;
    assert_eq!(
        (got.status.as_u16(), got.code().as_str()),
        (402, "max_cost_exceeded")
    );
    for (query, code) in [
        ("keyword=a&max_pages=0", "invalid_parameter_value"),
        ("keyword=a&max_pages=1001", "invalid_parameter_value"),
        ("keyword=a&max_pages=1&max_pages=1", "repeated_parameter"),
        ("keyword=a&max_usd=much", "invalid_parameter_value"),
        ("keyword=a&colour=red", "unknown_parameter"),
        ("max_pages=2", "missing_parameter"),
    ] {
        let got = harness.look("kuaishou/search/pages", query).await;
        assert_eq!(
            (got.status.as_u16(), got.code().as_str()),
            (400, code),
            "{query}"
        );
    }
    let got = harness.look("douyin/trending/pages", "").await;
    assert_eq!(
        (got.status.as_u16(), got.code().as_str()),
        (404, "not_found")
    );
    harness.audit().await;
}

#[tokio::test]
async fn the_callers_limit_for_a_call_is_one_for_all_pages_together() {
    let harness = TestGateway::of_social().await;
    let before = harness.posted_at_rest().await;
    let capped = async |query: &str, most: &str| {
        let limit = [("trunkline-max-cost-usd", most)];
        harness
            .look_with("kuaishou/search/pages", query, &limit)
            .await
    };
    for (query, most) in [
        ("keyword=a", "0.059"),
        ("keyword=a&max_usd=1", "0.04"),
        ("keyword=a&max_usd=0.04", "1"),
    ] {
        let (pages, end) = split(&capped(query, most).await);
        assert_eq!((pages.len(), &end["reason"]), (2, &json!("max_usd")));
        assert!(end["next"]["pcursor"].is_string(), "{end}");
    }
    let (pages, end) = split(&capped("keyword=a", "0.06").await);
    assert_eq!((pages.len(), &end["reason"]), (PAGES, &json!("end")));
    assert_eq!(harness.posted_at_rest().await, before - 9 * 20_000_000);
    // Below one page it is told before anything moves, by its own name.
    let got = capped("keyword=a&max_usd=1", "0.019").await;
    assert_eq!(
        (got.status.as_u16(), got.code().as_str()),
        (402, "max_cost_exceeded")
    );
    assert!(got.text().contains("trunkline-max-cost-usd"));
    let got = capped("keyword=a", "much").await;
    assert_eq!(
        (got.status.as_u16(), got.code().as_str()),
        (400, "invalid_request")
    );
    harness.audit().await;
}

#[tokio::test]
async fn a_first_page_that_fails_is_an_ordinary_error_and_a_later_one_ends_it() {
    let harness = TestGateway::of_social().await;
    let before = harness.posted_at_rest().await;
    let case = escaped("[[social:empty]]");
    let got = harness
        .look("kuaishou/search/pages", &format!("keyword={case}"))
        .await;
    assert_eq!(
        (got.status.as_u16(), got.code().as_str()),
        (404, "social_data_no_result")
    );
    // The second question fails.
    let plan = json!({ "fault": { "social": "500" }, "one_in": 2, "times": 1 });
    harness
        .simulator
        .plan(serde_json::from_value(plan).unwrap());
    let got = harness.look("kuaishou/search/pages", "keyword=a").await;
    let (pages, end) = split(&got);
    assert_eq!((pages.len(), &end["reason"]), (1, &json!("error")), "{end}");
    assert_eq!(end["error"]["code"], json!("upstream_error"));
    assert_eq!(end["error"]["charged"], json!(false));
    assert!(end["next"]["pcursor"].is_string(), "{end}");
    harness.simulator.clear_plans();
    // A busy platform is waited for.
    let plan = json!({ "fault": { "social": "429:1" }, "one_in": 2, "times": 1 });
    harness
        .simulator
        .plan(serde_json::from_value(plan).unwrap());
    let got = harness.look("kuaishou/search/pages", "keyword=a").await;
    let (pages, end) = split(&got);
    assert_eq!(
        (pages.len(), &end["reason"]),
        (PAGES, &json!("end")),
        "{end}"
    );
    assert_eq!(harness.posted_at_rest().await, before - 4 * 20_000_000);
    harness.audit().await;
}

#[tokio::test]
async fn a_client_gone_between_pages_pays_for_the_delivered_ones() {
    let harness = TestGateway::of_social().await;
    let before = harness.posted_at_rest().await;
    let mut stream = TcpStream::connect(harness.address).await.unwrap();
    let slow = escaped("[[social:slow:700]]");
    let head = format!(
        "GET {} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {}\r\n\r\n",
        path("kuaishou/search/pages", &format!("keyword={slow}")),
        harness.key
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut received = Vec::new();
    let mut piece = vec![0; 65_536];
    while !String::from_utf8_lossy(&received).contains("social.page") {
        let count = stream.read(&mut piece).await.unwrap();
        assert!(count > 0);
        received.extend_from_slice(&piece[..count]);
    }
    tokio::time::sleep(Duration::from_millis(100)).await;
    stream.set_zero_linger().unwrap();
    drop(stream);
    assert_eq!(harness.posted_at_rest().await, before - 20_000_000);
    assert!(harness.vendor_calls().len() <= 2);
    harness.audit().await;
}

#[tokio::test]
async fn every_page_is_a_call_with_its_own_line_in_the_usage_log() {
    let harness = TestGateway::of_social().await;
    let got = harness.look("douyin/comments/pages", "aweme_id=7").await;
    let (pages, _) = split(&got);
    let mut ids: Vec<&str> = pages
        .iter()
        .map(|page| page["request_id"].as_str().unwrap())
        .collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), PAGES);
    for id in ids {
        let answer = harness
            .send(Method::GET, &format!("/v1/usage/{id}"), Bytes::new())
            .await;
        let got = GatewayResponse::read(answer).await;
        assert_eq!(got.json()["model"], json!("social-douyin-comments"));
    }
}
