//! When the money of a video moves: held before it is sent, charged when it is taken, given back with
//! its failure, to the wallets it came from.

use std::time::Duration;

use bytes::Bytes;
use http::Method;
use serde_json::json;
use trunkline_ledger::accounts::{self, Period};
use trunkline_store::PolicyFields;
use trunkline_types::{KeyId, Money};

use crate::test_gateway::{GatewayResponse, TestGateway, TestOptions};
use crate::videos::{
    CAT, MONEY, cat, column, ended, made, make, make_with, moved, quick, spent, studio, studio_with,
};

async fn purse(paid: i64, trial: i64) -> TestGateway {
    studio_with(TestOptions {
        settings: quick(),
        paid,
        trial,
        ..TestOptions::default()
    })
    .await
}

/// Whether the row of a task and a transfer of it were written by one transaction.
async fn together(house: &TestGateway, id: &str, kind: &str) -> bool {
    let uuid = id.strip_prefix("task_").unwrap();
    let query = format!(
        "SELECT bool_and(t.xmin::text = r.xmin::text)::text
         FROM app.video_task AS t JOIN ledger.transfer AS r ON r.request_id = t.id
         WHERE t.id = '{uuid}' AND r.kind = '{kind}'"
    );
    house.db.ask(&query).await == ["true"]
}

// covers: D-2-62, D-2-63, D-2-68, D-7-VID-31
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn money_is_held_before_a_video_is_sent_and_charged_when_it_is_taken() {
    let house = studio(quick()).await;
    let body = cat("[[job:silent]]");
    let seen = async {
        while house.simulator.video_jobs().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        house.wallets().await
    };
    let (got, wallets) = tokio::join!(make(&house, &body), seen);
    assert_eq!(wallets, [MONEY, CAT, 0, 0], "held when the job arrives");
    assert_eq!(
        (got.status.as_u16(), &got.json()["status"]),
        (200, &json!("queued"))
    );
    assert_eq!(house.wallets().await, [MONEY, CAT, 0, 0], "and still");
    let id = made(&house, &cat("[[job:wait_ms:600000]]")).await;
    assert_eq!(house.wallets().await, [MONEY - CAT, CAT, 0, 0]);
    assert_eq!(moved(&house, &id, "charge").await, CAT);
    assert!(together(&house, &id, "charge").await);
    house.audit().await;
}

// covers: D-2-64, G-7-02, G-7-03, G-7-04
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_task_is_never_seen_without_its_refund() {
    let house = studio(quick()).await;
    let mut ids = Vec::new();
    for _ in 0..6 {
        ids.push(made(&house, &cat("[[job:fail:InvalidParameter]]")).await);
    }
    let torn = "SELECT t.id::text FROM app.video_task AS t WHERE t.state = 'failed'
        AND NOT EXISTS (SELECT FROM ledger.transfer AS r WHERE r.request_id = t.id AND r.kind = 'refund')";
    let left = "SELECT 'x' FROM app.video_task WHERE state <> 'failed'";
    let watch = async {
        loop {
            assert_eq!(house.db.ask(torn).await, Vec::<String>::new());
            if house.db.ask(left).await.is_empty() {
                return;
            }
        }
    };
    let finish = async {
        for id in &ids {
            let task = ended(&house, id).await;
            assert_eq!(task["error"]["code"], "InvalidParameter");
        }
    };
    tokio::join!(watch, finish);
    for id in &ids {
        assert!(together(&house, id, "refund").await);
        assert_eq!(moved(&house, id, "refund").await, CAT);
    }
    assert_eq!(spent(&house).await, 0);
    house.audit().await;
}

// covers: D-2-24, D-7-MON-04
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_part_of_a_split_charge_goes_back_to_its_own_wallet() {
    let trial = 200_000_000;
    let house = purse(MONEY, trial).await;
    let id = made(&house, &cat("[[job:fail:InternalError]]")).await;
    assert_eq!(house.wallets().await, [MONEY - CAT + trial, 0, 0, 0]);
    assert_eq!(ended(&house, &id).await["status"], "failed");
    assert_eq!(house.wallets().await, [MONEY, 0, trial, 0]);
    // A bound is split too, and what it was too high goes back the same way.
    let clip = "http://10.0.0.1/clip-7s.mp4";
    let body = json!({ "model": "wan2.7-r2v", "prompt": "x", "video_url": clip });
    let id = made(&house, &body).await;
    assert_eq!(house.wallets().await, [MONEY - 3_300_000_000, 0, 0, 0]);
    assert_eq!(ended(&house, &id).await["status"], "completed");
    let [paid, _, back, _] = house.wallets().await;
    assert_eq!(paid + back, MONEY + trial - 1_200_000_000);
    house.audit().await;
}

// covers: D-2-86
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn too_little_money_says_how_much_is_needed_and_makes_no_task() {
    let house = purse(700_000_000, 0).await;
    made(&house, &cat("[[id:w]][[job:full:1000]]")).await;
    let got = make(&house, &cat("")).await;
    assert_eq!(
        (got.status.as_u16(), got.code().as_str()),
        (402, "insufficient_balance")
    );
    let error = got.json()["error"].clone();
    assert_eq!(error["required_usd"], "0.5");
    assert_eq!(error["available_usd"], "0.2");
    assert_eq!(error["reserved_usd"], "0.5");
    assert_eq!(error["charged"], false);
    let listed = house.get("/v1/videos").await.json();
    assert_eq!(listed["data"].as_array().unwrap().len(), 1);
    assert!(house.simulator.video_jobs().is_empty());
    house.audit().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_budget_of_the_key_refuses_and_a_refund_returns_to_it() {
    let house = studio(quick()).await;
    let key = house.get("/v1/key").await.json()["id"].as_i64().unwrap();
    let mut tx = house.console.begin().await.unwrap();
    let limit = Some(Money::from_nanos(600_000_000));
    let key = Some(KeyId::new(key));
    let set = accounts::set_budget(&mut tx, house.account, key, Period::Daily, "UTC", limit);
    assert!(set.await.unwrap());
    tx.commit().await.unwrap();
    let fails = made(&house, &cat("[[job:fail:InternalError]]")).await;
    let got = make(&house, &cat("")).await;
    assert_eq!(
        (got.status.as_u16(), got.code().as_str()),
        (402, "budget_exceeded")
    );
    assert_eq!(got.json()["error"]["available_usd"], "0.1");
    assert_eq!(ended(&house, &fails).await["status"], "failed");
    made(&house, &cat("")).await;
    assert_eq!(make(&house, &cat("")).await.code(), "budget_exceeded");
    assert_eq!(spent(&house).await, CAT);
    house.audit().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_callers_own_limit_is_kept() {
    let house = studio(quick()).await;
    let name = "trunkline-max-cost-usd";
    let got = make_with(&house, &cat(""), &[(name, "0.499999999")]).await;
    assert_eq!(
        (got.status.as_u16(), got.code().as_str()),
        (402, "max_cost_exceeded")
    );
    assert_eq!(got.json()["error"]["required_usd"], "0.5");
    for wrong in ["much", "-1"] {
        let got = make_with(&house, &cat(""), &[(name, wrong)]).await;
        assert_eq!(
            (got.status.as_u16(), &got.json()["error"]["param"]),
            (400, &json!(name))
        );
    }
    assert_eq!(spent(&house).await, 0);
    let got = make_with(&house, &cat(""), &[(name, "0.5")]).await;
    assert_eq!(got.status, 200);
    assert_eq!(spent(&house).await, CAT);
    house.audit().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_for_other_endpoints_makes_sees_and_stops_no_video() {
    let house = studio(quick()).await;
    let id = made(&house, &cat("")).await;
    let only = |word: &str| PolicyFields {
        endpoints: Some(vec![word.to_owned()]),
        ..PolicyFields::default()
    };
    let (chats, films) = (
        house.make_key(only("chat")).await,
        house.make_key(only("videos")).await,
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
        let sent = house.send_as(
            (house.address, &chats),
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
    let sent = house.send_as(
        (house.address, &chats),
        Method::GET,
        &older,
        Bytes::new(),
        &[],
    );
    assert_eq!(
        GatewayResponse::read(sent.await).await.json()["code"],
        "endpoint_not_allowed"
    );
    let sent = house.send_as(
        (house.address, &films),
        Method::GET,
        &one,
        Bytes::new(),
        &[],
    );
    assert_eq!(GatewayResponse::read(sent.await).await.status, 200);
    assert_eq!(house.simulator.video_jobs().len(), 1);
    assert_eq!(column(&house, &id, "key_id IS NOT NULL").await, "true");
}
