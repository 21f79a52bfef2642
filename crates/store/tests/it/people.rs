//! People: who may touch their tables, and the bounds that tables and code share.

use trunkline_db::{DbError, Role as DbRole};
use trunkline_store::people::{
    self, AGENT_MAX_CHARACTERS, EMAIL_MAX_CHARACTERS, EMAIL_MIN_CHARACTERS, NewPerson, Role,
};

use crate::test_store::TestStore;

const TABLES: [&str; 6] = [
    "person",
    "member",
    "sign_in",
    "invitation",
    "person_token",
    "sign_in_attempt",
];

async fn is_forbidden(harness: &TestStore, database: &trunkline_db::Database, statement: &str) {
    let refused = harness.say(database, statement).await;
    let Err(DbError::Refused { cause, .. }) = refused else {
        panic!("{statement}: {refused:?}");
    };
    assert_eq!(cause.code.as_deref(), Some("42501"), "{statement}: {cause}");
}

#[tokio::test]
async fn the_data_plane_can_do_nothing_with_people() {
    let harness = TestStore::new().await;
    let data = harness.db.connect(DbRole::Data).await;
    for table in TABLES {
        for statement in [
            format!("SELECT FROM app.{table}"),
            format!("DELETE FROM app.{table}"),
        ] {
            is_forbidden(&harness, &data, &statement).await;
        }
    }
}

#[tokio::test]
async fn the_console_deletes_no_person_and_changes_no_owner_of_a_session() {
    let harness = TestStore::new().await;
    for statement in [
        "DELETE FROM app.person",
        "UPDATE app.member SET person_id = 1",
        "UPDATE app.sign_in SET person_id = 1",
        "UPDATE app.sign_in SET expires_at = app.now()",
        "DELETE FROM app.invitation",
        "UPDATE app.invitation SET role = 'owner'",
        "UPDATE app.person_token SET person_id = 1",
        "UPDATE app.person_token SET expires_at = app.now()",
    ] {
        is_forbidden(&harness, &harness.console, statement).await;
    }
}

#[tokio::test]
async fn the_console_erases_an_address_and_never_changes_one() {
    let harness = TestStore::new().await;
    let new = NewPerson {
        email: "ada@example.com",
        name: "Ada",
        password: None,
        is_verified: true,
        is_operator: false,
    };
    let mut tx = harness.console.begin().await.unwrap();
    people::create_person(&mut tx, &new).await.unwrap().unwrap();
    tx.commit().await.unwrap();
    let change = "UPDATE app.person SET email = 'eve@example.com'";
    let refused = harness.say(&harness.console, change).await;
    assert!(
        matches!(refused, Err(DbError::Refused { .. })),
        "{refused:?}"
    );
    let erase = "UPDATE app.person SET email = 'erased-' || id || '@invalid'";
    harness.say(&harness.console, erase).await.unwrap();
}

/// Which constraint a column's value breaks, if one.
async fn broken(harness: &TestStore, table: &str, set: &str) -> Option<String> {
    let owner = harness.db.owner().await;
    let statement = format!("UPDATE app.{table} SET {set}");
    match harness.say(&owner, &statement).await {
        Ok(()) => None,
        Err(error) => Some(error.constraint().unwrap_or("none").to_owned()),
    }
}

#[tokio::test]
async fn the_bounds_of_the_code_are_the_bounds_of_the_tables() {
    let harness = TestStore::new().await;
    let account = harness.account().await;
    let mut tx = harness.console.begin().await.unwrap();
    let new = NewPerson {
        email: "ada@example.com",
        name: "Ada",
        password: None,
        is_verified: false,
        is_operator: false,
    };
    let person = people::create_person(&mut tx, &new).await.unwrap().unwrap();
    let repeated = people::create_person(&mut tx, &new).await.unwrap();
    assert_eq!(repeated, None, "an address is one person's");
    people::add_member(&mut tx, account, person, Role::Owner)
        .await
        .unwrap();
    let device = people::NewSignIn {
        id: uuid::Uuid::nil(),
        token: &[7; 32],
        person,
        account: None,
        is_stepped_up: false,
        address: "192.0.2.1",
        agent: "test",
    };
    people::sign_in(&mut tx, &device).await.unwrap();
    tx.commit().await.unwrap();

    // Bounds are looked at by changes that nothing but a test makes.
    let free = "ALTER TABLE app.person DISABLE TRIGGER person_keeps_email";
    harness.db.ask(free).await;
    let email = |characters: usize| format!("email = repeat('a', {}) || '@b'", characters - 2);
    assert_eq!(
        broken(&harness, "person", &email(EMAIL_MIN_CHARACTERS)).await,
        None
    );
    assert_eq!(
        broken(&harness, "person", &email(EMAIL_MAX_CHARACTERS)).await,
        None
    );
    let long = broken(&harness, "person", &email(EMAIL_MAX_CHARACTERS + 1)).await;
    assert_eq!(long.as_deref(), Some("person_email_bounded"));
    for wrong in [
        "'Ada@example.com'",
        "'a b@c'",
        "'a@b@c'",
        "'äda@b'",
        "'@@@'",
    ] {
        let reply = broken(&harness, "person", &format!("email = {wrong}")).await;
        assert_eq!(reply.as_deref(), Some("person_email_is_one"), "{wrong}");
    }
    let reply = broken(&harness, "person", "password_hash = 'plain text'").await;
    assert_eq!(reply.as_deref(), Some("person_password_is_argon2id"));
    let agent = |characters: usize| format!("agent = repeat('ü', {characters})");
    assert_eq!(
        broken(&harness, "sign_in", &agent(AGENT_MAX_CHARACTERS)).await,
        None
    );
    let reply = broken(&harness, "sign_in", &agent(AGENT_MAX_CHARACTERS + 1)).await;
    assert_eq!(reply.as_deref(), Some("sign_in_bounded"));
    for role in Role::ALL {
        let set = format!("role = '{}'", role.as_str());
        assert_eq!(broken(&harness, "member", &set).await, None, "{set}");
    }
    let reply = broken(&harness, "member", "role = 'god'").await;
    assert_eq!(reply.as_deref(), Some("member_role"));
}

#[tokio::test]
async fn the_audit_sees_an_organisation_without_an_owner() {
    let harness = TestStore::new().await;
    let account = harness.account().await;
    let mut tx = harness.console.begin().await.unwrap();
    let new = NewPerson {
        email: "vera@example.com",
        name: "Vera",
        password: None,
        is_verified: false,
        is_operator: false,
    };
    let person = people::create_person(&mut tx, &new).await.unwrap().unwrap();
    people::add_member(&mut tx, account, person, Role::Viewer)
        .await
        .unwrap();
    tx.commit().await.unwrap();
    let seen = "SELECT account_id::text FROM app.audit_organisation_without_owner";
    assert_eq!(harness.db.ask(seen).await, [account.number().to_string()]);
}
