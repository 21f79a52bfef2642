//! A server of a test's own breaks in every way and comes back.

use std::time::{Duration, Instant};

use sqlx::{Connection, PgConnection};
use trunkline_db::{Database, DbError, Role, revision};
use trunkline_testkit::{OwnSettings, Postgres, privileged};

const SOON: Duration = Duration::from_secs(10);

async fn write(database: &Database) -> Result<i64, DbError> {
    let mut tx = database.begin().await?;
    let done = revision::bump(&mut tx, "test").await;
    tx.finish(done).await
}

async fn setting(postgres: &Postgres, name: &str) -> String {
    let url = postgres.superuser_url();
    let mut superuser = PgConnection::connect(url.reveal()).await.unwrap();
    sqlx::query_scalar("SELECT current_setting($1)")
        .bind(name)
        .fetch_one(&mut superuser)
        .await
        .unwrap()
}

#[tokio::test]
async fn its_settings_are_the_ones_asked_for() {
    let durable = Postgres::own(OwnSettings {
        durable: true,
        max_connections: 17,
        extra_config: vec![("work_mem".to_owned(), "3MB".to_owned())],
        disk_limit_mb: None,
    })
    .await;
    assert_eq!(setting(&durable, "fsync").await, "on");
    assert_eq!(setting(&durable, "synchronous_commit").await, "on");
    assert_eq!(setting(&durable, "full_page_writes").await, "on");
    assert_eq!(setting(&durable, "max_connections").await, "17");
    assert_eq!(setting(&durable, "work_mem").await, "3MB");
    let careless = Postgres::own(OwnSettings::default()).await;
    assert_eq!(setting(&careless, "fsync").await, "off");
}

#[tokio::test]
async fn what_was_committed_survives_a_kill_of_the_postmaster() {
    let postgres = Postgres::own(OwnSettings {
        durable: true,
        ..OwnSettings::default()
    })
    .await;
    let data = postgres.connect(Role::Data).await;
    for expected in 1..=3 {
        assert_eq!(write(&data).await, Ok(expected));
        postgres.kill_9_postmaster();
        assert!(!postgres.runs());
        postgres.start();
        assert!(postgres.runs());
    }
    assert_eq!(write(&data).await, Ok(4));
}

#[tokio::test]
async fn it_stops_both_ways_and_starts_again() {
    let postgres = Postgres::own(OwnSettings::default()).await;
    let data = postgres.connect(Role::Data).await;
    assert_eq!(write(&data).await, Ok(1));
    postgres.stop_fast();
    assert!(!postgres.runs());
    postgres.start();
    assert_eq!(write(&data).await, Ok(2));
    postgres.stop_immediate();
    assert!(!postgres.runs());
    postgres.start();
    assert_eq!(write(&data).await, Ok(3));
    assert!(postgres.log_tail().contains("ready to accept connections"));
}

#[tokio::test]
async fn a_killed_backend_takes_the_others_along_and_the_server_recovers() {
    let postgres = Postgres::own(OwnSettings::default()).await;
    let url = postgres.direct_url(Role::Data);
    let mut victim = PgConnection::connect(url.reveal()).await.unwrap();
    let mut bystander = PgConnection::connect(url.reveal()).await.unwrap();
    let pid: i32 = sqlx::query_scalar("SELECT pg_backend_pid()")
        .fetch_one(&mut victim)
        .await
        .unwrap();
    postgres.kill_9_backend(u32::try_from(pid).unwrap());
    let thrown_out = async { while bystander.ping().await.is_ok() {} };
    tokio::time::timeout(SOON, thrown_out).await.unwrap();
    let back = async { while PgConnection::connect(url.reveal()).await.is_err() {} };
    tokio::time::timeout(SOON, back).await.unwrap();
}

#[tokio::test]
async fn a_paused_server_answers_no_client_until_it_resumes() {
    let postgres = Postgres::own(OwnSettings::default()).await;
    let url = postgres.direct_url(Role::Data);
    let mut open = PgConnection::connect(url.reveal()).await.unwrap();
    postgres.pause();
    assert!(postgres.runs(), "it is there, only frozen");
    let limit = Duration::from_millis(200);
    let attempt = tokio::time::timeout(limit, PgConnection::connect(url.reveal())).await;
    assert!(attempt.is_err(), "no answer comes");
    {
        let mut question = Box::pin(open.ping());
        let waited = tokio::time::timeout(limit, &mut question).await;
        assert!(waited.is_err(), "no answer comes");
        postgres.resume();
        question.await.unwrap();
    }
    open.ping().await.unwrap();
}

#[tokio::test]
async fn a_paused_server_can_be_killed_and_started() {
    let postgres = Postgres::own(OwnSettings::default()).await;
    let data = postgres.connect(Role::Data).await;
    assert_eq!(write(&data).await, Ok(1));
    postgres.pause();
    postgres.kill_9_postmaster();
    postgres.start();
    assert_eq!(write(&data).await, Ok(2));
    postgres.pause();
    postgres.stop_immediate();
    postgres.start();
    assert_eq!(write(&data).await, Ok(3));
}

#[tokio::test]
async fn a_slow_server_is_slow_through_the_wire_only() {
    let postgres = Postgres::own(OwnSettings::default()).await;
    let slowed = postgres.url(Role::Data);
    let direct = postgres.direct_url(Role::Data);
    let mut through = PgConnection::connect(slowed.reveal()).await.unwrap();
    let mut past = PgConnection::connect(direct.reveal()).await.unwrap();
    postgres.slow(Duration::from_millis(400));
    let started = Instant::now();
    through.ping().await.unwrap();
    assert!(started.elapsed() >= Duration::from_millis(400));
    let started = Instant::now();
    past.ping().await.unwrap();
    assert!(started.elapsed() < Duration::from_millis(400));
    postgres.slow(Duration::ZERO);
    let started = Instant::now();
    through.ping().await.unwrap();
    assert!(started.elapsed() < Duration::from_millis(400));
}

#[tokio::test]
async fn a_full_disk_is_unavailable_and_loses_nothing_that_was_committed() {
    if !privileged().await {
        return;
    }
    let postgres = Postgres::own(OwnSettings {
        durable: true,
        disk_limit_mb: Some(96),
        ..OwnSettings::default()
    })
    .await;
    let data = postgres.connect(Role::Data).await;
    assert_eq!(write(&data).await, Ok(1));
    let owner = postgres.connect(Role::Owner).await;
    let fill = async || -> Result<(), DbError> {
        let mut session = owner.session().await?;
        let statement = "CREATE TABLE app.fill AS
            SELECT repeat(md5(g::text), 30) FROM generate_series(1, 200000) AS g";
        sqlx::raw_sql(statement).execute(&mut *session).await?;
        Ok(())
    };
    let error = fill().await.unwrap_err();
    assert!(matches!(error, DbError::Unavailable(_)), "{error:?}");
    let back = async { while write(&data).await.is_err() {} };
    tokio::time::timeout(SOON, back).await.unwrap();
    let mut session = data.session().await.unwrap();
    assert!(revision::current(&mut session, "test").await.unwrap() >= 2);
}
