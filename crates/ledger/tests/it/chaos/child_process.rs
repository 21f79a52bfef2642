//! One ledger process: this binary run again by the test that wants it, with a plan in a file and
//! orders on its standard input. It ends when its input does, so it cannot outlive its test.

use std::io::BufRead as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use trunkline_db::{Database, PoolSettings, Role, connect_lazily};
use trunkline_ledger::recovery::{heartbeat, sweep};
use trunkline_ledger::{Ledger, LedgerSettings, LedgerTasks};
use trunkline_types::{NodeId, Secret};

use crate::chaos::clients::{Call, Clients};
use crate::chaos::config::{DEADLINE, STEP_LIMIT};
use crate::chaos::history::{Answered, CallOperation, Event, HistoryWriter};

/// Where the path of the plan is.
pub(crate) const PLAN: &str = "TRUNKLINE_CHAOS_PLAN";
/// How this test is called from outside.
pub(crate) const NAME: &str = "chaos::child_process::a_ledger_process";
const ORDERS: usize = 16;
const HEARTBEAT: Duration = Duration::from_millis(100);
const RETRY: Duration = Duration::from_millis(30);

/// What a process is to be.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Plan {
    pub(crate) node: String,
    /// The data role's address, through a wire where there is one.
    pub(crate) data: String,
    /// The same past the wire, for the heartbeat.
    pub(crate) direct: String,
    /// The console's address, for payments.
    pub(crate) console: String,
    pub(crate) diary: PathBuf,
    pub(crate) accounts: Vec<i64>,
    pub(crate) key: Option<i64>,
    /// Half of the calls are named so that every process with the same seed makes them too.
    pub(crate) shared_seed: Option<u64>,
    /// Tells processes with the same seed apart.
    pub(crate) salt: u64,
    pub(crate) largest: i64,
    /// Short limits for faults, long ones for races.
    pub(crate) limits: Limits,
    pub(crate) holds: Holds,
}

/// What the holds of its requests are. Those of tasks and connections are always rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Holds {
    Rows,
    Packed,
}

/// Every limit on waiting, in milliseconds.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Limits {
    pub(crate) admission: u64,
    pub(crate) settlement: u64,
    pub(crate) lifetime: u64,
    pub(crate) lock: u64,
    pub(crate) answer: u64,
}

struct Process {
    plan: Plan,
    diary: Arc<HistoryWriter>,
    data: Database,
    direct: Database,
    console: Database,
    life: Option<Life>,
}

struct Life {
    clients: Clients,
    tasks: LedgerTasks,
    /// Calls that are held, and calls that are charged, for the orders that go on with them.
    held: Vec<Call>,
    charged: Vec<Call>,
    stop: Arc<AtomicBool>,
    load: JoinSet<()>,
    heart: JoinSet<()>,
}

// === impl Limits ===

impl Limits {
    pub(crate) const FOR_FAULTS: Self = Self {
        admission: 1_000,
        settlement: 1_500,
        lifetime: 2_000,
        lock: 1_000,
        answer: 2_000,
    };
    pub(crate) const FOR_RACES: Self = Self {
        admission: 20_000,
        settlement: 20_000,
        lifetime: 120_000,
        lock: 5_000,
        answer: 15_000,
    };
}

/// Not a test by itself.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a part of the other tests: one ledger process"]
async fn a_ledger_process() {
    #[expect(
        clippy::disallowed_methods,
        reason = "a test that runs itself again has no other way to tell it what to be"
    )]
    let Ok(path) = std::env::var(PLAN) else {
        return; // a run of all ignored tests
    };
    let plan: Plan = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let mut process = Process::new(plan);
    let mut orders = orders();
    let mut number = 0;
    while let Some(order) = orders.recv().await {
        number += 1;
        let count = process.obey(&order).await;
        process.diary.write(&Event::Did {
            order: number,
            what: order.clone(),
            count,
        });
        if order == "quit" {
            return;
        }
    }
}

/// The lines of the standard input.
fn orders() -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel(ORDERS);
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

// === impl Process ===

impl Process {
    fn new(plan: Plan) -> Self {
        let pool = |url: &str, role, name: String, connections| {
            let mut settings = PoolSettings::named(&name);
            let millis = Duration::from_millis;
            settings.max_connections = connections;
            settings.lock_timeout = millis(plan.limits.lock);
            settings.answer_timeout = millis(plan.limits.answer);
            settings.statement_timeout = millis(plan.limits.answer * 3 / 4);
            settings.idle_in_transaction_timeout = millis(plan.limits.answer / 2);
            settings.acquire_timeout = millis(plan.limits.lock);
            connect_lazily(&Secret::new(url.to_owned()), role, settings).unwrap()
        };
        Self {
            data: pool(&plan.data, Role::Data, plan.node.clone(), 4),
            direct: pool(&plan.direct, Role::Data, format!("{}-heart", plan.node), 2),
            console: pool(
                &plan.console,
                Role::Console,
                format!("{}-admin", plan.node),
                2,
            ),
            diary: Arc::new(HistoryWriter::at(&plan.diary)),
            plan,
            life: None,
        }
    }

    async fn obey(&mut self, order: &str) -> i64 {
        let mut words = order.split(' ');
        let verb = words.next().unwrap_or_default();
        let number = words
            .next()
            .and_then(|word| word.parse().ok())
            .unwrap_or(0_u64);
        match verb {
            "open" => self.open().await,
            "quit" => self.quit().await,
            _ => {
                let life = self.life.as_mut().expect("the process is open");
                match verb {
                    "reserve" => life.reserve(number).await,
                    "settle" => life.settle().await,
                    "void" => life.void().await,
                    "refund" => life.refund().await,
                    "load" => life.load(number),
                    "rest" => life.rest().await,
                    "beat" => {
                        let author = life.clients.ledger.node_epoch();
                        i64::from(heartbeat(&self.direct, author).await.unwrap())
                    }
                    "sweep" => {
                        let author = life.clients.ledger.node_epoch();
                        let swept = sweep(&self.direct, author, DEADLINE * 30).await;
                        i64::try_from(swept.unwrap()).unwrap()
                    }
                    other => panic!("unknown order {other}"),
                }
            }
        }
    }

    /// Begins a life, as often as it takes.
    async fn open(&mut self) -> i64 {
        let node = NodeId::new(&self.plan.node).unwrap();
        let millis = Duration::from_millis;
        let settings = LedgerSettings {
            admission_wait: millis(self.plan.limits.admission),
            settlement_wait: millis(self.plan.limits.settlement),
            ..LedgerSettings::default()
        };
        let started = tokio::time::Instant::now();
        let (ledger, tasks) = loop {
            match Ledger::open(self.data.clone(), &node, settings.clone()).await {
                Ok(opened) => break opened,
                Err(error) => assert!(started.elapsed() < STEP_LIMIT, "{error}"),
            }
            tokio::time::sleep(RETRY).await;
        };
        let epoch = ledger.node_epoch().epoch;
        let mut heart = JoinSet::new();
        heart.spawn(beat(self.direct.clone(), ledger.clone()));
        self.life = Some(Life {
            clients: Clients::new(
                ledger,
                self.console.clone(),
                Arc::clone(&self.diary),
                self.plan.clone(),
            ),
            tasks,
            held: Vec::new(),
            charged: Vec::new(),
            stop: Arc::default(),
            load: JoinSet::new(),
            heart,
        });
        epoch
    }

    /// Waits for everything, the lanes' own words included.
    async fn quit(&mut self) -> i64 {
        if let Some(mut life) = self.life.take() {
            life.rest().await;
            life.heart.shutdown().await;
            drop(life.clients);
            let finished = tokio::time::timeout(STEP_LIMIT, life.tasks.finish()).await;
            finished.expect("the lanes end");
        }
        0
    }
}

async fn beat(database: Database, ledger: Ledger) {
    loop {
        // Failing is what happens when the database is away; being replaced is found by the lanes.
        drop(heartbeat(&database, ledger.node_epoch()).await);
        tokio::time::sleep(HEARTBEAT).await;
    }
}

// === impl Life ===

impl Life {
    async fn reserve(&mut self, count: u64) -> i64 {
        let calls = (0..count)
            .map(|number| self.clients.new_call(number))
            .collect();
        let answers = self.each(calls, |clients, call| async move {
            let (answered, amount) = clients.reserve(&call).await;
            (call.of(amount), answered)
        });
        let held = answers.await;
        let count = held.len();
        self.held.extend(held);
        i64::try_from(count).unwrap()
    }

    /// Charges half of each hold.
    async fn settle(&mut self) -> i64 {
        let calls = std::mem::take(&mut self.held);
        let answers = self.each(calls, |clients, call| async move {
            let charge = call.amount / 2 + 1;
            let (answered, _) = clients.settle(&call, charge).await;
            (call, answered)
        });
        let charged = answers.await;
        let count = charged.len();
        self.charged.extend(charged);
        i64::try_from(count).unwrap()
    }

    async fn void(&mut self) -> i64 {
        let calls = std::mem::take(&mut self.held);
        let answers = self.each(calls, |clients, call| async move {
            let answered = clients.void(&call).await;
            (call, answered)
        });
        i64::try_from(answers.await.len()).unwrap()
    }

    async fn refund(&mut self) -> i64 {
        let calls = std::mem::take(&mut self.charged);
        let answers = self.each(calls, |clients, call| async move {
            let answered = clients.refund(&call, CallOperation::Refund, None).await;
            (call, answered)
        });
        i64::try_from(answers.await.len()).unwrap()
    }

    /// Says a word for all calls at once and keeps those for which it was done.
    async fn each<F>(&self, calls: Vec<Call>, say: impl Fn(Clients, Call) -> F) -> Vec<Call>
    where
        F: Future<Output = (Call, Answered)> + Send + 'static,
    {
        let mut tasks = JoinSet::new();
        for call in calls {
            tasks.spawn(say(self.clients.clone(), call));
        }
        let answers = tasks.join_all().await;
        let done = |answered: &Answered| {
            matches!(
                answered,
                Answered::Done | Answered::Before { charged: true }
            )
        };
        let done = answers.into_iter().filter(|(_, answered)| done(answered));
        done.map(|(call, _)| call).collect()
    }

    fn load(&mut self, clients: u64) -> i64 {
        self.stop = Arc::default();
        for client in 0..clients {
            let work = self.clients.clone().work(client, Arc::clone(&self.stop));
            self.load.spawn(work);
        }
        0
    }

    async fn rest(&mut self) -> i64 {
        self.stop.store(true, Ordering::SeqCst);
        let mut clients = 0;
        while let Some(ended) = self.load.join_next().await {
            ended.unwrap();
            clients += 1;
        }
        clients
    }
}
