//! One list of promises for both ways; and copies, news and outages of NATS.

use std::time::Duration;

use serde_json::json;
use trunkline_db::bus::{
    Bus, EventCopy, Health, Incoming, LiveNotification, NatsSettings, Servers,
};
use trunkline_testkit::Nats;
use trunkline_types::Secret;
use uuid::Uuid;

const WAIT: Duration = Duration::from_secs(60);

fn copy(account: i64, seq: i64) -> EventCopy {
    EventCopy {
        id: Uuid::from_u128(u128::try_from(account * 1_000 + seq).unwrap()),
        account,
        seq,
        topic: "key.revoked".to_owned(),
        task: Some(Uuid::from_u128(5)),
        created_at_micros: 1_700_000_000_000_001,
        body: json!({ "words": [1, "two"] }),
    }
}

fn live(account: i64) -> LiveNotification {
    LiveNotification {
        account,
        topic: "task.progress".to_owned(),
        task: Some(Uuid::from_u128(5)),
        created_at_micros: 1,
        body: json!({ "progress": 7 }),
    }
}

async fn by(url: &str, name: &str) -> Bus {
    let settings = NatsSettings {
        servers: Servers::parse(&Secret::new(url.to_owned())).unwrap(),
        roots: None,
        replicas: 1,
        own_name: name.to_owned(),
    };
    Bus::nats(settings).await.unwrap()
}

async fn until(bus: &Bus, health: Health) {
    let came = async {
        while bus.health() != health {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(WAIT, came)
        .await
        .expect("it comes in time");
}

/// What is promised of every way.
async fn keeps_its_promises(bus: &Bus) {
    assert_ne!(bus.health(), Health::Down);
    let mut ears = bus.subscribe().await.unwrap();
    assert_eq!(bus.publish(&[]).await.unwrap(), Vec::<bool>::new());
    let copies: Vec<EventCopy> = (1..=300).map(|seq| copy(3, seq)).collect();
    assert_eq!(bus.publish(&copies).await.unwrap(), vec![true; 300]);
    // What was delivered before is there, and that is no error.
    assert_eq!(bus.publish(&copies[..10]).await.unwrap(), vec![true; 10]);
    // Own news was told at home, and does not come back.
    bus.notify(&live(3)).await;
    let received = async {
        loop {
            match ears.next().await {
                Some(Incoming::Event(parcel)) => {
                    assert_eq!(parcel.account.number(), 3);
                    assert!(copies.contains(&parcel.decode().unwrap()));
                }
                other => return other,
            }
        }
    };
    let received = tokio::time::timeout(Duration::from_secs(1), received).await;
    assert!(received.is_err(), "{received:?}");
}

#[tokio::test]
async fn the_local_way_keeps_its_promises() {
    let bus = Bus::local();
    assert_eq!(bus.health(), Health::Local);
    keeps_its_promises(&bus).await;
    assert_eq!(bus.stored().await.unwrap(), None);
}

#[tokio::test]
async fn the_way_by_nats_keeps_its_promises_and_stores_each_copy_once() {
    let nats = Nats::start().await;
    let bus = by(&nats.url(), "n1").await;
    until(&bus, Health::Up).await;
    keeps_its_promises(&bus).await;
    assert_eq!(bus.stored().await.unwrap(), Some(300));
}

#[tokio::test]
async fn others_hear_copies_and_news_in_order_and_unopened() {
    let nats = Nats::start().await;
    let (one, two) = (by(&nats.url(), "n1").await, by(&nats.url(), "n2").await);
    until(&one, Health::Up).await;
    until(&two, Health::Up).await;
    let mut ears = two.subscribe().await.unwrap();
    // The server has it once it answers the same connection.
    two.publish(&[copy(9, 1)]).await.unwrap();
    let copies: Vec<EventCopy> = (1..=50).map(|seq| copy(4, seq)).collect();
    one.publish(&copies).await.unwrap();
    one.notify(&live(4)).await;
    let mut received = Vec::new();
    loop {
        let next = tokio::time::timeout(WAIT, ears.next()).await.unwrap();
        match next.unwrap() {
            Incoming::Live(news) => {
                assert_eq!(news, live(4));
                break;
            }
            Incoming::Event(parcel) if parcel.account.number() == 9 => {}
            Incoming::Event(parcel) => {
                assert_eq!(parcel.topic.as_deref(), Some("key.revoked"));
                received.push(parcel.decode().unwrap());
            }
        }
        // News has a subscription of its own and may be faster.
        if received.len() == copies.len() {
            break;
        }
    }
    while received.len() < copies.len() {
        let next = tokio::time::timeout(WAIT, ears.next()).await.unwrap();
        if let Some(Incoming::Event(parcel)) = next {
            received.push(parcel.decode().unwrap());
        }
    }
    received.retain(|one| one.account == 4);
    assert_eq!(received, copies);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_way_that_was_lost_comes_back_with_its_ears() {
    let nats = Nats::start().await;
    let bus = by(&nats.url(), "n1").await;
    until(&bus, Health::Up).await;
    let mut ears = bus.subscribe().await.unwrap();
    assert_eq!(bus.publish(&[copy(3, 1)]).await.unwrap(), [true]);
    nats.kill_9();
    until(&bus, Health::Down).await;
    let failed = bus.publish(&[copy(3, 2)]).await;
    assert!(failed.is_err(), "{failed:?}");
    // No subscriber waits for it.
    bus.notify(&live(3)).await;
    nats.restart();
    until(&bus, Health::Up).await;
    let carried = async {
        // A server that has just come may not have its stream at hand.
        while !bus
            .publish(&[copy(3, 2)])
            .await
            .is_ok_and(|all| all == [true])
        {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(WAIT, carried).await.unwrap();
    assert_eq!(
        bus.stored().await.unwrap(),
        Some(2),
        "what was stored is there"
    );
    let received = async {
        loop {
            if let Some(Incoming::Event(parcel)) = ears.next().await
                && parcel.decode().unwrap().seq == 2
            {
                return;
            }
        }
    };
    tokio::time::timeout(WAIT, received).await.unwrap();
}

#[tokio::test]
async fn a_node_starts_while_nats_is_away() {
    let bus = by("nats://127.0.0.1:9", "n1").await;
    assert_eq!(bus.health(), Health::Down);
    assert!(bus.publish(&[copy(1, 1)]).await.is_err());
    let listening = bus.subscribe().await;
    assert!(listening.is_ok(), "{listening:?}");
}
