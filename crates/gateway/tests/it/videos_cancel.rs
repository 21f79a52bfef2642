//! `DELETE /v1/videos/{id}`: what waits costs nothing, what an upstream gives back is refunded, and the
//! rest goes on.

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use trunkline_simulator::Phase;

use crate::test_gateway::{GatewayResponse, TestGateway};
use crate::videos::{
    CAT, cat, column, ended, generation, made, moved, quick, spent, task_view, until, work,
};

async fn cancel(harness: &TestGateway, id: &str) -> GatewayResponse {
    let path = format!("/v1/videos/{id}");
    GatewayResponse::read(harness.send(Method::DELETE, &path, Bytes::new()).await).await
}

fn is_cancelled(got: &GatewayResponse) {
    assert_eq!(got.status, 200, "{}", got.text());
    let task: Value = got.json();
    assert_eq!(task["status"], "failed");
    assert_eq!(task["error"]["code"], "cancelled");
}

async fn goes_on(harness: &TestGateway, id: &str) {
    let state = column(harness, id, "state").await;
    let got = cancel(harness, id).await;
    assert_eq!(
        (got.status.as_u16(), got.code().as_str()),
        (409, "not_cancellable"),
        "{state}"
    );
    assert_eq!(column(harness, id, "state").await, state);
}

// covers: D-2-72, D-2-74, D-7-VID-33
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_that_waits_is_cancelled_for_nothing_and_never_sent() {
    let harness = generation(quick()).await;
    let id = made(&harness, &cat("[[id:w]][[job:full:1]]")).await;
    let [_, held, _, _] = harness.wallets().await;
    assert_eq!(held, CAT);
    is_cancelled(&cancel(&harness, &id).await);
    assert_eq!(task_view(&harness, &id).await["error"]["code"], "cancelled");
    assert_eq!(spent(&harness).await, 0);
    assert_eq!(moved(&harness, &id, "charge").await, 0);
    goes_on(&harness, &id).await;
    work(&harness).await;
    assert!(harness.simulator.video_jobs().is_empty());
    harness.audit().await;
}

// covers: D-2-73
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_that_its_upstream_gives_back_is_refunded() {
    let harness = generation(quick()).await;
    let id = made(&harness, &cat("[[job:wait_ms:600000]]")).await;
    assert_eq!(spent(&harness).await, CAT);
    is_cancelled(&cancel(&harness, &id).await);
    assert_eq!(spent(&harness).await, 0);
    assert_eq!(moved(&harness, &id, "refund").await, CAT);
    let job = harness.simulator.video_jobs().swap_remove(0);
    assert_eq!(job.phase(), Phase::Cancelled);
    work(&harness).await;
    assert_eq!(moved(&harness, &id, "refund").await, CAT, "once");
    harness.audit().await;
}

// covers: D-2-75
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_that_is_too_far_goes_on_and_stays_charged() {
    let harness = generation(quick()).await;
    let running = made(&harness, &cat("[[job:wait_ms:0]][[job:ms:1500]]")).await;
    until(&harness, &running, "in_progress").await;
    goes_on(&harness, &running).await;
    // This vendor stops nothing, not even what waits.
    let kling = json!({ "model": "kling-v3", "prompt": "x [[job:wait_ms:600000]]" });
    let kling = made(&harness, &kling).await;
    goes_on(&harness, &kling).await;
    let lost = json!({ "model": "MiniMax-Hailuo-2.3", "prompt": "x [[job:lost]]" });
    let lost = made(&harness, &lost).await;
    goes_on(&harness, &lost).await;
    assert_eq!(ended(&harness, &running).await["status"], "completed");
    goes_on(&harness, &running).await;
    assert_eq!(moved(&harness, &running, "charge").await, CAT);
    assert_eq!(moved(&harness, &running, "refund").await, 0);
    harness.audit().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_that_ends_while_it_is_cancelled_has_one_end() {
    let harness = generation(quick()).await;
    for _ in 0..12 {
        let id = made(&harness, &cat("[[job:wait_ms:60]][[job:ms:0]]")).await;
        let (got, done) = tokio::join!(cancel(&harness, &id), ended(&harness, &id));
        let refunded = moved(&harness, &id, "refund").await;
        if got.status == 200 {
            assert_eq!((done["status"].as_str(), refunded), (Some("failed"), CAT));
        } else {
            assert_eq!((done["status"].as_str(), refunded), (Some("completed"), 0));
        }
    }
    harness.audit().await;
}
