//! The boundaries between the roles.

use trunkline_db::{Database, DbError, PoolSettings, Role, connect, connect_lazily};
use trunkline_testkit::Db;

async fn attempt(database: &Database, statement: &'static str) -> Result<(), DbError> {
    let mut session = database.session().await?;
    sqlx::raw_sql(statement).execute(&mut *session).await?;
    Ok(())
}

async fn is_forbidden(database: &Database, statement: &'static str) {
    let refused = attempt(database, statement).await;
    let Err(DbError::Refused { cause, .. }) = refused else {
        panic!("{statement}: {refused:?}");
    };
    assert_eq!(cause.code.as_deref(), Some("42501"), "{statement}: {cause}");
}

#[tokio::test]
async fn every_connection_works_under_its_role() {
    let db = Db::fresh().await;
    for role in Role::ALL {
        let database = db.connect(role).await;
        let mut session = database.session().await.unwrap();
        let current: String = sqlx::query_scalar("SELECT current_user::text")
            .fetch_one(&mut *session)
            .await
            .unwrap();
        assert_eq!(current, role.name());
    }
}

#[tokio::test]
async fn a_login_without_the_role_is_refused_on_connect() {
    let db = Db::fresh().await;
    let error = connect(
        &db.url(Role::Data),
        Role::Owner,
        PoolSettings::named("test"),
    )
    .await
    .unwrap_err();
    assert!(matches!(error, DbError::Refused { .. }), "{error:?}");
}

#[tokio::test]
async fn a_right_that_is_withdrawn_while_we_run_makes_the_database_unavailable() {
    let db = Db::fresh().await;
    let settings = PoolSettings::named("test");
    let database = connect_lazily(&db.url(Role::Data), Role::Owner, settings).unwrap();
    let error = database.begin().await.unwrap_err();
    assert!(matches!(error, DbError::Unavailable(_)), "{error:?}");
    assert!(error.to_string().contains("permission denied"), "{error}");
}

#[tokio::test]
async fn a_login_behind_a_pooler_that_does_not_carry_the_role_is_turned_away() {
    let db = Db::fresh().await;
    let mut settings = PoolSettings::named("test");
    settings.pooler = trunkline_db::Pooler::PgBouncer;
    let error = connect(&db.url(Role::Data), Role::Data, settings)
        .await
        .unwrap_err();
    assert!(
        error.to_string().contains("connected as test_data"),
        "{error}"
    );
}

#[tokio::test]
async fn a_session_cannot_climb_to_another_role() {
    let db = Db::fresh().await;
    for role in [Role::Data, Role::Console, Role::Audit] {
        let database = db.connect(role).await;
        is_forbidden(&database, "SET ROLE trunkline_owner").await;
        is_forbidden(&database, "SET SESSION AUTHORIZATION postgres").await;
    }
}

#[tokio::test]
async fn only_the_owner_moves_the_clock() {
    let db = Db::fresh().await;
    let shift = "CREATE OR REPLACE FUNCTION app.now() RETURNS timestamptz LANGUAGE sql STABLE
                     RETURN pg_catalog.now() + interval '1 hour'";
    for role in [Role::Data, Role::Console] {
        is_forbidden(&db.connect(role).await, shift).await;
    }
    attempt(&db.owner().await, shift).await.unwrap();
}

#[tokio::test]
async fn only_the_owner_creates_anything() {
    let db = Db::fresh().await;
    for role in [Role::Data, Role::Console, Role::Audit] {
        let database = db.connect(role).await;
        let mut session = database.session().await.unwrap();
        // The audit role's sessions are read-only to begin with; take that away to see the wall.
        sqlx::raw_sql("SET default_transaction_read_only = off")
            .execute(&mut *session)
            .await
            .unwrap();
        for statement in [
            "CREATE TABLE app.mine (x int)",
            "CREATE TABLE ledger.mine (x int)",
            "CREATE TABLE public.mine (x int)",
            "CREATE SCHEMA mine",
            "CREATE TEMPORARY TABLE mine (x int)",
            "CREATE FUNCTION app.mine() RETURNS int LANGUAGE sql RETURN 1",
        ] {
            let error: DbError = sqlx::raw_sql(statement)
                .execute(&mut *session)
                .await
                .unwrap_err()
                .into();
            assert!(
                matches!(error, DbError::Refused { .. }),
                "{statement}: {error}"
            );
        }
    }
    attempt(&db.owner().await, "CREATE TABLE app.mine (x int)")
        .await
        .unwrap();
}

#[tokio::test]
async fn the_audit_role_reads_every_table_also_later_ones_and_writes_none() {
    let db = Db::fresh().await;
    let owner = db.owner().await;
    attempt(
        &owner,
        "CREATE TABLE ledger.later (x int); CREATE TABLE app.later (x int)",
    )
    .await
    .unwrap();
    let audit = db.connect(Role::Audit).await;
    let mut session = audit.session().await.unwrap();
    let tables: Vec<String> = sqlx::query_scalar(
        "SELECT format('%I.%I', schemaname, tablename) FROM pg_catalog.pg_tables
         WHERE schemaname IN ('app', 'ledger')",
    )
    .fetch_all(&mut *session)
    .await
    .unwrap();
    assert!(tables.len() >= 6, "{tables:?}");
    for table in &tables {
        let may: (bool, bool, bool, bool, bool) = sqlx::query_as(
            "SELECT has_table_privilege($1, 'SELECT'), has_table_privilege($1, 'INSERT'),
                    has_any_column_privilege($1, 'UPDATE'), has_table_privilege($1, 'DELETE'),
                    has_table_privilege($1, 'TRUNCATE')",
        )
        .bind(table)
        .fetch_one(&mut *session)
        .await
        .unwrap();
        assert_eq!(may, (true, false, false, false, false), "{table}");
    }
    drop(session);
    attempt(&audit, "SELECT * FROM app.audit_clock_shifted, app.now()")
        .await
        .unwrap();
    let written = attempt(&audit, "DELETE FROM app.outbox").await;
    assert!(written.is_err());
}

#[tokio::test]
async fn data_and_console_get_nothing_that_was_not_granted_by_name() {
    let db = Db::fresh().await;
    attempt(
        &db.owner().await,
        "CREATE TABLE ledger.later (x int);
         CREATE FUNCTION app.later() RETURNS int LANGUAGE sql RETURN 1",
    )
    .await
    .unwrap();
    for role in [Role::Data, Role::Console] {
        let database = db.connect(role).await;
        for statement in [
            "SELECT * FROM ledger.later",
            "SELECT app.later()",
            "DELETE FROM app.revision",
            "UPDATE app.revision SET topic = 'x'",
            "UPDATE app.outbox SET body = '{}'",
            "UPDATE app.outbox SET seq = 1",
            "INSERT INTO app.migration (version, name, checksum) VALUES (1, 'x', '')",
        ] {
            is_forbidden(&database, statement).await;
        }
    }
    let console = db.connect(Role::Console).await;
    is_forbidden(&console, "DELETE FROM app.outbox").await;
}

#[tokio::test]
async fn everything_belongs_to_the_owner_and_nothing_to_the_public() {
    let db = Db::fresh().await;
    let owner = db.owner().await;
    let mut session = owner.session().await.unwrap();
    let strangers: Vec<String> = sqlx::query_scalar(
        "SELECT c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
         WHERE n.nspname IN ('app', 'ledger') AND c.relowner <> 'trunkline_owner'::regrole
         UNION ALL
         SELECT p.proname::text FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
         WHERE n.nspname IN ('app', 'ledger') AND (p.proowner <> 'trunkline_owner'::regrole
            OR has_function_privilege('public', p.oid, 'EXECUTE'))
         UNION ALL
         SELECT n.nspname::text FROM pg_namespace n
         WHERE n.nspname IN ('app', 'ledger', 'public')
           AND (n.nspname <> 'public' AND n.nspowner <> 'trunkline_owner'::regrole
            OR has_schema_privilege('public', n.oid, 'USAGE')
            OR has_schema_privilege('public', n.oid, 'CREATE'))
         UNION ALL
         SELECT d.datname::text FROM pg_database d WHERE d.datname = current_database()
           AND (has_database_privilege('public', d.oid, 'CONNECT')
            OR has_database_privilege('public', d.oid, 'TEMPORARY'))",
    )
    .fetch_all(&mut *session)
    .await
    .unwrap();
    assert_eq!(strangers, Vec::<String>::new());
}

#[tokio::test]
async fn the_pool_keeps_its_limits_in_the_session() {
    let db = Db::fresh().await;
    let settings = PoolSettings::named("test");
    let database = db.connect_with(Role::Data, settings).await;
    let mut session = database.session().await.unwrap();
    for (setting, value) in [
        ("statement_timeout", "5s"),
        ("lock_timeout", "2s"),
        ("idle_in_transaction_session_timeout", "10s"),
        ("TimeZone", "UTC"),
        ("synchronous_commit", "on"),
        ("application_name", "test"),
    ] {
        let set: String = sqlx::query_scalar("SELECT current_setting($1)")
            .bind(setting)
            .fetch_one(&mut *session)
            .await
            .unwrap();
        assert_eq!(set, value, "{setting}");
    }
}
