//! Channels and their credentials: written, followed, cooled, paused, and by whom.

use std::collections::BTreeMap;

use serde_json::json;
use trunkline_db::{Database, DbError, Role, revision};
use trunkline_store::channels::{
    self, AddChannelError, Channel, ChannelId, ChannelState, CredentialId, NewChannel,
    NewCredential,
};
use trunkline_types::Timestamp;

use crate::test_store::TestStore;

fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    pairs.iter().map(owned).collect()
}

/// A channel with everything in it and two credentials.
pub(crate) async fn add(
    harness: &TestStore,
    name: &str,
    priority: i32,
) -> Result<Channel, AddChannelError> {
    let models = map(&[("ours", "theirs"), ("same", "same")]);
    let headers = map(&[("X-Team", "red")]);
    let groups = ["vip".to_owned(), "default".to_owned(), "vip".to_owned()];
    let cost = json!({
        "currency": "CNY",
        "rate": { "numerator": 7, "denominator": 50, "as_of": "2026-11-15" },
        "models": { "theirs": { "input": 2_000_000 } },
    });
    let credential = |label, sealed| NewCredential {
        label,
        sealed,
        hint: "…abcd",
    };
    let new = NewChannel {
        name,
        provider: "openai",
        base_url: Some("https://api.example.com/v1/"),
        priority,
        weight: 7,
        region: Some("eu"),
        residency: None,
        zero_retention: false,
        models: &models,
        groups: &groups,
        extra_headers: &headers,
        proxy: Some(b"sealed proxy"),
        requests_per_minute: Some(60),
        concurrent_calls: Some(8),
        cost: Some(&cost),
        credentials: &[credential("a", b"sealed a"), credential("b", b"sealed b")],
    };
    let mut tx = harness.console.begin().await.unwrap();
    let done = channels::add(&mut tx, &new).await;
    tx.finish(done).await
}

async fn list(database: &Database) -> Vec<Channel> {
    let mut session = database.session().await.unwrap();
    channels::list(&mut session).await.unwrap()
}

async fn number(database: &Database) -> i64 {
    let mut session = database.session().await.unwrap();
    revision::current(&mut session, channels::TOPIC)
        .await
        .unwrap()
}

#[tokio::test]
async fn a_channel_is_read_as_it_was_written_in_the_order_of_priority() {
    let harness = TestStore::new().await;
    let later = add(&harness, "later", 5).await.unwrap();
    let first = add(&harness, "first", 0).await.unwrap();
    assert_eq!((later.revision, first.revision), (1, 2));
    let data = harness.db.connect(Role::Data).await;
    assert_eq!(list(&data).await, [first.clone(), later]);

    assert_eq!(
        first.base_url.as_deref(),
        Some("https://api.example.com/v1")
    );
    assert_eq!(first.groups, ["default", "vip"]);
    assert!(first.serves("vip") && !first.serves("night"));
    assert_eq!(first.extra_headers, map(&[("x-team", "red")]));
    assert_eq!(first.models.get("ours").map(String::as_str), Some("theirs"));
    assert_eq!(first.proxy.as_deref(), Some(&b"sealed proxy"[..]));
    assert_eq!((first.weight, first.state), (7, ChannelState::Active));
    let labels: Vec<&str> = first.credentials.iter().map(|c| c.label.as_str()).collect();
    assert_eq!(labels, ["a", "b"]);
    let cost = channels::CostBook::from_json(first.cost.as_ref().unwrap()).unwrap();
    assert_eq!(cost.currency(), "CNY");

    let taken = add(&harness, "first", 1).await.unwrap_err();
    assert!(
        matches!(taken, AddChannelError::NameTaken { .. }),
        "{taken}"
    );
    assert_eq!(
        number(&data).await,
        2,
        "nothing was done, nothing to follow"
    );
    let mut session = data.session().await.unwrap();
    let found = channels::find(&mut session, "first").await.unwrap();
    assert_eq!(found, Some(first));
    assert_eq!(channels::find(&mut session, "none").await, Ok(None));
}

#[tokio::test]
async fn a_node_cools_and_pauses_a_credential_and_every_change_takes_a_number() {
    let harness = TestStore::new().await;
    let channel = add(&harness, "one", 0).await.unwrap();
    let data = harness.db.connect(Role::Data).await;
    let [a, b] = [channel.credentials[0].id, channel.credentials[1].id];
    let until = Timestamp::from_micros(1_900_000_000_000_000);

    let mut tx = data.begin().await.unwrap();
    assert_eq!(channels::cool(&mut tx, a, until).await, Ok(true));
    assert_eq!(channels::cool(&mut tx, a, until).await, Ok(false));
    let sooner = until.plus_seconds(-1);
    assert_eq!(channels::cool(&mut tx, a, sooner).await, Ok(false));
    assert_eq!(
        channels::pause(&mut tx, b, "401\nfrom upstream").await,
        Ok(true)
    );
    assert_eq!(channels::pause(&mut tx, b, "again").await, Ok(false));
    let unknown = CredentialId::new(999);
    assert_eq!(channels::cool(&mut tx, unknown, until).await, Ok(false));
    assert_eq!(channels::pause(&mut tx, unknown, "x").await, Ok(false));
    tx.commit().await.unwrap();

    let read = list(&data).await.remove(0);
    assert_eq!(read.revision, 3, "the number of the pause, the last change");
    assert_eq!(number(&data).await, 3);
    assert_eq!(read.credentials[0].cool_until, Some(until));
    assert!(read.credentials[0].is_usable(until) && !read.credentials[0].is_usable(sooner));
    let reason = read.credentials[1].paused_reason.as_deref();
    assert_eq!(reason, Some("401 from upstream"));
    assert!(!read.credentials[1].is_usable(until));
}

#[tokio::test]
async fn a_channel_is_drained_by_the_console() {
    let harness = TestStore::new().await;
    let channel = add(&harness, "one", 0).await.unwrap();
    for state in [
        ChannelState::Draining,
        ChannelState::Off,
        ChannelState::Active,
    ] {
        let mut tx = harness.console.begin().await.unwrap();
        assert_eq!(
            channels::set_state(&mut tx, channel.id, state).await,
            Ok(true)
        );
        tx.commit().await.unwrap();
        assert_eq!(list(&harness.console).await[0].state, state);
    }
    assert_eq!(list(&harness.console).await[0].revision, 4);
    let mut tx = harness.console.begin().await.unwrap();
    let unknown = ChannelId::new(999);
    let done = channels::set_state(&mut tx, unknown, ChannelState::Off).await;
    assert_eq!(done, Ok(false));
    tx.rollback().await.unwrap();
}

#[tokio::test]
async fn each_role_writes_its_columns_and_no_change_goes_without_a_number() {
    let harness = TestStore::new().await;
    add(&harness, "one", 0).await.unwrap();
    let data = harness.db.connect(Role::Data).await;
    let console = &harness.console;
    let forbidden = [
        (&data, "UPDATE app.channel SET state = 'off', revision = 9"),
        (&data, "UPDATE app.channel SET revision = 9"),
        (
            &data,
            "UPDATE app.channel_credential SET sealed = '\\x00', revision = 9",
        ),
        (
            &data,
            "UPDATE app.channel_credential SET disabled = false, revision = 9",
        ),
        (
            &data,
            "INSERT INTO app.channel_credential (channel_id, label, sealed, hint, revision)
             SELECT id, 'c', '\\x00', 'x', 9 FROM app.channel",
        ),
        (&data, "DELETE FROM app.channel_credential"),
        (console, "UPDATE app.channel SET name = 'two', revision = 9"),
        (
            console,
            "UPDATE app.channel_credential SET label = 'c', revision = 9",
        ),
        (console, "DELETE FROM app.channel"),
        (console, "TRUNCATE app.channel_credential"),
    ];
    for (database, statement) in forbidden {
        let refused = harness.say(database, statement).await;
        let Err(DbError::Refused { cause, .. }) = refused else {
            panic!("{statement}: {refused:?}");
        };
        assert_eq!(cause.code.as_deref(), Some("42501"), "{statement}: {cause}");
    }
    for (database, statement) in [
        (console, "UPDATE app.channel SET weight = 9"),
        (console, "UPDATE app.channel_credential SET disabled = true"),
        (&data, "UPDATE app.channel_credential SET cool_until = NULL"),
    ] {
        let refused = harness.say(database, statement).await.unwrap_err();
        assert!(refused.to_string().contains("no node sees it"), "{refused}");
    }
}
