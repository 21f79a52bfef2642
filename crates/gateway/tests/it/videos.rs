//! Video tasks through the real endpoints: made, polled in both shapes, fetched, failed, stopped, with the
//! ledger rows of each.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use trunkline_catalog::starter;
use trunkline_gateway::{Settings, VideoJob, VideoSettings};

use crate::test_gateway::{ChannelOptions, GatewayResponse, TestGateway, TestOptions};

/// A thousand USD.
pub(crate) const MONEY: i64 = 1_000_000_000_000;

/// Quick enough for a test, slow enough to be seen.
pub(crate) fn quick() -> Settings {
    Settings {
        video: VideoSettings {
            poll_first: Duration::from_millis(20),
            poll_most: Duration::from_millis(100),
            polls_per_second: 1_000,
            queue_pause: Duration::from_millis(50),
            call_wait: Duration::from_secs(2),
            lease: Duration::from_secs(3),
            ..VideoSettings::default()
        },
        ..Settings::default()
    }
}

/// A gateway that sells the starter's videos, each served by its vendor's simulator.
pub(crate) async fn generation(settings: Settings) -> TestGateway {
    generation_with(TestOptions {
        settings,
        paid: MONEY,
        ..TestOptions::default()
    })
    .await
}

pub(crate) async fn generation_with(options: TestOptions) -> TestGateway {
    furnished(TestGateway::build(options).await).await
}

/// Adds the generation vendors to a gateway.
pub(crate) async fn furnished(harness: TestGateway) -> TestGateway {
    let mut starter = starter().unwrap();
    starter
        .models
        .retain(|_, entry| entry.specs.video_family.is_some());
    let sold: BTreeSet<String> = starter
        .models
        .values()
        .filter_map(|one| one.vendor.clone())
        .collect();
    starter.vendors.retain(|name, _| sold.contains(name));
    starter.groups.retain(|name, _| name == "vip");
    starter.auto_groups.clear();
    // The harness has a vendor of the same number.
    starter
        .vendors
        .values_mut()
        .for_each(|vendor| vendor.id += 100);
    let mut by_vendor: BTreeMap<(&str, &str), Vec<String>> = BTreeMap::new();
    for (name, entry) in &starter.models {
        let Some(family) = entry.specs.video_family.as_deref() else {
            continue;
        };
        let vendor = match family.split('_').next().unwrap() {
            "a" | "e" => ("dashscope_native", "/api/v1"),
            "b" => ("ark", "/api/v3"),
            "c" => ("kling", ""),
            "d" => ("minimax", "/v1"),
            "openai" => ("openai", "/v1"),
            other => panic!("no simulator of family {other}"),
        };
        by_vendor.entry(vendor).or_default().push(name.clone());
    }
    harness.sell_document(starter).await;
    for ((provider, path), models) in &by_vendor {
        let base = format!("http://{}{path}", harness.simulator.address());
        let models: Vec<(&str, &str)> = models.iter().map(|name| (&**name, &**name)).collect();
        let options = ChannelOptions {
            provider: Some(provider),
            // Behind a channel that a test adds.
            priority: 1,
            ..ChannelOptions::default()
        };
        harness
            .channel_with(provider, &base, &models, options)
            .await;
    }
    harness
}

/// Does what is due until nothing is for a while.
pub(crate) async fn work(harness: &TestGateway) {
    let mut idle = 0;
    while idle < 8 {
        let mut taken = 0;
        for job in VideoJob::ALL {
            taken += trunkline_gateway::claim_video_jobs(&harness.gateway, job)
                .await
                .unwrap();
        }
        idle = if taken == 0 { idle + 1 } else { 0 };
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
}

/// Works until a task has ended, and shows it.
pub(crate) async fn ended(harness: &TestGateway, id: &str) -> Value {
    for _ in 0..600 {
        for job in VideoJob::ALL {
            trunkline_gateway::claim_video_jobs(&harness.gateway, job)
                .await
                .unwrap();
        }
        let task = harness.get(&format!("/v1/videos/{id}")).await.json();
        if matches!(task["status"].as_str(), Some("completed" | "failed")) {
            return task;
        }
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
    panic!("{id} never ended");
}

pub(crate) async fn make(harness: &TestGateway, body: &Value) -> GatewayResponse {
    make_with(harness, body, &[]).await
}

pub(crate) async fn make_with(
    harness: &TestGateway,
    body: &Value,
    extra: &[(&'static str, &str)],
) -> GatewayResponse {
    let body = Bytes::from(body.to_string());
    GatewayResponse::read(
        harness
            .send_with(Method::POST, "/v1/videos", body, extra)
            .await,
    )
    .await
}

/// What was spent of the harness's money.
pub(crate) async fn spent(harness: &TestGateway) -> i64 {
    let [paid, held, _, _] = harness.wallets().await;
    assert_eq!(held, 0, "nothing is held any more");
    MONEY - paid
}

/// Five seconds at 0.1 USD.
pub(crate) const CAT: i64 = 500_000_000;

fn text_video() -> Value {
    cat("")
}

/// A video of a cat with a wish.
pub(crate) fn cat(case: &str) -> Value {
    json!({ "model": "wan2.7-t2v", "prompt": format!("a cat {case}") })
}

/// Makes a task, and says its name.
pub(crate) async fn made(harness: &TestGateway, body: &Value) -> String {
    let got = make(harness, body).await;
    assert_eq!(got.status, 200, "{body}: {}", got.text());
    got.json()["id"].as_str().unwrap().to_owned()
}

/// A task as it is shown now.
pub(crate) async fn task_view(harness: &TestGateway, id: &str) -> Value {
    harness.get(&format!("/v1/videos/{id}")).await.json()
}

/// Works until a task is at a status.
pub(crate) async fn until(harness: &TestGateway, id: &str, status: &str) -> Value {
    for _ in 0..600 {
        let task = task_view(harness, id).await;
        if task["status"] == status {
            return task;
        }
        for job in VideoJob::ALL {
            trunkline_gateway::claim_video_jobs(&harness.gateway, job)
                .await
                .unwrap();
        }
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
    panic!("{id} was never {status}: {}", task_view(harness, id).await);
}

/// One value of a task's row.
pub(crate) async fn column(harness: &TestGateway, id: &str, what: &str) -> String {
    let uuid = id.strip_prefix("task_").unwrap();
    let query = format!("SELECT ({what})::text FROM app.video_task WHERE id = '{uuid}'");
    harness.db.ask(&query).await.swap_remove(0)
}

/// What was moved for a task, in nano-USD.
pub(crate) async fn moved(harness: &TestGateway, id: &str, kind: &str) -> i64 {
    let uuid = id.strip_prefix("task_").unwrap();
    let query = format!(
        "SELECT COALESCE(sum(amount), 0)::text FROM ledger.posting
         WHERE request_id = '{uuid}' AND kind = '{kind}'"
    );
    harness.db.ask(&query).await[0].parse().unwrap()
}

/// Why a task was written off, if it was.
pub(crate) async fn written_off(harness: &TestGateway, id: &str) -> Vec<String> {
    let uuid = id.strip_prefix("task_").unwrap();
    let query = format!("SELECT reason FROM ledger.write_off WHERE request_id = '{uuid}'");
    harness.db.ask(&query).await
}

// covers: G-2.2-01, G-2.2-02, G-2.2-03, G-2.2-04, G-2.2-05, G-2.2-06, G-2.2-07, G-2.2-08, G-2.2-09
// covers: G-2.2-10, G-2.2-11, G-2.2-12, G-3.1-01, G-3.1-03, G-3.1-04, G-3.1-05, G-4.2-18, G-1-18, G-2.6-36
// covers: G-4-07, G-4-08
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_video_is_made_charged_once_and_fetched_by_a_signed_link() {
    let harness = generation(quick()).await;
    let made = make(&harness, &text_video()).await;
    assert_eq!(made.status, 200, "{}", made.text());
    assert_eq!(made.header("trunkline-cost-usd").as_deref(), Some("0.5"));
    let created = made.json();
    assert_eq!(created["object"], "video");
    assert_eq!(created["task_id"], created["id"]);
    assert_eq!(created["status"], "queued");
    assert_eq!(created["progress"], json!(0));
    assert_eq!(created["model"], "wan2.7-t2v");
    assert_eq!(created["metadata"].get("url"), None);
    let id = created["id"].as_str().unwrap();
    assert!(id.starts_with("task_") && id.len() == 37, "{id}");
    let done = ended(&harness, id).await;
    assert_eq!(done["status"], "completed", "{done}");
    assert_eq!(done["progress"], json!(100));
    let url = done["metadata"]["url"].as_str().unwrap();
    assert!(url.contains("Expires="), "{url}");
    let path = url.strip_prefix("http://127.0.0.1:8080").unwrap();
    let file = harness.get(path).await;
    assert_eq!(file.status, 200);
    assert!(file.body.len() > 100);
    work(&harness).await;
    let part = [("range", "bytes=4-7")];
    let kept = harness
        .send_with(Method::GET, path, Bytes::new(), &part)
        .await;
    let kept = GatewayResponse::read(kept).await;
    assert_eq!(
        (kept.status.as_u16(), kept.text()),
        (206, "ftyp".to_owned())
    );
    let altered = harness.get(&path.replace("Expires=1", "Expires=2")).await;
    assert_eq!(altered.status, 403);
    assert_eq!(harness.simulator.video_jobs().len(), 1);
    assert_eq!(spent(&harness).await, 500_000_000);
    harness.audit().await;
}

// covers: G-2.2-13, G-2.2-14, G-3.1-06, G-3.1-07, G-3.1-08, G-3.1-09, G-7-02, G-1-20
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_video_that_fails_is_refunded_in_the_words_of_its_upstream() {
    let harness = generation(quick()).await;
    let body = json!({ "model": "wan2.7-t2v", "prompt": "a cat [[job:fail:InvalidParameter]]" });
    let made = make(&harness, &body).await.json();
    let done = ended(&harness, made["id"].as_str().unwrap()).await;
    assert_eq!(done["status"], "failed", "{done}");
    assert_eq!(done["error"]["code"], "InvalidParameter");
    assert_eq!(
        done["error"]["message"],
        "the prompt asked for InvalidParameter"
    );
    assert_eq!(done["metadata"].get("url"), None);
    assert_eq!(spent(&harness).await, 0);
    harness.audit().await;
}

// covers: G-3.1-11
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_is_not_accepted_creates_no_task_and_costs_nothing() {
    let harness = generation(quick()).await;
    let refused = [
        json!({ "model": "wan2.7-t2v" }),
        json!({ "model": "wan2.7-t2v", "prompt": "a cat", "size": "1280x720" }),
        json!({ "model": "wan2.7-t2v", "prompt": "a cat [[job:refuse:InvalidParameter]]" }),
    ];
    for body in refused {
        let got = make(&harness, &body).await;
        assert_eq!(got.status, 400, "{body}: {}", got.text());
        assert_eq!(got.json()["error"]["charged"], json!(false));
    }
    let listed = harness.get("/v1/videos").await.json();
    assert_eq!(listed["data"], json!([]));
    assert_eq!(spent(&harness).await, 0);
    harness.audit().await;
}
