//! Migrating: once, twice, at once, and when it must not.

use sqlx::{Connection, PgConnection};
use trunkline_db::{DbError, MigrateError, Role, migrate, missing_migrations};
use trunkline_testkit::{Db, OwnSettings, Postgres};

const COUNT: usize = 3;
const DATABASES: usize = 4;
const ROUNDS: usize = 5;
const FIRST: i64 = 20261115000100;

async fn as_owner(db: &Db, statement: &'static str) {
    let owner = db.owner().await;
    let mut session = owner.session().await.unwrap();
    sqlx::raw_sql(statement)
        .execute(&mut *session)
        .await
        .unwrap();
}

#[tokio::test]
async fn migrating_again_does_nothing_and_says_so() {
    let db = Db::fresh().await;
    let report = migrate(&db.migrator_url()).await.unwrap();
    assert_eq!(report.applied, []);
    assert_eq!((report.already, report.sealed), (COUNT, true));
}

/// The lock belongs to a database and the roles to all of them, so the race for the roles is real.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn empty_databases_are_migrated_by_many_at_once_and_each_file_runs_once() {
    let postgres = Postgres::own(OwnSettings::default()).await;
    let superuser = postgres.superuser_url();
    let mut connection = PgConnection::connect(superuser.reveal()).await.unwrap();
    for round in 0..ROUNDS {
        // Nothing of the house is left, not even the roles.
        sqlx::raw_sql(
            "DROP SCHEMA IF EXISTS app, ledger CASCADE;
             DROP OWNED BY trunkline_owner, trunkline_data, trunkline_console, trunkline_audit",
        )
        .execute(&mut connection)
        .await
        .unwrap();
        for number in 0..DATABASES {
            for statement in [
                format!("DROP DATABASE IF EXISTS db_{number}"),
                format!("CREATE DATABASE db_{number} OWNER test_migrator"),
            ] {
                sqlx::raw_sql(sqlx::AssertSqlSafe(statement))
                    .execute(&mut connection)
                    .await
                    .unwrap();
            }
        }
        sqlx::raw_sql(
            "DROP ROLE trunkline_owner, trunkline_data, trunkline_console, trunkline_audit",
        )
        .execute(&mut connection)
        .await
        .unwrap();
        let mut racing = tokio::task::JoinSet::new();
        for number in 0..DATABASES {
            for _ in 0..2 {
                let url = url_of_migrator(&postgres, &format!("db_{number}"));
                racing.spawn(async move { migrate(&url).await });
            }
        }
        let mut applied = 0;
        while let Some(report) = racing.join_next().await {
            let report = report.unwrap();
            applied += report
                .unwrap_or_else(|error| panic!("round {round}: {error:?}"))
                .applied
                .len();
        }
        assert_eq!(applied, DATABASES * COUNT);
    }
}

fn url_of_migrator(postgres: &Postgres, database: &str) -> trunkline_terms::Secret {
    let url = postgres.superuser_url();
    let text = url.reveal().replace("postgres@", "test_migrator@");
    trunkline_terms::Secret::new(text.replace("/trunkline?", &format!("/{database}?")))
}

#[tokio::test]
async fn a_database_newer_than_the_executable_is_refused() {
    let db = Db::fresh().await;
    as_owner(
        &db,
        "INSERT INTO app.migration (version, name, checksum)
         VALUES (99990101000000, 'later', decode(repeat('00', 48), 'hex'))",
    )
    .await;
    let error = migrate(&db.migrator_url()).await.unwrap_err();
    assert_eq!(
        error,
        MigrateError::Newer {
            version: 99990101000000
        }
    );
    assert!(error.to_string().contains("newer than this executable"));
}

#[tokio::test]
async fn an_edited_migration_is_refused() {
    let db = Db::fresh().await;
    as_owner(
        &db,
        "UPDATE app.migration SET checksum = decode(repeat('00', 48), 'hex') WHERE name = 'house'",
    )
    .await;
    let error = migrate(&db.migrator_url()).await.unwrap_err();
    assert_eq!(error, MigrateError::Changed { version: FIRST });
}

#[tokio::test]
async fn a_migration_that_comes_late_is_refused() {
    let db = Db::fresh().await;
    as_owner(&db, "DELETE FROM app.migration WHERE name = 'clock'").await;
    let error = migrate(&db.migrator_url()).await.unwrap_err();
    assert!(
        matches!(error, MigrateError::OutOfOrder { .. }),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_migration_that_fails_leaves_nothing_and_names_itself() {
    let db = Db::fresh().await;
    as_owner(
        &db,
        "DELETE FROM app.migration WHERE name = 'revisions_and_outbox';
         DROP TABLE app.revision, app.outbox_counter",
    )
    .await;
    // app.outbox is still there, so the file fails after it has made the other two.
    let error = migrate(&db.migrator_url()).await.unwrap_err();
    let MigrateError::Failed { version, error } = error else {
        panic!("{error:?}");
    };
    assert_eq!(version, FIRST + 200);
    assert!(matches!(error, DbError::Bug(_)), "{error:?}");
    let owner = db.owner().await;
    let mut session = owner.session().await.unwrap();
    let made: bool = sqlx::query_scalar("SELECT to_regclass('app.revision') IS NOT NULL")
        .fetch_one(&mut *session)
        .await
        .unwrap();
    assert!(!made);
}

#[tokio::test]
async fn a_server_can_ask_whether_its_schema_is_there() {
    let db = Db::fresh().await;
    for role in Role::ALL {
        let database = db.connect(role).await;
        let mut session = database.session().await.unwrap();
        assert_eq!(missing_migrations(&mut session).await, Ok(Vec::new()));
    }
    as_owner(
        &db,
        "DELETE FROM app.migration WHERE name = 'revisions_and_outbox'",
    )
    .await;
    let data = db.connect(Role::Data).await;
    let mut session = data.session().await.unwrap();
    assert_eq!(
        missing_migrations(&mut session).await,
        Ok(vec![FIRST + 200])
    );
}

#[tokio::test]
async fn a_login_that_may_not_become_the_owner_is_told_so() {
    let db = Db::fresh().await;
    as_owner(
        &db,
        "DELETE FROM app.migration WHERE name = 'revisions_and_outbox'",
    )
    .await;
    let error = migrate(&db.url(Role::Data)).await.unwrap_err();
    assert!(error.to_string().contains("permission denied"), "{error}");
}
