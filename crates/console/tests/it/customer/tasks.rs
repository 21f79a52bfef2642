//! Tasks: their list, what happened to each, and stopping one.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use trunkline_ledger::{
    Detail, OnCallerGone, Op, Outcome, Owner, Refund, RefundKind, Reserve, Settle, Wallets,
    late_failures, run_in,
};
use trunkline_store::people::Role;
use trunkline_store::tasks::{self, CANCELLED, NewTask};
use trunkline_types::{AccountId, KeyId, Money, RequestId};
use uuid::Uuid;

use crate::customer::harness::{Browser, CustomerConsole, field};

const AMOUNT: i64 = 300_000_000;

/// A task with its hold, as the gateway writes it.
async fn accepted(
    harness: &CustomerConsole,
    account: AccountId,
    key: KeyId,
    model: &str,
) -> RequestId {
    let request = harness.request();
    let reserve = Reserve {
        request,
        account,
        key: Some(key),
        owner: Owner::Task(request.uuid()),
        amount: Money::from_nanos(AMOUNT),
        wallets: Wallets::TrialFirst,
        model: model.to_owned(),
        endpoint: "videos".to_owned(),
        group: "default".to_owned(),
        price_version: [7; 32],
        lifetime: Duration::from_secs(600),
        capacity: None,
        idempotency: None,
    };
    let new = NewTask {
        id: request.uuid(),
        account,
        key,
        model: model.to_owned(),
        requested_model: None,
        group: "default".to_owned(),
        amount: Money::from_nanos(AMOUNT),
        exact: true,
        prices: json!({}),
        sent: Some(vec![1]),
        zero_retention: false,
        body_hash: [1; 32],
        warnings: json!([]),
        size: Some("720p".to_owned()),
        seconds: Some(5),
        protocol: "kling_video".to_owned(),
        endpoint: String::new(),
        queue: Duration::from_secs(600),
        deadline: Duration::from_secs(600),
        lease: Duration::from_secs(600),
    };
    let mut tx = harness.data.begin().await.unwrap();
    let word = Op::Reserve(Box::new(reserve));
    run_in(&mut tx, harness.ledger.node_epoch(), &[&word])
        .await
        .unwrap();
    tasks::insert(&mut tx, &new).await.unwrap();
    tx.commit().await.unwrap();
    request
}

/// A task that waits.
pub(crate) async fn waiting(
    harness: &CustomerConsole,
    account: AccountId,
    key: KeyId,
) -> RequestId {
    accepted(harness, account, key, "clip-0").await
}

/// The upstream takes it, and it is charged.
async fn submitted(harness: &CustomerConsole, account: AccountId, request: RequestId) {
    let id = request.uuid();
    let settle = Op::Settle(Box::new(Settle {
        request,
        account,
        amount: Money::from_nanos(AMOUNT),
        unpaid: None,
        detail: Detail::nothing(Outcome::Accepted),
        on_caller_gone: OnCallerGone::Keep,
    }));
    let mut tx = harness.data.begin().await.unwrap();
    let lease = Duration::from_secs(60);
    assert!(tasks::submitting(&mut tx, id, 1, 1, lease).await.unwrap());
    assert!(
        tasks::submitted(&mut tx, id, account, "up-1", lease)
            .await
            .unwrap()
    );
    run_in(&mut tx, harness.ledger.node_epoch(), &[&settle])
        .await
        .unwrap();
    tx.commit().await.unwrap();
}

async fn completed(harness: &CustomerConsole, account: AccountId, id: Uuid) {
    let mut tx = harness.data.begin().await.unwrap();
    tasks::complete(&mut tx, id, account, &[1]).await.unwrap();
    tasks::mirrored(&mut tx, id, "2026/a", 1_234).await.unwrap();
    tx.commit().await.unwrap();
}

async fn failed(harness: &CustomerConsole, account: AccountId, request: RequestId, code: &str) {
    let refund = Op::Refund(Refund {
        request,
        account,
        kind: RefundKind::Refund,
        amount: None,
    });
    let mut tx = harness.data.begin().await.unwrap();
    tasks::fail(&mut tx, request.uuid(), code, "the <i>upstream</i> said no")
        .await
        .unwrap();
    run_in(&mut tx, harness.ledger.node_epoch(), &[&refund])
        .await
        .unwrap();
    let outcome = match code {
        CANCELLED => Outcome::Cancelled,
        _ => Outcome::UpstreamFailed,
    };
    late_failures::record(&mut tx, account, request, outcome)
        .await
        .unwrap();
    tx.commit().await.unwrap();
}

struct Scene {
    browser: Browser,
    account: AccountId,
    key: KeyId,
    /// Waiting, running, done, failed, stopped.
    tasks: [RequestId; 5],
}

async fn scene(harness: &CustomerConsole) -> Scene {
    let account = harness.firm("Acme", 10_000_000_000, 0).await;
    let browser = harness.member(account, Role::Developer).await;
    let (key, _) = harness.key(&browser, "studio").await;
    let mut made = Vec::new();
    for number in 0..5 {
        made.push(accepted(harness, account, key, &format!("clip-{}", number % 2)).await);
    }
    let made: [RequestId; 5] = made.try_into().unwrap();
    for request in &made[1..] {
        submitted(harness, account, *request).await;
    }
    let mut session = harness.data.session().await.unwrap();
    tasks::record_progress(&mut session, made[1].uuid(), true, None)
        .await
        .unwrap();
    drop(session);
    completed(harness, account, made[2].uuid()).await;
    failed(harness, account, made[3], "content_refused").await;
    failed(harness, account, made[4], CANCELLED).await;
    Scene {
        browser,
        account,
        key,
        tasks: made,
    }
}

pub(crate) fn name(request: RequestId) -> String {
    format!("task_{}", request.uuid().simple())
}

#[tokio::test]
async fn tasks_are_listed_with_their_state_their_money_and_their_file() {
    let harness = CustomerConsole::new().await;
    let scene = scene(&harness).await;
    let (all, _) = harness.pages(&scene.browser, "/api/tasks?limit=2").await;
    let mut expected: Vec<String> = scene.tasks.map(name).to_vec();
    expected.reverse();
    assert_eq!(field(&all, "id"), expected, "newest first");
    assert_eq!(
        field(&all, "state"),
        ["cancelled", "failed", "completed", "in_progress", "queued"]
    );
    assert_eq!(field(&all, "cost_usd"), ["0.3", "0.3", "0.3", "0.3", "0"]);
    assert_eq!(field(&all, "refunded_usd"), ["0.3", "0.3", "0", "0", "0"]);
    assert!(field(&all, "key_name").iter().all(|name| name == "studio"));
    let running = &all[3];
    assert_eq!(
        (&running["progress"], &running["progress_is_estimate"]),
        (&json!(40), &json!(true))
    );
    let done = &all[2];
    assert_eq!(
        (&done["progress"], &done["media"]["bytes"]),
        (&json!(100), &json!(1_234))
    );
    assert_eq!(done["media"]["content_type"], "video/mp4");
    let url = done["media"]["url"].as_str().unwrap();
    assert_eq!(done["media"]["download_url"], format!("{url}&download=1"));
    assert_eq!(
        all[1]["error"],
        json!({ "code": "content_refused", "message": "the <i>upstream</i> said no" })
    );
    assert_eq!(
        (&all[1]["media"], &all[4]["ended_at"]),
        (&Value::Null, &Value::Null)
    );
    for (query, count) in [
        ("state=queued", 1),
        ("state=in_progress", 1),
        ("state=completed", 1),
        ("state=failed", 1),
        ("state=cancelled", 1),
        ("model=clip-1", 2),
        ("model=clip-1&state=failed", 1),
        ("model=none", 0),
        (&format!("key={}", scene.key), 5),
        ("key=987654", 0),
    ] {
        let (found, _) = harness
            .pages(&scene.browser, &format!("/api/tasks?{query}"))
            .await;
        assert_eq!(found.len(), count, "{query}");
    }
    for wrong in ["state=fine", "limit=101", "after=x", "key=-1"] {
        let got = harness
            .get(&scene.browser, &format!("/api/tasks?{wrong}"))
            .await;
        got.error(400, "invalid_request");
    }
    harness.audit().await;
}

#[tokio::test]
async fn a_customer_sees_a_failed_video_as_failed_in_logs_on_home_and_in_usage() {
    let harness = CustomerConsole::new().await;
    let scene = scene(&harness).await;
    let [_, running, done, failed, stopped] = scene.tasks.map(|request| request.to_string());
    let logs = async |query: &str| {
        let path = format!("/api/logs?limit=2{query}");
        let (calls, _) = harness.pages(&scene.browser, &path).await;
        let ended = |call: &Value| [&call["request_id"], &call["outcome"]].map(words);
        calls.iter().map(ended).collect::<Vec<_>>()
    };
    let failures = [
        [stopped.clone(), "cancelled".to_owned()],
        [failed.clone(), "upstream_failed".to_owned()],
    ];
    let others = [done, running].map(|id| [id, "accepted".to_owned()]);
    assert_eq!(logs("").await, [failures.clone(), others.clone()].concat());
    assert_eq!(logs("&outcome=failed").await, failures);
    assert_eq!(logs("&outcome=upstream_failed").await, failures[1..]);
    assert_eq!(logs("&outcome=accepted").await, others);
    assert_eq!(logs("&outcome=failed&model=clip-1").await, failures[1..]);
    let one = format!("/api/logs/{failed}");
    let one = harness.read(&scene.browser, &one).await;
    assert_eq!(one["outcome"], "upstream_failed", "{one}");

    let home = harness.read(&scene.browser, "/api/home").await;
    let errors = home["last_errors"].as_array().unwrap();
    assert_eq!(field(errors, "request_id"), [stopped, failed]);
    assert_eq!(
        (&home["calls_today"], &home["failed_today"]),
        (&json!(4), &json!(2))
    );
    let usage = harness.read(&scene.browser, "/api/usage").await;
    let totals = &usage["totals"];
    assert_eq!(
        (&totals["calls"], &totals["failed_calls"]),
        (&json!(4), &json!(2))
    );
    harness.audit().await;
}

fn words(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_customer_reads_one_spend_on_home_and_in_usage() {
    let harness = CustomerConsole::new().await;
    let scene = scene(&harness).await;
    let home = harness.read(&scene.browser, "/api/home").await;
    let usage = harness.read(&scene.browser, "/api/usage").await;
    let totals = &usage["totals"];
    // Four videos of 0.3, of which two were refunded.
    assert_eq!(
        (&totals["charged_usd"], &totals["refunded_usd"]),
        (&json!("1.2"), &json!("0.6"))
    );
    assert_eq!(totals["spent_usd"], "0.6");
    assert_eq!(home["spent_30_days_usd"], totals["spent_usd"]);
    let today = usage["data"].as_array().unwrap().last().unwrap();
    assert_eq!(home["spent_today_usd"], today["spent_usd"]);
    let by_model = harness
        .read(&scene.browser, "/api/usage?group_by=model")
        .await;
    let by_model = by_model["data"].as_array().unwrap();
    assert_eq!(field(by_model, "spent_usd"), ["0.3", "0.3"]);
}

#[tokio::test]
async fn a_task_tells_what_happened_from_the_hold_to_the_refund() {
    let harness = CustomerConsole::new().await;
    let scene = scene(&harness).await;
    let show = async |request: RequestId| {
        let path = format!("/api/tasks/{}", name(request));
        harness.read(&scene.browser, &path).await
    };
    let waiting = show(scene.tasks[0]).await;
    assert_eq!(
        field(waiting["timeline"].as_array().unwrap(), "what"),
        ["submitted", "held"]
    );
    assert_eq!(waiting["timeline"][1]["amount_usd"], "0.3");
    assert_eq!(waiting["can_cancel"], true);
    assert_eq!(waiting["prompt"], "a <b>cat</b>");
    assert_eq!(
        waiting["settings"],
        json!([{ "name": "size", "value": "720p" }])
    );
    let failed = show(scene.tasks[3]).await;
    let steps = failed["timeline"].as_array().unwrap();
    assert_eq!(
        field(steps, "what"),
        ["submitted", "held", "sent", "charged", "failed", "refunded"]
    );
    assert_eq!(steps[4]["text"], "the <i>upstream</i> said no");
    assert_eq!(steps[5]["amount_usd"], "0.3");
    let done = show(scene.tasks[2]).await;
    assert_eq!(
        field(done["timeline"].as_array().unwrap(), "what"),
        ["submitted", "held", "sent", "charged", "finished"]
    );
    assert_eq!(done["can_cancel"], false);
    let stopped = show(scene.tasks[4]).await;
    assert_eq!(stopped["timeline"][4]["what"], "cancelled");
    // The call of the task leads to it.
    let log = harness
        .read(&scene.browser, &format!("/api/logs/{}", scene.tasks[2]))
        .await;
    assert_eq!(log["task_id"], name(scene.tasks[2]));
    assert_eq!(done["request_id"], scene.tasks[2].to_string());
}

#[tokio::test]
async fn stopping_a_task_says_what_became_of_it_and_of_its_money() {
    let harness = CustomerConsole::new().await;
    let scene = scene(&harness).await;
    let path = format!("/api/tasks/{}/cancel", name(scene.tasks[1]));
    let cancel = || harness.send(&scene.browser, Method::POST, &path, None);
    let goes_on = cancel().await.error(409, "conflict");
    assert!(
        goes_on["message"]
            .as_str()
            .unwrap()
            .contains("it continues"),
        "{goes_on}"
    );
    *harness.fake_catalog.stops.lock().unwrap() = None;
    let unknown = cancel().await.error(503, "temporarily_unavailable");
    assert!(
        unknown["message"].as_str().unwrap().contains("unknown"),
        "{unknown}"
    );
    *harness.fake_catalog.stops.lock().unwrap() = Some(true);
    failed(&harness, scene.account, scene.tasks[1], CANCELLED).await;
    let stopped = cancel().await.json();
    assert_eq!(
        (&stopped["state"], &stopped["refunded_usd"]),
        (&json!("cancelled"), &json!("0.3"))
    );
    let viewer = harness.member(scene.account, Role::Viewer).await;
    let refused = harness.send(&viewer, Method::POST, &path, None).await;
    refused.error(403, "role_not_allowed");
}
