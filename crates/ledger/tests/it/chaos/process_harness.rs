//! A PostgreSQL of the test's own with accounts in it, ledger processes under load, and what must be
//! true after every fault.

use std::time::Duration;

use sqlx::{Connection as _, PgConnection};
use tokio::time::Instant;
use trunkline_db::{Database, PoolSettings, Role, connect};
use trunkline_ledger::NodeEpoch;
use trunkline_ledger::accounts::{self, AccountKind, Wallet};
use trunkline_ledger::recovery::{register, sweep};
use trunkline_testkit::{OwnSettings, Postgres};
use trunkline_types::NodeId;

use crate::chaos::checker::{judge, judge_payments};
use crate::chaos::child_process::{Holds, Limits, Plan};
use crate::chaos::config::{DEADLINE, HEAL_LIMIT, LOOK, STEP_LIMIT, until};
use crate::chaos::history::History;
use crate::chaos::process::{Folder, Process};
use crate::chaos::tables;
use crate::test_ledger;

const ACCOUNTS: usize = 8;
/// Enough that no call is refused for want of it.
const MONEY: i64 = 1_000_000_000_000;
const LARGEST: i64 = 1_000_000;
const BYSTANDER_CLIENTS: u32 = 8;

/// How a node's holds lose their owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OrphanedBy {
    /// The node comes back and begins its next life.
    Return,
    /// It never does; a sweep does.
    Sweep,
    /// It lives; only what is past its deadline is let go.
    Itself,
}

pub(crate) struct ProcessHarness {
    pub(crate) postgres: Postgres,
    pub(crate) accounts: Vec<i64>,
    pub(crate) data: Database,
    pub(crate) auditor: Database,
    pub(crate) bystander: Option<Process>,
    sweeper: NodeEpoch,
    folder: Folder,
    class: &'static str,
    holds: Holds,
    faults: usize,
}

/// The settings of a server that keeps what it has committed and tells what it is doing.
pub(crate) fn durable() -> OwnSettings {
    OwnSettings {
        durable: true,
        max_connections: 60,
        // The text of a statement is how a step is recognised.
        extra_config: vec![("track_activity_query_size".to_owned(), "16384".to_owned())],
        disk_limit_mb: None,
    }
}

// === impl ProcessHarness ===

impl ProcessHarness {
    pub(crate) async fn new(class: &'static str, holds: Holds, settings: OwnSettings) -> Self {
        let postgres = Postgres::own(settings).await;
        let pool = async |role| {
            let mut settings = PoolSettings::named("harness");
            settings.max_connections = 3;
            connect(&postgres.direct_url(role), role, settings)
                .await
                .unwrap()
        };
        let (data, auditor) = (pool(Role::Data).await, pool(Role::Audit).await);
        let console = pool(Role::Console).await;
        let mut accounts = Vec::new();
        let mut tx = console.begin().await.unwrap();
        for number in 0..ACCOUNTS {
            let account = accounts::create_account(&mut tx, AccountKind::Live)
                .await
                .unwrap();
            let top_up = test_ledger::top_up(account, Wallet::Paid, MONEY, &number.to_string());
            accounts::top_up(&mut tx, &top_up).await.unwrap();
            accounts.push(account.number());
        }
        tx.commit().await.unwrap();
        let sweeper = NodeId::new("sweeper").unwrap();
        let (sweeper, _) = register(&data, &sweeper).await.unwrap();
        let mut harness = Self {
            postgres,
            accounts,
            data,
            auditor,
            bystander: None,
            sweeper,
            folder: Folder::new(),
            class,
            holds,
            faults: 0,
        };
        let mut bystander = harness.process("bystander");
        bystander.done("open").await;
        bystander.done(&format!("load {BYSTANDER_CLIENTS}")).await;
        harness.bystander = Some(bystander);
        harness
    }

    /// A process of this name that has not spoken yet. The bystander's line cannot be broken.
    pub(crate) fn process(&self, node: &str) -> Process {
        self.process_of(node, self.holds)
    }

    /// The same, with holds of this kind.
    pub(crate) fn process_of(&self, node: &str, holds: Holds) -> Process {
        let url = |secret: trunkline_types::Secret| secret.reveal().to_owned();
        let direct = url(self.postgres.direct_url(Role::Data));
        let wire = url(self.postgres.url(Role::Data));
        let word: u64 = u64::from_be_bytes(trunkline_testkit::random_bytes());
        Process::start(&Plan {
            node: node.to_owned(),
            data: if node == "bystander" {
                direct.clone()
            } else {
                wire
            },
            direct,
            console: url(self.postgres.direct_url(Role::Console)),
            diary: self.folder.path().join(format!("{node}-{word:016x}")),
            accounts: self.accounts.clone(),
            key: None,
            shared_seed: None,
            salt: word,
            largest: LARGEST,
            limits: Limits::FOR_FAULTS,
            holds,
        })
    }

    /// Waits until the server accepts a login, and starts it where it has died.
    pub(crate) async fn server_is_back(&self) {
        let url = self.postgres.superuser_url();
        until("PostgreSQL lets us in", STEP_LIMIT, async || {
            if !self.postgres.runs() {
                self.postgres.start();
            }
            let Ok(mut connection) = PgConnection::connect(url.reveal()).await else {
                return false;
            };
            connection.ping().await.is_ok()
        })
        .await;
    }

    /// Waits until everything of a process is resolved and every sentence about it is true, no longer
    /// than three times the deadline; then audits. Returns the seconds it took.
    pub(crate) async fn heal(
        &self,
        node: &str,
        histories: &[&History],
        orphaned_by: OrphanedBy,
    ) -> f64 {
        let started = Instant::now();
        let nodes = [node.to_owned()];
        let mut wrong = vec!["not checked yet".to_owned()];
        let mut open = i64::MAX;
        let mut returned = false;
        while started.elapsed() < HEAL_LIMIT && !wrong.is_empty() {
            match orphaned_by {
                OrphanedBy::Return if !returned => {
                    let node = NodeId::new(node).unwrap();
                    returned = register(&self.data, &node).await.is_ok();
                }
                OrphanedBy::Return => {}
                OrphanedBy::Sweep => drop(sweep(&self.data, &self.sweeper, DEADLINE).await),
                // The living are not silent; their hearts may have stood still with the server.
                OrphanedBy::Itself => drop(sweep(&self.data, &self.sweeper, DEADLINE * 30).await),
            }
            open = tables::open_holds(&self.data, &nodes).await;
            if open == 0 {
                wrong = judge(histories, &tables::facts(&self.data, &nodes).await);
            }
            if !wrong.is_empty() {
                tokio::time::sleep(LOOK).await;
            }
        }
        let took = started.elapsed();
        assert!(
            wrong.is_empty() && took <= HEAL_LIMIT,
            "{node}: after {took:?} {open} holds are open and {} things wrong: {:#?}",
            wrong.len(),
            wrong.iter().take(20).collect::<Vec<_>>()
        );
        tables::audit(&self.auditor).await;
        took.as_secs_f64()
    }

    /// The line in the log that each fault leaves.
    pub(crate) fn tell(&mut self, step: &str, in_flight: &str, seconds: f64) {
        self.faults += 1;
        println!(
            "fault | {} ({:?}) | {} | {step} | in flight: {in_flight} | healed in {seconds:.2} s",
            self.class, self.holds, self.faults
        );
    }

    /// No backend of the node is left.
    pub(crate) async fn backends_are_gone(&self, node: &str) {
        let mut looker = crate::chaos::steps::superuser(&self.postgres).await;
        until(
            "the killed process's backends are gone",
            HEAL_LIMIT,
            async || {
                let count: i64 = sqlx::query_scalar(
                    "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1",
                )
                .bind(node)
                .fetch_one(&mut looker)
                .await
                .unwrap();
                count == 0
            },
        )
        .await;
    }

    /// The last word: the load ends, nothing is open, everything told is true.
    pub(crate) async fn close(mut self) {
        let mut bystander = self.bystander.take().expect("it was there from the start");
        bystander.quit().await;
        let took = self
            .heal("bystander", &[&bystander.history], OrphanedBy::Itself)
            .await;
        let booked = tables::payments(&self.data).await;
        let wrong = judge_payments(&[&bystander.history], &booked);
        assert!(wrong.is_empty(), "{wrong:#?}");
        println!(
            "class | {} ({:?}) | {} faults | bystander at rest in {took:.2} s: {:?}",
            self.class,
            self.holds,
            self.faults,
            bystander.history.counts()
        );
        println!("figures: faults={}", self.faults);
    }
}

/// What is unanswered, in words.
pub(crate) fn in_flight(history: &History) -> String {
    let open = history.in_flight();
    if open.is_empty() {
        return "nothing".to_owned();
    }
    let words = open.iter().map(|(word, count)| format!("{count} {word:?}"));
    words.collect::<Vec<_>>().join(", ")
}

/// A deadline has passed, and a little more.
pub(crate) async fn deadline_passes() {
    tokio::time::sleep(DEADLINE + Duration::from_millis(100)).await;
}
