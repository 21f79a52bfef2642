//! Keys: made once, kept as a hash, narrowed by their parents, revoked with their children.

use sha2::{Digest as _, Sha256};
use trunkline_store::keys::{self, CreateKeyError, KeyState, RevokeAnswer};
use trunkline_store::{
    FieldError, KeyGroup, MaxPrice, OnDisconnect, PolicyFields, Problem, RoutePolicy,
};
use trunkline_types::{AccountId, ApiKey, KeyId, Timestamp};

use crate::test_store::TestStore;

async fn revoke(harness: &TestStore, key: KeyId) -> RevokeAnswer {
    let mut tx = harness.console.begin().await.unwrap();
    let done = keys::revoke(&mut tx, key).await;
    tx.finish(done).await.unwrap()
}

async fn state(harness: &TestStore, key: KeyId) -> KeyState {
    let mut session = harness.console.session().await.unwrap();
    let now = trunkline_db::database_now(&mut session).await.unwrap();
    let found = keys::find(&mut session, key).await.unwrap();
    found.unwrap().state(now)
}

/// Every row of every table of ours, as text. Bytes are in it as hexadecimal digits.
async fn everything(harness: &TestStore) -> String {
    let owner = harness.db.owner().await;
    let mut session = owner.session().await.unwrap();
    let tables: Vec<String> = sqlx::query_scalar(
        "SELECT format('%I.%I', schemaname, tablename) FROM pg_catalog.pg_tables
         WHERE schemaname NOT IN ('pg_catalog', 'information_schema')",
    )
    .fetch_all(&mut *session)
    .await
    .unwrap();
    assert!(tables.iter().any(|table| table == "app.api_key"));
    let mut all = String::new();
    for table in tables {
        let text = format!("SELECT string_agg(t::text, '\n') FROM {table} AS t");
        let rows: Option<String> = sqlx::query_scalar(sqlx::AssertSqlSafe(text))
            .fetch_one(&mut *session)
            .await
            .unwrap();
        all.push_str(&rows.unwrap_or_default());
    }
    all
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

// covers: D-1-13, D-1-17
#[tokio::test]
async fn a_key_is_kept_only_as_its_sha_256() {
    let harness = TestStore::new().await;
    let account = harness.account().await;
    let made = harness.key(account, None).await;
    let plain = made.plain.reveal();
    assert!(plain.starts_with("sk-tl-"));
    assert_eq!(ApiKey::parse(plain).unwrap().shard().number(), 63);

    let kept = everything(&harness).await;
    let secret = &plain[8..51];
    for part in [
        plain,
        secret,
        &hex(plain.as_bytes()),
        &hex(secret.as_bytes()),
    ] {
        assert!(!kept.contains(part), "{part} is in the database");
    }
    assert!(
        kept.contains(&hex(&Sha256::digest(plain.as_bytes()))),
        "its hash is there, so this looked in the right place"
    );
    assert_eq!(made.key.hint, made.plain.hint());
    let printed = format!("{made:?}");
    assert!(
        !printed.contains(secret) && printed.contains(&made.key.hint),
        "{printed}"
    );
}

#[tokio::test]
async fn a_row_carries_the_whole_policy() {
    let harness = TestStore::new().await;
    let account = harness.account().await;
    let words = |words: &[&str]| Some(words.iter().map(|word| (*word).to_owned()).collect());
    let fields = PolicyFields {
        group: KeyGroup::Named("night".to_owned()),
        models: words(&["a", "b"]),
        endpoints: words(&["chat"]),
        platforms: words(&["p1"]),
        addresses: words(&["10.0.0.0/8", "::ffff:10.0.0.0/104", "2001:db8::/32"]),
        regions: words(&["eu"]),
        residencies: words(&["de"]),
        upstream_zero_retention: true,
        policy: Some(RoutePolicy::Cheapest),
        max_price: MaxPrice::read(Some("3"), Some("15.5"), Some("0.04")).unwrap(),
        requests_per_minute: Some(1),
        tokens_per_minute: Some(2),
        concurrent_calls: Some(3),
        strict: true,
        fit_to_balance: Some(true),
        zero_retention: true,
        on_disconnect: Some(OnDisconnect::Finish),
        expires_at: Some(Timestamp::from_micros(4_000_000_000_123_456)),
    };
    let made = harness.make(account, None, fields.clone()).await.unwrap();
    assert_eq!(made.key.policy.fields(), &fields);
    let mut session = harness.console.session().await.unwrap();
    let found = keys::find(&mut session, made.key.id).await.unwrap();
    assert_eq!(found.as_ref(), Some(&made.key));
    let listed = keys::list(&mut session, account, None, 10).await.unwrap();
    assert_eq!(listed, [made.key]);
}

#[tokio::test]
async fn a_parent_of_another_account_is_refused_by_the_code_and_by_the_table() {
    let harness = TestStore::new().await;
    let (mine, other) = (harness.account().await, harness.account().await);
    let parent = harness.key(other, None).await.key.id;
    let refused = harness
        .make(mine, Some(parent), PolicyFields::default())
        .await;
    assert_eq!(
        refused.unwrap_err(),
        CreateKeyError::UnknownParent {
            account: mine,
            parent
        }
    );
    let forced = harness
        .say(
            &harness.console,
            &format!(
                "INSERT INTO app.api_key (account_id, parent_id, name, key_hash, hint, revision)
                 VALUES ({mine}, {parent}, 'x', decode(repeat('00', 32), 'hex'), 'x', 1)"
            ),
        )
        .await
        .unwrap_err();
    assert_eq!(forced.constraint(), Some("api_key_parent_of_same_account"));
}

#[tokio::test]
async fn a_key_below_another_is_as_narrow_in_the_row_itself() {
    let harness = TestStore::new().await;
    let account = harness.account().await;
    let narrow = PolicyFields {
        models: Some(vec!["a".to_owned()]),
        strict: true,
        ..PolicyFields::default()
    };
    let parent = harness.make(account, None, narrow.clone()).await.unwrap();
    let silent = harness.key(account, Some(parent.key.id)).await;
    assert_eq!(silent.key.policy.fields(), &narrow);
    let wider = PolicyFields {
        models: Some(vec!["b".to_owned()]),
        ..PolicyFields::default()
    };
    let refused = harness.make(account, Some(parent.key.id), wider).await;
    assert!(
        matches!(
            &refused,
            Err(CreateKeyError::Field(FieldError {
                field: "models",
                ..
            }))
        ),
        "{refused:?}"
    );
}

#[tokio::test]
async fn a_group_that_the_account_is_not_allowed_is_refused() {
    let harness = TestStore::new().await;
    let account = harness.account().await;
    let of = |group: KeyGroup| PolicyFields {
        group,
        ..PolicyFields::default()
    };
    for group in ["default", "night"] {
        let made = harness.make(account, None, of(KeyGroup::Named(group.to_owned())));
        assert_eq!(
            made.await.unwrap().key.policy.fields().group.name(),
            Some(group)
        );
    }
    let auto = harness
        .make(account, None, of(KeyGroup::Auto))
        .await
        .unwrap();
    assert_eq!(auto.key.policy.fields().group, KeyGroup::Auto);
    let refused = harness.make(account, None, of(KeyGroup::Named("vip".to_owned())));
    let refused = refused.await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        format!("account {account} is not allowed group \"vip\"; its keys may name default, night")
    );
}

#[tokio::test]
async fn no_key_is_issued_for_a_missing_or_closed_account_or_a_past_expiry() {
    let harness = TestStore::new().await;
    let unknown = AccountId::new(7);
    let refused = harness.make(unknown, None, PolicyFields::default()).await;
    assert_eq!(
        refused.unwrap_err(),
        CreateKeyError::UnknownAccount(unknown)
    );
    let account = harness.account().await;
    let over = PolicyFields {
        expires_at: Some(Timestamp::from_micros(1)),
        ..PolicyFields::default()
    };
    let refused = harness.make(account, None, over).await.unwrap_err();
    let past = FieldError {
        field: "expires_at",
        problem: Problem::Past,
    };
    assert_eq!(refused, CreateKeyError::Field(past));
    let close = "UPDATE app.account SET closed_at = app.now(), revision = revision + 1";
    harness.say(&harness.console, close).await.unwrap();
    let refused = harness.make(account, None, PolicyFields::default()).await;
    assert_eq!(refused.unwrap_err(), CreateKeyError::AccountClosed(account));
}

#[tokio::test]
async fn revoking_a_key_takes_the_keys_below_it_along_for_good() {
    let harness = TestStore::new().await;
    let account = harness.account().await;
    let top = harness.key(account, None).await.key.id;
    let middle = harness.key(account, Some(top)).await.key.id;
    let bottom = harness.key(account, Some(middle)).await.key.id;
    let beside = harness.key(account, None).await.key.id;
    assert_eq!(
        revoke(&harness, middle).await,
        RevokeAnswer::Done {
            keys: vec![middle, bottom]
        }
    );
    assert_eq!(revoke(&harness, middle).await, RevokeAnswer::Before);
    assert_eq!(
        revoke(&harness, top).await,
        RevokeAnswer::Done { keys: vec![top] }
    );
    assert_eq!(
        revoke(&harness, KeyId::new(9_999)).await,
        RevokeAnswer::UnknownKey
    );
    assert_eq!(state(&harness, bottom).await, KeyState::Revoked);
    assert_eq!(state(&harness, beside).await, KeyState::Live);
    let refused = harness
        .make(account, Some(middle), PolicyFields::default())
        .await;
    assert_eq!(
        refused.unwrap_err(),
        CreateKeyError::ParentNotLive {
            parent: middle,
            state: KeyState::Revoked
        }
    );
    let undo = "UPDATE app.api_key SET revoked_at = NULL, revision = revision + 100";
    let refused = harness.say(&harness.console, undo).await.unwrap_err();
    assert!(refused.to_string().contains("stays revoked"), "{refused}");
}

#[tokio::test]
async fn a_key_is_over_at_its_end_by_the_databases_clock() {
    let harness = TestStore::new().await;
    let account = harness.account().await;
    let mut session = harness.console.session().await.unwrap();
    let now = trunkline_db::database_now(&mut session).await.unwrap();
    drop(session);
    let brief = PolicyFields {
        expires_at: Some(now.plus_seconds(3_600)),
        ..PolicyFields::default()
    };
    let key = harness.make(account, None, brief).await.unwrap().key.id;
    assert_eq!(state(&harness, key).await, KeyState::Live);
    harness.db.shift_clock(3_600).await;
    assert_eq!(state(&harness, key).await, KeyState::Expired);
    let refused = harness
        .make(account, Some(key), PolicyFields::default())
        .await;
    assert!(refused.unwrap_err().to_string().ends_with("it is expired"));
}
