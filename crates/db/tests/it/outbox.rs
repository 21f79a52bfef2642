//! Copies of events on their way out.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use sqlx::types::Uuid;
use trunkline_db::events::{NewEvent, append};
use trunkline_db::outbox::{claim, remove};
use trunkline_db::{Database, DbError, Role, revision};
use trunkline_testkit::{Db, SystemClock, random_bytes};
use trunkline_types::{AccountId, Clock, Topic, uuid_v7};

fn new_id() -> Uuid {
    uuid_v7(SystemClock.now(), random_bytes())
}

fn event(account: i64, body: Value) -> NewEvent {
    NewEvent {
        id: new_id(),
        account: AccountId::new(account),
        topic: Topic::CallRefunded,
        task: None,
        body,
    }
}

async fn write(database: &Database, event: NewEvent) -> Result<(), DbError> {
    let mut tx = database.begin().await?;
    let done = append(&mut tx, &[event]).await;
    tx.finish(done).await
}

#[tokio::test]
async fn a_copy_is_claimed_and_taken_away_when_it_was_carried() {
    let db = Db::fresh().await;
    let data = db.connect(Role::Data).await;
    write(&data, event(7, json!({ "what": "first" })))
        .await
        .unwrap();
    write(&data, event(0, json!({ "what": "second" })))
        .await
        .unwrap();

    let mut tx = data.begin().await.unwrap();
    let claimed = claim(&mut tx, 10).await.unwrap();
    assert_eq!(claimed.len(), 2);
    assert_eq!(claimed[0].account, Some(AccountId::new(7)));
    assert_eq!(claimed[0].body["body"], json!({ "what": "first" }));
    assert_eq!(
        (claimed[1].account, claimed[1].seq),
        (Some(AccountId::new(0)), 1)
    );
    let ids: Vec<Uuid> = claimed.iter().map(|event| event.id).collect();
    assert_eq!(remove(&mut tx, &ids[..1]).await, Ok(1));
    assert_eq!(remove(&mut tx, &ids[..1]).await, Ok(0));
    tx.commit().await.unwrap();

    let mut tx = data.begin().await.unwrap();
    assert_eq!(claim(&mut tx, 10).await.unwrap(), claimed[1..]);
    tx.rollback().await.unwrap();
}

#[tokio::test]
async fn carriers_at_the_same_time_never_hold_the_same_event() {
    let db = Db::fresh().await;
    let data = db.connect(Role::Data).await;
    for account in 0..30 {
        write(&data, event(account, Value::Null)).await.unwrap();
    }
    let mut carriers = Vec::new();
    for _ in 0..4 {
        carriers.push(data.begin().await.unwrap());
    }
    let mut held = Vec::new();
    for tx in &mut carriers {
        let claimed = claim(tx, 8).await.unwrap();
        held.extend(claimed.into_iter().map(|event| event.id));
    }
    let distinct: BTreeSet<Uuid> = held.iter().copied().collect();
    assert_eq!((held.len(), distinct.len()), (30, 30));
    // A carrier that dies gives its events back.
    for tx in carriers {
        tx.rollback().await.unwrap();
    }
    let mut tx = data.begin().await.unwrap();
    assert_eq!(claim(&mut tx, 100).await.unwrap().len(), 30);
    tx.rollback().await.unwrap();
}

#[tokio::test]
async fn many_carriers_take_every_event_exactly_once() {
    let db = Db::fresh().await;
    let data = db.connect(Role::Data).await;
    for number in 0..60 {
        write(&data, event(number % 3, Value::Null)).await.unwrap();
    }
    let carry = async || {
        let mut carried = 0;
        loop {
            let mut tx = data.begin().await.unwrap();
            let claimed = claim(&mut tx, 5).await.unwrap();
            let ids: Vec<Uuid> = claimed.iter().map(|event| event.id).collect();
            carried += remove(&mut tx, &ids).await.unwrap();
            tx.commit().await.unwrap();
            if ids.is_empty() {
                return carried;
            }
        }
    };
    let (a, b, c) = tokio::join!(carry(), carry(), carry());
    assert_eq!(a + b + c, 60);
}

#[tokio::test]
async fn an_oversized_event_body_is_refused_by_name() {
    let db = Db::fresh().await;
    let data = db.connect(Role::Data).await;
    let fits = json!({ "text": "x".repeat(60_000) });
    write(&data, event(7, fits)).await.unwrap();
    let long = json!({ "text": "x".repeat(66_000) });
    let error = write(&data, event(7, long)).await.unwrap_err();
    assert_eq!(error.constraint(), Some("outbox_body_bounded"), "{error}");
}

#[tokio::test]
async fn a_second_event_of_the_same_id_is_refused_by_name() {
    let db = Db::fresh().await;
    let data = db.connect(Role::Data).await;
    let twice = event(7, Value::Null);
    write(&data, twice.clone()).await.unwrap();
    let error = write(&data, twice).await.unwrap_err();
    assert_eq!(error.constraint(), Some("outbox_pkey"));
}

#[tokio::test]
async fn an_overlong_topic_of_a_revision_is_refused_by_name() {
    let db = Db::fresh().await;
    let data = db.connect(Role::Data).await;
    let mut tx = data.begin().await.unwrap();
    let error = revision::bump(&mut tx, &"t".repeat(101)).await.unwrap_err();
    assert_eq!(error.constraint(), Some("revision_topic_bounded"));
    tx.rollback().await.unwrap();
}
