//! One database per test.

use sqlx::{Connection, PgConnection};
use trunkline_db::{Role, missing_migrations, revision};
use trunkline_testkit::{Db, SystemClock, random_bytes, test_clock};
use trunkline_types::Clock;

#[tokio::test]
async fn a_fresh_database_is_migrated_and_shares_nothing_with_another() {
    let (one, two) = tokio::join!(Db::fresh(), Db::fresh());
    let data = one.connect(Role::Data).await;
    let mut tx = data.begin().await.unwrap();
    revision::bump(&mut tx, "test").await.unwrap();
    tx.commit().await.unwrap();
    one.shift_clock(60).await;

    let other = two.connect(Role::Data).await;
    let mut session = other.session().await.unwrap();
    assert_eq!(missing_migrations(&mut session).await, Ok(Vec::new()));
    assert_eq!(revision::current(&mut session, "test").await, Ok(0));
    let shifted: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM (SELECT) AS one WHERE app.now() <> pg_catalog.now()",
    )
    .fetch_one(&mut *session)
    .await
    .unwrap();
    assert_eq!(shifted, 0);
}

#[tokio::test]
async fn many_databases_can_be_made_at_once() {
    let (a, b, c, d) = tokio::join!(Db::fresh(), Db::fresh(), Db::fresh(), Db::fresh());
    let names: std::collections::BTreeSet<&str> =
        [&a, &b, &c, &d].iter().map(|db| db.name()).collect();
    assert_eq!(names.len(), 4);
}

#[tokio::test]
async fn a_database_is_dropped_with_its_handle_despite_open_connections() {
    let stays = Db::fresh().await;
    let goes = Db::fresh().await;
    let name = goes.name().to_owned();
    let data = goes.connect(Role::Data).await;
    let session = data.session().await.unwrap();
    drop(goes);
    let mut superuser = PgConnection::connect(stays.superuser_url().reveal())
        .await
        .unwrap();
    let left: i64 = sqlx::query_scalar("SELECT count(*) FROM pg_database WHERE datname = $1")
        .bind(name)
        .fetch_one(&mut superuser)
        .await
        .unwrap();
    assert_eq!(left, 0);
    drop(session);
}

#[tokio::test]
async fn an_empty_database_has_no_schema_in_it() {
    let empty = Db::empty().await;
    let mut migrator = PgConnection::connect(empty.migrator_url().reveal())
        .await
        .unwrap();
    let schemas: i64 =
        sqlx::query_scalar("SELECT count(*) FROM pg_namespace WHERE nspname IN ('app', 'ledger')")
            .fetch_one(&mut migrator)
            .await
            .unwrap();
    assert_eq!(schemas, 0);
}

#[test]
fn the_test_clock_is_the_machines_until_it_is_moved() {
    let clock = test_clock();
    assert!((clock.now().seconds() - SystemClock.now().seconds()).abs() <= 1);
    clock.shift_seconds(3_600);
    let ahead = clock.now().seconds() - SystemClock.now().seconds();
    assert!((3_599..=3_601).contains(&ahead), "{ahead}");
}

#[test]
fn random_bytes_are_not_the_same_twice() {
    assert_ne!(random_bytes::<16>(), random_bytes::<16>());
}
