//! Nodes follow the tables by number: every change has one, none is skipped, none goes without.

use std::time::Duration;

use trunkline_db::revision;
use trunkline_store::keys::{self, KeyCursor, KeySnapshotRow, NewKey};
use trunkline_store::{Policy, PolicyFields, accounts};
use trunkline_testkit::random_bytes;

use crate::test_store::TestStore;

async fn news(harness: &TestStore, seen: KeyCursor, limit: u32) -> Vec<KeySnapshotRow> {
    let data = harness.db.connect(trunkline_db::Role::Data).await;
    let mut session = data.session().await.unwrap();
    keys::changed_since(&mut session, seen, limit)
        .await
        .unwrap()
}

#[tokio::test]
async fn every_change_of_a_key_takes_the_next_number_and_readers_see_it_once() {
    let harness = TestStore::new().await;
    let account = harness.account().await;
    let first = harness.key(account, None).await.key;
    let second = harness.key(account, Some(first.id)).await.key;
    assert_eq!((first.revision, second.revision), (1, 2));
    let seen = news(&harness, KeyCursor::START, 10).await;
    let reported: Vec<_> = seen.iter().map(|row| (row.id, row.hash)).collect();
    assert_eq!(reported, [(first.id, first.hash), (second.id, second.hash)]);
    assert_eq!(news(&harness, second.cursor(), 10).await, []);

    let mut tx = harness.console.begin().await.unwrap();
    keys::revoke(&mut tx, first.id).await.unwrap();
    tx.commit().await.unwrap();
    // Both rows carry the one number of their change; a page may end between them.
    let page = news(&harness, second.cursor(), 1).await;
    let rest = news(&harness, page[0].cursor(), 10).await;
    let numbers: Vec<_> = [&page[0], &rest[0]]
        .iter()
        .map(|key| (key.id, key.revision, key.revoked))
        .collect();
    assert_eq!(numbers, [(first.id, 3, true), (second.id, 3, true)]);
    assert_eq!(rest.len(), 1);
    let mut session = harness.console.session().await.unwrap();
    let current = revision::current(&mut session, keys::TOPIC).await;
    assert_eq!(current, Ok(3));
}

#[tokio::test]
async fn a_change_that_takes_no_number_is_refused_by_the_table() {
    let harness = TestStore::new().await;
    let account = harness.account().await;
    harness.key(account, None).await;
    for statement in [
        "UPDATE app.api_key SET name = 'quiet'",
        "UPDATE app.api_key SET disabled_at = app.now(), revision = revision",
        "UPDATE app.account SET group_name = 'night'",
    ] {
        let refused = harness.say(&harness.console, statement).await.unwrap_err();
        assert!(refused.to_string().contains("no node sees it"), "{refused}");
    }
}

#[tokio::test]
async fn an_account_takes_numbers_of_its_own() {
    let harness = TestStore::new().await;
    let first = harness.account().await;
    let second = harness.account().await;
    assert_eq!(harness.read_account(first).await.revision, 1);
    assert_eq!(harness.read_account(second).await.revision, 2);
    let mut session = harness.console.session().await.unwrap();
    let current = revision::current(&mut session, accounts::TOPIC).await;
    assert_eq!(current, Ok(2));
}

/// True when a session of this database waits for another one's lock.
async fn has_lock_waiter(harness: &TestStore) -> bool {
    let mut session = harness.console.session().await.unwrap();
    sqlx::query_scalar(
        "SELECT EXISTS (
             SELECT FROM pg_catalog.pg_locks AS l
             JOIN pg_catalog.pg_stat_activity AS a ON a.pid = l.pid
             WHERE NOT l.granted AND a.datname = current_database())",
    )
    .fetch_one(&mut *session)
    .await
    .unwrap()
}

/// The number is taken before the parent is read, so the two take turns.
#[tokio::test]
async fn a_child_is_not_born_while_its_parent_is_being_revoked() {
    let harness = TestStore::new().await;
    let account = harness.account().await;
    let parent = harness.key(account, None).await.key.id;
    let mut revoking = harness.console.begin().await.unwrap();
    keys::revoke(&mut revoking, parent).await.unwrap();
    let new = NewKey {
        account,
        parent: Some(parent),
        name: "late",
        policy: Policy::new(PolicyFields::default()).unwrap(),
    };
    let mut making = harness.console.begin().await.unwrap();
    let secret = random_bytes();
    let (born, ()) = tokio::join!(keys::create(&mut making, &new, &secret), async {
        while !has_lock_waiter(&harness).await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        revoking.commit().await.unwrap();
    });
    let refused = born.unwrap_err().to_string();
    assert!(refused.ends_with("it is revoked"), "{refused}");
}
