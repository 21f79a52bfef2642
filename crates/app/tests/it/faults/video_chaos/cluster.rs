//! Two nodes, each gateway and worker, on one PostgreSQL, with every video vendor simulated.

mod fixtures;

use std::net::SocketAddr;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use tokio::process::{Child, Command};
use trunkline_db::{Database, PoolSettings, Role, SystemClock, connect};
use trunkline_keyring::{Document, FileSource, Keyring, SystemRandom};
use trunkline_ledger::accounts;
use trunkline_simulator::{Settings, Simulator};
use trunkline_testkit::{OwnSettings, Postgres};
use trunkline_types::{AccountId, Clock as _};
use trunkline_upstream::Client;

use crate::faults::process_harness::{TRUNKLINE, admin_of, first_line, free_address, signal};

/// What each account has paid in, nano-USD.
pub(crate) const PAID: i64 = 100_000_000_000_000;
/// What each is given at a time, nano-USD: less than most videos cost, so that many charges fall on both
/// wallets.
pub(crate) const TRIAL_CREDIT: i64 = 333_333_333;
/// Longer than this, and the other node takes over.
pub(crate) const LEASE: Duration = Duration::from_millis(3_000);
/// A task ends within this.
pub(crate) const DEADLINE: Duration = Duration::from_secs(25);
const ACCOUNTS: usize = 6;
const READY: Duration = Duration::from_secs(60);
const TRIES: usize = 100;
const PAUSE: Duration = Duration::from_millis(100);

/// Who pays.
#[derive(Debug, Clone)]
pub(crate) struct Customer {
    pub(crate) account: AccountId,
    pub(crate) key: String,
}

pub(crate) struct VideoCluster {
    pub(crate) postgres: Postgres,
    pub(crate) simulator: Simulator,
    pub(crate) customers: Vec<Customer>,
    pub(crate) addresses: [SocketAddr; 2],
    nodes: [Option<Child>; 2],
    pub(crate) client: Client,
    console: Database,
    data: Database,
    folder: tempfile::TempDir,
    /// How often every account was given something.
    trial_credits: i64,
}

impl VideoCluster {
    pub(crate) async fn new() -> Self {
        let settings = OwnSettings {
            durable: true,
            max_connections: 80,
            ..OwnSettings::default()
        };
        let postgres = Postgres::own(settings).await;
        let pool = async |role| {
            let url = postgres.direct_url(role);
            let settings = PoolSettings::named("studio");
            connect(&url, role, settings).await.unwrap()
        };
        let (console, data) = (pool(Role::Console).await, pool(Role::Data).await);
        let simulator = Simulator::start(Settings::default()).await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let document = Document::generate(SystemClock.now(), &SystemRandom).unwrap();
        let path = folder.path().join("keyring.toml");
        FileSource::new(path).create(&document).unwrap();
        let keyring = Keyring::new(&document, Arc::new(SystemRandom)).unwrap();
        std::fs::write(folder.path().join("videos.toml"), config()).unwrap();
        fixtures::sell(&console).await;
        fixtures::channels(&console, &keyring, simulator.address()).await;
        let mut customers = Vec::new();
        for _ in 0..ACCOUNTS {
            customers.push(fixtures::customer(&console).await);
        }
        let mut cluster = Self {
            postgres,
            simulator,
            customers,
            addresses: [free_address(), free_address()],
            nodes: [None, None],
            client: Client::new(READY).unwrap(),
            console,
            data,
            folder,
            trial_credits: 0,
        };
        cluster.give().await;
        cluster.start(0).await;
        cluster.start(1).await;
        cluster
    }

    /// Starts a node, as often as it takes while its database comes back.
    pub(crate) async fn start(&mut self, node: usize) {
        let began = tokio::time::Instant::now();
        loop {
            let mut child = self.command(node).spawn().unwrap();
            let line = first_line(&mut child).await;
            if admin_of(&line).is_some() {
                self.nodes[node] = Some(child);
                return;
            }
            assert!(began.elapsed() < READY, "a node does not start: {line}");
            drop(child.kill().await);
            tokio::time::sleep(PAUSE).await;
        }
    }

    fn command(&self, node: usize) -> Command {
        let log = self.folder.path().join(format!("node-{node}.log"));
        let log = std::fs::File::options().append(true).create(true).open(log);
        trunkline_testkit::count("gateway process");
        let mut command = Command::new(TRUNKLINE);
        command
            .args(["serve", "--json", "--config", "videos.toml"])
            .args(["--roles", "edge,worker"])
            .current_dir(self.folder.path())
            .env("TRUNKLINE__NODE__NAME", format!("node-{node}"))
            .env(
                "TRUNKLINE__DATABASE__URL",
                self.postgres.direct_url(Role::Data).reveal(),
            )
            .env("TRUNKLINE__EDGE__LISTEN", self.addresses[node].to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log.unwrap())
            .kill_on_drop(true);
        command
    }

    /// Kills a node where it stands.
    pub(crate) async fn kill(&mut self, node: usize) {
        let mut child = self.nodes[node].take().expect("it runs");
        child.kill().await.unwrap();
    }

    /// Tells a node to stop, and waits until it has.
    pub(crate) async fn stop(&mut self, node: usize) {
        let mut child = self.nodes[node].take().expect("it runs");
        signal(child.id().expect("it runs"), "-TERM").await;
        child.wait().await.unwrap();
    }

    /// Freezes a node for a while.
    pub(crate) async fn freeze(&self, node: usize, long: Duration) {
        let child = self.nodes[node].as_ref();
        let pid = child.and_then(Child::id).expect("it runs");
        signal(pid, "-STOP").await;
        tokio::time::sleep(long).await;
        signal(pid, "-CONT").await;
    }

    /// Gives every account a little to try out. The database may just have come back.
    pub(crate) async fn give(&mut self) {
        for customer in &self.customers {
            let event = format!(
                "trial credit {} of {}",
                self.trial_credits,
                customer.account.number()
            );
            let mut tries = 0..TRIES;
            while !fixtures::give(&self.console, customer.account, &event).await {
                assert!(tries.next().is_some(), "nothing can be given");
                tokio::time::sleep(PAUSE).await;
            }
        }
        self.trial_credits += 1;
    }

    /// What every account was given, nano-USD.
    pub(crate) fn given(&self) -> i64 {
        TRIAL_CREDIT * self.trial_credits
    }

    /// What an account has left in both wallets; nothing may be held.
    pub(crate) async fn left(&self, account: AccountId) -> i64 {
        let balance = accounts::balance(&self.data, account)
            .await
            .unwrap()
            .unwrap();
        let held = balance.paid_held.nanos() + balance.trial_held.nanos();
        assert_eq!(held, 0, "something is still held: {balance:?}");
        balance.paid.nanos() + balance.trial.nanos()
    }

    /// The ends of the nodes' logs, to look for the cause.
    pub(crate) fn log_of(&self, word: &str) -> String {
        let of = |node: usize| {
            let path = self.folder.path().join(format!("node-{node}.log"));
            #[expect(clippy::disallowed_methods, reason = "a log of this test's own nodes")]
            let text = std::fs::read_to_string(path).unwrap_or_default();
            let lines: Vec<&str> = text.lines().filter(|line| line.contains(word)).collect();
            format!("node {node}:\n{}\n", lines.join("\n"))
        };
        [0, 1].map(of).concat()
    }
}

fn config() -> String {
    format!(
        "[console]\nlisten = \"127.0.0.1:0\"\n[admin]\nlisten = \"127.0.0.1:0\"\n\
         [edge]\ndrain_seconds = 2\nnotice_seconds = 0\n[keyring]\nfile = \"keyring.toml\"\n\
         [media]\ndirectory = \"media\"\n\
         [fetch]\nallowed_networks = [\"127.0.0.0/8\"]\nhigh_ports = true\n\
         [limits]\nrequests_per_minute = 1000000000\nconcurrent_calls = 1000000000\n\
         polls_per_minute = 1000000000\n\
         [video]\npoll_first_ms = 100\npoll_most_ms = 500\ncall_ms = 1500\n\
         deadline_seconds = {}\nqueue_seconds = 15\nlease_ms = {}\n",
        DEADLINE.as_secs(),
        LEASE.as_millis()
    )
}
