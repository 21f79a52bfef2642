//! Who may do what with accounts and keys.

use trunkline_db::{Database, DbError, Role};

use crate::test_store::TestStore;

async fn is_forbidden(harness: &TestStore, database: &Database, statement: &str) {
    let refused = harness.say(database, statement).await;
    let Err(DbError::Refused { cause, .. }) = refused else {
        panic!("{statement}: {refused:?}");
    };
    assert_eq!(cause.code.as_deref(), Some("42501"), "{statement}: {cause}");
}

async fn is_refused(harness: &TestStore, database: &Database, statement: &str, text: &str) {
    let refused = harness.say(database, statement).await.unwrap_err();
    assert!(refused.to_string().contains(text), "{statement}: {refused}");
}

#[tokio::test]
async fn the_data_plane_creates_child_keys_and_changes_no_policy_and_no_owner() {
    let harness = TestStore::new().await;
    let account = harness.account().await;
    harness.key(account, None).await;
    let data = harness.db.connect(Role::Data).await;
    for statement in [
        "SELECT key_hash, models FROM app.api_key",
        "SELECT group_name FROM app.account",
        "UPDATE app.account SET aliases = '{\"a\": \"b\"}', revision = 9",
    ] {
        harness.say(&data, statement).await.unwrap();
    }
    let orphan = "INSERT INTO app.api_key (account_id, name, key_hash, hint, revision)
         SELECT account_id, 'x', decode(repeat('00', 32), 'hex'), 'x', 9 FROM app.api_key";
    is_refused(&harness, &data, orphan, "makes keys below keys").await;
    let silent = "UPDATE app.api_key SET key_hash = decode(repeat('00', 32), 'hex'), revision = 9";
    is_refused(&harness, &data, silent, "keeps the hash").await;
    for statement in [
        "UPDATE app.api_key SET models = NULL, revision = 9",
        "UPDATE app.api_key SET addresses = NULL, revision = 9",
        "UPDATE app.api_key SET parent_id = NULL, revision = 9",
        "UPDATE app.api_key SET policy = 'priority', revision = 9",
        "UPDATE app.api_key SET max_input_nanos = NULL, revision = 9",
        "UPDATE app.api_key SET max_output_nanos = NULL, revision = 9",
        "UPDATE app.api_key SET max_unit_nanos = NULL, revision = 9",
        "UPDATE app.account SET policy = 'priority', revision = 9",
        "UPDATE app.account SET max_input_nanos = NULL, revision = 9",
        "UPDATE app.account SET residencies = NULL, revision = 9",
        "UPDATE app.account SET group_name = 'vip', revision = 9",
        "UPDATE app.account SET closed_at = NULL, revision = 9",
        "INSERT INTO app.account (id, name, shard, revision) VALUES (1, 'x', 1, 1)",
        "UPDATE ledger.budget SET limit_nanos = 9",
        "UPDATE ledger.spender SET chain = '{1}'",
        "INSERT INTO app.api_key (account_id, name, key_hash, hint, deleted_at, revision)
         SELECT account_id, 'x', decode(repeat('00', 32), 'hex'), 'x', app.now(), 9 FROM app.api_key",
    ] {
        is_forbidden(&harness, &data, statement).await;
    }
}

#[tokio::test]
async fn the_console_cannot_change_a_keys_owner_and_no_role_deletes_keys() {
    let harness = TestStore::new().await;
    let account = harness.account().await;
    harness.key(account, None).await;
    let silent = "UPDATE app.api_key SET key_hash = decode(repeat('00', 32), 'hex'), revision = 9";
    is_refused(&harness, &harness.console, silent, "keeps the hash").await;
    for statement in [
        "UPDATE app.api_key SET account_id = 1, revision = 9",
        "UPDATE app.api_key SET parent_id = 1, revision = 9",
        "UPDATE app.account SET shard = 1, revision = 9",
        "UPDATE app.account SET id = 1, revision = 9",
    ] {
        is_forbidden(&harness, &harness.console, statement).await;
    }
    let allowed = "UPDATE app.api_key SET disabled_at = app.now(), revision = 9";
    harness.say(&harness.console, allowed).await.unwrap();
    for role in [Role::Console, Role::Data] {
        let database = harness.db.connect(role).await;
        for statement in [
            "DELETE FROM app.api_key",
            "DELETE FROM app.account",
            "TRUNCATE app.api_key",
        ] {
            is_forbidden(&harness, &database, statement).await;
        }
    }
}

#[tokio::test]
async fn no_role_changes_or_deletes_a_row_of_the_action_log() {
    let harness = TestStore::new().await;
    let write = "INSERT INTO app.action_log (kind, actor, action, subject) VALUES ('command', 'ada', 'x', 'y')";
    harness.say(&harness.console, write).await.unwrap();
    let statements = [
        "UPDATE app.action_log SET actor = 'another'",
        "DELETE FROM app.action_log",
        "TRUNCATE app.action_log",
    ];
    for role in [Role::Console, Role::Data] {
        let database = harness.db.connect(role).await;
        for statement in statements {
            is_forbidden(&harness, &database, statement).await;
        }
    }
    // Not even the role that owns the table.
    let owner = harness.db.owner().await;
    for statement in statements {
        is_refused(&harness, &owner, statement, "never").await;
    }
    let data = harness.db.connect(Role::Data).await;
    is_forbidden(&harness, &data, "SELECT actor FROM app.action_log").await;
}
