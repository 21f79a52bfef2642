//! What `GET /v1/events` answers on one node.

use std::time::Duration;

use serde_json::json;
use trunkline_account_api::EventSettings;
use trunkline_gateway::Settings;
use trunkline_store::PolicyFields;
use trunkline_types::Topic;
use uuid::Uuid;

use crate::events::fixtures::{happen, news};
use crate::events::sse_client::Follower;
use crate::test_gateway::TestGateway;

fn with_events(events: EventSettings) -> Settings {
    Settings {
        events,
        ..Settings::default()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_is_told_as_it_happens_and_a_reader_goes_on_exactly_after_it() {
    let harness = TestGateway::new().await;
    let opened = Follower::open(harness.address, &harness.key, "").await;
    assert_eq!(
        opened.header("content-type"),
        Some("text/event-stream; charset=utf-8")
    );
    assert_eq!(opened.header("cache-control"), Some("no-cache"));
    assert!(opened.header("x-request-id").is_some());
    let mut follower = opened.placed().await;
    harness.happens(3).await;
    let first = follower.event().await;
    assert_eq!(first.topic(), "call.refunded");
    let data = first.data.clone().unwrap();
    assert_eq!(
        (&data["topic"], &data["seq"]),
        (&json!("call.refunded"), &json!(1))
    );
    assert_eq!(data["words"], "0");
    assert!(data["id"].as_str().unwrap().starts_with("evt_"));
    assert!(data["created_at"].as_i64().unwrap() > 1_700_000_000);
    let place = first.id.unwrap();
    assert!(place.starts_with("a1-s"), "{place}");
    assert_eq!(follower.numbers(2).await, [2, 3]);
    drop(follower);
    harness.happens(2).await;
    // By the header, as browsers do, and by the query, as clients do that cannot set one.
    let mut repeated = Follower::after(harness.address, &harness.key, "", &place).await;
    assert_eq!(repeated.numbers(4).await, [2, 3, 4, 5]);
    let query = format!("?last_event_id={place}");
    let mut repeated = Follower::open(harness.address, &harness.key, &query).await;
    assert_eq!(repeated.numbers(4).await, [2, 3, 4, 5]);
    let mut all = Follower::open(
        harness.address,
        &harness.key,
        "?from=start&topics=call.refunded",
    )
    .await;
    assert_eq!(all.numbers(5).await, [1, 2, 3, 4, 5]);
    harness.happens(1).await;
    for follower in [&mut repeated, &mut all] {
        assert_eq!(follower.numbers(1).await, [6]);
    }
    harness.audit().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_that_has_seen_nothing_goes_on_from_where_it_began() {
    let harness = TestGateway::new().await;
    let begun = Follower::open(harness.address, &harness.key, "").await;
    let begun = begun.placed().await;
    let place = begun.last_id.clone().unwrap();
    drop(begun);
    harness.happens(1).await;
    let mut repeated = Follower::after(harness.address, &harness.key, "", &place).await;
    assert_eq!(repeated.numbers(1).await, [1]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_account_receives_its_own_and_the_system_accounts_events_only() {
    let harness = TestGateway::new().await;
    let other = harness.make_account_key().await;
    let mine = Follower::open(harness.address, &harness.key, "").await;
    let mut mine = mine.placed().await;
    let theirs = Follower::open(harness.address, &other, "").await;
    let mut theirs = theirs.placed().await;
    harness.happens(1).await;
    let reported = news(
        trunkline_db::events::SYSTEM_ACCOUNT,
        Topic::CellPaused,
        "all",
    );
    happen(&harness.data, &[reported]).await;
    let received = theirs.event().await;
    assert_eq!(received.topic(), "cell.paused");
    let mut topics = [mine.event().await, mine.event().await].map(|frame| frame.event.unwrap());
    topics.sort();
    assert_eq!(topics, ["call.refunded", "cell.paused"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn filters_pass_the_named_events_and_the_cursor_skips_the_rest() {
    let events = EventSettings {
        heartbeat: Duration::from_millis(300),
        ..EventSettings::default()
    };
    let harness = TestGateway::with(with_events(events), 0, 0).await;
    let (one, two) = (Uuid::from_u128(1), Uuid::from_u128(2));
    let name = format!("task_{}", one.simple());
    let path = format!("?topics=task.completed,task.failed&task={name}");
    let follower = Follower::open(harness.address, &harness.key, &path).await;
    let mut follower = follower.placed().await;
    harness.happens(1).await;
    harness.happens_to_task(Topic::TaskCompleted, two).await;
    harness.happens_to_task(Topic::TaskCompleted, one).await;
    harness.happens(4).await;
    let received = follower.event().await;
    assert_eq!(received.seq(), 3);
    assert_eq!(received.data.unwrap()["task_id"], json!(name));
    // A heartbeat says how far it is, though nothing of that was wanted.
    loop {
        let frame = follower.frame().await.unwrap();
        assert_eq!(frame.data, None);
        if follower.last_id.as_ref().unwrap().starts_with("a7-s") {
            break;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_understood_is_refused_with_the_field_to_blame() {
    let harness = TestGateway::new().await;
    harness.happens(2).await;
    let wrong = [
        ("?last_event_id=7", "last_event_id"),
        ("?last_event_id=a3-s0", "last_event_id"),
        ("?last_event_id=a1-s999", "last_event_id"),
        ("?topics=task.done", "topics"),
        ("?task=video_1", "task"),
        ("?from=yesterday", "from"),
        ("?limit=3", "limit"),
    ];
    for (query, param) in wrong {
        let refused = Follower::open(harness.address, &harness.key, query).await;
        assert_eq!(refused.status, 400, "{query}");
        let error = refused.whole().await["error"].clone();
        assert_eq!(
            (&error["code"], &error["param"], &error["charged"]),
            (&json!("invalid_request"), &json!(param), &json!(false)),
            "{query}"
        );
    }
    let refused = Follower::after(harness.address, &harness.key, "", "nonsense").await;
    assert_eq!(refused.status, 400);
    let head = Follower::ask("HEAD", harness.address, &harness.key, "", None).await;
    assert_eq!(head.status, 200);
    assert_eq!(
        head.header("content-type"),
        Some("text/event-stream; charset=utf-8")
    );
    assert_eq!(
        trunkline_account_api::event_readers(harness.gateway.account_api()),
        0
    );
    let fields = PolicyFields {
        endpoints: Some(vec!["videos".to_owned()]),
        ..PolicyFields::default()
    };
    let narrow = harness.make_key(fields).await;
    let refused = Follower::open(harness.address, &narrow, "").await;
    assert_eq!(refused.status, 403);
    assert_eq!(
        refused.whole().await["error"]["code"],
        "endpoint_not_allowed"
    );
    let fields = PolicyFields {
        endpoints: Some(vec!["events".to_owned()]),
        ..PolicyFields::default()
    };
    let events = harness.make_key(fields).await;
    let allowed = Follower::open(harness.address, &events, "").await;
    assert_eq!(allowed.status, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_forgotten_is_told_as_a_gap_and_the_numbers_go_on() {
    const DAYS: i64 = 9 * 86_400;
    let harness = TestGateway::new().await;
    harness.happens(4).await;
    harness.db.shift_clock(DAYS).await;
    let purged = trunkline_db::events::purge(&harness.data).await.unwrap();
    assert!(purged.days > 0, "the days of the events are gone");
    // Nothing is kept: everything up to the newest is gone.
    let path = "?topics=call.refunded";
    let mut empty = Follower::after(harness.address, &harness.key, path, "a1-s0").await;
    let gap = empty.event().await;
    assert_eq!(gap.topic(), "stream.gap");
    let expected = json!({ "topic": "stream.gap", "of": "account", "from": 2, "to": 4 });
    assert_eq!(gap.data, Some(expected));
    harness.happens(2).await;
    let mut late = Follower::after(harness.address, &harness.key, path, "a2-s0").await;
    let gap = late.event().await;
    let expected = json!({ "topic": "stream.gap", "of": "account", "from": 3, "to": 4 });
    assert_eq!(
        (gap.topic(), gap.data.as_ref()),
        ("stream.gap", Some(&expected))
    );
    assert_eq!(gap.id.as_deref(), Some("a4-s0"));
    assert_eq!(late.numbers(2).await, [5, 6]);
    // A client that asks for all that is stored knows that there may have been more.
    let mut kept = Follower::open(
        harness.address,
        &harness.key,
        "?from=start&topics=call.refunded",
    )
    .await;
    assert_eq!(kept.numbers(2).await, [5, 6]);
    let holes = "SELECT account_id::text FROM app.audit_event_numbers_have_holes";
    assert!(harness.db.ask(holes).await.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_are_bounded_for_an_account_and_for_the_node() {
    let events = EventSettings {
        max_connections: 3,
        max_per_account: 2,
        ..EventSettings::default()
    };
    let harness = TestGateway::with(with_events(events), 0, 0).await;
    let other = harness.make_account_key().await;
    let mut open = Vec::new();
    for _ in 0..2 {
        let one = Follower::open(harness.address, &harness.key, "").await;
        open.push(one.placed().await);
    }
    let third = Follower::open(harness.address, &harness.key, "").await;
    assert_eq!(
        (third.status, third.header("retry-after")),
        (429, Some("5"))
    );
    assert_eq!(third.whole().await["error"]["code"], "rate_limit_exceeded");
    let theirs = Follower::open(harness.address, &other, "").await;
    open.push(theirs.placed().await);
    let full = Follower::open(harness.address, &other, "").await;
    assert_eq!(full.status, 429);
    let metrics = harness.metrics().await;
    assert!(
        metrics.contains("\ntrunkline_event_readers 3\n"),
        "{metrics}"
    );
    assert!(
        metrics.contains("\ntrunkline_event_accounts 3\n"),
        "{metrics}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_silent_stream_gives_signs_of_life() {
    let events = EventSettings {
        heartbeat: Duration::from_millis(100),
        ..EventSettings::default()
    };
    let harness = TestGateway::with(with_events(events), 0, 0).await;
    let mut follower = Follower::open(harness.address, &harness.key, "").await;
    let first = follower.frame().await.unwrap();
    assert_eq!(first.retry.as_deref(), Some("1000"));
    assert!(first.comment.is_some());
    let mut beats = 0;
    for _ in 0..10 {
        let frame = follower.frame().await.unwrap();
        beats += usize::from(frame.comment.as_deref() == Some("still here"));
    }
    assert!(beats >= 8, "{beats}");
    assert_eq!(EventSettings::default().heartbeat, Duration::from_secs(15));
}
