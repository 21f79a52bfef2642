//! Pauses of social data: who may make them, what is noted, and how nodes find out.

use trunkline_db::{Database, DbError, Role, revision};
use trunkline_store::cell_pauses::{
    self, EVENTS_MAX_ROWS, Pause, PauseAction, PauseEvent, PausedBy,
};
use trunkline_store::validation::REASON_MAX_CHARACTERS;

use crate::test_store::TestStore;

async fn pause(database: &Database, capability: &str, reason: &str, by: PausedBy) -> bool {
    let mut tx = database.begin().await.unwrap();
    let done = cell_pauses::pause(&mut tx, "douyin", capability, reason, by).await;
    tx.finish(done).await.unwrap()
}

async fn resume(database: &Database, capability: &str, reason: &str) -> Result<bool, DbError> {
    let mut tx = database.begin().await.unwrap();
    let done = cell_pauses::resume(&mut tx, "douyin", capability, reason, PausedBy::Operator).await;
    tx.finish(done).await
}

async fn paused(database: &Database) -> Vec<Pause> {
    let mut session = database.session().await.unwrap();
    cell_pauses::paused(&mut session).await.unwrap()
}

async fn events(database: &Database, limit: i64) -> Vec<PauseEvent> {
    let mut session = database.session().await.unwrap();
    cell_pauses::events(&mut session, limit).await.unwrap()
}

async fn number(database: &Database) -> i64 {
    let mut session = database.session().await.unwrap();
    revision::current(&mut session, cell_pauses::TOPIC)
        .await
        .unwrap()
}

/// Rows of a view that must have none.
async fn found_by_audit(harness: &TestStore, view: &str) -> i64 {
    let audit = harness.db.connect(Role::Audit).await;
    let mut session = audit.session().await.unwrap();
    let text = sqlx::AssertSqlSafe(format!("SELECT count(*) FROM app.{view}"));
    sqlx::query_scalar(text)
        .fetch_one(&mut *session)
        .await
        .unwrap()
}

#[tokio::test]
async fn a_pause_holds_until_a_person_ends_it_and_both_are_events_with_numbers() {
    let harness = TestStore::new().await;
    let data = harness.db.connect(Role::Data).await;
    assert!(pause(&data, "search", "its path is gone", PausedBy::Gateway).await);
    assert!(pause(&harness.console, "post", "a dispute", PausedBy::Operator).await);
    let held = paused(&data).await;
    let summary: Vec<_> = held
        .iter()
        .map(|one| (one.capability.as_str(), one.reason.as_str(), one.by))
        .collect();
    assert_eq!(
        summary,
        [
            ("post", "a dispute", PausedBy::Operator),
            ("search", "its path is gone", PausedBy::Gateway)
        ],
        "in one order on every host"
    );
    assert!(
        resume(&harness.console, "search", "it is back")
            .await
            .unwrap()
    );
    assert_eq!(paused(&data).await, held[..1]);
    let reported = events(&data, 10).await;
    let summary: Vec<_> = reported
        .iter()
        .map(|one| (one.number, one.action, one.reason.as_str(), one.by))
        .collect();
    assert_eq!(
        summary,
        [
            (3, PauseAction::Resumed, "it is back", PausedBy::Operator),
            (2, PauseAction::Paused, "a dispute", PausedBy::Operator),
            (
                1,
                PauseAction::Paused,
                "its path is gone",
                PausedBy::Gateway
            ),
        ]
    );
    assert_eq!(reported[1].at, held[0].paused_at);
    assert_eq!(
        (
            reported[0].platform.as_str(),
            reported[0].capability.as_str()
        ),
        ("douyin", "search")
    );
    assert_eq!(events(&data, 1).await, reported[..1]);
    assert_eq!(events(&data, 0).await, reported[..1], "one at least");
    assert_eq!(number(&data).await, 3);
    assert_eq!(
        found_by_audit(&harness, "audit_pause_and_event_disagree").await,
        0
    );
}

#[tokio::test]
async fn the_first_reason_stays_and_what_changes_nothing_takes_no_number() {
    let harness = TestStore::new().await;
    assert!(!resume(&harness.console, "search", "").await.unwrap());
    assert_eq!(number(&harness.console).await, 0);
    assert!(pause(&harness.console, "search", "first", PausedBy::Operator).await);
    assert!(!pause(&harness.console, "search", "second", PausedBy::Gateway).await);
    assert_eq!(paused(&harness.console).await[0].reason, "first");
    assert_eq!(number(&harness.console).await, 1);
    assert_eq!(events(&harness.console, 10).await.len(), 1);
    let long = "x".repeat(REASON_MAX_CHARACTERS + 1);
    assert!(resume(&harness.console, "search", &long).await.unwrap());
    assert!(pause(&harness.console, "search", " \n", PausedBy::Operator).await);
    let reported = events(&harness.console, 2).await;
    assert_eq!(reported[0].reason, "no reason was given");
    assert_eq!(reported[1].reason.chars().count(), REASON_MAX_CHARACTERS);
    assert!(reported[1].reason.ends_with('…'));
}

#[tokio::test]
async fn of_two_concurrent_pauses_one_takes_effect() {
    let harness = TestStore::new().await;
    let data = harness.db.connect(Role::Data).await;
    let (one, two) = tokio::join!(
        pause(&data, "search", "one", PausedBy::Gateway),
        pause(&harness.console, "search", "two", PausedBy::Operator)
    );
    assert!(one != two, "{one} {two}");
    assert_eq!(events(&data, 10).await.len(), 1);
    assert_eq!(
        found_by_audit(&harness, "audit_pause_and_event_disagree").await,
        0
    );
}

#[tokio::test]
async fn a_node_may_pause_and_not_resume_and_no_role_edits() {
    let harness = TestStore::new().await;
    let data = harness.db.connect(Role::Data).await;
    pause(&data, "search", "gone", PausedBy::Gateway).await;
    let refused = resume(&data, "search", "").await.unwrap_err();
    let DbError::Refused { cause, .. } = &refused else {
        panic!("{refused}");
    };
    assert_eq!(cause.code.as_deref(), Some("42501"), "{refused}");
    for (database, statement) in [
        (&data, "DELETE FROM app.social_pause"),
        (&data, "UPDATE app.social_pause SET reason = 'x'"),
        (&harness.console, "UPDATE app.social_pause SET reason = 'x'"),
        (&harness.console, "UPDATE app.social_event SET reason = 'x'"),
        (&harness.console, "DELETE FROM app.social_event"),
        (&harness.console, "TRUNCATE app.social_event"),
    ] {
        let refused = harness.say(database, statement).await;
        let Err(DbError::Refused { cause, .. }) = refused else {
            panic!("{statement}: {refused:?}");
        };
        assert_eq!(cause.code.as_deref(), Some("42501"), "{statement}");
    }
    let owner = harness.db.owner().await;
    for statement in [
        "UPDATE app.social_pause SET reason = 'x'",
        "DELETE FROM app.social_event",
    ] {
        let refused = harness.say(&owner, statement).await;
        assert!(
            refused.is_err(),
            "the trigger stops the owner too: {statement}"
        );
    }
    assert_eq!(paused(&data).await.len(), 1);
}

#[tokio::test]
async fn the_audit_finds_a_pause_without_its_event_and_an_unassigned_number() {
    let harness = TestStore::new().await;
    let forged = "INSERT INTO app.social_pause (platform, capability, reason, actor, revision)
        VALUES ('douyin', 'search', 'x', 'operator', 7)";
    harness.say(&harness.console, forged).await.unwrap();
    for view in [
        "audit_pause_and_event_disagree",
        "audit_revision_never_issued",
    ] {
        assert_eq!(found_by_audit(&harness, view).await, 1, "{view}");
    }
    let event =
        "INSERT INTO app.social_event (revision, platform, capability, action, reason, actor)
        VALUES (8, 'zhihu', 'post', 'paused', 'x', 'gateway')";
    harness.say(&harness.console, event).await.unwrap();
    let disagree = found_by_audit(&harness, "audit_pause_and_event_disagree").await;
    assert_eq!(disagree, 2, "paused by its event, sold by its row");
}

#[tokio::test]
async fn the_tables_end_where_the_code_says() {
    let harness = TestStore::new().await;
    let reason = |characters: usize| format!("repeat('ü', {characters})");
    let [last, first] = [REASON_MAX_CHARACTERS, REASON_MAX_CHARACTERS + 1].map(reason);
    let good = [
        "'douyin'",
        "'search'",
        "'paused'",
        last.as_str(),
        "'gateway'",
    ];
    let wrong = [
        ("platform_formed", 0, "'Dou yin'".to_owned()),
        ("platform_formed", 0, "''".to_owned()),
        ("capability_formed", 1, "'search/'".to_owned()),
        ("action_known", 2, "'gone'".to_owned()),
        ("reason_bounded", 3, first),
        ("reason_bounded", 3, "''".to_owned()),
        ("actor_known", 4, "'stranger'".to_owned()),
    ];
    let mut broken = Vec::new();
    for (constraint, place, value) in &wrong {
        let mut values = good;
        values[*place] = value;
        let [platform, capability, action, reason, by] = values;
        let event = format!(
            "INSERT INTO app.social_event (revision, platform, capability, action, reason, actor)
             VALUES (1, {platform}, {capability}, {action}, {reason}, {by})"
        );
        let row = format!(
            "INSERT INTO app.social_pause (platform, capability, reason, actor, revision)
             VALUES ({platform}, {capability}, {reason}, {by}, 1)"
        );
        for (table, statement) in [("social_event", event), ("social_pause", row)] {
            if (*constraint, table) == ("action_known", "social_pause") {
                continue;
            }
            let refused = harness.say(&harness.console, &statement).await.unwrap_err();
            let expected = format!("{table}_{constraint}");
            assert_eq!(refused.constraint(), Some(expected.as_str()), "{statement}");
            broken.push(expected);
        }
    }
    assert_eq!(broken.len(), 2 * wrong.len() - 1);
    let [platform, capability, action, reason, by] = good;
    let fits = format!(
        "INSERT INTO app.social_event (revision, platform, capability, action, reason, actor)
         SELECT n, {platform}, {capability}, {action}, {reason}, {by} FROM generate_series(1, 1001) AS n"
    );
    harness.say(&harness.console, &fits).await.unwrap();
    let most = usize::try_from(EVENTS_MAX_ROWS).unwrap();
    assert_eq!(events(&harness.console, i64::MAX).await.len(), most);
}
