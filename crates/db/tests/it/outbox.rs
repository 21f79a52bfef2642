//! Events on their way out.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use sqlx::types::Uuid;
use trunkline_db::outbox::{BODY_MAX_BYTES, NewEvent, append, claim, mark_published, trim};
use trunkline_db::{Database, DbError, Role, database_now, revision};
use trunkline_terms::{AccountId, Clock, uuid_v7};
use trunkline_testkit::{Db, SystemClock, random_bytes};

fn new_id() -> Uuid {
    uuid_v7(SystemClock.now(), random_bytes())
}

async fn write(database: &Database, topic: &str, account: Option<i64>) -> Result<i64, DbError> {
    write_body(database, topic, account, &json!({"what": topic})).await
}

async fn write_body(
    database: &Database,
    topic: &str,
    account: Option<i64>,
    body: &Value,
) -> Result<i64, DbError> {
    let mut tx = database.begin().await?;
    let event = NewEvent {
        id: new_id(),
        topic,
        account: account.map(AccountId::new),
        body,
    };
    let done = append(&mut tx, &event).await;
    tx.finish(done).await
}

#[tokio::test]
async fn each_topic_of_each_account_counts_by_itself_without_holes() {
    let db = Db::fresh().await;
    let data = db.connect(Role::Data).await;
    for expected in 1..=3 {
        for (topic, account) in [
            ("charge", Some(1)),
            ("charge", Some(2)),
            ("charge", None),
            ("task", Some(1)),
        ] {
            assert_eq!(write(&data, topic, account).await, Ok(expected));
        }
        let mut lost = data.begin().await.unwrap();
        let event = NewEvent {
            id: new_id(),
            topic: "charge",
            account: Some(AccountId::new(1)),
            body: &Value::Null,
        };
        append(&mut lost, &event).await.unwrap();
        lost.rollback().await.unwrap();
    }
    let console = db.connect(Role::Console).await;
    assert_eq!(write(&console, "charge", Some(1)).await, Ok(4));
}

#[tokio::test]
async fn an_event_is_claimed_published_and_swept_up() {
    let db = Db::fresh().await;
    let data = db.connect(Role::Data).await;
    write(&data, "charge", Some(7)).await.unwrap();
    write(&data, "catalog", None).await.unwrap();

    let mut tx = data.begin().await.unwrap();
    let claimed = claim(&mut tx, 10).await.unwrap();
    assert_eq!(claimed.len(), 2);
    assert_eq!(claimed[0].account, Some(AccountId::new(7)));
    assert_eq!(claimed[0].body, json!({"what": "charge"}));
    assert_eq!((claimed[1].account, claimed[1].seq), (None, 1));
    let ids: Vec<Uuid> = claimed.iter().map(|event| event.id).collect();
    assert_eq!(mark_published(&mut tx, &ids[..1]).await, Ok(1));
    assert_eq!(mark_published(&mut tx, &ids[..1]).await, Ok(0));
    tx.commit().await.unwrap();

    let mut tx = data.begin().await.unwrap();
    let left = claim(&mut tx, 10).await.unwrap();
    assert_eq!(left, claimed[1..]);
    let now = database_now(&mut tx).await.unwrap();
    assert_eq!(trim(&mut tx, now.plus_seconds(-60), 10).await, Ok(0));
    // Only what was published goes, however old the rest is.
    assert_eq!(trim(&mut tx, now.plus_seconds(60), 10).await, Ok(1));
    assert_eq!(trim(&mut tx, now.plus_seconds(60), 10).await, Ok(0));
    tx.commit().await.unwrap();
    assert_eq!(write(&data, "charge", Some(7)).await, Ok(2));
}

#[tokio::test]
async fn carriers_at_the_same_time_never_hold_the_same_event() {
    let db = Db::fresh().await;
    let data = db.connect(Role::Data).await;
    for account in 0..30 {
        write(&data, "charge", Some(account)).await.unwrap();
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
async fn many_carriers_publish_every_event_exactly_once() {
    let db = Db::fresh().await;
    let data = db.connect(Role::Data).await;
    for number in 0..60 {
        write(&data, "charge", Some(number % 3)).await.unwrap();
    }
    let carry = async || {
        let mut carried = 0;
        loop {
            let mut tx = data.begin().await.unwrap();
            let claimed = claim(&mut tx, 5).await.unwrap();
            let ids: Vec<Uuid> = claimed.iter().map(|event| event.id).collect();
            carried += mark_published(&mut tx, &ids).await.unwrap();
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
async fn a_body_is_bounded_in_rust_and_in_sql() {
    let db = Db::fresh().await;
    let data = db.connect(Role::Data).await;
    // The quotes count.
    let fits = Value::String("x".repeat(BODY_MAX_BYTES - 2));
    assert_eq!(write_body(&data, "big", None, &fits).await, Ok(1));
    let long = Value::String("x".repeat(BODY_MAX_BYTES - 1));
    // Short on the way, long as PostgreSQL prints it: a blank after each comma.
    let blown_up = Value::Array(vec![json!(1); BODY_MAX_BYTES / 2 - 1]);
    for body in [long, blown_up] {
        let error = write_body(&data, "big", None, &body).await.unwrap_err();
        assert_eq!(error.constraint(), Some("outbox_body_bounded"), "{error}");
    }
}

#[tokio::test]
async fn a_second_event_of_the_same_id_is_refused_by_name() {
    let db = Db::fresh().await;
    let data = db.connect(Role::Data).await;
    let event = NewEvent {
        id: new_id(),
        topic: "charge",
        account: None,
        body: &Value::Null,
    };
    let mut first = data.begin().await.unwrap();
    append(&mut first, &event).await.unwrap();
    first.commit().await.unwrap();
    let mut second = data.begin().await.unwrap();
    let error = append(&mut second, &event).await.unwrap_err();
    assert_eq!(error.constraint(), Some("outbox_pkey"));
    second.rollback().await.unwrap();
}

#[tokio::test]
async fn an_overlong_topic_is_refused_by_name() {
    let db = Db::fresh().await;
    let data = db.connect(Role::Data).await;
    let topic = "t".repeat(101);
    let mut tx = data.begin().await.unwrap();
    let error = revision::bump(&mut tx, &topic).await.unwrap_err();
    assert_eq!(error.constraint(), Some("revision_topic_bounded"));
    tx.rollback().await.unwrap();
    let error = write(&data, &topic, None).await.unwrap_err();
    assert_eq!(error.constraint(), Some("outbox_topic_bounded"));
}
