//! From one release's schema to another's: forward from the first one, back where a migration allows, and what a
//! migration that fails leaves.

use std::process::Command;

use sqlx::{AssertSqlSafe, Connection as _, PgConnection, SqlSafeStr as _};
use trunkline_db::{MigrateError, Role, incompatible_migrations, migrate, missing_migrations};
use trunkline_testkit::{Db, OwnSettings, Postgres};
use trunkline_types::Secret;

/// `pg_dump --format=custom` of a database with the migrations of the first day, an account and its top-up.
const INITIAL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/initial.dump");
const INITIAL_MIGRATIONS: usize = 12;
const TOPPED_UP: i64 = 25_000_000_000;
const LATER: i64 = 99_990_101_000_000;

async fn run(connection: &mut PgConnection, statement: &str) {
    sqlx::raw_sql(AssertSqlSafe(statement.to_owned()).into_sql_str())
        .execute(connection)
        .await
        .unwrap();
}

async fn number(connection: &mut PgConnection, query: &str) -> i64 {
    sqlx::query_scalar(AssertSqlSafe(query.to_owned()).into_sql_str())
        .fetch_one(connection)
        .await
        .unwrap()
}

/// The same server's database `early`, of another login.
fn early(url: &Secret, login: &str) -> Secret {
    let text = url.reveal().replace("postgres@", &format!("{login}@"));
    Secret::new(text.replace("/trunkline?", "/early?"))
}

#[tokio::test]
async fn an_operator_upgrades_from_the_first_schema_with_money_in_it() {
    let postgres = Postgres::own(OwnSettings::default()).await;
    let superuser = postgres.superuser_url();
    let mut connection = PgConnection::connect(superuser.reveal()).await.unwrap();
    run(&mut connection, "CREATE DATABASE early OWNER test_migrator").await;
    let restored = Command::new("pg_restore")
        .args(["--exit-on-error", "--dbname"])
        .args([early(&superuser, "postgres").reveal(), INITIAL])
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&restored.stderr);
    assert!(restored.status.success(), "{error}");
    let report = migrate(&early(&superuser, "test_migrator")).await.unwrap();
    assert_eq!(report.already, INITIAL_MIGRATIONS);
    assert!(report.applied.len() > INITIAL_MIGRATIONS);
    let url = early(&superuser, "postgres");
    let mut connection = PgConnection::connect(url.reveal()).await.unwrap();
    assert_eq!(missing_migrations(&mut connection).await, Ok(Vec::new()));
    let posted = "SELECT paid_posted FROM ledger.account WHERE id = 1000";
    assert_eq!(number(&mut connection, posted).await, TOPPED_UP);
    // A node makes the days of now when it starts; the dump has those of its own.
    let days = "SELECT ledger.make_partitions((app.now() AT TIME ZONE 'UTC')::date - 1, 9)";
    run(&mut connection, days).await;
    let audits: Vec<String> = sqlx::query_scalar(
        "SELECT schemaname || '.' || viewname FROM pg_catalog.pg_views
         WHERE schemaname IN ('app', 'ledger') AND viewname LIKE 'audit\\_%'",
    )
    .fetch_all(&mut connection)
    .await
    .unwrap();
    assert!(audits.len() > 10, "{audits:?}");
    for view in audits {
        let findings = number(&mut connection, &format!("SELECT count(*) FROM {view}")).await;
        assert_eq!(findings, 0, "{view}");
    }
}

#[tokio::test]
async fn an_older_release_runs_on_a_newer_schema_only_where_every_migration_allows() {
    let db = Db::fresh().await;
    let owner = db.owner().await;
    let mut session = owner.session().await.unwrap();
    for (later, runs) in [(LATER, true), (LATER + 1, false)] {
        let row = format!(
            "INSERT INTO app.migration (version, name, checksum, previous_runs)
             VALUES ({later}, 'later', decode(repeat('00', 48), 'hex'), {runs})"
        );
        let data = db.connect(Role::Data).await;
        run(&mut session, &row).await;
        let mut asks = data.session().await.unwrap();
        let found = incompatible_migrations(&mut asks).await.unwrap();
        let expected = if runs { vec![] } else { vec![later] };
        assert_eq!(found, expected);
    }
}

#[tokio::test]
async fn a_migration_that_fails_leaves_the_schema_before_it_working() {
    let db = Db::fresh().await;
    let owner = db.owner().await;
    let mut session = owner.session().await.unwrap();
    // The schema before the newest migrations, with a column in the way that one of them adds.
    run(
        &mut session,
        "DELETE FROM app.migration WHERE version >= 20261124600000;
         ALTER TABLE app.migration DROP COLUMN previous_runs",
    )
    .await;
    let count = "SELECT count(*) FROM app.migration";
    let before = number(&mut session, count).await;
    let error = migrate(&db.migrator_url()).await.unwrap_err();
    let MigrateError::Failed { version, .. } = error else {
        panic!("{error:?}");
    };
    assert_eq!(version, 20_261_124_600_000);
    assert_eq!(number(&mut session, count).await, before);
    let half_done = "SELECT count(*) FROM pg_catalog.pg_attribute
         WHERE attrelid = 'app.migration'::regclass AND attname = 'previous_runs'";
    assert_eq!(number(&mut session, half_done).await, 0);
    // What a node of the release before does goes on.
    let data = db.connect(Role::Data).await;
    let mut node = data.session().await.unwrap();
    run(
        &mut node,
        "INSERT INTO ledger.node (name, epoch) VALUES ('before', 1);
         UPDATE ledger.node SET heartbeat_at = app.now() WHERE name = 'before'",
    )
    .await;
    // A node of this release says what is missing, and does not start.
    let missing = missing_migrations(&mut node).await.unwrap();
    assert_eq!(missing.first(), Some(&20_261_124_600_000));
}
