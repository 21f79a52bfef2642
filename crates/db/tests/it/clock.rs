//! The clock in SQL.

use std::time::Duration;

use sqlx::types::Uuid;
use trunkline_db::{Role, database_now, from_sql_time, to_sql_time};
use trunkline_testkit::{Db, SystemClock, test_clock};
use trunkline_types::{Clock, RANDOM_BYTES, Timestamp, uuid_v7};

#[tokio::test]
async fn a_shift_moves_the_clock_for_other_sessions_at_once() {
    let db = Db::fresh().await;
    let data = db.connect(Role::Data).await;
    let mut session = data.session().await.unwrap();
    let before = database_now(&mut session).await.unwrap();
    db.shift_clock(3_600).await;
    let after = database_now(&mut session).await.unwrap();
    let seconds = after.seconds() - before.seconds();
    assert!((3_600..3_660).contains(&seconds), "{seconds}");
    db.shift_clock(-7_200).await;
    let back = database_now(&mut session).await.unwrap();
    let seconds = before.seconds() - back.seconds();
    assert!((3_540..=3_600).contains(&seconds), "{seconds}");
}

#[tokio::test]
async fn the_clock_is_the_machines_and_stands_still_within_a_transaction() {
    let db = Db::fresh().await;
    let data = db.connect(Role::Data).await;
    let machine = SystemClock.now();
    let mut tx = data.begin().await.unwrap();
    let first = database_now(&mut tx).await.unwrap();
    tokio::time::sleep(Duration::from_millis(20)).await;
    let second = database_now(&mut tx).await.unwrap();
    assert_eq!(first, second);
    assert!((first.seconds() - machine.seconds()).abs() <= 1);
    tx.rollback().await.unwrap();
}

#[tokio::test]
async fn a_shifted_clock_is_an_audit_finding_until_it_is_put_back() {
    let db = Db::fresh().await;
    let audit = db.connect(Role::Audit).await;
    let mut session = audit.session().await.unwrap();
    let findings = "SELECT extract(epoch FROM shift)::bigint FROM app.audit_clock_shifted";
    for (seconds, found) in [(0, vec![]), (1, vec![1]), (1, vec![2]), (-2, vec![])] {
        db.shift_clock(seconds).await;
        let shifts: Vec<i64> = sqlx::query_scalar(findings)
            .fetch_all(&mut *session)
            .await
            .unwrap();
        assert_eq!(shifts, found, "after {seconds}");
    }
}

#[tokio::test]
async fn the_shipped_clock_is_put_into_the_statements_that_ask_for_it() {
    let db = Db::fresh().await;
    let data = db.connect(Role::Data).await;
    let mut session = data.session().await.unwrap();
    let plan: Vec<String> = sqlx::query_scalar(
        "EXPLAIN (VERBOSE, COSTS OFF) SELECT 1 FROM app.outbox WHERE created_at < app.now()",
    )
    .fetch_all(&mut *session)
    .await
    .unwrap();
    let plan = plan.join("\n");
    assert!(plan.contains("(outbox.created_at < now())"), "{plan}");
}

#[tokio::test]
async fn the_floor_of_an_instant_is_its_lowest_uuid_in_rust_too() {
    let db = Db::fresh().await;
    let data = db.connect(Role::Data).await;
    let mut session = data.session().await.unwrap();
    for zone in ["UTC", "America/New_York", "Asia/Kolkata"] {
        sqlx::query("SELECT set_config('timezone', $1, false)")
            .bind(zone)
            .execute(&mut *session)
            .await
            .unwrap();
        for micros in [
            0,
            1,
            999,
            1_000,
            1_001,
            -1,
            -62_000_000_000_000_000,
            1_700_000_000_000_000,
            1_700_000_000_123_999,
            1_711_846_800_000_000, // two hours that New York calls by the same name
            253_402_300_799_999_999,
        ] {
            let moment = Timestamp::from_micros(micros);
            let floor: Uuid = sqlx::query_scalar("SELECT app.uuid_v7_floor($1)")
                .bind(to_sql_time(moment))
                .fetch_one(&mut *session)
                .await
                .unwrap();
            assert_eq!(floor, uuid_v7(moment, [0; RANDOM_BYTES]), "{micros} {zone}");
        }
    }
}

#[tokio::test]
async fn a_moment_survives_the_way_through_the_database() {
    let db = Db::fresh().await;
    let data = db.connect(Role::Data).await;
    let mut session = data.session().await.unwrap();
    let clock = test_clock();
    clock.shift_seconds(-1_000_000_000);
    for moment in [
        clock.now(),
        Timestamp::from_micros(-1),
        Timestamp::from_micros(1),
    ] {
        let back = sqlx::query_scalar("SELECT $1::timestamptz")
            .bind(to_sql_time(moment))
            .fetch_one(&mut *session)
            .await
            .unwrap();
        assert_eq!(from_sql_time(back), moment);
    }
}
