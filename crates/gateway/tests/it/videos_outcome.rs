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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_customer_sees_in_the_health_of_a_model_how_its_videos_ended() {
    let harness = generation(quick()).await;
    let done = made(&harness, &cat("")).await;
    let mut failed = Vec::new();
    for _ in 0..3 {
        failed.push(made(&harness, &cat("[[job:fail:InvalidParameter]]")).await);
    }
    assert_eq!(ended(&harness, &done).await["status"], "completed");
    for task in &failed {
        assert_eq!(ended(&harness, task).await["status"], "failed");
    }
    harness.gateway.exchange_health().await.unwrap();
    let model = harness.get(&format!("/v1/videos/{done}")).await.json()["model"].clone();
    let health = harness.gateway.routes(model.as_str().unwrap()).health;
    let health = health.expect("tasks that ended are counted");
    assert_eq!(health.sample_size, 4);
    let ratio = serde_json::to_value(health.success_ratio).unwrap();
    assert_eq!(ratio, json!(0.25), "one of four was made");
}
