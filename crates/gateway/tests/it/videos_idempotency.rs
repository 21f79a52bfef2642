//! The same request twice: an idempotency key, or a library that tries again by itself, makes one task,
//! one job and one charge.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::join_all;
use http::Method;
use trunkline_db::SystemClock;
use trunkline_store::PolicyFields;

use crate::test_gateway::GatewayResponse;
use crate::videos::{CAT, cat, ended, generation, make_with, moved, quick, spent, work};

const KEY: &str = "idempotency-key";
const RETRIES: &str = "x-stainless-retry-count";

fn id(got: &GatewayResponse) -> String {
    assert_eq!(got.status, 200, "{}", got.text());
    got.json()["id"].as_str().unwrap().to_owned()
}

// covers: D-3-39, D-3-40
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_key_and_body_is_the_same_task_and_another_body_is_refused() {
    let harness = generation(quick()).await;
    let key = [(KEY, "k-1")];
    let first = make_with(&harness, &cat(""), &key).await;
    assert_eq!(first.header("idempotent-replayed"), None);
    let repeated = make_with(&harness, &cat(""), &key).await;
    assert_eq!(id(&repeated), id(&first));
    assert_eq!(
        repeated.header("idempotent-replayed").as_deref(),
        Some("true")
    );
    let older = "/v1/video/generations";
    let body = Bytes::from(cat("").to_string());
    let older =
        GatewayResponse::read(harness.send_with(Method::POST, older, body, &key).await).await;
    assert_eq!(id(&older), id(&first), "both paths are one");
    let other = make_with(&harness, &cat("other"), &key).await;
    assert_eq!(
        (other.status.as_u16(), other.code().as_str()),
        (409, "idempotency_conflict")
    );
    assert_eq!(other.header("x-should-retry").as_deref(), Some("false"));
    assert_eq!(ended(&harness, &id(&first)).await["status"], "completed");
    let late = make_with(&harness, &cat(""), &key).await;
    assert_eq!(late.body, first.body, "the answer that was given");
    assert_eq!(late.id(), first.id());
    assert_eq!(harness.simulator.video_jobs().len(), 1);
    assert_eq!(spent(&harness).await, CAT);
    for wrong in ["", &"x".repeat(256)] {
        assert_eq!(
            make_with(&harness, &cat(""), &[(KEY, wrong)]).await.status,
            400
        );
    }
    harness.audit().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_at_once_with_one_key_are_one_job() {
    let harness = generation(quick()).await;
    for round in 0..3 {
        let name = format!("k-{round}");
        let (key, body) = ([(KEY, name.as_str())], cat(&name));
        let all = join_all((0..12).map(|_| make_with(&harness, &body, &key))).await;
        let first = id(&all[0]);
        assert!(all.iter().all(|got| id(got) == first));
        let replayed = all
            .iter()
            .filter(|got| got.header("idempotent-replayed").is_some());
        assert_eq!(replayed.count(), 11);
        assert_eq!(moved(&harness, &first, "charge").await, CAT);
    }
    work(&harness).await;
    assert_eq!(harness.simulator.video_jobs().len(), 3);
    assert_eq!(spent(&harness).await, 3 * CAT);
    harness.audit().await;
}

/// As many of each library are let in as come.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_duplicates_on_three_nodes_are_one_job_and_one_charge() {
    let harness = generation(quick()).await;
    let second = harness.node("n2", Arc::new(SystemClock), quick()).await;
    let third = harness.node("n3", Arc::new(SystemClock), quick()).await;
    let many = harness
        .make_key(PolicyFields {
            concurrent_calls: Some(1_000),
            ..PolicyFields::default()
        })
        .await;
    second.gateway.refresh().await.unwrap();
    third.gateway.refresh().await.unwrap();
    let nodes = [harness.address, second.address, third.address];
    let key = [(KEY, "k-1")];
    let body = Bytes::from(cat("").to_string());
    let one = async |at: usize| loop {
        let sent = (nodes[at % 3], many.as_str());
        let got = harness.send_as(sent, Method::POST, "/v1/videos", body.clone(), &key);
        let got = GatewayResponse::read(got.await).await;
        // A disk that stands still is not what is tried here.
        if got.status != 503 {
            return got;
        }
    };
    let all = join_all((0..100).map(one)).await;
    let first = id(&all[0]);
    assert!(all.iter().all(|got| got.body == all[0].body), "{all:#?}");
    assert!(all.iter().all(|got| got.id() == all[0].id()));
    let fresh = all
        .iter()
        .filter(|got| got.header("idempotent-replayed").is_none());
    assert_eq!(fresh.count(), 1);
    assert_eq!(ended(&harness, &first).await["status"], "completed");
    assert_eq!(harness.simulator.video_jobs().len(), 1);
    assert_eq!(spent(&harness).await, CAT);
    harness.audit().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_request_frees_its_key() {
    let harness = generation(quick()).await;
    let key = [(KEY, "k-1")];
    let refused = make_with(&harness, &cat("[[job:refuse:InvalidParameter]]"), &key).await;
    assert_eq!(
        (refused.status.as_u16(), refused.code().as_str()),
        (400, "InvalidParameter")
    );
    let taken = make_with(&harness, &cat("better"), &key).await;
    assert_eq!(taken.header("idempotent-replayed"), None);
    assert_eq!(ended(&harness, &id(&taken)).await["status"], "completed");
    assert_eq!(spent(&harness).await, CAT);
    harness.audit().await;
}

// covers: D-4-50
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_library_that_tries_again_joins_its_first_request_for_two_minutes() {
    let harness = generation(quick()).await;
    let first = id(&make_with(&harness, &cat(""), &[(RETRIES, "0")]).await);
    let retry = [(RETRIES, "1")];
    let repeated = make_with(&harness, &cat(""), &retry).await;
    assert_eq!(id(&repeated), first);
    assert_eq!(repeated.json()["status"], "queued");
    assert_eq!(repeated.json()["progress"], 0);
    assert_ne!(
        id(&make_with(&harness, &cat("another"), &retry).await),
        first
    );
    let fresh = id(&make_with(&harness, &cat(""), &[(RETRIES, "0")]).await);
    assert_ne!(fresh, first, "without a retry it is another video");
    assert_eq!(
        id(&make_with(&harness, &cat(""), &[(RETRIES, "2")]).await),
        fresh
    );
    assert_eq!(harness.simulator.video_jobs().len(), 3);
    let rich = crate::test_gateway::account(&harness.console, 10 * CAT, 0).await;
    let rich = harness.key_of(rich, PolicyFields::default()).await;
    let body = Bytes::from(cat("").to_string());
    let sent = harness.send_as(
        (harness.address, &rich),
        Method::POST,
        "/v1/videos",
        body,
        &retry,
    );
    let theirs = GatewayResponse::read(sent.await).await;
    assert!(
        ![first, fresh.clone()].contains(&id(&theirs)),
        "another account's is another"
    );
    harness.db.shift_clock(121).await;
    let late = id(&make_with(&harness, &cat(""), &retry).await);
    assert_ne!(late, fresh);
    assert_eq!(spent(&harness).await, 4 * CAT);
    harness.audit_but_for_the_clock().await;
}
