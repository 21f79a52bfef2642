//! `DELETE /v1/videos/{id}`: what waits costs nothing, what an upstream gives back is refunded, and the
//! rest goes on.

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use trunkline_simulator::Phase;

use crate::test_gateway::{GatewayResponse, TestGateway};
use crate::videos::{
    CAT, cat, column, ended, made, moved, quick, shown, spent, studio, until, work,
};

async fn cancel(house: &TestGateway, id: &str) -> GatewayResponse {
    let path = format!("/v1/videos/{id}");
    GatewayResponse::read(house.send(Method::DELETE, &path, Bytes::new()).await).await
}

fn is_cancelled(got: &GatewayResponse) {
    assert_eq!(got.status, 200, "{}", got.text());
    let task: Value = got.json();
    assert_eq!(task["status"], "failed");
    assert_eq!(task["error"]["code"], "cancelled");
}

async fn goes_on(house: &TestGateway, id: &str) {
    let state = column(house, id, "state").await;
    let got = cancel(house, id).await;
    assert_eq!(
        (got.status.as_u16(), got.code().as_str()),
        (409, "not_cancellable"),
        "{state}"
    );
    assert_eq!(column(house, id, "state").await, state);
}

// covers: D-2-72, D-2-74, D-7-VID-33
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_that_waits_is_cancelled_for_nothing_and_never_sent() {
    let house = studio(quick()).await;
    let id = made(&house, &cat("[[id:w]][[job:full:1]]")).await;
    let [_, held, _, _] = house.wallets().await;
    assert_eq!(held, CAT);
    is_cancelled(&cancel(&house, &id).await);
    assert_eq!(shown(&house, &id).await["error"]["code"], "cancelled");
    assert_eq!(spent(&house).await, 0);
    assert_eq!(moved(&house, &id, "charge").await, 0);
    goes_on(&house, &id).await;
    work(&house).await;
    assert!(house.simulator.video_jobs().is_empty());
    house.audit().await;
}

// covers: D-2-73
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_that_its_upstream_gives_back_is_refunded() {
    let house = studio(quick()).await;
    let id = made(&house, &cat("[[job:wait_ms:600000]]")).await;
    assert_eq!(spent(&house).await, CAT);
    is_cancelled(&cancel(&house, &id).await);
    assert_eq!(spent(&house).await, 0);
    assert_eq!(moved(&house, &id, "refund").await, CAT);
    let job = house.simulator.video_jobs().swap_remove(0);
    assert_eq!(job.phase(), Phase::Cancelled);
    work(&house).await;
    assert_eq!(moved(&house, &id, "refund").await, CAT, "once");
    house.audit().await;
}

// covers: D-2-75
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_that_is_too_far_goes_on_and_stays_charged() {
    let house = studio(quick()).await;
    let running = made(&house, &cat("[[job:wait_ms:0]][[job:ms:1500]]")).await;
    until(&house, &running, "in_progress").await;
    goes_on(&house, &running).await;
    // This vendor stops nothing, not even what waits.
    let kling = json!({ "model": "kling-v3", "prompt": "x [[job:wait_ms:600000]]" });
    let kling = made(&house, &kling).await;
    goes_on(&house, &kling).await;
    let lost = json!({ "model": "MiniMax-Hailuo-2.3", "prompt": "x [[job:lost]]" });
    let lost = made(&house, &lost).await;
    goes_on(&house, &lost).await;
    assert_eq!(ended(&house, &running).await["status"], "completed");
    goes_on(&house, &running).await;
    assert_eq!(moved(&house, &running, "charge").await, CAT);
    assert_eq!(moved(&house, &running, "refund").await, 0);
    house.audit().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_that_ends_while_it_is_cancelled_has_one_end() {
    let house = studio(quick()).await;
    for _ in 0..12 {
        let id = made(&house, &cat("[[job:wait_ms:60]][[job:ms:0]]")).await;
        let (got, done) = tokio::join!(cancel(&house, &id), ended(&house, &id));
        let refunded = moved(&house, &id, "refund").await;
        if got.status == 200 {
            assert_eq!((done["status"].as_str(), refunded), (Some("failed"), CAT));
        } else {
            assert_eq!((done["status"].as_str(), refunded), (Some("completed"), 0));
        }
    }
    house.audit().await;
}
