//! Loops that wait for rows of others are notified of them, and poll when they are not.

use std::time::Duration;

use sqlx::postgres::PgListener;
use tokio::sync::watch;
use tokio::time::Instant;
use trunkline_db::{Database, PollInterval, Role, Signal, revision};
use trunkline_testkit::Db;

/// Long enough not to be taken for the fallback.
const LONG: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(20);
const LISTENED: PollInterval = PollInterval {
    min: LOOK,
    polling: LONG,
    listening: LONG,
};

async fn until_listening(database: &Database, expected: bool) {
    let began = Instant::now();
    while database.notifications().is_listening() != expected {
        assert!(began.elapsed() < LONG, "listening: {}", !expected);
        tokio::time::sleep(LOOK).await;
    }
}

async fn bump(database: &Database, topic: &str) {
    let mut tx = database.begin().await.unwrap();
    revision::bump(&mut tx, topic).await.unwrap();
    tx.commit().await.unwrap();
}

#[tokio::test]
async fn a_commit_wakes_waiters_of_other_processes_also_after_a_reconnect() {
    let db = Db::fresh().await;
    let data = db.connect(Role::Data).await;
    let console = db.connect(Role::Console).await;
    let (stop, stopped) = watch::channel(false);
    let mut listening = tokio::task::JoinSet::new();
    listening.spawn(data.clone().listen(stopped));
    let mut subscription = data.notifications().subscribe(Signal::Revisions);
    for breaks in [false, true] {
        until_listening(&data, true).await;
        if breaks {
            let cut = "SELECT pg_terminate_backend(pid)::text FROM pg_stat_activity
                       WHERE datname = current_database() AND query LIKE 'LISTEN%'";
            assert_eq!(db.ask(cut).await, ["true"]);
            until_listening(&data, false).await;
            until_listening(&data, true).await;
        }
        // What it missed while it was away, or did not know yet, is looked at once.
        subscription
            .wait(PollInterval {
                listening: LOOK,
                ..LISTENED
            })
            .await;
        let began = Instant::now();
        tokio::join!(subscription.wait(LISTENED), bump(&console, "test"));
        assert!(began.elapsed() < LONG, "woken, and not by the clock");
    }
    stop.send_replace(true);
    listening.join_next().await.unwrap().unwrap();
}

#[tokio::test]
async fn a_waiter_without_a_listener_polls_in_time() {
    let db = Db::fresh().await;
    let data = db.connect(Role::Data).await;
    let mut subscription = data.notifications().subscribe(Signal::Revisions);
    let began = Instant::now();
    let interval = PollInterval {
        polling: LOOK,
        ..LISTENED
    };
    subscription.wait(interval).await;
    assert!(began.elapsed() < LONG);
}

#[tokio::test]
async fn each_awaited_write_notifies_once_and_a_claim_does_not() {
    let db = Db::fresh().await;
    let mut listener = PgListener::connect(db.superuser_url().reveal())
        .await
        .unwrap();
    listener.listen("trunkline").await.unwrap();
    let owner = db.owner().await;
    let task = "'01900000-0000-7000-8000-000000000001'";
    let event = |account: i64| {
        format!(
            "INSERT INTO app.outbox (id, topic, account_id, seq, body)
             SELECT gen_random_uuid(), 'test', {account}, n, '{{}}' FROM generate_series(1, 3) AS n"
        )
    };
    let schedule =
        |set: &str| format!("UPDATE app.video_schedule SET {set} WHERE task_id = {task}");
    let delivery = |set: &str| format!("UPDATE app.webhook_delivery SET {set}");
    let steps: [(String, &[&str]); 13] = [
        (event(1), &["outbox"]),
        (event(0), &["outbox", "webhooks"]),
        (
            format!(
                "INSERT INTO app.video_schedule (task_id, account_id, job, due_at)
                 VALUES ({task}, 1, 'submit', app.now())"
            ),
            &["video"],
        ),
        (schedule("due_at = due_at + interval '1 minute'"), &[]),
        (schedule("due_at = due_at - interval '30 seconds'"), &["video"]),
        (schedule("job = 'poll'"), &["video"]),
        (schedule("due_at = due_at - interval '10 seconds'"), &[]),
        (
            "INSERT INTO app.webhook_delivery (webhook_id, event_id, account_id, event_account, seq, topic,
                 due_at, created_at)
             VALUES (gen_random_uuid(), gen_random_uuid(), 1, 1, 1, 'test', app.now(), app.now())"
                .to_owned(),
            &["webhooks"],
        ),
        (delivery("due_at = due_at + interval '1 minute'"), &[]),
        (delivery("due_at = due_at - interval '30 seconds'"), &["webhooks"]),
        (
            delivery("state = 'failed', due_at = due_at - interval '1 second'"),
            &[],
        ),
        (
            "INSERT INTO app.revision (topic, value) VALUES ('test', 1)".to_owned(),
            &["revisions"],
        ),
        (
            "UPDATE app.revision SET value = value + 1 WHERE topic = 'test'".to_owned(),
            &["revisions"],
        ),
    ];
    for (statement, expected) in steps {
        let mut tx = owner.begin().await.unwrap();
        for text in [statement.as_str(), "NOTIFY trunkline, 'end'"] {
            sqlx::raw_sql(sqlx::AssertSqlSafe(text))
                .execute(&mut *tx)
                .await
                .unwrap();
        }
        tx.commit().await.unwrap();
        let mut reply = Vec::new();
        loop {
            let word = listener.recv().await.unwrap().payload().to_owned();
            if word == "end" {
                break;
            }
            reply.push(word);
        }
        assert_eq!(reply, expected, "{statement}");
    }
}
