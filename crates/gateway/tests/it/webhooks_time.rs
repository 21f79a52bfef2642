//! Webhooks over days, with a clock that is moved: tries, rotation, giving up, pauses, replays, leases.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use trunkline_account_api::WebhookSettings;
use trunkline_db::SystemClock;
use trunkline_gateway::Settings;
use trunkline_types::Topic;

use crate::test_gateway::{TestGateway, TestOptions};
use crate::webhooks_receiver::{
    Receiver, ReceiverBehaviour, act, all, counted, deliveries, happens, hook, post, until, work,
};

/// Between the tries of one message, in seconds, without the tenth that chance adds.
const WAITS: [i64; 8] = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000];
const DAY: i64 = 86_400;

fn wait_of(delivery: &Value) -> i64 {
    delivery["next_try_at"].as_i64().unwrap() - delivery["last_try_at"].as_i64().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failed_deliveries_are_retried_with_backoff_and_the_same_id() {
    let harness = TestGateway::new().await;
    let receiver = Receiver::start().await;
    let made = hook(&harness, &receiver).await;
    receiver.answer(500);
    let event = happens(&harness, Topic::BalanceLow, json!({})).await;
    for (tries, seconds) in (1..).zip(WAITS.iter().take(4)) {
        counted(&harness, "put_off", tries).await;
        let list = deliveries(&harness, &made).await;
        assert_eq!(
            (&list[0]["tries"], &list[0]["last_status"]),
            (&json!(tries), &json!(500))
        );
        let wait = wait_of(&list[0]);
        assert!(
            (*seconds..=seconds + seconds / 10 + 1).contains(&wait),
            "{tries}: {wait}"
        );
        for _ in 0..5 {
            work(&harness.data, &harness.gateway).await;
        }
        assert_eq!(
            receiver.received().len(),
            usize::try_from(tries).unwrap(),
            "not before its time"
        );
        harness.db.shift_clock(wait + 1).await;
    }
    let headers = vec![("retry-after", "40000".to_owned())];
    receiver.behave(ReceiverBehaviour::Status(503, headers));
    counted(&harness, "put_off", 5).await;
    let wait = wait_of(&deliveries(&harness, &made).await[0]);
    assert_eq!(wait, 40_000, "the receiver knows best, within bounds");
    let view = harness.get(&made.path).await.json();
    assert!(view["failing_since"].is_i64());
    receiver.answer(204);
    harness.db.shift_clock(wait + 1).await;
    let list = until(&harness, &made, all("delivered")).await;
    assert_eq!(list[0]["tries"], 6);
    assert_eq!(
        harness.get(&made.path).await.json()["failing_since"],
        Value::Null
    );
    let received = receiver.received();
    assert!(received.iter().all(|one| one.id() == event.to_string()));
    assert!(received.iter().all(|one| one.is_signed_with(&made.secret)));
    assert!(received.iter().all(|one| one.body == received[0].body));
    harness.audit_but_for_the_clock().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receiver_failing_for_three_days_is_paused_resumed_and_replayed() {
    let harness = TestGateway::new().await;
    let receiver = Receiver::start().await;
    let made = hook(&harness, &receiver).await;
    receiver.answer(500);
    let lost = happens(&harness, Topic::BalanceLow, json!({ "n": 1 })).await;
    let mut tries = 0;
    let began = harness
        .db
        .ask("SELECT extract(epoch FROM app.now())::bigint::text")
        .await[0]
        .clone();
    let list = loop {
        tries += 1;
        counted(&harness, "put_off", tries).await;
        let wait = wait_of(&deliveries(&harness, &made).await[0]);
        harness.db.shift_clock(wait + 1).await;
        if tries == 9 {
            break until(&harness, &made, all("failed")).await;
        }
    };
    assert_eq!(list[0]["tries"], 10);
    let took = list[0]["last_try_at"].as_i64().unwrap() - began.parse::<i64>().unwrap();
    assert!(
        (3 * DAY..3 * DAY + 600).contains(&took),
        "three days: {took}"
    );
    let view = harness.get(&made.path).await.json();
    assert_eq!(
        (&view["state"], &view["paused_reason"]),
        (&json!("paused"), &json!("failing"))
    );
    assert!(view["paused_at"].is_i64());

    // What happens while it is paused is kept.
    receiver.answer(200);
    let waiting = happens(&harness, Topic::BalanceLow, json!({ "n": 2 })).await;
    let list = until(&harness, &made, |list| list[0]["next_try_at"].is_null()).await;
    assert_eq!(
        (&list[0]["state"], &list[0]["tries"]),
        (&json!("waiting"), &json!(0))
    );
    assert_eq!(receiver.received().len(), 10);
    act(&harness, &format!("{}/resume", made.path)).await;
    let list = until(&harness, &made, |list| list[0]["state"] == "delivered").await;
    assert_eq!(
        list[1]["state"], "failed",
        "what was given up is not sent by itself"
    );
    assert_eq!(receiver.received()[10].id(), waiting.to_string());

    let replayed = act(&harness, &format!("{}/deliveries/{lost}/replay", made.path)).await;
    assert_eq!(
        (&replayed["state"], &replayed["tries"]),
        (&json!("waiting"), &json!(0))
    );
    until(&harness, &made, all("delivered")).await;
    assert_eq!(receiver.received()[11].id(), lost.to_string());
    assert_eq!(receiver.received()[11].json()["data"]["n"], 1);
    let unknown = format!("{}/deliveries/{}/replay", made.path, uuid::Uuid::nil());
    assert_eq!(post(&harness, &unknown, &json!({})).await.status, 404);

    harness.audit_but_for_the_clock().await;
    // After a week nothing of it is left.
    harness.db.shift_clock(8 * DAY).await;
    until(&harness, &made, <[Value]>::is_empty).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_old_secret_signs_beside_the_new_one_for_a_day() {
    let harness = TestGateway::new().await;
    let receiver = Receiver::start().await;
    let made = hook(&harness, &receiver).await;
    let rotated = act(&harness, &format!("{}/rotate", made.path)).await;
    let new = rotated["secret"].as_str().unwrap().to_owned();
    assert_ne!(new, made.secret);
    assert!(rotated["old_secret_expires_at"].is_i64());
    happens(&harness, Topic::BalanceLow, json!({})).await;
    until(&harness, &made, all("delivered")).await;
    let both = receiver.received()[0].clone();
    assert_eq!(both.signatures().len(), 2);
    assert!(both.is_signed_with(&new) && both.is_signed_with(&made.secret));

    harness.db.shift_clock(DAY + 1).await;
    happens(&harness, Topic::BalanceLow, json!({})).await;
    until(&harness, &made, all("delivered")).await;
    let one = receiver.received()[1].clone();
    assert_eq!(one.signatures().len(), 1);
    assert!(one.is_signed_with(&new) && !one.is_signed_with(&made.secret));
    assert_eq!(
        harness.get(&made.path).await.json()["old_secret_expires_at"],
        Value::Null
    );

    let at_once = json!({ "overlap_seconds": 0 });
    let rotated = post(&harness, &format!("{}/rotate", made.path), &at_once)
        .await
        .json();
    happens(&harness, Topic::BalanceLow, json!({})).await;
    until(&harness, &made, all("delivered")).await;
    let one = receiver.received()[2].clone();
    assert_eq!(one.signatures().len(), 1);
    assert!(one.is_signed_with(rotated["secret"].as_str().unwrap()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_delivery_claimed_by_a_dead_node_is_resent_with_the_same_id() {
    let harness = TestGateway::build(TestOptions {
        settings: Settings {
            webhooks: WebhookSettings {
                wait: Duration::from_secs(20),
                ..WebhookSettings::default()
            },
            ..Settings::default()
        },
        ..TestOptions::default()
    })
    .await;
    let second = harness.second_node(Arc::new(SystemClock)).await;
    let receiver = Receiver::start().await;
    let made = hook(&harness, &receiver).await;
    receiver.behave(ReceiverBehaviour::Hang);
    let event = happens(&harness, Topic::BalanceLow, json!({})).await;
    while receiver.received().is_empty() {
        work(&harness.data, &second.gateway).await;
    }
    // The second node hangs in the middle. Its claim holds for a while, and then no longer.
    receiver.answer(200);
    for _ in 0..10 {
        work(&harness.data, &harness.gateway).await;
    }
    assert_eq!(receiver.received().len(), 1, "one at a time");
    harness.db.shift_clock(61).await;
    let list = until(&harness, &made, all("delivered")).await;
    assert_eq!(list[0]["tries"], 2);
    let received = receiver.received();
    assert_eq!(received.len(), 2);
    assert!(received.iter().all(|one| one.id() == event.to_string()));
    // What the second node says at last is not heard: the message is another's.
    second.gateway.finish(Duration::from_secs(60)).await;
    let list = deliveries(&harness, &made).await;
    assert_eq!(
        (&list[0]["state"], &list[0]["last_error"]),
        (&json!("delivered"), &Value::Null)
    );
    assert_eq!(
        harness.get(&made.path).await.json()["failing_since"],
        Value::Null
    );
}
