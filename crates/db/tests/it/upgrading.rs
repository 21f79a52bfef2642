//! From one release's schema to another's: forward from every release's, back where a migration allows, and what a
//! migration that fails leaves.

mod schema;

use sqlx::{AssertSqlSafe, Connection as _, PgConnection, SqlSafeStr as _};
use trunkline_db::{MigrateError, Role, incompatible_migrations, migrate, missing_migrations};
use trunkline_testkit::Db;

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

#[tokio::test]
async fn an_operator_upgrades_from_the_schema_of_every_release_with_money_in_it() {
    schema::write_if_asked().await;
    let expected = schema::objects(&Db::fresh().await.superuser_url());
    for file in schema::files() {
        let db = Db::empty().await;
        let url = db.superuser_url();
        let mut connection = PgConnection::connect(url.reveal()).await.unwrap();
        run(&mut connection, &schema::text(&file)).await;
        // The dump has emptied the search path of its connection.
        let mut connection = PgConnection::connect(url.reveal()).await.unwrap();
        let count = "SELECT count(*) FROM app.migration";
        let before = number(&mut connection, count).await;
        let report = migrate(&db.migrator_url()).await.unwrap();
        assert_eq!(i64::try_from(report.already), Ok(before), "{file:?}");
        assert_eq!(missing_migrations(&mut connection).await, Ok(Vec::new()));
        // A node of that release asks this and does not start where a later migration says no.
        let stops = "SELECT count(*) FROM app.migration WHERE NOT previous_runs AND version IN (
             SELECT m.version FROM app.migration AS m ORDER BY m.version OFFSET ";
        let found = number(&mut connection, &format!("{stops} {before})")).await;
        let stopping = report.applied.iter().filter(|one| !one.previous_runs);
        assert_eq!(usize::try_from(found), Ok(stopping.count()), "{file:?}");
        // A node makes the days of now when it starts; the dump has the one of its own.
        run(
            &mut connection,
            "SELECT ledger.make_partitions((app.now() AT TIME ZONE 'UTC')::date - 1, 9),
                 app.make_event_partitions((app.now() AT TIME ZONE 'UTC')::date - 1, 9)",
        )
        .await;
        let objects = schema::objects(&url);
        let differing: Vec<&String> = objects.symmetric_difference(&expected).collect();
        assert!(differing.is_empty(), "{file:?}: {differing:#?}");
        let posted = "SELECT paid_posted FROM ledger.account WHERE id = 1000";
        assert_eq!(number(&mut connection, posted).await, schema::TOPPED_UP);
        nothing_is_wrong(&mut connection).await;
    }
}

async fn nothing_is_wrong(connection: &mut PgConnection) {
    let audits: Vec<String> = sqlx::query_scalar(
        "SELECT schemaname || '.' || viewname FROM pg_catalog.pg_views
         WHERE schemaname IN ('app', 'ledger') AND viewname LIKE 'audit\\_%'",
    )
    .fetch_all(&mut *connection)
    .await
    .unwrap();
    assert!(audits.len() > 10, "{audits:?}");
    for view in audits {
        let findings = number(connection, &format!("SELECT count(*) FROM {view}")).await;
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
    // The schema before one of the migrations, with a function in the way that it makes second.
    let version = number(
        &mut session,
        "SELECT version FROM app.migration WHERE name = 'tenant_policies'",
    )
    .await;
    run(
        &mut session,
        "DELETE FROM app.migration
         WHERE version >= (SELECT m.version FROM app.migration AS m WHERE m.name = 'tenant_policies');
         DROP FUNCTION app.tenant() CASCADE",
    )
    .await;
    let count = "SELECT count(*) FROM app.migration";
    let before = number(&mut session, count).await;
    let error = migrate(&db.migrator_url()).await.unwrap_err();
    let MigrateError::Failed { version: named, .. } = error else {
        panic!("{error:?}");
    };
    assert_eq!(named, version);
    assert_eq!(number(&mut session, count).await, before);
    let half_done = "SELECT count(*) FROM pg_catalog.pg_proc
         WHERE pronamespace = 'app'::regnamespace AND proname = 'tenant'";
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
    assert_eq!(missing.first(), Some(&version));
}
