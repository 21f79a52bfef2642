//! What the ledger has of all calls, read once when all are over.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;
use trunkline_types::AccountId;
use uuid::Uuid;

use super::payers::{Means, Payer};
use crate::test_gateway::TestGateway;

const ENDS_WITHIN: Duration = Duration::from_secs(120);
const PAUSE: Duration = Duration::from_millis(50);
/// Calls whose money is held, and videos that are not ready.
const OPEN: &str = "SELECT ((SELECT count(*) FROM ledger.any_hold WHERE resolved_at IS NULL)
    + (SELECT count(*) FROM app.video_task WHERE ended_at IS NULL))::text";
const ROWS: &str =
    "SELECT json_build_object('id', u.request_id, 'outcome', u.outcome, 'units', u.units,
        'estimated', u.estimated, 'held', h.paid + h.trial,
        'charged', u.paid + u.trial - COALESCE((SELECT sum(t.amount) FROM ledger.transfer AS t
            WHERE t.request_id = u.request_id
                AND t.kind IN ('refund', 'settlement_adjustment', 'undelivered')), 0),
        'lost', COALESCE((SELECT sum(w.sale) FROM ledger.write_off AS w
            WHERE w.request_id = u.request_id), 0))::text
    FROM ledger.usage AS u JOIN ledger.any_hold AS h ON h.request_id = u.request_id";
const BALANCES: &str =
    "SELECT json_build_array(id, paid_posted + trial_posted)::text FROM ledger.account";

/// A call that is over.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) outcome: String,
    pub(super) units: Value,
    pub(super) estimated: bool,
    /// The hold as it was last.
    pub(super) held: i64,
    /// What was taken for it, without what was given back.
    pub(super) charged: i64,
    /// Written off.
    pub(super) lost: i64,
}

/// All calls and all balances.
#[derive(Debug)]
pub(super) struct Books {
    rows: HashMap<Uuid, Row>,
    balances: HashMap<i64, i64>,
}

impl Books {
    /// Waits until nothing is held and no video is being made, and reads all.
    pub(super) async fn at_rest(harness: &TestGateway) -> Self {
        let began = Instant::now();
        while harness.gateway.calls_in_flight() > 0 || harness.db.ask(OPEN).await != ["0"] {
            assert!(began.elapsed() < ENDS_WITHIN, "calls do not end");
            tokio::time::sleep(PAUSE).await;
        }
        let read = |text: String| serde_json::from_str::<Value>(&text).unwrap();
        let rows = harness.db.ask(ROWS).await.into_iter().map(read).map(row);
        let balances = harness.db.ask(BALANCES).await.into_iter().map(read);
        let books = Self {
            rows: rows.collect(),
            balances: balances
                .map(|it| (it[0].as_i64().unwrap(), it[1].as_i64().unwrap()))
                .collect(),
        };
        harness.audit().await;
        books
    }

    pub(super) fn row(&self, request: Uuid) -> &Row {
        let row = self.rows.get(&request);
        row.unwrap_or_else(|| panic!("the books do not have {request}"))
    }

    pub(super) fn balance(&self, account: AccountId) -> i64 {
        self.balances[&account.number()]
    }

    /// What a payer has spent.
    pub(super) fn spent(&self, payer: &Payer, means: Means) -> i64 {
        means.money() - self.balance(payer.account)
    }
}

fn row(one: Value) -> (Uuid, Row) {
    let number = |name: &str| one[name].as_i64().unwrap();
    let row = Row {
        outcome: one["outcome"].as_str().unwrap().to_owned(),
        units: one["units"].clone(),
        estimated: one["estimated"].as_bool().unwrap(),
        held: number("held"),
        charged: number("charged"),
        lost: number("lost"),
    };
    (one["id"].as_str().unwrap().parse().unwrap(), row)
}
