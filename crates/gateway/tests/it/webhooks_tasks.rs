//! The address of a single task: read by the gateway for every family, told of the end, and signed with the
//! account's secret for tasks.

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use trunkline_db::SystemClock;
use trunkline_db::events::NewEvent;
use trunkline_testkit::random_bytes;
use trunkline_types::{Clock as _, Topic, uuid_v7};
use uuid::Uuid;

use crate::test_gateway::{GatewayResponse, TestGateway};
use crate::videos::{MONEY, ended, generation, make, make_with, quick};
use crate::webhooks_receiver::{CreatedWebhook, Receiver, act, all, append, happens, until, work};

/// Appends the event of a verdict if its transaction did not.
async fn reported(harness: &TestGateway, task: &str, topic: Topic) {
    let id = Uuid::try_parse(task.strip_prefix("task_").unwrap()).unwrap();
    let query = format!("SELECT count(*)::text FROM app.event WHERE task_id = '{id}'");
    if harness.db.ask(&query).await[0] == "0" {
        let event = NewEvent {
            id: uuid_v7(SystemClock.now(), random_bytes()),
            account: harness.account,
            topic,
            task: Some(id),
            body: json!({ "model": "m" }),
        };
        append(harness, event).await;
    }
}

async fn tasks_entry(harness: &TestGateway) -> CreatedWebhook {
    let list = harness.get("/v1/webhooks").await.json();
    let entry = list["data"][0].clone();
    assert_eq!(
        (&entry["kind"], &entry["url"]),
        (&json!("tasks"), &Value::Null)
    );
    CreatedWebhook {
        path: format!("/v1/webhooks/{}", entry["id"].as_str().unwrap()),
        secret: entry["secret"].as_str().unwrap().to_owned(),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_video_tells_its_own_address_of_its_end_and_no_upstream_learns_it() {
    let harness = generation(quick()).await;
    let receiver = Receiver::start().await;
    let url = receiver.url("/my/very-own-path");
    let body = json!({
        "model": "wan2.7-t2v", "prompt": "a cat", "metadata": { "webhook_url": url },
    });
    // Strict: what is read is no trap.
    let got = make_with(&harness, &body, &[("trunkline-strict", "true")]).await;
    assert_eq!(got.status, 200, "{}", got.text());
    assert!(!got.text().contains("very-own-path"));
    let id = got.json()["id"].as_str().unwrap().to_owned();
    let other = make(
        &harness,
        &json!({ "model": "wan2.7-t2v", "prompt": "a dog" }),
    )
    .await;
    let other = other.json()["id"].as_str().unwrap().to_owned();
    ended(&harness, &id).await;
    ended(&harness, &other).await;
    reported(&harness, &id, Topic::TaskCompleted).await;
    reported(&harness, &other, Topic::TaskCompleted).await;
    happens(&harness, Topic::BalanceLow, json!({})).await;
    let entry = tasks_entry(&harness).await;
    let list = until(&harness, &entry, all("delivered")).await;
    for _ in 0..10 {
        work(&harness.data, &harness.gateway).await;
    }
    let received = receiver.received();
    assert_eq!(
        (received.len(), list.len()),
        (1, 1),
        "this task, and nothing else"
    );
    assert_eq!(list[0]["task_id"], id.as_str());
    assert_eq!(received[0].path, "/my/very-own-path");
    assert!(received[0].is_signed_with(&entry.secret));
    assert_eq!(received[0].json()["type"], "task.completed");
    assert_eq!(received[0].json()["data"]["task_id"], id.as_str());
    let jobs = format!("{:?}", harness.simulator.video_jobs());
    assert!(!jobs.contains("very-own-path"));
    let rows = harness
        .db
        .ask("SELECT encode(url, 'escape') FROM app.task_webhook")
        .await;
    assert!(rows.len() == 1 && !rows[0].contains("very-own-path"));
    harness.audit().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_task_notifies_also_for_forms_and_after_a_rotation() {
    let harness = generation(quick()).await;
    let receiver = Receiver::start().await;
    // Had before the first task is.
    let rotated = act(&harness, "/v1/webhooks/tasks/rotate").await;
    let secret = rotated["secret"].as_str().unwrap();
    let url = receiver.url("/form");
    let field = |name: &str, value: &str| {
        format!("--b\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
    };
    let form = [
        field("model", "wan2.7-t2v"),
        field("prompt", "a cat [[job:fail:InternalError]]"),
        field("metadata[webhook_url]", &url),
        "--b--\r\n".to_owned(),
    ]
    .concat();
    let headers = [("content-type", "multipart/form-data; boundary=b")];
    let got = harness.send_with(
        Method::POST,
        "/v1/video/generations",
        Bytes::from(form),
        &headers,
    );
    let got = GatewayResponse::read(got.await).await;
    assert_eq!(got.status, 200, "{}", got.text());
    let id = got.json()["id"].as_str().unwrap().to_owned();
    assert_eq!(ended(&harness, &id).await["status"], "failed");
    reported(&harness, &id, Topic::TaskFailed).await;
    let entry = tasks_entry(&harness).await;
    assert_eq!(entry.secret, secret);
    until(&harness, &entry, all("delivered")).await;
    let received = receiver.received();
    assert_eq!(received.len(), 1);
    assert_eq!(received[0].json()["type"], "task.failed");
    assert!(received[0].is_signed_with(secret));
    for (method, below) in [
        (Method::POST, "/test"),
        (Method::POST, "/resume"),
        (Method::DELETE, ""),
    ] {
        let path = format!("{}{below}", entry.path);
        let got = GatewayResponse::read(harness.send(method, &path, Bytes::new()).await).await;
        assert_eq!(got.status, 400, "{below}: {}", got.text());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_non_public_address_is_refused_before_the_hold_for_every_family() {
    let harness = generation(quick()).await;
    for url in [
        "http://10.1.2.3/hook",
        "http://localhost/",
        "file:///etc/passwd",
        "",
        "http://127.0.0.1:22/",
    ] {
        let metadata = json!({ "webhook_url": url });
        let body = json!({ "model": "wan2.7-t2v", "prompt": "a cat", "metadata": metadata });
        let got = make(&harness, &body).await;
        assert_eq!(got.status, 400, "{url}: {}", got.text());
        assert_eq!(
            got.json()["error"]["param"],
            "metadata.webhook_url",
            "{url}"
        );
    }
    let body =
        json!({ "model": "wan2.7-t2v", "prompt": "a cat", "metadata": { "webhook_url": 1 } });
    assert_eq!(make(&harness, &body).await.status, 400);
    assert_eq!(harness.wallets().await, [MONEY, 0, 0, 0]);
    assert!(harness.simulator.video_jobs().is_empty());

    // It is read for every family, and no upstream's body has it.
    let metadata = json!({ "webhook_url": "http://127.0.0.1:9999/hook" });
    for model in [
        "wan2.7-t2v",
        "doubao-seedance-2-5-260628",
        "kling-v3",
        "MiniMax-Hailuo-2.3",
    ] {
        let body = json!({ "model": model, "prompt": "a cat", "metadata": metadata });
        let ask = json!({ "endpoint": "/v1/videos", "body": body });
        let bytes = Bytes::from(ask.to_string());
        let got =
            GatewayResponse::read(harness.send(Method::POST, "/v1/quotes", bytes).await).await;
        assert_eq!(got.status, 200, "{model}: {}", got.text());
        let fields = got.json()["fields"].as_array().unwrap().clone();
        let note = fields
            .iter()
            .find(|note| note["field"] == "metadata.webhook_url");
        assert_eq!(note.unwrap()["fate"], "read", "{model}");
    }
}
