//! What the tables say: facts per call, the audit, and a sampler that never stops looking.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sqlx::Row as _;
use tokio::task::JoinHandle;
use trunkline_db::Database;
use trunkline_ledger::audit;
use trunkline_types::RequestId;
use uuid::Uuid;

/// What became of one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fact {
    pub(crate) state: String,
    pub(crate) held: i64,
    pub(crate) charged: i64,
    pub(crate) refunded: i64,
    pub(crate) adjusted: i64,
}

pub(crate) type Facts = BTreeMap<RequestId, Fact>;

/// All calls of some nodes.
pub(crate) async fn facts(database: &Database, nodes: &[String]) -> Facts {
    let mut session = database.session().await.unwrap();
    let rows = sqlx::query(
        "SELECT h.request_id, h.state, h.paid + h.trial AS held,
             COALESCE(sum(t.amount) FILTER (WHERE t.kind = 'charge'), 0)::bigint AS charged,
             COALESCE(sum(t.amount) FILTER (WHERE t.kind IN ('refund', 'undelivered')), 0)::bigint AS refunded,
             COALESCE(sum(t.amount) FILTER (WHERE t.kind = 'settlement_adjustment'), 0)::bigint AS adjusted
         FROM ledger.any_hold AS h LEFT JOIN ledger.posting AS t USING (request_id)
         WHERE h.node = ANY ($1)
         GROUP BY h.request_id, h.state, h.paid, h.trial",
    )
    .bind(nodes)
    .fetch_all(&mut *session)
    .await
    .unwrap();
    rows.iter()
        .map(|row| {
            let request = RequestId::from_uuid(row.get::<Uuid, _>("request_id")).unwrap();
            let fact = Fact {
                state: row.get("state"),
                held: row.get("held"),
                charged: row.get("charged"),
                refunded: row.get("refunded"),
                adjusted: row.get("adjusted"),
            };
            (request, fact)
        })
        .collect()
}

/// How often each payment is in the books.
pub(crate) async fn payments(database: &Database) -> BTreeMap<RequestId, i64> {
    let mut session = database.session().await.unwrap();
    let rows = sqlx::query(
        "SELECT request_id, count(*) AS times FROM ledger.transfer WHERE kind = 'top_up' GROUP BY request_id",
    )
    .fetch_all(&mut *session)
    .await
    .unwrap();
    rows.iter()
        .map(|row| {
            let request = RequestId::from_uuid(row.get::<Uuid, _>("request_id")).unwrap();
            (request, row.get("times"))
        })
        .collect()
}

/// Open holds of some nodes.
pub(crate) async fn open_holds(database: &Database, nodes: &[String]) -> i64 {
    let Ok(mut session) = database.session().await else {
        return i64::MAX; // the server is on its way back
    };
    let count = sqlx::query_scalar(
        "SELECT count(*) FROM ledger.any_hold WHERE state = 'open' AND node = ANY ($1)",
    )
    .bind(nodes)
    .fetch_one(&mut *session);
    count.await.unwrap_or(i64::MAX)
}

/// Fails with every row that does not hold.
pub(crate) async fn audit(auditor: &Database) {
    let report = audit::run(auditor).await.unwrap();
    assert!(report.views.len() >= 21, "{:?}", report.views);
    let shifted = "app.audit_clock_shifted";
    let found: Vec<_> = report
        .violations
        .iter()
        .filter(|violation| violation.view != shifted)
        .collect();
    assert!(found.is_empty(), "{found:#?}");
}

/// Looks at every balance and every budget, and at the sum of the books, until told to stop.
pub(crate) struct Sampler {
    stop: Arc<AtomicBool>,
    task: JoinHandle<Samples>,
}

/// What a sampler saw.
#[derive(Debug, Default)]
pub(crate) struct Samples {
    pub(crate) count: u64,
    /// The lowest that was ever free in a wallet, and left of a budget.
    pub(crate) least_free: Option<i64>,
    pub(crate) least_budget_left: Option<i64>,
    /// Instants at which something was wrong.
    pub(crate) wrong: Vec<String>,
}

/// The books are summed at every so many instants: it reads all transfers.
const SUM_EVERY: u64 = 25;
/// Leaves the processor to those who are looked at.
const BREATH: Duration = Duration::from_millis(2);
/// One statement is one instant.
const SAMPLE: &str = "SELECT
    (SELECT min(least(paid_posted - paid_held, trial_posted - trial_held)) FROM ledger.account) AS free,
    (SELECT min(least(paid_held, trial_held)) FROM ledger.account) AS held,
    (SELECT min(least(b.limit_nanos, p.cap) - p.used) FROM ledger.budget_period AS p
        JOIN ledger.budget AS b ON b.id = p.budget_id) AS budget_left,
    (SELECT min(used) FROM ledger.budget_period) AS used";
const SUM: &str = "SELECT count(*) FROM ledger.audit_books_do_not_balance";

// === impl Sampler ===

impl Sampler {
    pub(crate) fn start(database: Database) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&stop);
        #[expect(
            clippy::disallowed_methods,
            reason = "the sampler owns the task: stopping it waits for its end"
        )]
        let task = tokio::spawn(async move {
            let mut samples = Samples::default();
            while !flag.load(Ordering::SeqCst) {
                samples.take(&database).await;
                tokio::time::sleep(BREATH).await;
            }
            samples
        });
        Self { stop, task }
    }

    /// Fails if any instant was wrong.
    pub(crate) async fn stop(self) -> Samples {
        self.stop.store(true, Ordering::SeqCst);
        let samples = self.task.await.unwrap();
        assert!(samples.wrong.is_empty(), "{:#?}", samples.wrong);
        samples
    }
}

// === impl Samples ===

impl Samples {
    async fn take(&mut self, database: &Database) {
        let mut session = database.session().await.unwrap();
        let row = sqlx::query(SAMPLE).fetch_one(&mut *session).await.unwrap();
        let number = |name: &str| row.get::<Option<i64>, _>(name);
        let (free, budget_left) = (number("free"), number("budget_left"));
        let negative = [free, budget_left, number("held"), number("used")]
            .into_iter()
            .flatten()
            .any(|amount| amount < 0);
        let mut unbalanced: i64 = 0;
        if self.count.is_multiple_of(SUM_EVERY) {
            let sum = sqlx::query_scalar(SUM).fetch_one(&mut *session).await;
            unbalanced = sum.unwrap();
        }
        if negative || unbalanced != 0 {
            self.wrong.push(format!("{free:?} {budget_left:?} {row:?}"));
        }
        let least = |old: Option<i64>, new: Option<i64>| old.into_iter().chain(new).min();
        self.least_free = least(self.least_free, free);
        self.least_budget_left = least(self.least_budget_left, budget_left);
        self.count += 1;
    }
}
