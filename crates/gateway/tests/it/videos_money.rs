//! When the money of a video moves: held before it is sent, charged when it is taken, given back with
//! its failure, to the wallets it came from.

use std::time::Duration;

use bytes::Bytes;
use http::Method;
use serde_json::json;
use trunkline_ledger::accounts::{self, Period};
use trunkline_ledger::{chain, partitions, usage_report};
use trunkline_store::PolicyFields;
use trunkline_types::{KeyId, Money};

use crate::test_gateway::{GatewayResponse, TestGateway, TestOptions};
use crate::videos::{
    CAT, MONEY, cat, column, ended, generation, generation_with, made, make, make_with, moved,
    quick, spent,
};

async fn harness_with_balance(paid: i64, trial: i64) -> TestGateway {
    generation_with(TestOptions {
        settings: quick(),
        paid,
        trial,
        ..TestOptions::default()
    })
    .await
}

/// Whether the row of a task and its charge or refund were written by one transaction.
async fn together(harness: &TestGateway, id: &str, table: &str) -> bool {
    let uuid = id.strip_prefix("task_").unwrap();
    let query = format!(
        "SELECT bool_and(t.xmin::text = r.xmin::text)::text
         FROM app.video_task AS t JOIN ledger.{table} AS r ON r.request_id = t.id
         WHERE t.id = '{uuid}'"
    );
    harness.db.ask(&query).await == ["true"]
}

// covers: D-2-62, D-2-63, D-2-68, D-7-VID-31
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn money_is_held_before_a_video_is_sent_and_charged_when_it_is_taken() {
    let harness = generation(quick()).await;
    let body = cat("[[job:silent]]");
    let seen = async {
        while harness.simulator.video_jobs().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        harness.wallets().await
    };
    let (got, wallets) = tokio::join!(make(&harness, &body), seen);
    assert_eq!(wallets, [MONEY, CAT, 0, 0], "held when the job arrives");
    assert_eq!(
        (got.status.as_u16(), &got.json()["status"]),
        (200, &json!("queued"))
    );
    assert_eq!(harness.wallets().await, [MONEY, CAT, 0, 0], "and still");
    let id = made(&harness, &cat("[[job:wait_ms:600000]]")).await;
    assert_eq!(harness.wallets().await, [MONEY - CAT, CAT, 0, 0]);
    assert_eq!(moved(&harness, &id, "charge").await, CAT);
    assert!(together(&harness, &id, "usage").await);
    harness.audit().await;
}

// covers: D-2-64, G-7-02, G-7-03, G-7-04
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_task_is_never_seen_without_its_refund() {
    let harness = generation(quick()).await;
    let mut ids = Vec::new();
    for _ in 0..6 {
        ids.push(made(&harness, &cat("[[job:fail:InvalidParameter]]")).await);
    }
    let torn = "SELECT t.id::text FROM app.video_task AS t WHERE t.state = 'failed'
        AND NOT EXISTS (SELECT FROM ledger.transfer AS r WHERE r.request_id = t.id AND r.kind = 'refund')";
    let left = "SELECT 'x' FROM app.video_task WHERE state <> 'failed'";
    let watch = async {
        loop {
            assert_eq!(harness.db.ask(torn).await, Vec::<String>::new());
            if harness.db.ask(left).await.is_empty() {
                return;
            }
        }
    };
    let finish = async {
        for id in &ids {
            let task = ended(&harness, id).await;
            assert_eq!(task["error"]["code"], "InvalidParameter");
        }
    };
    tokio::join!(watch, finish);
    for id in &ids {
        assert!(together(&harness, id, "transfer").await);
        assert_eq!(moved(&harness, id, "refund").await, CAT);
    }
    assert_eq!(spent(&harness).await, 0);
    harness.audit().await;
}

// covers: D-2-24, D-7-MON-04
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_part_of_a_split_charge_goes_back_to_its_own_wallet() {
    let trial = 200_000_000;
    let harness = harness_with_balance(MONEY, trial).await;
    let id = made(&harness, &cat("[[job:fail:InternalError]]")).await;
    assert_eq!(harness.wallets().await, [MONEY - CAT + trial, 0, 0, 0]);
    assert_eq!(ended(&harness, &id).await["status"], "failed");
    assert_eq!(harness.wallets().await, [MONEY, 0, trial, 0]);
    // A bound is split too, and what it was too high goes back the same way.
    let clip = "http://10.0.0.1/clip-7s.mp4";
    let body = json!({ "model": "wan2.7-r2v", "prompt": "x", "video_url": clip });
    let id = made(&harness, &body).await;
    assert_eq!(harness.wallets().await, [MONEY - 3_300_000_000, 0, 0, 0]);
    assert_eq!(ended(&harness, &id).await["status"], "completed");
    let [paid, _, back, _] = harness.wallets().await;
    assert_eq!(paid + back, MONEY + trial - 1_200_000_000);
    harness.audit().await;
}

// covers: D-2-86
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn too_little_money_says_how_much_is_needed_and_makes_no_task() {
    let harness = harness_with_balance(700_000_000, 0).await;
    made(&harness, &cat("[[id:w]][[job:full:1000]]")).await;
    let got = make(&harness, &cat("")).await;
    assert_eq!(
        (got.status.as_u16(), got.code().as_str()),
        (402, "insufficient_balance")
    );
    let error = got.json()["error"].clone();
    assert_eq!(error["required_usd"], "0.5");
    assert_eq!(error["available_usd"], "0.2");
    assert_eq!(error["reserved_usd"], "0.5");
    assert_eq!(error["charged"], false);
    let listed = harness.get("/v1/videos").await.json();
    assert_eq!(listed["data"].as_array().unwrap().len(), 1);
    assert!(harness.simulator.video_jobs().is_empty());
    harness.audit().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_budget_of_the_key_refuses_and_a_refund_returns_to_it() {
    let harness = generation(quick()).await;
    let key = harness.get("/v1/key").await.json()["id"].as_i64().unwrap();
    let mut tx = harness.console.begin().await.unwrap();
    let limit = Some(Money::from_nanos(600_000_000));
    let key = Some(KeyId::new(key));
    let set = accounts::set_budget(&mut tx, harness.account, key, Period::Daily, "UTC", limit);
    assert!(set.await.unwrap());
    tx.commit().await.unwrap();
    let fails = made(&harness, &cat("[[job:fail:InternalError]]")).await;
    let got = make(&harness, &cat("")).await;
    assert_eq!(
        (got.status.as_u16(), got.code().as_str()),
        (402, "budget_exceeded")
    );
    assert_eq!(got.json()["error"]["available_usd"], "0.1");
    assert_eq!(ended(&harness, &fails).await["status"], "failed");
    made(&harness, &cat("")).await;
    assert_eq!(make(&harness, &cat("")).await.code(), "budget_exceeded");
    assert_eq!(spent(&harness).await, CAT);
    harness.audit().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_callers_own_limit_is_kept() {
    let harness = generation(quick()).await;
    let name = "trunkline-max-cost-usd";
    let got = make_with(&harness, &cat(""), &[(name, "0.499999999")]).await;
    assert_eq!(
        (got.status.as_u16(), got.code().as_str()),
        (402, "max_cost_exceeded")
    );
    assert_eq!(got.json()["error"]["required_usd"], "0.5");
    for wrong in ["much", "-1"] {
        let got = make_with(&harness, &cat(""), &[(name, wrong)]).await;
        assert_eq!(
            (got.status.as_u16(), &got.json()["error"]["param"]),
            (400, &json!(name))
        );
    }
    assert_eq!(spent(&harness).await, 0);
    let got = make_with(&harness, &cat(""), &[(name, "0.5")]).await;
    assert_eq!(got.status, 200);
    assert_eq!(spent(&harness).await, CAT);
    harness.audit().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_for_other_endpoints_makes_sees_and_stops_no_video() {
    let harness = generation(quick()).await;
    let id = made(&harness, &cat("")).await;
    let only = |word: &str| PolicyFields {
        endpoints: Some(vec![word.to_owned()]),
        ..PolicyFields::default()
    };
    let (chats, videos) = (
        harness.make_key(only("chat")).await,
        harness.make_key(only("videos")).await,
    );
    let one = format!("/v1/videos/{id}");
    let calls = [
        (Method::POST, "/v1/videos".to_owned(), cat("").to_string()),
        (
            Method::POST,
            "/v1/video/generations".to_owned(),
            cat("").to_string(),
        ),
        (
            Method::POST,
            "/v1/quotes".to_owned(),
            json!({ "endpoint": "videos", "body": cat("") }).to_string(),
        ),
        (Method::GET, "/v1/videos".to_owned(), String::new()),
        (Method::GET, one.clone(), String::new()),
        (Method::GET, format!("{one}/content"), String::new()),
        (Method::DELETE, one.clone(), String::new()),
    ];
    for (method, path, body) in calls {
        let sent = harness.send_as(
            (harness.address, &chats),
            method,
            &path,
            Bytes::from(body),
            &[],
        );
        let got = GatewayResponse::read(sent.await).await;
        assert_eq!(
            (got.status.as_u16(), got.code().as_str()),
            (403, "endpoint_not_allowed"),
            "{path}"
        );
    }
    let older = format!("/v1/video/generations/{id}");
    let sent = harness.send_as(
        (harness.address, &chats),
        Method::GET,
        &older,
        Bytes::new(),
        &[],
    );
    assert_eq!(
        GatewayResponse::read(sent.await).await.json()["code"],
        "endpoint_not_allowed"
    );
    let sent = harness.send_as(
        (harness.address, &videos),
        Method::GET,
        &one,
        Bytes::new(),
        &[],
    );
    assert_eq!(GatewayResponse::read(sent.await).await.status, 200);
    assert_eq!(harness.simulator.video_jobs().len(), 1);
    assert_eq!(column(&harness, &id, "key_id IS NOT NULL").await, "true");
}

// covers: D-5-14
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_that_outlives_the_days_of_its_money_is_no_finding_of_the_audit() {
    let harness = generation(quick()).await;
    for (job, end) in [("", "completed"), ("[[job:fail:InternalError]]", "failed")] {
        let id = made(&harness, &cat(job)).await;
        assert_eq!(ended(&harness, &id).await["status"], end);
    }
    usage_report::sum_up(&harness.data).await.unwrap();
    chain::link(&harness.data).await.unwrap();
    harness.db.shift_clock(403 * 86_400).await;
    partitions::ensure(&harness.data).await.unwrap();
    let dropped = partitions::drop_usage(&harness.data, partitions::USAGE_DAYS_KEPT).await;
    assert_ne!(dropped.unwrap(), 0);
    let left = "SELECT 'hold' FROM ledger.any_hold UNION ALL SELECT 'usage' FROM ledger.usage
        UNION ALL SELECT id::text FROM app.audit_task_and_money_disagree";
    assert_eq!(harness.db.ask(left).await, Vec::<String>::new());
}
