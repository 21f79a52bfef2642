//! What stops pages, on every cell that has them: each platform carries its cursor in its own way.

use serde_json::{Value, json};

use crate::social::harness::{cells, needed, price, query};
use crate::social::pages::{PAGES, going_on, split};
use crate::test_gateway::TestGateway;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repeated_page_of_any_cell_is_found_and_stops_it() {
    let harness = TestGateway::of_social().await;
    let mut paged = 0;
    for cell in cells().all().filter(|cell| cell.has_pages()) {
        let name = &cell.model;
        let plan = json!({ "fault": { "social": "same_page" }, "model": cell.source_path() });
        harness
            .simulator
            .plan(serde_json::from_value(plan).unwrap());
        let before = harness.posted_at_rest().await;
        let calls = harness.vendor_calls().len();
        let got = harness.pages(cell, &query(cell, &needed(cell))).await;
        let (pages, end) = split(&got);
        assert_eq!(end["reason"], json!("repeated_page"), "{name}: {end}");
        assert_eq!(end["next"], Value::Null, "{name}");
        assert_eq!(pages.len(), 2, "{name}");
        assert_eq!(harness.vendor_calls().len() - calls, 2, "{name}");
        let cost = price(cell).nanos() * 2;
        assert_eq!(harness.posted_at_rest().await, before - cost, "{name}");
        harness.simulator.clear_plans();
        paged += 1;
    }
    assert!(paged >= 50, "{paged}");
    harness.audit().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cap_stops_the_pages_of_any_cell_and_what_it_says_is_the_page_behind() {
    let harness = TestGateway::of_social().await;
    let mut paged = 0;
    for cell in cells().all().filter(|cell| cell.has_pages()) {
        let name = &cell.model;
        let before = harness.posted_at_rest().await;
        let calls = harness.vendor_calls().len();
        let capped = format!("{}&max_pages=2", query(cell, &needed(cell)));
        let got = harness.pages(cell, capped.trim_start_matches('&')).await;
        let (pages, end) = split(&got);
        assert_eq!(end["reason"], json!("max_pages"), "{name}: {end}");
        assert_eq!(pages.len(), 2, "{name}");
        assert_eq!(harness.vendor_calls().len() - calls, 2, "{name}");
        let cost = price(cell).nanos() * 2;
        assert_eq!(harness.posted_at_rest().await, before - cost, "{name}");
        let got = harness.pages(cell, &going_on(&end)).await;
        let (rest, end) = split(&got);
        assert_eq!(end["reason"], json!("end"), "{name}: {end}");
        assert_eq!(rest.len(), PAGES - 2, "{name}");
        assert!(
            !pages.iter().any(|page| page["data"] == rest[0]["data"]),
            "{name}"
        );
        paged += 1;
    }
    assert!(paged >= 50, "{paged}");
    harness.audit().await;
}
