//! What recovery reads of packed holds does not grow with what a node has written.

use std::time::Duration;

use serde_json::Value;
use sqlx::{AssertSqlSafe, PgConnection};
use trunkline_ledger::{NodeEpoch, recovery};
use trunkline_types::NodeId;

use crate::test_ledger::{TestLedger, held, request, reserve};

const BATCHES: i64 = 50_000;
/// A few lookups, and far less than the pages of so many batches.
const FEW_BUFFERS: i64 = 300;
const DEAD_AFTER: Duration = Duration::from_secs(120);

/// Epoch 2: a node that is new has epoch 1 before it is registered.
async fn registered(harness: &TestLedger, node: &str) -> NodeEpoch {
    let node = NodeId::new(node).unwrap();
    recovery::register(&harness.data, &node).await.unwrap().0
}

/// Batches of one lane that were written an hour ago and hold nothing.
async fn old_batches(owner: &mut PgConnection, node: &str, count: i64) {
    sqlx::query(
        "INSERT INTO ledger.hold_batch (day, epoch_id, lane, seq, members, opened_at, request_ids, account_ids, key_ids,
             paid, trial, paid_only, terms_ids, lifetimes_ms)
         SELECT (app.now() AT TIME ZONE 'UTC')::date, e.id, 0, n, 0, app.now() - interval '1 hour',
             '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}'
         FROM ledger.node_epoch AS e, generate_series(1, $2) AS n
         WHERE e.node = $1 AND e.swept_at IS NULL",
    )
    .bind(node)
    .bind(count)
    .execute(owner)
    .await
    .unwrap();
}

/// What a statement touches once its tables are known to the connection and it is planned.
async fn buffers(owner: &mut PgConnection, statement: &str) -> i64 {
    for _ in 0..2 {
        sqlx::raw_sql(AssertSqlSafe(statement.to_owned()))
            .execute(&mut *owner)
            .await
            .unwrap();
    }
    let explain = format!("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement}");
    let plan: Value = sqlx::query_scalar(AssertSqlSafe(explain))
        .fetch_one(owner)
        .await
        .unwrap();
    let of = |name: &str| plan[0]["Plan"][name].as_i64().unwrap();
    of("Shared Hit Blocks") + of("Shared Read Blocks")
}

#[tokio::test]
async fn a_node_that_ran_for_long_starts_as_fast_as_one_that_did_not() {
    let harness = TestLedger::new().await;
    let epoch = registered(&harness, "n1").await;
    let database = harness.db.owner().await;
    let mut owner = database.session().await.unwrap();
    old_batches(&mut owner, "n1", BATCHES).await;
    let swept = recovery::sweep(&harness.data, &epoch, DEAD_AFTER).await;
    assert_eq!(swept, Ok(0));
    let watermark = "SELECT seq::text FROM ledger.hold_watermark";
    assert_eq!(
        harness.db.ask(watermark).await,
        [BATCHES.to_string()],
        "one sweep passes all of them"
    );
    for statement in [
        "SELECT * FROM ledger.open_packed_holds('n1', 3, 2147483647)",
        include_str!("../../src/sql/holds_open.sql"),
    ] {
        let touched = buffers(&mut owner, statement).await;
        assert!(touched <= FEW_BUFFERS, "{touched} buffers: {statement}");
    }
    // With statistics of the full table as well as without.
    sqlx::raw_sql("ANALYZE ledger.hold_batch")
        .execute(&mut *owner)
        .await
        .unwrap();
    let open = "SELECT * FROM ledger.open_packed_holds('n1', 3, 2147483647)";
    let touched = buffers(&mut owner, open).await;
    assert!(touched <= FEW_BUFFERS, "{touched} buffers");
    registered(&harness, "n1").await;
    harness.audit().await;
}

#[tokio::test]
async fn a_node_that_does_not_return_is_ended_once_with_nothing_open() {
    let harness = TestLedger::new().await;
    let sweeper = registered(&harness, "n1").await;
    registered(&harness, "n2").await;
    let database = harness.db.owner().await;
    let mut owner = database.session().await.unwrap();
    old_batches(&mut owner, "n2", 10).await;
    drop(owner);
    let epochs = "SELECT count(*)::text FROM ledger.node_epoch WHERE node = 'n2' AND swept_at IS NULL AND epoch = 2
         UNION ALL SELECT max(epoch)::text FROM ledger.node_epoch WHERE node = 'n2'";
    for (shift, found) in [(600, ["1", "2"]), (3_600, ["0", "3"]), (3_600, ["0", "3"])] {
        harness.db.shift_clock(shift).await;
        recovery::heartbeat(&harness.data, &sweeper).await.unwrap();
        let swept = recovery::sweep(&harness.data, &sweeper, DEAD_AFTER).await;
        assert_eq!(swept, Ok(0));
        assert_eq!(harness.db.ask(epochs).await, found);
    }
    harness.audit().await;
}

#[tokio::test]
async fn a_call_that_is_open_among_many_batches_becomes_a_row_and_the_others_do_not() {
    let harness = TestLedger::new().await;
    let account = harness.account(1_000, 0).await;
    let (ledger, _tasks) = harness.ledger("n1").await;
    let calls: Vec<_> = std::iter::repeat_with(request).take(3).collect();
    for call in &calls {
        assert_eq!(
            ledger.reserve(reserve(*call, account, 10)).await,
            Ok(held(10, 0))
        );
    }
    let one = crate::test_ledger::settle(calls[1], account, 4);
    ledger.settle(one).await.unwrap();
    harness.db.shift_clock(130).await;
    recovery::heartbeat(&harness.data, ledger.node_epoch())
        .await
        .unwrap();
    recovery::sweep(&harness.data, ledger.node_epoch(), DEAD_AFTER)
        .await
        .unwrap();
    let rows = "SELECT request_id::text FROM ledger.hold ORDER BY request_id";
    let mut open = vec![calls[0].uuid().to_string(), calls[2].uuid().to_string()];
    open.sort();
    assert_eq!(harness.db.ask(rows).await, open);
    harness.audit().await;
}
