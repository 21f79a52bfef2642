//! Workflow records: versions that follow one another, and who may write them.

use serde_json::{Value, json};
use trunkline_catalog::workflow::{MAX_NAME_CHARACTERS, MAX_WORKFLOW_BYTES, Transition, Workflow};
use trunkline_db::{Database, DbError, Role, revision};
use trunkline_store::workflows::{self, ImportError, Imported, Version};

use crate::test_store::TestStore;

const BASE: &str = include_str!("../../../catalog/tests/fixtures/workflows/base.json");

/// A record under a name of its own.
fn record(name: &str) -> Value {
    let mut record: Value = serde_json::from_str(BASE).unwrap();
    record["slug"] = json!(name);
    record["workflow_id"] = json!(name);
    record
}

async fn import(harness: &TestStore, record: &Value) -> Result<Imported, ImportError> {
    let workflow = Workflow::read(&record.to_string()).unwrap();
    let mut tx = harness.console.begin().await.unwrap();
    let done = workflows::import(&mut tx, workflow).await;
    tx.finish(done).await
}

async fn page(database: &Database, after: &str, limit: u32) -> Vec<Version> {
    let mut session = database.session().await.unwrap();
    workflows::page(&mut session, after, limit).await.unwrap()
}

fn slugs(versions: &[Version]) -> Vec<&str> {
    versions
        .iter()
        .map(|version| version.workflow.record().slug.as_str())
        .collect()
}

#[tokio::test]
async fn versions_follow_one_another_and_the_newest_one_counts() {
    let harness = TestStore::new().await;
    let mut text = record("clip");
    let first = import(&harness, &text).await.unwrap();
    assert_eq!((first.how, first.version.revision), (Transition::First, 1));
    text["title"] = json!("Another \u{1} title");
    text["contract_status"] = json!("contract_locked_not_executable");
    let second = import(&harness, &text).await.unwrap();
    assert_eq!((second.how, second.version.revision), (Transition::Kept, 2));

    let data = harness.db.connect(Role::Data).await;
    let mut session = data.session().await.unwrap();
    let found = workflows::find(&mut session, "clip").await.unwrap();
    assert_eq!(found.as_ref(), Some(&second.version));
    assert_eq!(workflows::find(&mut session, "none").await, Ok(None));
    assert_eq!(
        page(&data, "", 10).await,
        std::slice::from_ref(&second.version)
    );

    let repeated = import(&harness, &text).await.unwrap();
    assert_eq!(
        (repeated.how, repeated.version),
        (Transition::Same, second.version)
    );
    assert_eq!(versions(&harness).await, 2);
    text["executor_query"]["selection_policy"] = json!("fastest");
    let fallen = import(&harness, &text).await.unwrap();
    assert_eq!(fallen.how, Transition::FellBack);
    let stored = page(&data, "", 10).await;
    let stored = stored[0].workflow.record();
    assert_eq!(stored.contract_status.as_str(), "draft_unverified");
    assert_eq!(
        stored.runtime_binding.status.as_str(),
        "contract_only_not_executable"
    );
}

async fn versions(harness: &TestStore) -> i64 {
    let mut session = harness.console.session().await.unwrap();
    sqlx::query_scalar("SELECT count(*) FROM app.workflow_version")
        .fetch_one(&mut *session)
        .await
        .unwrap()
}

#[tokio::test]
async fn a_wrong_move_keeps_nothing_and_takes_no_number() {
    let harness = TestStore::new().await;
    import(&harness, &record("clip")).await.unwrap();
    let mut jumped = record("clip");
    jumped["contract_status"] = json!("verified");
    let refused = import(&harness, &jumped).await.unwrap_err();
    assert!(matches!(refused, ImportError::Move(_)), "{refused}");
    let mut moved = record("clip");
    moved["slug"] = json!("other");
    let refused = import(&harness, &moved).await.unwrap_err();
    assert!(
        matches!(refused, ImportError::OtherSlug { .. }),
        "{refused}"
    );
    assert_eq!(versions(&harness).await, 1);
    let mut session = harness.console.session().await.unwrap();
    let number = revision::current(&mut session, workflows::TOPIC).await;
    assert_eq!(number, Ok(1));
}

#[tokio::test]
async fn pages_go_through_the_slugs_in_the_order_of_their_bytes() {
    let harness = TestStore::new().await;
    for name in ["b", "a1", "a-b", "a", "ab"] {
        import(&harness, &record(name)).await.unwrap();
    }
    let data = harness.db.connect(Role::Data).await;
    assert_eq!(slugs(&page(&data, "", 3).await), ["a", "a-b", "a1"]);
    assert_eq!(slugs(&page(&data, "a1", 3).await), ["ab", "b"]);
    assert_eq!(slugs(&page(&data, "b", 3).await), [""; 0]);
}

#[tokio::test]
async fn two_imports_at_once_take_turns() {
    let harness = TestStore::new().await;
    import(&harness, &record("clip")).await.unwrap();
    let mut locked = record("clip");
    locked["contract_status"] = json!("contract_locked_not_executable");
    let mut other = locked.clone();
    other["title"] = json!("Other");
    let (one, two) = tokio::join!(import(&harness, &locked), import(&harness, &other));
    let mut numbers = [one.unwrap().version.revision, two.unwrap().version.revision];
    numbers.sort_unstable();
    assert_eq!(numbers, [2, 3]);
}

/// Writes a row with a column of it changed.
async fn insert(harness: &TestStore, columns: [&str; 4], record: &Value) -> Result<(), DbError> {
    let [slug, contract, binding, digest] = columns;
    let text = record.to_string().replace('\'', "''");
    let statement = format!(
        "INSERT INTO app.workflow_version
             (slug, revision, workflow_id, contract_status, binding_status, semantic_digest, record)
         VALUES ('{slug}', 1, '{slug}', '{contract}', '{binding}', decode('{digest}', 'hex'), '{text}')"
    );
    harness.say(&harness.console, &statement).await
}

// covers: G-3.3-01, G-3.3-02
#[tokio::test]
async fn the_table_refuses_what_no_record_may_say() {
    let harness = TestStore::new().await;
    let digest = "00".repeat(32);
    let with = |contract: &str, binding: &str| {
        let mut record = record("clip");
        record["contract_status"] = json!(contract);
        record["runtime_binding"]["status"] = json!(binding);
        record
    };
    let (draft, only) = ("draft_unverified", "contract_only_not_executable");
    let mut large = with(draft, only);
    large["title"] = json!("x".repeat(MAX_WORKFLOW_BYTES));
    for (columns, record, constraint) in [
        (
            ["clip", "approved", only, &digest],
            with("approved", only),
            "contract_known",
        ),
        (
            ["clip", draft, "ready", &digest],
            with(draft, "ready"),
            "binding_known",
        ),
        (
            ["clip", draft, "verified", &digest],
            with(draft, "verified"),
            "verified_under_verified",
        ),
        (["Clip", draft, only, &digest], with(draft, only), "formed"),
        (
            ["other", draft, only, &digest],
            with(draft, only),
            "record_agrees",
        ),
        (
            ["clip", "verified", only, &digest],
            with(draft, only),
            "record_agrees",
        ),
        (
            ["clip", draft, only, "00"],
            with(draft, only),
            "digest_is_sha256",
        ),
        (["clip", draft, only, &digest], large, "record_bounded"),
    ] {
        let refused = insert(&harness, columns, &record).await.unwrap_err();
        let DbError::Refused {
            constraint: name, ..
        } = &refused
        else {
            panic!("{refused}");
        };
        let name = name.as_deref().unwrap_or_default();
        assert!(name.contains(constraint), "{constraint}: {refused:?}");
    }
    // What the schema and the checker know is what the table knows.
    for contract in [
        "draft_unverified",
        "contract_locked_not_executable",
        "verified",
    ] {
        for binding in ["unavailable", "contract_only_not_executable", "verified"] {
            assert!(Workflow::read(&with(contract, binding).to_string()).is_ok());
            let written = insert(
                &harness,
                ["clip", contract, binding, &digest],
                &with(contract, binding),
            )
            .await;
            let contradiction = binding == "verified" && contract != "verified";
            assert_eq!(
                written.is_err(),
                contradiction,
                "{contract} {binding}: {written:?}"
            );
            delete_all(&harness);
        }
    }
    for fourth in [with("approved", only), with(draft, "ready")] {
        assert!(Workflow::read(&fourth.to_string()).is_err());
    }
}

#[tokio::test]
async fn the_bounds_of_the_table_are_those_of_the_reader() {
    let harness = TestStore::new().await;
    let digest = "00".repeat(32);
    let write = async |record: &Value| {
        let slug = record["slug"].as_str().unwrap();
        let columns = ["draft_unverified", "contract_only_not_executable"];
        let written = insert(&harness, [slug, columns[0], columns[1], &digest], record).await;
        delete_all(&harness);
        let read = Workflow::read(&record.to_string());
        (written.is_ok(), read.is_ok())
    };
    let name = |characters: usize| record(&"a".repeat(characters));
    assert_eq!(write(&name(MAX_NAME_CHARACTERS)).await, (true, true));
    assert_eq!(write(&name(MAX_NAME_CHARACTERS + 1)).await, (false, false));
    let long = |bytes: usize| {
        let mut record = record("clip");
        record["title"] = json!("");
        let rest = bytes - record.to_string().len();
        record["title"] = json!("x".repeat(rest));
        record
    };
    assert_eq!(write(&long(MAX_WORKFLOW_BYTES)).await, (true, true));
    assert_eq!(write(&long(MAX_WORKFLOW_BYTES + 1)).await, (false, false));
}

/// No role may; a superuser who takes the trigger away can.
fn delete_all(harness: &TestStore) {
    let url = harness.db.superuser_url();
    let text = "ALTER TABLE app.workflow_version DISABLE TRIGGER workflow_version_is_append_only;
         DELETE FROM app.workflow_version;
         ALTER TABLE app.workflow_version ENABLE TRIGGER workflow_version_is_append_only;";
    let done = std::process::Command::new("psql")
        .args(["-q", "-v", "ON_ERROR_STOP=1", "-c", text, url.reveal()])
        .output()
        .unwrap();
    assert!(done.status.success(), "{done:?}");
}

#[tokio::test]
async fn a_version_is_written_by_the_console_only_and_never_changed() {
    let harness = TestStore::new().await;
    import(&harness, &record("clip")).await.unwrap();
    let data = harness.db.connect(Role::Data).await;
    let change = "UPDATE app.workflow_version SET contract_status = 'verified'";
    let copy = "INSERT INTO app.workflow_version (slug, revision, workflow_id, contract_status,
             binding_status, semantic_digest, record)
         SELECT slug, 9, workflow_id, contract_status, binding_status, semantic_digest, record
         FROM app.workflow_version";
    for (database, statement) in [
        (&data, copy),
        (&data, change),
        (&harness.console, change),
        (&harness.console, "DELETE FROM app.workflow_version"),
        (&harness.console, "TRUNCATE app.workflow_version"),
    ] {
        let refused = harness.say(database, statement).await.unwrap_err();
        let DbError::Refused { cause, .. } = &refused else {
            panic!("{refused}");
        };
        assert_eq!(cause.code.as_deref(), Some("42501"), "{statement}");
    }
    harness
        .say(&data, "SELECT record FROM app.workflow_version")
        .await
        .unwrap();

    let audit = harness.db.connect(Role::Audit).await;
    let broken = async || {
        let mut session = audit.session().await.unwrap();
        let rows =
            sqlx::query("SELECT FROM app.audit_revision_never_issued WHERE topic = 'workflows'")
                .fetch_all(&mut *session)
                .await
                .unwrap();
        rows.len()
    };
    assert_eq!(broken().await, 0);
    harness.say(&harness.console, copy).await.unwrap();
    assert_eq!(broken().await, 1, "the number 9 was never assigned");
}
