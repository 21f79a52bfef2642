//! Producers of events: tasks, cells and the catalog, each in the transaction of its change.

use std::time::Duration;

use serde_json::{Value, json};
use trunkline_gateway::{Settings, VideoJob, VideoSettings};
use trunkline_store::cell_pauses::{self, PausedBy};
use trunkline_testkit::Nats;

use crate::events::fixtures::{bus, relay};
use crate::events::sse_client::{Follower, Frame};
use crate::test_gateway::{ChannelOptions, GatewayResponse, TestGateway, TestOptions};

const MODEL: &str = "wan2.7-t2v";

fn quick() -> Settings {
    Settings {
        video: VideoSettings {
            poll_first: Duration::from_millis(20),
            poll_most: Duration::from_millis(100),
            polls_per_second: 1_000,
            ..VideoSettings::default()
        },
        ..Settings::default()
    }
}

/// A gateway that sells one model of videos of the starter.
async fn generation(options: TestOptions) -> TestGateway {
    let harness = TestGateway::build(TestOptions {
        settings: quick(),
        paid: 1_000_000_000_000,
        ..options
    })
    .await;
    let mut starter = trunkline_catalog::starter().unwrap();
    starter.models.retain(|name, _| name == MODEL);
    let sold: Vec<String> = starter
        .models
        .values()
        .filter_map(|one| one.vendor.clone())
        .collect();
    starter.vendors.retain(|name, _| sold.contains(name));
    starter
        .vendors
        .values_mut()
        .for_each(|vendor| vendor.id += 100);
    starter.groups.retain(|name, _| name == "vip");
    starter.auto_groups.clear();
    harness.sell_document(starter).await;
    let base = format!("http://{}/api/v1", harness.simulator.address());
    let options = ChannelOptions {
        provider: Some("dashscope_native"),
        priority: 1,
        ..ChannelOptions::default()
    };
    harness
        .channel_with("videos", &base, &[(MODEL, MODEL)], options)
        .await;
    harness
}

async fn made(harness: &TestGateway, prompt: &str) -> String {
    let body = json!({ "model": MODEL, "prompt": prompt }).to_string();
    let sent = harness
        .send(http::Method::POST, "/v1/videos", body.into())
        .await;
    let got = GatewayResponse::read(sent).await;
    assert_eq!(got.status, 200, "{}", got.text());
    got.json()["id"].as_str().unwrap().to_owned()
}

/// Works until a stored event comes.
async fn verdict(harness: &TestGateway, follower: &mut Follower) -> (Frame, Vec<Frame>) {
    let work = async {
        loop {
            for job in VideoJob::ALL {
                trunkline_gateway::claim_video_jobs(&harness.gateway, job)
                    .await
                    .unwrap();
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let hear = async {
        let mut live = Vec::new();
        loop {
            let frame = follower.event().await;
            if frame.topic() != "task.progress" {
                return (frame, live);
            }
            live.push(frame);
        }
    };
    tokio::select! {
        received = hear => received,
        () = work => unreachable!(),
    }
}

fn data(frame: &Frame) -> &Value {
    frame.data.as_ref().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn verdicts_of_tasks_are_told_with_their_cost_and_without_their_prompt() {
    let harness = generation(TestOptions::default()).await;
    let path = "?topics=task.completed,task.failed,task.progress";
    let follower = Follower::open(harness.address, &harness.key, path).await;
    let mut follower = follower.placed().await;
    let id = made(&harness, "a canary-prompt [[job:ms:300]]").await;
    let (done, live) = verdict(&harness, &mut follower).await;
    assert_eq!(done.topic(), "task.completed");
    let reported = data(&done);
    assert_eq!(reported["task_id"], json!(id));
    assert_eq!(
        (&reported["status"], &reported["model"]),
        (&json!("completed"), &json!(MODEL))
    );
    assert_eq!(reported["cost_usd"], "0.5");
    assert!(!reported.to_string().contains("canary"));
    for news in &live {
        assert_eq!(news.id, None, "live news has no place");
        assert_eq!(data(news)["task_id"], json!(id));
        assert_eq!(data(news).get("seq"), None);
    }
    assert!(!live.is_empty(), "it was told that it runs");
    let failed = made(&harness, "a cat [[job:fail:InvalidParameter]]").await;
    let (frame, _) = verdict(&harness, &mut follower).await;
    assert_eq!(frame.topic(), "task.failed");
    let reported = data(&frame);
    assert_eq!(reported["task_id"], json!(failed));
    assert_eq!(reported["error"]["code"], "InvalidParameter");
    assert_eq!(reported["cost_usd"], "0");
    // Between the two stands that its money went back, which this follower did not ask for.
    assert_eq!(
        reported["seq"].as_i64(),
        data(&done)["seq"].as_i64().map(|seq| seq + 2)
    );
    harness.audit().await;
}

// covers: G-6-01
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_reaches_its_end_with_polling_alone() {
    let harness = generation(TestOptions::default()).await;
    let id = made(&harness, "a cat").await;
    for _ in 0..1_000 {
        for job in VideoJob::ALL {
            trunkline_gateway::claim_video_jobs(&harness.gateway, job)
                .await
                .unwrap();
        }
        let view = harness.get(&format!("/v1/videos/{id}")).await.json();
        if view["status"] == "completed" {
            assert!(view["metadata"]["url"].is_string(), "{view}");
            assert_eq!(
                trunkline_account_api::events_sent(harness.gateway.account_api()),
                0,
                "no event was sent"
            );
            return;
        }
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
    panic!("{id} never ended");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn progress_reaches_readers_of_another_node_live_and_once() {
    let nats = Nats::start().await;
    let harness = generation(TestOptions {
        bus: bus(&nats, "n1").await,
        ..TestOptions::default()
    })
    .await;
    let clock = std::sync::Arc::new(trunkline_db::SystemClock);
    let node = harness.second_node_on(clock, bus(&nats, "n2").await).await;
    relay(&harness.gateway);
    let far = Follower::open(node.address, &harness.key, "").await;
    let mut far = far.placed().await;
    let near = Follower::open(harness.address, &harness.key, "").await;
    let mut near = near.placed().await;
    let id = made(&harness, "a cat [[job:ms:800]]").await;
    let ((done, heard_far), (_, heard_near)) =
        tokio::join!(verdict(&harness, &mut far), verdict(&harness, &mut near));
    assert_eq!(done.topic(), "task.completed");
    assert!(!heard_far.is_empty(), "news came over the way");
    assert_eq!(heard_far.len(), heard_near.len(), "and none of it twice");
    assert!(
        heard_far
            .iter()
            .all(|news| data(news)["task_id"] == json!(id))
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cell_and_price_events_go_to_all_accounts() {
    let harness = TestGateway::new().await;
    let follower = Follower::open(harness.address, &harness.key, "").await;
    let mut follower = follower.placed().await;
    let reason = "an operator's own words";
    for is_pause in [true, true, false] {
        let mut tx = harness.console.begin().await.unwrap();
        let done = if is_pause {
            cell_pauses::pause(&mut tx, "douyin", "search", reason, PausedBy::Operator).await
        } else {
            cell_pauses::resume(&mut tx, "douyin", "search", reason, PausedBy::Operator).await
        };
        tx.finish(done).await.unwrap();
    }
    for topic in ["cell.paused", "cell.resumed"] {
        let frame = follower.event().await;
        assert_eq!(frame.topic(), topic);
        let reported = data(&frame);
        assert_eq!(
            (&reported["platform"], &reported["capability"]),
            (&json!("douyin"), &json!("search"))
        );
        assert!(!reported.to_string().contains("own words"));
    }
    let sold = |price: u32| {
        format!(
            "[models.\"new-model\"]\ngroups = [\"default\"]\n\
             [models.\"new-model\".prices]\nbilling_unit = \"tokens\"\nstandard = {{ input = {price}, output = {price} }}\n"
        )
    };
    harness.sell(&sold(5)).await;
    let frame = follower.event().await;
    assert_eq!(frame.topic(), "model.resumed");
    assert_eq!(data(&frame)["models"], json!(["new-model"]));
    harness.sell(&sold(7)).await;
    let frame = follower.event().await;
    assert_eq!(frame.topic(), "price.changed");
    assert_eq!(
        (&data(&frame)["models"], &data(&frame)["more"]),
        (&json!(["new-model"]), &json!(0))
    );
    assert!(data(&frame)["pricing_version"].is_string());
    harness.audit().await;
}
