//! The final outcome of a video: what its upstream made of it after it was accepted and charged.

use serde_json::{Value, json};

use crate::test_gateway::TestGateway;
use crate::videos::{CAT, cat, ended, generation, made, quick};

/// The single calls of an account by their tasks.
async fn outcomes(harness: &TestGateway) -> Vec<(String, String)> {
    let lines = harness.get("/v1/usage?detail=calls").await.text();
    let read = |line: &str| {
        let call: Value = serde_json::from_str(line).unwrap();
        let word = |name: &str| call[name].as_str().unwrap().to_owned();
        (word("request_id").replace("req_", "task_"), word("outcome"))
    };
    lines.lines().map(read).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_usage_of_a_customer_counts_a_video_that_failed_after_its_charge_as_failed() {
    let harness = generation(quick()).await;
    let done = made(&harness, &cat("")).await;
    let failed = made(&harness, &cat("[[job:fail:InvalidParameter]]")).await;
    assert_eq!(ended(&harness, &done).await["status"], "completed");
    assert_eq!(ended(&harness, &failed).await["status"], "failed");

    let one = harness
        .get(&format!("/v1/usage/{}", failed.replace("task_", "req_")))
        .await
        .json();
    assert_eq!(one["outcome"], "upstream_failed", "{one}");
    let expected = [
        (failed, "upstream_failed".to_owned()),
        (done, "accepted".to_owned()),
    ];
    assert_eq!(outcomes(&harness).await, expected);
    let report = harness.get("/v1/usage").await.json();
    let totals = &report["totals"];
    assert_eq!(
        (&totals["calls"], &totals["failed_calls"]),
        (&json!(2), &json!(1)),
        "{report}"
    );
    let both = trunkline_types::Money::from_nanos(2 * CAT).to_string();
    assert_eq!(totals["charged_usd"], both);
    // The sums that are kept tell the same as the rows that wait for them.
    trunkline_ledger::usage_report::sum_up(&harness.data)
        .await
        .unwrap();
    let summed = harness.get("/v1/usage").await.json();
    assert_eq!(summed["totals"], report["totals"]);
    harness.audit().await;
}
