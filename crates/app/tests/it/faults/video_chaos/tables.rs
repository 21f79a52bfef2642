//! The tasks and their money as the tables tell them.

use std::collections::BTreeMap;

use serde::Deserialize;
use trunkline_testkit::Postgres;

/// A task with everything that moved for it.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Row {
    /// Its name as customers see it.
    pub(crate) id: String,
    /// SHA-256 of the request, in hexadecimal.
    pub(crate) hash: String,
    pub(crate) state: String,
    pub(crate) amount: i64,
    pub(crate) exact: bool,
    pub(crate) upstream: Option<String>,
    pub(crate) code: Option<String>,
    pub(crate) hold: Option<String>,
    pub(crate) transfers: Vec<Transfer>,
    /// Why the operator lost something.
    pub(crate) losses: Vec<String>,
    pub(crate) mirrored: bool,
}

/// One movement of money.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Transfer {
    pub(crate) kind: String,
    pub(crate) debit: i64,
    pub(crate) credit: i64,
    pub(crate) amount: i64,
}

const TASKS: &str = "SELECT json_build_object(
        'id', 'task_' || replace(t.id::text, '-', ''), 'hash', encode(t.body_hash, 'hex'),
        'state', t.state, 'amount', t.amount, 'exact', t.exact, 'upstream', t.upstream_id,
        'code', t.error_code, 'hold', h.state, 'mirrored', t.media_path IS NOT NULL,
        'transfers', COALESCE((SELECT json_agg(json_build_object('kind', r.kind, 'debit', r.debit,
            'credit', r.credit, 'amount', r.amount)) FROM ledger.posting AS r
            WHERE r.request_id = t.id), '[]'),
        'losses', COALESCE((SELECT json_agg(w.reason) FROM ledger.write_off AS w
            WHERE w.request_id = t.id), '[]'))::text
    FROM app.video_task AS t LEFT JOIN ledger.hold AS h ON h.request_id = t.id ORDER BY t.id";

/// Charges of requests that are no tasks.
const STRAY: &str = "SELECT u.request_id::text FROM ledger.usage AS u
    WHERE u.paid + u.trial > 0 AND NOT EXISTS (SELECT FROM app.video_task AS t WHERE t.id = u.request_id)";

/// Movements of requests that are no tasks, but for money from outside.
const STRAY_TRANSFERS: &str = "SELECT r.request_id::text FROM ledger.transfer AS r
    WHERE r.kind NOT IN ('top_up', 'trial_grant')
    AND NOT EXISTS (SELECT FROM app.video_task AS t WHERE t.id = r.request_id)";

/// Tasks that have not ended.
const UNDER_WAY: &str =
    "SELECT 'task_' || replace(id::text, '-', '') || ' ' || state FROM app.video_task
    WHERE state NOT IN ('completed', 'failed')";

/// What is still to be done, and holds that are open. A lease that has just run out is no delay.
const PENDING: &str = "SELECT s.job || CASE WHEN t.state = 'completed'
            AND s.due_at > app.now() - interval '5 seconds' THEN ', waits' ELSE ', stands' END
            || ' ' || s.tries FROM app.video_schedule AS s JOIN app.video_task AS t ON t.id = s.task_id
    UNION ALL SELECT 'hold ' || request_id FROM ledger.any_hold WHERE state = 'open'";

/// All tasks by the hash of their request.
pub(crate) async fn rows(postgres: &Postgres) -> BTreeMap<String, Vec<Row>> {
    let mut rows: BTreeMap<String, Vec<Row>> = BTreeMap::new();
    for text in postgres.ask(TASKS).await {
        let row: Row = serde_json::from_str(&text).unwrap();
        rows.entry(row.hash.clone()).or_default().push(row);
    }
    rows
}

/// Money that moved for no task.
pub(crate) async fn stray(postgres: &Postgres) -> Vec<String> {
    let mut stray = postgres.ask(STRAY).await;
    stray.extend(postgres.ask(STRAY_TRANSFERS).await);
    stray
}

pub(crate) async fn under_way(postgres: &Postgres) -> Vec<String> {
    postgres.ask(UNDER_WAY).await
}

/// What is still on the list of jobs, and which holds are open.
pub(crate) async fn pending(postgres: &Postgres) -> Vec<String> {
    postgres.ask(PENDING).await
}

/// Whether a task is in this state now.
pub(crate) async fn has_any(postgres: &Postgres, state: &str) -> bool {
    let query = format!("SELECT state FROM app.video_task WHERE state = '{state}' LIMIT 1");
    !postgres.ask(&query).await.is_empty()
}

// === impl Row ===

impl Row {
    /// What moved in one kind, by the wallet it left or came back to, in order.
    pub(crate) fn legs(&self, kind: &str) -> Vec<(i64, i64)> {
        let wallet = |transfer: &Transfer| match kind {
            "charge" => transfer.debit,
            _ => transfer.credit,
        };
        let own = self.transfers.iter().filter(|one| one.kind == kind);
        let mut legs: Vec<(i64, i64)> = own.map(|one| (wallet(one), one.amount)).collect();
        legs.sort_unstable();
        legs
    }

    /// What the customer paid in the end.
    pub(crate) fn net(&self) -> i64 {
        let sum = |kind| {
            self.legs(kind)
                .iter()
                .map(|(_, amount)| amount)
                .sum::<i64>()
        };
        sum("charge") - sum("refund") - sum("settlement_adjustment") - sum("undelivered")
    }

    pub(crate) fn is_done(&self) -> bool {
        self.state == "completed"
    }
}
