//! A reader who follows a revision misses nothing.

use std::time::Duration;

use sqlx::{Connection, PgConnection};
use trunkline_db::{Role, revision};
use trunkline_testkit::Db;

#[tokio::test]
async fn a_revision_counts_from_one_and_a_rollback_gives_its_number_back() {
    let db = Db::fresh().await;
    let data = db.connect(Role::Data).await;
    let mut session = data.session().await.unwrap();
    assert_eq!(revision::current(&mut session, "keys").await, Ok(0));
    for expected in 1..=3 {
        let mut tx = data.begin().await.unwrap();
        assert_eq!(revision::bump(&mut tx, "keys").await, Ok(expected));
        tx.commit().await.unwrap();
        let mut lost = data.begin().await.unwrap();
        revision::bump(&mut lost, "keys").await.unwrap();
        lost.rollback().await.unwrap();
    }
    assert_eq!(revision::current(&mut session, "keys").await, Ok(3));
    assert_eq!(revision::current(&mut session, "catalog").await, Ok(0));
}

/// Two writers, the second of which would like to commit first, and a reader who looks whenever
/// something has happened. Gives what the reader has seen.
async fn two_writers_and_a_reader(db: &Db, next_number: &'static str) -> Vec<i64> {
    let mut writers = Vec::new();
    for _ in 0..2 {
        let url = db.url(Role::Owner);
        writers.push(PgConnection::connect(url.reveal()).await.unwrap());
    }
    let [mut slow, mut quick] = <[PgConnection; 2]>::try_from(writers).unwrap();
    let mut reader = Reader::new(db).await;

    sqlx::raw_sql("BEGIN").execute(&mut slow).await.unwrap();
    sqlx::raw_sql(next_number).execute(&mut slow).await.unwrap();
    let quick_one = async move {
        sqlx::raw_sql("BEGIN").execute(&mut quick).await.unwrap();
        sqlx::raw_sql(next_number)
            .execute(&mut quick)
            .await
            .unwrap();
        sqlx::raw_sql("COMMIT").execute(&mut quick).await.unwrap();
    };
    let mut quick_one = std::pin::pin!(quick_one);
    // Either it gets through, or it has to wait for the slow one.
    let got_through = tokio::select! {
        () = &mut quick_one => true,
        () = reader.waits_for_lock() => false,
    };
    reader.look().await;
    sqlx::raw_sql("COMMIT").execute(&mut slow).await.unwrap();
    reader.look().await;
    if !got_through {
        quick_one.await;
    }
    reader.look().await;
    reader.seen
}

struct Reader {
    connection: PgConnection,
    seen: Vec<i64>,
}

impl Reader {
    async fn new(db: &Db) -> Self {
        let url = db.url(Role::Owner);
        Self {
            connection: PgConnection::connect(url.reveal()).await.unwrap(),
            seen: Vec::new(),
        }
    }

    async fn waits_for_lock(&mut self) {
        let waiting = "SELECT count(*) FROM pg_stat_activity
             WHERE datname = current_database() AND wait_event_type = 'Lock'";
        loop {
            let count: i64 = sqlx::query_scalar(waiting)
                .fetch_one(&mut self.connection)
                .await
                .unwrap();
            if count > 0 {
                return;
            }
        }
    }

    async fn look(&mut self) {
        let last = self.seen.last().copied().unwrap_or(0);
        let newer: Vec<i64> =
            sqlx::query_scalar("SELECT number FROM app.followed WHERE number > $1 ORDER BY number")
                .bind(last)
                .fetch_all(&mut self.connection)
                .await
                .unwrap();
        self.seen.extend(newer);
    }
}

async fn with_table(statement: &'static str) -> Db {
    let db = Db::fresh().await;
    let owner = db.owner().await;
    let mut session = owner.session().await.unwrap();
    sqlx::raw_sql(statement)
        .execute(&mut *session)
        .await
        .unwrap();
    db
}

#[tokio::test]
async fn a_reader_that_follows_the_counter_sees_every_row() {
    let db = with_table("CREATE TABLE app.followed (number bigint PRIMARY KEY)").await;
    let seen = two_writers_and_a_reader(
        &db,
        "WITH counter AS (
             INSERT INTO app.revision AS r (topic, value) VALUES ('followed', 1)
             ON CONFLICT (topic) DO UPDATE SET value = r.value + 1 RETURNING r.value)
         INSERT INTO app.followed SELECT value FROM counter",
    )
    .await;
    assert_eq!(seen, [1, 2]);
}

/// The contrast, and the reason for the table: this is what a sequence would do.
#[tokio::test]
async fn a_reader_that_follows_a_sequence_misses_a_row() {
    let db = with_table("CREATE TABLE app.followed (number bigserial PRIMARY KEY)").await;
    let seen = two_writers_and_a_reader(&db, "INSERT INTO app.followed DEFAULT VALUES").await;
    assert_eq!(seen, [2]);
}

#[tokio::test]
async fn a_reader_misses_nothing_of_many_writers() {
    let db = with_table(
        "CREATE TABLE app.followed (number bigint PRIMARY KEY);
         GRANT INSERT ON app.followed TO trunkline_data",
    )
    .await;
    let data = db.connect(Role::Data).await;
    let write = async |pause: u64| {
        for round in 0..10 {
            let mut tx = data.begin().await.unwrap();
            let number = revision::bump(&mut tx, "followed").await.unwrap();
            sqlx::query("INSERT INTO app.followed VALUES ($1)")
                .bind(number)
                .execute(&mut *tx)
                .await
                .unwrap();
            tokio::time::sleep(Duration::from_millis((pause + round) % 3)).await;
            tx.commit().await.unwrap();
        }
    };
    let mut reader = Reader::new(&db).await;
    let read = async {
        while reader.seen.len() < 40 {
            reader.look().await;
        }
    };
    let writers = async { tokio::join!(write(0), write(1), write(2), write(3)) };
    let all = Box::pin(async { tokio::join!(writers, read) });
    tokio::time::timeout(Duration::from_secs(20), all)
        .await
        .expect("the reader sees all forty");
    assert_eq!(reader.seen, (1..=40).collect::<Vec<i64>>());
}
