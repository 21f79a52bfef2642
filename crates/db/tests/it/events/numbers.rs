//! Numbers without holes, whatever becomes of those who write.

use std::time::Duration;

use serde_json::json;
use sqlx::types::Uuid;
use trunkline_db::events::{self, NewEvent, Page, SYSTEM_ACCOUNT};
use trunkline_db::{Database, Role, outbox};
use trunkline_testkit::{Db, SystemClock, random_bytes};
use trunkline_types::{AccountId, Clock as _, Topic, uuid_v7};

fn new_id() -> Uuid {
    uuid_v7(SystemClock.now(), random_bytes())
}

fn event(account: AccountId) -> NewEvent {
    NewEvent {
        id: new_id(),
        account,
        topic: Topic::CallRefunded,
        task: None,
        body: json!({}),
    }
}

async fn write(data: &Database, events: &[NewEvent]) {
    let mut tx = data.begin().await.unwrap();
    let done = events::append(&mut tx, events).await;
    tx.finish(done).await.unwrap();
}

async fn page(data: &Database, account: AccountId, after: i64, limit: u32) -> Page {
    let mut session = data.session().await.unwrap();
    events::page(&mut session, account, after, limit)
        .await
        .unwrap()
}

fn numbers(page: &Page) -> Vec<i64> {
    page.events.iter().map(|event| event.seq).collect()
}

/// A writer of many transactions: some of one event, some of several accounts, some that never were.
async fn scribble(data: Database, nth: usize, accounts: [AccountId; 3]) -> [i64; 3] {
    let mut written = [0; 3];
    for round in 0..20 {
        // In any order: a node that writes for several must not wait in a circle.
        let mut some = Vec::new();
        for step in 0..=(nth + round) % 4 {
            some.push((nth * 7 + round + step) % 3);
        }
        let events: Vec<NewEvent> = some.iter().map(|which| event(accounts[*which])).collect();
        let mut tx = data.begin().await.unwrap();
        events::append(&mut tx, &events).await.unwrap();
        if (nth + round).is_multiple_of(5) {
            tx.rollback().await.unwrap();
            continue;
        }
        if (nth + round).is_multiple_of(7) {
            tokio::time::sleep(Duration::from_millis(3)).await;
        }
        tx.commit().await.unwrap();
        some.iter().for_each(|which| written[*which] += 1);
    }
    written
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn event_numbers_have_no_holes_under_concurrent_writers_and_rollbacks() {
    let db = Db::fresh().await;
    let data = db.connect(Role::Data).await;
    let accounts = [SYSTEM_ACCOUNT, AccountId::new(1), AccountId::new(2)];
    let follow = async {
        // A reader that is never further than what it saw.
        let mut seen = 0;
        loop {
            let page = page(&data, accounts[1], seen, 1_000).await;
            for number in numbers(&page) {
                assert_eq!(number, seen + 1, "a hole was seen");
                seen = number;
            }
            assert_eq!(seen, page.newest);
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let writers = (0..16).map(|nth| scribble(data.clone(), nth, accounts));
    let writers = trunkline_testkit::all_at_once(writers.collect());
    let written = tokio::select! {
        written = writers => written,
        () = follow => unreachable!(),
    };
    for (which, account) in accounts.iter().enumerate() {
        let all: i64 = written.iter().map(|own| own[which]).sum();
        let page = page(&data, *account, 0, 1_000).await;
        assert_eq!(numbers(&page), (1..=all).collect::<Vec<_>>());
        assert_eq!(page.newest, all);
    }
    let holes = "SELECT account_id::text FROM app.audit_event_numbers_have_holes";
    assert!(db.ask(holes).await.is_empty());
    let copies = "SELECT count(*)::text FROM app.outbox AS o JOIN app.event AS e USING (id, seq)";
    let events: i64 = written.iter().flatten().sum();
    assert_eq!(db.ask(copies).await, [events.to_string()]);
}

#[tokio::test]
async fn a_page_says_what_is_there_and_how_far_the_numbers_go() {
    let db = Db::fresh().await;
    let data = db.connect(Role::Data).await;
    let account = AccountId::new(7);
    let empty = page(&data, account, 0, 10).await;
    assert_eq!((empty.newest, empty.events.len()), (0, 0));
    let task = Uuid::from_u128(9);
    let mut events: Vec<NewEvent> = (0..5).map(|_| event(account)).collect();
    events[1].task = Some(task);
    events[1].body = json!({ "a": 1 });
    write(&data, &events).await;
    write(&data, &[event(AccountId::new(8))]).await;
    let some = page(&data, account, 1, 2).await;
    assert_eq!((some.newest, numbers(&some)), (5, vec![2, 3]));
    let first = &some.events[0];
    assert_eq!((first.id, first.task), (events[1].id, Some(task)));
    assert_eq!(
        (first.topic.as_str(), &first.body),
        ("call.refunded", &json!({ "a": 1 }))
    );
    let none = page(&data, account, 5, 10).await;
    assert_eq!((none.newest, none.events.len()), (5, 0));
}

#[tokio::test]
async fn a_week_is_kept_and_more_is_forgotten_while_the_numbers_go_on() {
    const DAY: i64 = 86_400;
    let db = Db::fresh().await;
    let data = db.connect(Role::Data).await;
    let account = AccountId::new(7);
    write(&data, &[event(account), event(account)]).await;
    let forget = async || {
        let mut tx = data.begin().await.unwrap();
        let gone = events::drop_old_partitions(&mut tx).await;
        tx.finish(gone).await.unwrap()
    };
    db.shift_clock(7 * DAY).await;
    forget().await;
    assert_eq!(numbers(&page(&data, account, 0, 10).await), [1, 2]);
    write(&data, &[event(account)]).await;
    db.shift_clock(2 * DAY).await;
    forget().await;
    // The third lies where days lie that have no partition.
    let kept = page(&data, account, 0, 10).await;
    assert_eq!((kept.newest, numbers(&kept)), (3, vec![3]));
    db.shift_clock(8 * DAY).await;
    forget().await;
    let kept = page(&data, account, 0, 10).await;
    assert_eq!((kept.newest, numbers(&kept)), (3, vec![]));
    write(&data, &[event(account)]).await;
    assert_eq!(numbers(&page(&data, account, 3, 10).await), [4]);
    let mut session = data.session().await.unwrap();
    let waiting = outbox::waiting(&mut session, 10).await.unwrap();
    assert_eq!(waiting.rows, 4);
    assert!(waiting.seconds > 16 * 86_400, "{waiting:?}");
    assert_eq!(outbox::expire(&mut session, 7, 2).await, Ok(2));
    assert_eq!(outbox::expire(&mut session, 7, 10).await, Ok(1));
    assert_eq!(outbox::discard(&mut session, 10).await, Ok(1));
    assert_eq!(
        outbox::waiting(&mut session, 10).await.unwrap(),
        outbox::Waiting::default()
    );
}
