//! Video tasks between two chairs: an upstream that answers when the task has ended, and a database
//! whose answer is lost.

use std::time::Duration;

use serde_json::{Value, json};
use trunkline_gateway::{Settings, VideoJob, VideoSettings};
use trunkline_testkit::FaultProxy;

use crate::test_gateway::{ChannelOptions, TestGateway, TestOptions};
use crate::videos::{MONEY, furnished, make, quick, spent};

const DAY: i64 = 86_400;
const TRIES: usize = 2_000;

/// Settings in which a call may take its time.
fn patient() -> Settings {
    let quick = quick();
    Settings {
        video: VideoSettings {
            call_wait: Duration::from_secs(20),
            lease: Duration::from_secs(30),
            ..quick.video
        },
        ..quick
    }
}

/// A studio whose lines to the database and to one vendor can be broken.
async fn torn() -> (TestGateway, FaultProxy) {
    let options = TestOptions {
        settings: patient(),
        paid: MONEY,
        breakable: true,
        ..TestOptions::default()
    };
    let harness = Box::pin(furnished(TestGateway::build(options).await)).await;
    let road = FaultProxy::to_anything(harness.simulator.address());
    let base = format!("http://127.0.0.1:{}/api/v1", road.port());
    let options = ChannelOptions {
        provider: Some("dashscope_native"),
        ..ChannelOptions::default()
    };
    let models = [("wan2.7-t2v", "wan2.7-t2v")];
    harness.channel_with("torn", &base, &models, options).await;
    (harness, road)
}

fn body(words: &str) -> Value {
    json!({ "model": "wan2.7-t2v", "prompt": format!("a cat {words}") })
}

/// Waits until the upstream was asked.
async fn upstream_called(harness: &TestGateway, marker: &str) {
    let is_asked = || {
        let truth = harness.simulator.requests();
        truth
            .iter()
            .any(|one| one.marker.as_deref() == Some(marker))
    };
    for _ in 0..TRIES {
        if is_asked() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("no upstream was called");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_that_is_told_of_after_its_task_has_ended_is_a_loss_and_no_charge() {
    let (harness, road) = torn().await;
    road.delay(Duration::from_secs(3));
    let asks = body("[[id:late]]");
    let meanwhile = async {
        upstream_called(&harness, "late").await;
        harness.db.shift_clock(2 * DAY).await;
        let failed = "SELECT id::text FROM app.video_task WHERE state = 'failed'";
        for _ in 0..TRIES {
            if !harness.db.ask(failed).await.is_empty() {
                return;
            }
            trunkline_gateway::claim_video_jobs(&harness.gateway, VideoJob::Submit)
                .await
                .unwrap();
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("the task never failed");
    };
    let (made, ()) = tokio::join!(make(&harness, &asks), meanwhile);
    assert_eq!(made.status, 200, "{}", made.text());
    let losses = "SELECT reason FROM ledger.write_off ORDER BY reason";
    let losses = harness.db.ask(losses).await;
    assert_eq!(losses, ["late_result", "unknown_outcome"]);
    assert_eq!(harness.simulator.video_jobs().len(), 1);
    assert_eq!(spent(&harness).await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_is_reported_although_the_rollbacks_answer_was_lost() {
    let (harness, road) = torn().await;
    road.delay(Duration::from_secs(1));
    let asks = body("[[id:refused]] [[job:refuse:InvalidParameter]]");
    let meanwhile = async {
        upstream_called(&harness, "refused").await;
        harness.wire.as_ref().unwrap().cut_after_commit();
    };
    let (made, ()) = tokio::join!(make(&harness, &asks), meanwhile);
    assert_eq!(made.status, 400, "{}", made.text());
    assert_eq!(made.json()["error"]["charged"], json!(false));
    let tasks = harness.db.ask("SELECT id::text FROM app.video_task").await;
    assert!(tasks.is_empty(), "{tasks:?}");
    assert_eq!(spent(&harness).await, 0);
    harness.audit().await;
}

/// Commits of tasks take three seconds.
const SLOW_COMMITS: &str = "
    CREATE FUNCTION app.slow_commit() RETURNS trigger LANGUAGE plpgsql AS
        $slow$ BEGIN PERFORM pg_sleep(3); RETURN NULL; END $slow$;
    CREATE CONSTRAINT TRIGGER slow_commit AFTER INSERT ON app.video_task
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION app.slow_commit();
    GRANT EXECUTE ON FUNCTION app.slow_commit() TO trunkline_data;";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_whose_tasks_commit_lands_late_gets_the_task_and_pays_once() {
    let (harness, _road) = torn().await;
    harness.db.ask(SLOW_COMMITS).await;
    let asks = body("[[id:slow]]");
    let meanwhile = async {
        let committing = "SELECT pid::text FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
        for _ in 0..TRIES {
            if !harness.db.ask(committing).await.is_empty() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        // The commit is under way, and its answer is lost.
        harness.wire.as_ref().unwrap().cut();
    };
    let (made, ()) = tokio::join!(make(&harness, &asks), meanwhile);
    assert_eq!(made.status, 200, "{}", made.text());
    let tasks = harness.db.ask("SELECT state FROM app.video_task").await;
    assert_eq!(tasks.len(), 1, "{tasks:?}");
    assert_eq!(harness.simulator.video_jobs().len(), 1);
    let charges = "SELECT request_id::text FROM ledger.posting WHERE kind = 'charge'";
    assert_eq!(harness.db.ask(charges).await.len(), 1);
    harness.audit().await;
}
