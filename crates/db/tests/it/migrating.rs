//! Migrating: once, twice, at once, and when it must not.

use std::time::Duration;

use sqlx::{Connection, PgConnection};
use trunkline_db::{DbError, MigrateError, Role, migrate, missing_migrations};
use trunkline_testkit::{Db, OwnSettings, Postgres};

const FORGET_THE_NEWEST: &str =
    "DELETE FROM app.migration WHERE version = (SELECT max(version) FROM app.migration)";

/// Every version that this executable carries, oldest first.
async fn carried() -> Vec<i64> {
    let empty = Db::empty().await;
    let url = empty.migrator_url();
    let mut connection = PgConnection::connect(url.reveal()).await.unwrap();
    let all = missing_migrations(&mut connection).await.unwrap();
    assert!(all.len() >= 3 && all.is_sorted());
    all
}

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
    let count = carried().await.len();
    assert_eq!((report.already, report.sealed), (count, true));
}

/// A cluster with nothing of the product in it, not even the roles, and some empty databases.
async fn bare_cluster(databases: usize) -> (Postgres, PgConnection) {
    let postgres = Postgres::own(OwnSettings::default()).await;
    let url = postgres.superuser_url();
    let mut superuser = PgConnection::connect(url.reveal()).await.unwrap();
    let mut statements = vec![
        "DROP SCHEMA app, ledger CASCADE".to_owned(),
        "DROP OWNED BY trunkline_owner, trunkline_data, trunkline_console, trunkline_audit"
            .to_owned(),
        "DROP ROLE trunkline_owner, trunkline_data, trunkline_console, trunkline_audit".to_owned(),
    ];
    statements.extend(
        (0..databases).map(|number| format!("CREATE DATABASE db_{number} OWNER test_migrator")),
    );
    for statement in statements {
        sqlx::raw_sql(sqlx::AssertSqlSafe(statement))
            .execute(&mut superuser)
            .await
            .unwrap();
    }
    (postgres, superuser)
}

#[tokio::test]
async fn empty_databases_are_migrated_by_many_at_once_and_each_file_runs_once() {
    let (postgres, _superuser) = bare_cluster(2).await;
    let first = url_of_migrator(&postgres, "db_0");
    let second = url_of_migrator(&postgres, "db_1");
    let (a, b, c, d) = tokio::join!(
        migrate(&first),
        migrate(&second),
        migrate(&first),
        migrate(&second)
    );
    let applied: usize = [a, b, c, d]
        .into_iter()
        .map(|report| report.unwrap().applied.len())
        .sum();
    assert_eq!(applied, 2 * carried().await.len());
}

/// The lock belongs to a database and the roles to all of them.
#[tokio::test]
async fn a_migration_that_loses_the_race_for_the_roles_succeeds_all_the_same() {
    let (postgres, mut faster) = bare_cluster(1).await;
    sqlx::raw_sql(
        "BEGIN;
         CREATE ROLE trunkline_owner NOLOGIN; CREATE ROLE trunkline_data NOLOGIN;
         CREATE ROLE trunkline_console NOLOGIN; CREATE ROLE trunkline_audit NOLOGIN",
    )
    .execute(&mut faster)
    .await
    .unwrap();
    let url = url_of_migrator(&postgres, "db_0");
    let waits_then_wins = async {
        let waiting = "SELECT count(*) FROM pg_stat_activity
             WHERE application_name = 'trunkline-migrate' AND wait_event_type = 'Lock'";
        let mut watcher = PgConnection::connect(postgres.superuser_url().reveal())
            .await
            .unwrap();
        while sqlx::query_scalar::<_, i64>(waiting)
            .fetch_one(&mut watcher)
            .await
            .unwrap()
            == 0
        {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        sqlx::raw_sql("COMMIT").execute(&mut faster).await.unwrap();
    };
    let (report, ()) = tokio::join!(migrate(&url), waits_then_wins);
    assert_eq!(report.unwrap().applied.len(), carried().await.len());
}

/// Who has once looked for a role and not found it may go on not finding it until its transaction
/// ends, if another session has made it meanwhile. When that happens is up to PostgreSQL's caches, so here a
/// trigger says the same words twice; a sequence remembers, rolled back or not.
#[tokio::test]
async fn a_migration_that_does_not_see_the_roles_of_a_faster_one_is_tried_again() {
    let (postgres, _superuser) = bare_cluster(1).await;
    let superuser = postgres.superuser_url();
    let in_database = superuser.reveal().replace("/trunkline?", "/db_0?");
    let mut connection = PgConnection::connect(&in_database).await.unwrap();
    sqlx::raw_sql(
        "CREATE SEQUENCE public.tries;
         CREATE FUNCTION public.not_seen() RETURNS event_trigger LANGUAGE plpgsql SECURITY DEFINER
         AS $$ BEGIN
             IF nextval('public.tries') <= 2 THEN
                 RAISE 'role \"trunkline_owner\" does not exist' USING ERRCODE = '22023';
             END IF;
         END $$;
         CREATE EVENT TRIGGER not_seen ON ddl_command_start WHEN TAG IN ('CREATE SCHEMA')
             EXECUTE FUNCTION public.not_seen()",
    )
    .execute(&mut connection)
    .await
    .unwrap();
    let report = migrate(&url_of_migrator(&postgres, "db_0")).await.unwrap();
    assert_eq!(report.applied.len(), carried().await.len());
}

fn url_of_migrator(postgres: &Postgres, database: &str) -> trunkline_types::Secret {
    let url = postgres.superuser_url();
    let text = url.reveal().replace("postgres@", "test_migrator@");
    trunkline_types::Secret::new(text.replace("/trunkline?", &format!("/{database}?")))
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
async fn a_database_of_an_unreleased_build_is_refused() {
    let db = Db::fresh().await;
    as_owner(
        &db,
        "UPDATE app.migration SET version = 20261115000100 WHERE name = 'roles'",
    )
    .await;
    let error = migrate(&db.migrator_url()).await.unwrap_err();
    let version = 20_261_115_000_100;
    assert_eq!(error, MigrateError::Unreleased { version });
    assert!(error.to_string().contains("make it anew"), "{error}");
}

#[tokio::test]
async fn an_edited_migration_is_refused() {
    let db = Db::fresh().await;
    as_owner(
        &db,
        "UPDATE app.migration SET checksum = decode(repeat('00', 48), 'hex') WHERE name = 'roles'",
    )
    .await;
    let error = migrate(&db.migrator_url()).await.unwrap_err();
    let version = carried().await[0];
    assert_eq!(error, MigrateError::Changed { version });
}

#[tokio::test]
async fn a_migration_that_comes_late_is_refused() {
    let db = Db::fresh().await;
    as_owner(
        &db,
        "DELETE FROM app.migration WHERE name = 'clock_and_checks'",
    )
    .await;
    let error = migrate(&db.migrator_url()).await.unwrap_err();
    assert!(
        matches!(error, MigrateError::OutOfOrder { .. }),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_migration_that_fails_leaves_nothing_and_names_itself() {
    let db = Db::empty().await;
    let url = db.migrator_url();
    let mut connection = PgConnection::connect(url.reveal()).await.unwrap();
    // The first file makes `app` before it stumbles over this.
    sqlx::raw_sql("CREATE SCHEMA ledger")
        .execute(&mut connection)
        .await
        .unwrap();
    let error = migrate(&url).await.unwrap_err();
    let MigrateError::Failed { version, error } = error else {
        panic!("{error:?}");
    };
    assert_eq!(version, carried().await[0]);
    assert!(matches!(error, DbError::Bug(_)), "{error:?}");
    let made: bool = sqlx::query_scalar("SELECT to_regnamespace('app') IS NOT NULL")
        .fetch_one(&mut connection)
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
    as_owner(&db, FORGET_THE_NEWEST).await;
    let data = db.connect(Role::Data).await;
    let mut session = data.session().await.unwrap();
    let newest = carried().await.pop().unwrap();
    assert_eq!(missing_migrations(&mut session).await, Ok(vec![newest]));
}

#[tokio::test]
async fn a_login_that_may_not_become_the_owner_is_told_so() {
    let db = Db::fresh().await;
    as_owner(&db, FORGET_THE_NEWEST).await;
    let error = migrate(&db.url(Role::Data)).await.unwrap_err();
    assert!(error.to_string().contains("permission denied"), "{error}");
}
