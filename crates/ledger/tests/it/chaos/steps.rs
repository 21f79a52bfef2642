//! The steps of a ledger process, and how each is reached from outside: a lock in its way, or a wire
//! that keeps a commit or its answer.

use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use trunkline_testkit::Postgres;

use crate::chaos::child_process::Holds;
use crate::chaos::config::{STEP_LIMIT, until};
use crate::chaos::process::Process;

/// Where a process is when the fault comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spot {
    /// Nowhere in particular: what was ordered before is done, nothing is under way.
    Free,
    /// Waiting for leave to speak in its node's name.
    NodeLock,
    /// Waiting for an account's row.
    AccountRow,
    /// Inside the statement that has this text, at the trigger of this table.
    Statement(&'static str, &'static str),
    /// All is said but `COMMIT`.
    CommitUnsent,
    /// Committed, and not told.
    CommitUnseen,
}

/// A step: what the process has done before, what it is doing, and where it stands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) before: &'static [&'static str],
    pub(crate) order: Option<&'static str>,
    pub(crate) spot: Spot,
}

/// A step that was reached, and what keeps the process there.
pub(crate) struct Reached {
    barrier: Option<PgConnection>,
    /// The backend that stands there, where one does.
    pub(crate) backend: Option<u32>,
    /// The number of the order that is under way.
    pub(crate) order: Option<u64>,
}

const RESERVE: &str = "reserve 16";
const HOLD_STATEMENT: &str = "%INSERT INTO ledger.hold%";
const USAGE_STATEMENT: &str = "%INSERT INTO ledger.usage%";
const REFUND_STATEMENT: &str = "%INSERT INTO ledger.transfer%";
/// A batch of packed holds is one statement, whatever it does.
const BATCH_STATEMENT: &str = "SELECT * FROM ledger.apply_%";

const fn step(
    name: &'static str,
    before: &'static [&'static str],
    order: Option<&'static str>,
    spot: Spot,
) -> Step {
    Step {
        name,
        before,
        order,
        spot,
    }
}

/// Every step of a process that serves.
pub(crate) const STEPS: [Step; 12] = [
    step("idle after registration", &[], None, Spot::Free),
    step(
        "waiting to speak as its node",
        &[],
        Some(RESERVE),
        Spot::NodeLock,
    ),
    step(
        "waiting for an account's lock",
        &[],
        Some(RESERVE),
        Spot::AccountRow,
    ),
    step(
        "inside the reserve statement",
        &[],
        Some(RESERVE),
        Spot::Statement(HOLD_STATEMENT, "ledger.hold"),
    ),
    step(
        "COMMIT of a reserve not sent",
        &[],
        Some(RESERVE),
        Spot::CommitUnsent,
    ),
    step(
        "COMMIT of a reserve done, its answer unseen",
        &[],
        Some(RESERVE),
        Spot::CommitUnseen,
    ),
    step("between reserve and settle", &[RESERVE], None, Spot::Free),
    step(
        "inside the settle statement, at its usage row",
        &[RESERVE],
        Some("settle"),
        Spot::Statement(USAGE_STATEMENT, "ledger.usage"),
    ),
    step(
        "inside the settle statement, at its list of calls to sum up",
        &[RESERVE],
        Some("settle"),
        Spot::Statement(USAGE_STATEMENT, "ledger.usage_unsummed"),
    ),
    step(
        "COMMIT of a settle not sent",
        &[RESERVE],
        Some("settle"),
        Spot::CommitUnsent,
    ),
    step(
        "COMMIT of a settle done, its answer unseen",
        &[RESERVE],
        Some("settle"),
        Spot::CommitUnseen,
    ),
    step(
        "inside a refund",
        &[RESERVE, "settle"],
        Some("refund"),
        Spot::Statement(REFUND_STATEMENT, "ledger.transfer"),
    ),
];

/// Where a process is that registers and lets go of what its last life has left.
pub(crate) const REGISTERING: Step = step(
    "inside registration's voiding",
    &[],
    Some("open"),
    Spot::Statement(USAGE_STATEMENT, "ledger.usage"),
);

// === impl Spot ===

impl Spot {
    /// The same place of a process whose requests have holds of this kind.
    fn of(self, holds: Holds) -> Self {
        match (self, holds) {
            (Self::Statement(HOLD_STATEMENT, _), Holds::Packed) => {
                Self::Statement(BATCH_STATEMENT, "ledger.hold_batch")
            }
            (Self::Statement(USAGE_STATEMENT, table), Holds::Packed) => {
                Self::Statement(BATCH_STATEMENT, table)
            }
            (spot, Holds::Rows | Holds::Packed) => spot,
        }
    }
}

// === impl Step ===

impl Step {
    /// Brings a process to this step and sees that it is there.
    pub(crate) async fn reach(
        &self,
        postgres: &Postgres,
        process: &mut Process,
        account: i64,
    ) -> Reached {
        for order in self.before {
            process.done(order).await;
        }
        let node = process.node.clone();
        let spot = self.spot.of(process.holds);
        let barrier = match spot {
            Spot::Free => None,
            Spot::NodeLock => {
                let text = format!("SELECT ledger.fence_node('{node}')");
                Some(barrier(postgres, text).await)
            }
            Spot::AccountRow => {
                let text = format!("SELECT FROM ledger.account WHERE id = {account} FOR UPDATE");
                Some(barrier(postgres, text).await)
            }
            Spot::Statement(_, table) => {
                let text = format!("LOCK TABLE {table} IN EXCLUSIVE MODE");
                Some(barrier(postgres, text).await)
            }
            Spot::CommitUnsent => {
                postgres.wire().stall_before_commit();
                None
            }
            Spot::CommitUnseen => {
                postgres.wire().stall_after_commit();
                None
            }
        };
        let strikes = postgres.wire().strikes();
        let order = self.order.map(|order| process.order(order));
        let mut looker = superuser(postgres).await;
        let mut backend = None;
        let what = format!("{node} is at the step: {}", self.name);
        until(&what, STEP_LIMIT, async || {
            backend = match spot {
                Spot::Free => return true,
                Spot::NodeLock => at_node_lock(&mut looker, &node).await,
                Spot::AccountRow => at_row(&mut looker, &node, "ledger.account").await,
                Spot::Statement(text, table) => at_table(&mut looker, &node, text, table).await,
                Spot::CommitUnsent | Spot::CommitUnseen => {
                    if postgres.wire().strikes() == strikes {
                        return false;
                    }
                    let unsent = spot == Spot::CommitUnsent;
                    in_state(&mut looker, &node, unsent).await
                }
            };
            backend.is_some()
        })
        .await;
        drop(looker.close().await);
        Reached {
            barrier,
            backend,
            order,
        }
    }
}

// === impl Reached ===

impl Reached {
    /// Takes away what kept the process there.
    pub(crate) async fn lift(&mut self, postgres: &Postgres) {
        postgres.wire().disarm();
        if let Some(barrier) = self.barrier.take() {
            // A server that was killed has lifted it already.
            drop(barrier.close().await);
        }
    }
}

pub(crate) async fn superuser(postgres: &Postgres) -> PgConnection {
    let url = postgres.superuser_url();
    PgConnection::connect(url.reveal()).await.unwrap()
}

/// A transaction of a superuser that stands in the way until its connection is closed.
async fn barrier(postgres: &Postgres, statement: String) -> PgConnection {
    let mut connection = superuser(postgres).await;
    let text = format!("BEGIN; SET LOCAL lock_timeout = '10s'; {statement}");
    sqlx::raw_sql(AssertSqlSafe(text))
        .execute(&mut connection)
        .await
        .unwrap();
    connection
}

/// The backend of a node that waits for its node's lock.
async fn at_node_lock(looker: &mut PgConnection, node: &str) -> Option<u32> {
    let query = sqlx::query_scalar(
        "SELECT a.pid FROM pg_stat_activity AS a JOIN pg_locks AS l ON l.pid = a.pid
         WHERE a.application_name = $1 AND l.locktype = 'advisory' AND NOT l.granted
         LIMIT 1",
    )
    .bind(node);
    pid(query.fetch_optional(looker).await.unwrap())
}

/// The backend of a node that waits for a row of a table: it holds or awaits the row's own lock.
async fn at_row(looker: &mut PgConnection, node: &str, table: &str) -> Option<u32> {
    let query = sqlx::query_scalar(
        "SELECT a.pid FROM pg_stat_activity AS a
         WHERE a.application_name = $1
             AND EXISTS (SELECT FROM pg_locks AS l WHERE l.pid = a.pid AND NOT l.granted)
             AND EXISTS (SELECT FROM pg_locks AS l WHERE l.pid = a.pid AND l.locktype = 'tuple'
                 AND l.relation = $2::text::regclass)
         LIMIT 1",
    )
    .bind(node)
    .bind(table);
    pid(query.fetch_optional(looker).await.unwrap())
}

/// The backend of a node that is inside a statement and waits at a table.
async fn at_table(looker: &mut PgConnection, node: &str, text: &str, table: &str) -> Option<u32> {
    let query = sqlx::query_scalar(
        "SELECT a.pid FROM pg_stat_activity AS a JOIN pg_locks AS l ON l.pid = a.pid
         WHERE a.application_name = $1 AND a.query LIKE $2 AND NOT l.granted
             AND (l.relation = $3::text::regclass
                 OR l.relation IN (SELECT relid FROM pg_partition_tree($3::text::regclass)))
         LIMIT 1",
    )
    .bind(node)
    .bind(text)
    .bind(table);
    pid(query.fetch_optional(looker).await.unwrap())
}

/// The backend of a node that waits for its `COMMIT`, or to be told that a batch which commits itself is
/// all; or any that has nothing to do.
async fn in_state(looker: &mut PgConnection, node: &str, in_transaction: bool) -> Option<u32> {
    let query = sqlx::query_scalar(
        "SELECT a.pid FROM pg_stat_activity AS a
         WHERE a.application_name = $1
             AND CASE WHEN $2 THEN a.state = 'idle in transaction'
                     OR (a.wait_event = 'ClientRead' AND a.query LIKE $3 AND a.state = 'active')
                 ELSE a.state = 'idle' END
         LIMIT 1",
    )
    .bind(node)
    .bind(in_transaction)
    .bind(BATCH_STATEMENT);
    pid(query.fetch_optional(looker).await.unwrap())
}

fn pid(found: Option<i32>) -> Option<u32> {
    found.map(|pid| u32::try_from(pid).expect("a process id is positive"))
}
