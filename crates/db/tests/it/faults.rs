//! Real faults, in the words that callers act on.

use std::time::{Duration, Instant};

use sqlx::PgConnection;
use trunkline_db::{
    Database, DbError, PoolSettings, Role, connect, connect_lazily, revision, within,
};
use trunkline_testkit::{Db, OwnSettings, Postgres};
use trunkline_types::Secret;

fn impatient() -> PoolSettings {
    let mut settings = PoolSettings::named("impatient");
    settings.acquire_timeout = Duration::from_secs(1);
    settings.statement_timeout = Duration::from_millis(500);
    settings.lock_timeout = Duration::from_millis(100);
    settings.answer_timeout = Duration::from_secs(1);
    settings
}

async fn say(connection: &mut PgConnection, statement: &'static str) -> Result<(), DbError> {
    sqlx::raw_sql(statement).execute(connection).await?;
    Ok(())
}

async fn begin_fails(database: &Database) -> DbError {
    let started = Instant::now();
    let error = database.begin().await.unwrap_err();
    assert!(started.elapsed() < Duration::from_secs(5), "503 comes soon");
    error
}

fn code(error: &DbError) -> &str {
    let (DbError::Unavailable(cause)
    | DbError::Conflict(cause)
    | DbError::UnknownCommit(cause)
    | DbError::Refused { cause, .. }
    | DbError::Bug(cause)) = error;
    cause.code.as_deref().unwrap_or("")
}

#[tokio::test]
async fn a_stopped_server_is_unavailable_until_it_is_back() {
    let postgres = Postgres::own(OwnSettings::default()).await;
    let data = postgres.connect_with(Role::Data, impatient()).await;
    let mut tx = data.begin().await.unwrap();
    postgres.stop_fast();
    let error = say(&mut tx, "SELECT 1").await.unwrap_err();
    assert!(matches!(error, DbError::Unavailable(_)), "{error:?}");
    let error = begin_fails(&data).await;
    assert!(matches!(error, DbError::Unavailable(_)), "{error:?}");
    postgres.start();
    data.begin().await.unwrap().rollback().await.unwrap();
}

#[tokio::test]
async fn a_killed_server_is_unavailable_until_it_is_back() {
    let postgres = Postgres::own(OwnSettings::default()).await;
    let data = postgres.connect_with(Role::Data, impatient()).await;
    let mut tx = data.begin().await.unwrap();
    postgres.kill_9_postmaster();
    let error = say(&mut tx, "SELECT 1").await.unwrap_err();
    assert!(matches!(error, DbError::Unavailable(_)), "{error:?}");
    let error = begin_fails(&data).await;
    assert!(matches!(error, DbError::Unavailable(_)), "{error:?}");
    postgres.start();
    data.begin().await.unwrap().rollback().await.unwrap();
}

#[tokio::test]
async fn a_killed_backend_drops_all_connections_for_a_moment() {
    let postgres = Postgres::own(OwnSettings::default()).await;
    let data = postgres.connect_with(Role::Data, impatient()).await;
    let mut other = PoolSettings::named("victim");
    other.max_connections = 1;
    let victim = postgres.connect_with(Role::Data, other).await;
    let mut bystander = data.begin().await.unwrap();
    let mut struck = victim.begin().await.unwrap();
    postgres.kill_9_one_backend("victim").await;
    for tx in [&mut struck, &mut bystander] {
        let error = loop {
            if let Err(error) = say(tx, "SELECT 1").await {
                break error;
            }
        };
        assert!(matches!(error, DbError::Unavailable(_)), "{error:?}");
    }
    let recovered = async {
        while data.begin().await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), recovered)
        .await
        .unwrap();
}

#[tokio::test]
async fn a_frozen_server_is_unavailable_within_our_own_limit() {
    let postgres = Postgres::own(OwnSettings::default()).await;
    let data = postgres.connect_with(Role::Data, impatient()).await;
    let mut tx = data.begin().await.unwrap();
    postgres.pause();
    let statement = sqlx::raw_sql("SELECT 1").execute(&mut *tx);
    let error = within(Duration::from_millis(200), statement)
        .await
        .unwrap_err();
    assert!(matches!(error, DbError::Unavailable(_)), "{error:?}");
    assert!(error.to_string().contains("no answer within 200 ms"));
    let error = begin_fails(&data).await;
    assert!(matches!(error, DbError::Unavailable(_)), "{error:?}");
    postgres.resume();
    drop(tx);
    data.begin().await.unwrap().rollback().await.unwrap();
}

#[tokio::test]
async fn a_line_that_is_cut_refused_or_dead_is_unavailable() {
    let postgres = Postgres::own(OwnSettings::default()).await;
    let data = postgres.connect_with(Role::Data, impatient()).await;
    let mut tx = data.begin().await.unwrap();
    postgres.wire().cut();
    let error = say(&mut tx, "SELECT 1").await.unwrap_err();
    assert!(matches!(error, DbError::Unavailable(_)), "{error:?}");
    data.begin().await.unwrap().rollback().await.unwrap();

    postgres.wire().refuse();
    let error = begin_fails(&data).await;
    assert!(matches!(error, DbError::Unavailable(_)), "{error:?}");
    postgres.wire().pass();
    data.begin().await.unwrap().rollback().await.unwrap();

    postgres.wire().black_hole();
    let error = begin_fails(&data).await;
    assert!(matches!(error, DbError::Unavailable(_)), "{error:?}");
    postgres.wire().pass();
    data.begin().await.unwrap().rollback().await.unwrap();
}

#[tokio::test]
async fn a_statement_that_takes_too_long_is_unavailable() {
    let db = Db::fresh().await;
    let data = db.connect_with(Role::Data, impatient()).await;
    let mut session = data.session().await.unwrap();
    let error = say(&mut session, "SELECT pg_sleep(5)").await.unwrap_err();
    assert!(matches!(error, DbError::Unavailable(_)), "{error:?}");
    assert_eq!(code(&error), "57014");
}

#[tokio::test]
async fn an_idle_transaction_is_thrown_out_and_that_is_unavailable() {
    let db = Db::fresh().await;
    let mut settings = impatient();
    settings.idle_in_transaction_timeout = Duration::from_millis(50);
    let data = db.connect_with(Role::Data, settings).await;
    let mut tx = data.begin().await.unwrap();
    tokio::time::sleep(Duration::from_millis(200)).await;
    let error = say(&mut tx, "SELECT 1").await.unwrap_err();
    assert!(matches!(error, DbError::Unavailable(_)), "{error:?}");
}

#[tokio::test]
async fn a_full_server_or_pool_is_unavailable() {
    let postgres = Postgres::own(OwnSettings {
        max_connections: 5,
        extra_config: vec![
            ("superuser_reserved_connections".to_owned(), "1".to_owned()),
            ("max_wal_senders".to_owned(), "0".to_owned()),
        ],
        ..OwnSettings::default()
    })
    .await;
    let data = postgres.connect_with(Role::Data, impatient()).await;
    let mut taken = Vec::new();
    // A machine that is out of breath may be late for an impatient pool; that is not what is asked.
    for _ in 0..100 {
        taken.extend(data.session().await);
        if taken.len() == 4 {
            break;
        }
    }
    assert_eq!(taken.len(), 4);
    let error = begin_fails(&data).await;
    assert!(matches!(error, DbError::Unavailable(_)), "{error:?}");
    let error = connect(&postgres.url(Role::Data), Role::Data, impatient())
        .await
        .unwrap_err();
    assert!(matches!(error, DbError::Unavailable(_)), "{error:?}");
    assert_eq!(code(&error), "53300");
}

#[tokio::test]
async fn a_lock_and_a_lost_race_are_conflicts() {
    let db = Db::fresh().await;
    let owner = db.connect_with(Role::Owner, impatient()).await;
    let mut one = owner.begin().await.unwrap();
    let mut two = owner.begin().await.unwrap();
    say(&mut one, "CREATE TABLE app.t (id int PRIMARY KEY, x int)")
        .await
        .unwrap();
    say(&mut one, "INSERT INTO app.t VALUES (1, 0), (2, 0)")
        .await
        .unwrap();
    one.commit().await.unwrap();

    let mut one = owner.begin().await.unwrap();
    say(&mut one, "UPDATE app.t SET x = 1 WHERE id = 1")
        .await
        .unwrap();
    let waited = say(&mut two, "UPDATE app.t SET x = 2 WHERE id = 1")
        .await
        .unwrap_err();
    assert_eq!(code(&waited), "55P03");
    assert!(matches!(waited, DbError::Conflict(_)), "{waited:?}");
    two.rollback().await.unwrap();

    one.rollback().await.unwrap();

    let mut one = owner.begin().await.unwrap();
    let mut two = owner.begin().await.unwrap();
    let serializable = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ";
    say(&mut one, serializable).await.unwrap();
    say(&mut one, "SELECT * FROM app.t").await.unwrap();
    say(&mut two, "UPDATE app.t SET x = 3 WHERE id = 1")
        .await
        .unwrap();
    two.commit().await.unwrap();
    let lost = say(&mut one, "UPDATE app.t SET x = 4 WHERE id = 1")
        .await
        .unwrap_err();
    assert_eq!(code(&lost), "40001");
    assert!(matches!(lost, DbError::Conflict(_)), "{lost:?}");
    one.rollback().await.unwrap();
}

#[tokio::test]
async fn a_deadlock_is_a_conflict() {
    let db = Db::fresh().await;
    let mut patient = impatient();
    patient.lock_timeout = Duration::from_secs(10);
    patient.statement_timeout = Duration::from_secs(10);
    let data = db.connect_with(Role::Data, patient).await;
    let mut one = data.begin().await.unwrap();
    let mut two = data.begin().await.unwrap();
    revision::bump(&mut one, "a").await.unwrap();
    revision::bump(&mut two, "b").await.unwrap();
    // Topics in another order than the alphabet's.
    let (first, second) =
        tokio::join!(revision::bump(&mut one, "b"), revision::bump(&mut two, "a"));
    let error = first.err().or(second.err()).unwrap();
    assert_eq!(code(&error), "40P01");
    assert!(matches!(error, DbError::Conflict(_)), "{error:?}");
}

#[tokio::test]
async fn a_broken_constraint_and_a_missing_right_are_refusals() {
    let db = Db::fresh().await;
    let data = db.connect(Role::Data).await;
    let mut session = data.session().await.unwrap();
    let twice = "INSERT INTO app.revision VALUES ('twice', 1)";
    say(&mut session, twice).await.unwrap();
    let error = say(&mut session, twice).await.unwrap_err();
    assert_eq!(error.constraint(), Some("revision_pkey"));
    let error = say(
        &mut session,
        "INSERT INTO app.revision VALUES ('negative', -1)",
    )
    .await
    .unwrap_err();
    assert_eq!(error.constraint(), Some("revision_value_positive"));
    let error = say(&mut session, "DELETE FROM app.revision")
        .await
        .unwrap_err();
    assert!(
        matches!(
            error,
            DbError::Refused {
                constraint: None,
                ..
            }
        ),
        "{error:?}"
    );
}

#[tokio::test]
async fn wrong_sql_is_a_bug() {
    let db = Db::fresh().await;
    let data = db.connect(Role::Data).await;
    let mut session = data.session().await.unwrap();
    for statement in ["SELEKT", "SELECT * FROM app.nothing", "SELECT 1 / 0"] {
        let error = say(&mut session, statement).await.unwrap_err();
        assert!(matches!(error, DbError::Bug(_)), "{statement}: {error:?}");
    }
}

#[tokio::test]
async fn no_error_tells_the_password_or_a_row() {
    let db = Db::fresh().await;
    let good = db.url(Role::Data);
    let with_password = |text: &str| Secret::new(text.replace("test_data@", "test_data:canary@"));
    let port = good.reveal().split([':', '/']).nth(4).unwrap().to_owned();
    let urls = [
        with_password(&good.reveal().replace(&port, "1")),
        with_password(&good.reveal().replace("/test_", "/nowhere_")),
        with_password(&good.reveal().replace("127.0.0.1", "nowhere.invalid")),
        with_password(&good.reveal().replace("sslmode=disable", "sslmode=require")),
        Secret::new(good.reveal().replace("test_data", "nobody:canary")),
    ];
    for url in &urls {
        let error = connect(url, Role::Data, impatient()).await.unwrap_err();
        let words = format!("{error} {error:?}");
        assert!(!words.contains("canary"), "{words}");
        assert!(matches!(error, DbError::Unavailable(_)), "{words}");
    }
    let database = connect_lazily(&urls[0], Role::Data, impatient()).unwrap();
    let error = database.begin().await.unwrap_err();
    let words = format!("{database:?} {error} {error:?}");
    assert!(!words.contains("canary"), "{words}");

    let data = db.connect(Role::Data).await;
    let mut session = data.session().await.unwrap();
    let twice = "INSERT INTO app.revision VALUES ('canary', 1)";
    say(&mut session, twice).await.unwrap();
    let error = say(&mut session, twice).await.unwrap_err();
    let words = format!("{error} {error:?}");
    assert!(!words.contains("canary"), "{words}");
}
