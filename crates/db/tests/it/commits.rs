//! Whether a commit happened, and who says so.

use std::time::Duration;

use trunkline_db::{Database, DbError, PoolSettings, Role, Tx, revision};
use trunkline_testkit::{Db, OwnSettings, Postgres};

async fn current(database: &Database) -> i64 {
    let mut session = database.session().await.unwrap();
    revision::current(&mut session, "test").await.unwrap()
}

async fn written(database: &Database) -> Tx {
    let mut tx = database.begin().await.unwrap();
    revision::bump(&mut tx, "test").await.unwrap();
    tx
}

fn impatient() -> PoolSettings {
    let mut settings = PoolSettings::named("test");
    settings.answer_timeout = Duration::from_millis(700);
    settings.acquire_timeout = Duration::from_millis(2_000);
    settings.max_connections = 2;
    settings
}

#[tokio::test]
async fn a_transaction_is_there_after_its_commit_and_gone_after_its_rollback() {
    let db = Db::fresh().await;
    let data = db.connect(Role::Data).await;
    written(&data).await.commit().await.unwrap();
    assert_eq!(current(&data).await, 1);
    written(&data).await.rollback().await.unwrap();
    assert_eq!(current(&data).await, 1);
    drop(written(&data).await);
    // The place of the dropped one is free again, and so is the row it had locked.
    written(&data).await.commit().await.unwrap();
    assert_eq!(current(&data).await, 2);
}

#[tokio::test]
async fn finish_commits_what_went_well_and_rolls_back_what_did_not() {
    let db = Db::fresh().await;
    let data = db.connect(Role::Data).await;
    let well: Result<&str, DbError> = written(&data).await.finish(Ok("well")).await;
    assert_eq!(well, Ok("well"));
    let error = written(&data).await.rollback().await.err();
    assert_eq!(error, None);
    let tx = written(&data).await;
    let wrong = DbError::Conflict(trunkline_db::Cause {
        code: None,
        text: "as a test".to_owned(),
    });
    let badly: Result<&str, DbError> = tx.finish(Err(wrong.clone())).await;
    assert_eq!(badly, Err(wrong));
    assert_eq!(current(&data).await, 1);
}

/// PostgreSQL would answer such a `COMMIT` with `ROLLBACK` and no error.
#[tokio::test]
async fn a_commit_after_a_failed_statement_is_not_called_a_success() {
    let db = Db::fresh().await;
    let data = db.connect(Role::Data).await;
    let mut tx = written(&data).await;
    let failed = sqlx::raw_sql("SELECT 1 / 0").execute(&mut *tx).await;
    drop(failed.unwrap_err());
    let error = tx.commit().await.unwrap_err();
    let DbError::Bug(cause) = &error else {
        panic!("{error:?}");
    };
    assert_eq!(cause.code.as_deref(), Some("25P02"));
    assert_eq!(current(&data).await, 0);
}

/// sqlx does not know that a transaction is open and would let a nested one end it.
#[tokio::test]
async fn a_transaction_ended_by_another_session_is_no_success() {
    let db = Db::fresh().await;
    let data = db.connect(Role::Data).await;
    let mut tx = written(&data).await;
    let nested = sqlx::Connection::begin(&mut *tx).await.unwrap();
    nested.commit().await.unwrap();
    let error = tx.commit().await.unwrap_err();
    assert!(matches!(error, DbError::Bug(_)), "{error:?}");
}

#[tokio::test]
async fn a_deferred_constraint_refuses_at_the_commit_by_name() {
    let db = Db::fresh().await;
    let owner = db.owner().await;
    let mut session = owner.session().await.unwrap();
    sqlx::raw_sql(
        "CREATE TABLE app.parent (id int PRIMARY KEY);
         CREATE TABLE app.child (id int CONSTRAINT child_has_parent
             REFERENCES app.parent DEFERRABLE INITIALLY DEFERRED)",
    )
    .execute(&mut *session)
    .await
    .unwrap();
    let mut tx = owner.begin().await.unwrap();
    sqlx::raw_sql("INSERT INTO app.child VALUES (1)")
        .execute(&mut *tx)
        .await
        .unwrap();
    let error = tx.commit().await.unwrap_err();
    assert_eq!(error.constraint(), Some("child_has_parent"), "{error:?}");
}

#[tokio::test]
async fn when_the_answer_to_a_commit_is_lost_it_is_unknown_and_it_happened() {
    let postgres = Postgres::own(OwnSettings::default()).await;
    let data = postgres.connect(Role::Data).await;
    let tx = written(&data).await;
    postgres.wire().cut_after_commit();
    let error = tx.commit().await.unwrap_err();
    assert!(matches!(error, DbError::UnknownCommit(_)), "{error:?}");
    assert_eq!(postgres.wire().strikes(), 1);
    assert_eq!(current(&data).await, 1);
    // The trap has sprung; the next one gets through.
    written(&data).await.commit().await.unwrap();
    assert_eq!((current(&data).await, postgres.wire().strikes()), (2, 1));
}

#[tokio::test]
async fn when_the_commit_itself_is_lost_it_is_unknown_and_it_did_not_happen() {
    let postgres = Postgres::own(OwnSettings::default()).await;
    let data = postgres.connect(Role::Data).await;
    let tx = written(&data).await;
    postgres.wire().cut_before_commit();
    let error = tx.commit().await.unwrap_err();
    assert!(matches!(error, DbError::UnknownCommit(_)), "{error:?}");
    assert_eq!(postgres.wire().strikes(), 1);
    assert_eq!(current(&data).await, 0);
}

#[tokio::test]
async fn when_the_server_is_frozen_a_commit_ends_all_the_same_and_is_unknown() {
    let postgres = Postgres::own(OwnSettings::default()).await;
    let data = postgres.connect_with(Role::Data, impatient()).await;
    let tx = written(&data).await;
    postgres.pause();
    let started = std::time::Instant::now();
    let error = tx.commit().await.unwrap_err();
    assert!(matches!(error, DbError::UnknownCommit(_)), "{error:?}");
    assert!(started.elapsed() < Duration::from_secs(5));
    postgres.resume();
    // It was in the pipe, so in the end it happened.
    let happened = async {
        while current(&data).await == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(5), happened)
        .await
        .unwrap();
}

#[tokio::test]
async fn when_the_server_is_killed_during_a_commit_it_is_unknown() {
    let postgres = Postgres::own(OwnSettings {
        durable: true,
        ..OwnSettings::default()
    })
    .await;
    let data = postgres.connect(Role::Data).await;
    written(&data).await.commit().await.unwrap();
    let tx = written(&data).await;
    postgres.kill_9_postmaster();
    let error = tx.commit().await.unwrap_err();
    assert!(matches!(error, DbError::UnknownCommit(_)), "{error:?}");
    postgres.start();
    // What was confirmed is there; the outcome of the other one is unknown.
    assert!((1..=2).contains(&current(&data).await));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shutdown_during_a_lone_statement_is_unknown_too() {
    let postgres = Postgres::own(OwnSettings::default()).await;
    let data = postgres.connect(Role::Data).await;
    let mut session = data.session().await.unwrap();
    let slow_write = sqlx::raw_sql("INSERT INTO app.revision SELECT 'test', 1 FROM pg_sleep(10)")
        .execute(&mut *session);
    let stop = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        tokio::task::block_in_place(|| postgres.stop_fast());
    };
    let (outcome, ()) = tokio::join!(slow_write, stop);
    let error = DbError::of_commit(outcome.unwrap_err());
    assert!(matches!(error, DbError::UnknownCommit(_)), "{error:?}");
}

#[tokio::test]
async fn a_pool_gets_its_places_back_from_backends_that_never_answer_again() {
    let postgres = Postgres::own(OwnSettings::default()).await;
    let data = postgres.connect_with(Role::Data, impatient()).await;
    let mut session = data.session().await.unwrap();
    let mut tx = data.begin().await.unwrap();
    for connection in [&mut *session, &mut *tx] {
        let pid: i32 = sqlx::query_scalar("SELECT pg_backend_pid()")
            .fetch_one(connection)
            .await
            .unwrap();
        postgres.pause_backend(u32::try_from(pid).unwrap());
    }
    drop(session);
    let error = tx.rollback().await.unwrap_err();
    assert!(matches!(error, DbError::Unavailable(_)), "{error:?}");
    let all_places = async {
        let first = data.begin().await?;
        let second = data.begin().await?;
        first.rollback().await?;
        second.rollback().await
    };
    all_places.await.unwrap();
}
