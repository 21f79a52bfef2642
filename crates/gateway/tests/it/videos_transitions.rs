//! Steps of a task that go wrong: senders that die, submissions without an answer, lanes that are full,
//! unknown statuses, time that runs out.

use std::time::Duration;

use serde_json::{Value, json};
use trunkline_gateway::{Settings, VideoJob, VideoSettings};
use trunkline_store::PolicyFields;

use crate::test_gateway::{GatewayResponse, TestGateway, account};
use crate::videos::{
    CAT, MONEY, cat, column, ended, generation, made, make, moved, quick, spent, task_view, until,
    written_off,
};

fn hurried(change: impl FnOnce(&mut VideoSettings)) -> Settings {
    let mut settings = quick();
    change(&mut settings.video);
    settings
}

fn kling(case: &str) -> Value {
    json!({ "model": "kling-v3", "prompt": format!("x {case}") })
}

/// Makes the lane of the usual upstream cool down for two seconds, by a task that finds no capacity once.
async fn fill(harness: &TestGateway) -> String {
    made(harness, &cat("[[id:filler]][[job:full:1]]")).await
}

/// As if its sender had died after it had written that it sends.
async fn dies_sending(harness: &TestGateway, id: &str) {
    let uuid = id.strip_prefix("task_").unwrap();
    let model = column(harness, id, "model").await;
    let query = format!(
        "UPDATE app.video_task SET state = 'submitting',
             (channel_id, credential_id) = (SELECT c.id, k.id FROM app.channel AS c
                 JOIN app.channel_credential AS k ON k.channel_id = c.id WHERE c.models ? '{model}' LIMIT 1)
         WHERE id = '{uuid}' AND state = 'accepted' RETURNING 'done'"
    );
    assert_eq!(harness.db.ask(&query).await, ["done"]);
}

fn sent(harness: &TestGateway, marker: &str) -> usize {
    let jobs = harness.simulator.video_jobs();
    jobs.iter()
        .filter(|job| job.marker.as_deref() == Some(marker))
        .count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_that_was_written_and_never_sent_is_taken_over_after_its_lease() {
    let harness = generation(quick()).await;
    fill(&harness).await;
    // Its sender found no channel, and leaves it as one that dies would.
    let id = made(&harness, &cat("[[id:left]]")).await;
    assert_eq!(column(&harness, &id, "state").await, "accepted");
    let uuid = id.strip_prefix("task_").unwrap();
    let early = format!(
        "SELECT (s.due_at >= t.created_at + interval '2.9 s')::text FROM app.video_schedule AS s
         JOIN app.video_task AS t ON t.id = s.task_id WHERE t.id = '{uuid}' AND s.job = 'submit'"
    );
    assert_eq!(harness.db.ask(&early).await, ["true"]);
    assert_eq!(ended(&harness, &id).await["status"], "completed");
    assert_eq!(
        (sent(&harness, "left"), moved(&harness, &id, "charge").await),
        (1, CAT)
    );
    harness.audit().await;
}

// covers: D-2-68, D-2-69, D-2-71, D-3-75
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unanswered_submission_is_never_resent_and_is_written_off() {
    let harness = generation(hurried(|video| video.deadline = Duration::from_secs(8))).await;
    let lost = make(&harness, &cat("[[id:lost]][[job:lost]]")).await;
    let silent =
        json!({ "model": "doubao-seedance-2-5-260628", "prompt": "x [[id:silent]][[job:silent]]" });
    let silent = make(&harness, &silent).await;
    let mut ids = Vec::new();
    for got in [&lost, &silent] {
        assert_eq!(
            (got.status.as_u16(), &got.json()["status"]),
            (200, &json!("queued"))
        );
        ids.push(got.json()["id"].as_str().unwrap().to_owned());
    }
    let [paid, held, _, _] = harness.wallets().await;
    assert_eq!((paid, held), (MONEY, CAT + 1_080_000_000));
    for (id, marker) in ids.iter().zip(["lost", "silent"]) {
        let task = until(&harness, id, "failed").await;
        assert_eq!(task["error"]["code"], "deadline_exceeded");
        assert_eq!(written_off(&harness, id).await, ["unknown_outcome"]);
        assert_eq!(moved(&harness, id, "charge").await, 0);
        assert_eq!(sent(&harness, marker), 1);
    }
    assert_eq!(spent(&harness).await, 0);
    harness.audit().await;
}

// covers: D-2-70
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unanswered_submission_is_looked_up_by_our_name() {
    let harness = generation(hurried(|video| video.call_wait = Duration::from_secs(1))).await;
    for case in ["lost", "silent"] {
        for model in ["kling-v3", "kling-3.0-turbo"] {
            let marker = format!("{case}-{model}");
            let prompt = format!("x [[id:{marker}]][[job:{case}]]");
            let got = make(&harness, &json!({ "model": model, "prompt": prompt })).await;
            assert_eq!(
                (got.status.as_u16(), &got.json()["status"]),
                (200, &json!("queued"))
            );
            let id = got.json()["id"].as_str().unwrap().to_owned();
            assert_eq!(
                moved(&harness, &id, "charge").await,
                0,
                "the outcome is unknown yet"
            );
            assert_eq!(ended(&harness, &id).await["status"], "completed");
            assert_eq!(sent(&harness, &marker), 1);
            assert!(moved(&harness, &id, "charge").await > 0);
            assert_eq!(written_off(&harness, &id).await, Vec::<String>::new());
        }
    }
    harness.audit().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_sender_leads_to_a_lookup_and_not_to_a_resubmission() {
    let harness = generation(hurried(|video| {
        video.deadline = Duration::from_secs(9);
        video.call_wait = Duration::from_millis(500);
        video.lease = Duration::from_secs(1);
    }))
    .await;
    // Found by asking: it was never received, and that is certain.
    let unsent = made(&harness, &kling("[[id:asked]][[job:full:1000]]")).await;
    dies_sending(&harness, &unsent).await;
    let task = until(&harness, &unsent, "failed").await;
    assert_eq!(task["error"]["code"], "submission_lost");
    assert_eq!(written_off(&harness, &unsent).await, Vec::<String>::new());
    // The vendor has no lookup: it waits for its deadline.
    let waits = made(&harness, &cat("[[id:waits]][[job:full:1]]")).await;
    dies_sending(&harness, &waits).await;
    let task = until(&harness, &waits, "failed").await;
    assert_eq!(task["error"]["code"], "deadline_exceeded");
    assert_eq!(written_off(&harness, &waits).await, ["unknown_outcome"]);
    assert!(harness.simulator.video_jobs().is_empty());
    assert_eq!(spent(&harness).await, 0);
    harness.audit().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_lane_is_waited_for_with_the_money_held() {
    let harness = generation(quick()).await;
    let id = made(&harness, &cat("[[id:a]][[job:full:2]]")).await;
    assert_eq!(task_view(&harness, &id).await["status"], "queued");
    assert_eq!(harness.wallets().await, [MONEY, CAT, 0, 0]);
    assert_eq!(sent(&harness, "a"), 0);
    assert_eq!(ended(&harness, &id).await["status"], "completed");
    assert_eq!((sent(&harness, "a"), spent(&harness).await), (1, CAT));
    harness.audit().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn accounts_take_turns_when_a_slot_is_free_again() {
    let harness = generation(hurried(|video| video.at_once = 2)).await;
    let other = account(&harness.console, MONEY, 0).await;
    let other = harness.key_of(other, PolicyFields::default()).await;
    fill(&harness).await;
    for place in 0..6 {
        made(&harness, &cat(&format!("[[id:many-{place}]]"))).await;
    }
    let body = bytes::Bytes::from(cat("[[id:single]]").to_string());
    let post = http::Method::POST;
    let theirs = harness.send_as((harness.address, &other), post, "/v1/videos", body, &[]);
    assert_eq!(
        GatewayResponse::read(theirs.await).await.json()["status"],
        "queued"
    );
    let not_due = "SELECT 'x' FROM app.video_schedule WHERE job = 'submit' AND due_at > app.now()";
    while !harness.db.ask(not_due).await.is_empty() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(
        trunkline_gateway::claim_video_jobs(&harness.gateway, VideoJob::Submit)
            .await
            .unwrap(),
        2
    );
    while harness.simulator.video_jobs().len() < 2 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(
        sent(&harness, "single"),
        1,
        "the other account's only one is among the first two"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_that_waited_too_long_for_a_slot_fails_uncharged() {
    let harness = generation(hurried(|video| video.queue = Duration::from_secs(1))).await;
    let id = made(&harness, &cat("[[id:w]][[job:full:1000]]")).await;
    let task = ended(&harness, &id).await;
    assert_eq!(
        (&task["status"], &task["error"]["code"]),
        (&json!("failed"), &json!("no_capacity"))
    );
    assert_eq!((spent(&harness).await, sent(&harness, "w")), (0, 0));
    assert_eq!(moved(&harness, &id, "charge").await, 0);
    assert_eq!(written_off(&harness, &id).await, Vec::<String>::new());
    harness.audit().await;
}

// covers: D-6-A-09
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unknown_upstream_status_means_running() {
    let harness = generation(quick()).await;
    let case = "[[job:odd]][[job:wait_ms:0]][[job:ms:900]]";
    let bodies = [
        cat(case),
        kling(case),
        json!({ "model": "doubao-seedance-2-5-260628", "prompt": format!("x {case}") }),
        json!({ "model": "MiniMax-Hailuo-2.3", "prompt": format!("x {case}") }),
    ];
    for body in bodies {
        let id = made(&harness, &body).await;
        until(&harness, &id, "in_progress").await;
        assert_eq!(ended(&harness, &id).await["status"], "completed", "{body}");
    }
    // The upstream has forgotten it: not a verdict either.
    let id = made(&harness, &cat("[[job:wait_ms:0]][[job:ms:500]]")).await;
    let uuid = id.strip_prefix("task_").unwrap();
    let hide = |name: &str| {
        format!(
            "UPDATE app.video_task SET upstream_id = {name} WHERE id = '{uuid}' RETURNING 'done'"
        )
    };
    let real = column(&harness, &id, "upstream_id").await;
    harness.db.ask(&hide("'gone'")).await;
    for _ in 0..10 {
        trunkline_gateway::claim_video_jobs(&harness.gateway, VideoJob::Poll)
            .await
            .unwrap();
        tokio::time::sleep(Duration::from_millis(60)).await;
    }
    assert_eq!(task_view(&harness, &id).await["status"], "queued");
    harness.db.ask(&hide(&format!("'{real}'"))).await;
    assert_eq!(ended(&harness, &id).await["status"], "completed");
    harness.audit().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_that_never_ends_is_refunded_and_written_off_at_its_deadline() {
    let harness = generation(hurried(|video| video.deadline = Duration::from_secs(2))).await;
    let id = made(&harness, &cat("[[job:stuck]]")).await;
    assert_eq!(spent(&harness).await, CAT);
    let task = ended(&harness, &id).await;
    assert_eq!(task["error"]["code"], "deadline_exceeded");
    assert_eq!(moved(&harness, &id, "refund").await, CAT);
    assert_eq!(written_off(&harness, &id).await, ["unknown_outcome"]);
    assert_eq!(spent(&harness).await, 0);
    harness.audit().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_refused_at_a_workers_submission_fails_with_the_upstreams_text() {
    let harness = generation(quick()).await;
    fill(&harness).await;
    let id = made(&harness, &cat("[[id:r]][[job:refuse:InvalidParameter]]")).await;
    let task = ended(&harness, &id).await;
    assert_eq!(
        (&task["status"], &task["error"]["code"]),
        (&json!("failed"), &json!("InvalidParameter"))
    );
    assert_eq!(
        task["error"]["message"],
        "the prompt asked for InvalidParameter"
    );
    assert_eq!(
        (moved(&harness, &id, "charge").await, sent(&harness, "r")),
        (0, 0)
    );
    harness.audit().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upstream_that_cannot_be_reached_makes_no_task() {
    let harness = generation(quick()).await;
    harness.simulator.clone().stop().await;
    let got = make(&harness, &cat("")).await;
    assert_eq!(
        (got.status.as_u16(), got.code().as_str()),
        (502, "upstream_error")
    );
    assert_eq!(harness.get("/v1/videos").await.json()["data"], json!([]));
    assert_eq!(spent(&harness).await, 0);
    harness.audit().await;
}
