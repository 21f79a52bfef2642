//! A PostgreSQL, a simulator and a `trunkline serve` that can be broken one by one.

mod fixtures;
mod generation_fixtures;
mod successor;

use std::net::{SocketAddr, TcpListener};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use trunkline_db::{Database, PoolSettings, Role, SystemClock, connect};
use trunkline_keyring::{Document, FileSource, Keyring, SystemRandom};
use trunkline_ledger::accounts;
use trunkline_simulator::{Settings, Simulator};
use trunkline_testkit::{FaultProxy, OwnSettings, Postgres};
use trunkline_types::{AccountId, Clock as _};

use crate::faults::formats::Format;
pub(crate) use fixtures::{LONG_MODEL, account, add_channel, key_of, publish_text};
pub(crate) use generation_fixtures::{CHARACTER, PICTURE, SECOND, VIDEO};

pub(crate) const TRUNKLINE: &str = env!("CARGO_BIN_EXE_trunkline");
/// What the account begins with, nano-USD.
pub(crate) const MONEY: i64 = 1_000_000_000_000;
/// Nano-USD for one input and one output token.
pub(crate) const INPUT: i64 = 2_000;
pub(crate) const OUTPUT: i64 = 8_000;
/// Nano-USD for one call for social data.
pub(crate) const LOOK: i64 = 20_000_000;
/// What stands in the statement that holds money, and in no other.
pub(crate) const HOLDS: &str = "INSERT INTO ledger.hold_";
/// What stands in the statement that charges or lets go, and in no other.
pub(crate) const CHARGES: &str = "INSERT INTO ledger.usage_unsummed";
const READY: Duration = Duration::from_secs(30);

pub(crate) struct ProcessHarness {
    pub(crate) postgres: Postgres,
    pub(crate) simulator: Simulator,
    pub(crate) address: SocketAddr,
    pub(crate) key: String,
    pub(crate) account: AccountId,
    pub(crate) data: Database,
    pub(crate) console: Database,
    pub(crate) keyring: Keyring,
    pub(crate) folder: tempfile::TempDir,
    /// Where the gateway tells its numbers.
    pub(crate) admin: Option<SocketAddr>,
    gateway: Option<Child>,
    /// The process that took over from it, where one did, and those before it.
    successor: Option<successor::Process>,
    replaced: Vec<successor::Process>,
    /// Whether the gateway reaches its database through the wire.
    wired: bool,
    environment: Vec<(&'static str, &'static str)>,
    /// Where the gateway's log is written; none to drop it.
    pub(crate) log: Option<std::path::PathBuf>,
    /// Descriptors that the gateway may have; none for as many as this process.
    descriptors: Option<u32>,
    /// Roles of the gateway's next process. Jobs commit all the time, and a test that catches a commit means
    /// that of a call, so they run only where they are asked for.
    pub(crate) roles: &'static str,
    /// The line to the upstream.
    pub(crate) road: FaultProxy,
}

/// A second process on the same database.
pub(crate) struct SecondNode {
    pub(crate) address: SocketAddr,
    pub(crate) admin: SocketAddr,
    pub(crate) log: std::path::PathBuf,
    _gateway: Child,
}

impl ProcessHarness {
    pub(crate) async fn new() -> Self {
        Self::with(OwnSettings::default(), false).await
    }

    /// The line between the gateway and its database can be cut, and its commits be caught.
    pub(crate) async fn wired() -> Self {
        Self::with(OwnSettings::default(), true).await
    }

    pub(crate) async fn with(settings: OwnSettings, wired: bool) -> Self {
        Self::set(settings, wired, &[]).await
    }

    /// One with these settings in the environment.
    pub(crate) async fn with_environment(environment: &[(&'static str, &'static str)]) -> Self {
        Self::set(OwnSettings::default(), false, environment).await
    }

    /// The same, not started yet.
    pub(crate) async fn furnished_with(environment: &[(&'static str, &'static str)]) -> Self {
        Self::furnished(OwnSettings::default(), false, environment).await
    }

    /// One that sells social data, with these settings in the environment.
    pub(crate) async fn of_social(environment: &[(&'static str, &'static str)]) -> Self {
        let harness = Self::set(OwnSettings::default(), false, environment).await;
        fixtures::social(
            &harness.console,
            &harness.keyring,
            harness.simulator.address(),
        )
        .await;
        harness
    }

    /// One that sells pictures, speech and transcripts, with these settings in the environment.
    pub(crate) async fn of_media(
        wired: bool,
        environment: &[(&'static str, &'static str)],
    ) -> Self {
        let mut harness = Self::furnished(OwnSettings::default(), wired, environment).await;
        let port = harness.upstream_port();
        generation_fixtures::sell(&harness.console, &harness.keyring, port).await;
        harness.start_gateway().await;
        harness
    }

    /// One whose gateway may have so many descriptors.
    pub(crate) async fn of_descriptors(descriptors: u32) -> Self {
        let mut harness = Self::furnished(OwnSettings::default(), false, &[]).await;
        harness.descriptors = Some(descriptors);
        harness.start_gateway().await;
        harness
    }

    /// One that sells chat, pictures, speech, transcripts and a video. Its gateway may have so many descriptors,
    /// and is not started yet.
    pub(crate) async fn of_neighbours(
        descriptors: u32,
        environment: &[(&'static str, &'static str)],
    ) -> Self {
        let mut harness = Self::furnished(OwnSettings::default(), false, environment).await;
        let port = harness.upstream_port();
        generation_fixtures::sell(&harness.console, &harness.keyring, port).await;
        generation_fixtures::sell_video(&harness.console, &harness.keyring, port).await;
        fixtures::sell_long(&harness.console, &harness.keyring, port).await;
        harness.descriptors = Some(descriptors);
        harness
    }

    /// One with these settings in the environment, whose log is kept and whose gateway is not started yet.
    pub(crate) async fn of_incidents(environment: &[(&'static str, &'static str)]) -> Self {
        let mut harness = Self::furnished(OwnSettings::default(), false, environment).await;
        harness.log = Some(harness.folder.path().join("gateway.log"));
        harness
    }

    async fn set(
        settings: OwnSettings,
        wired: bool,
        environment: &[(&'static str, &'static str)],
    ) -> Self {
        let mut harness = Self::furnished(settings, wired, environment).await;
        harness.start_gateway().await;
        harness
    }

    /// Everything but the gateway.
    async fn furnished(
        settings: OwnSettings,
        wired: bool,
        environment: &[(&'static str, &'static str)],
    ) -> Self {
        let postgres = Postgres::own(OwnSettings {
            durable: true,
            max_connections: 60,
            ..settings
        })
        .await;
        let pool = async |role| {
            let url = postgres.direct_url(role);
            connect(&url, role, PoolSettings::named("harness"))
                .await
                .unwrap()
        };
        let (data, console) = (pool(Role::Data).await, pool(Role::Console).await);
        let simulator = Simulator::start(Settings::default()).await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keyring.toml");
        let document = Document::generate(SystemClock.now(), &SystemRandom).unwrap();
        FileSource::new(path).create(&document).unwrap();
        let keyring = Keyring::new(&document, Arc::new(SystemRandom)).unwrap();
        fixtures::sell(&console).await;
        let providers = folder.path().join("providers");
        std::fs::create_dir(&providers).unwrap();
        for format in Format::ALL {
            let file = format!("{}.toml", fixtures::provider_name(format));
            std::fs::write(providers.join(file), fixtures::provider(format)).unwrap();
        }
        for (name, text) in generation_fixtures::providers() {
            std::fs::write(providers.join(format!("{name}.toml")), text).unwrap();
        }
        let (account, key) = fixtures::customer(&console).await;
        let road = FaultProxy::to_anything(simulator.address());
        let harness = Self {
            postgres,
            simulator,
            address: free_address(),
            key,
            account,
            data,
            console,
            keyring,
            folder,
            admin: None,
            gateway: None,
            successor: None,
            replaced: Vec::new(),
            wired,
            environment: environment.to_vec(),
            log: None,
            descriptors: None,
            roles: "edge",
            road,
        };
        let port = harness.upstream_port();
        for format in Format::ALL {
            fixtures::channel(&harness.console, &harness.keyring, format, port).await;
        }
        harness
    }

    /// A setting of its next process.
    pub(crate) fn set_variable(&mut self, name: &'static str, value: String) {
        self.environment.push((name, value.leak()));
    }

    fn upstream_port(&self) -> u16 {
        if self.wired {
            self.road.port()
        } else {
            self.simulator.address().port()
        }
    }

    /// Starts the gateway, as often as it takes while its database comes back.
    pub(crate) async fn start_gateway(&mut self) {
        let began = tokio::time::Instant::now();
        loop {
            let mut gateway = self.command(self.address).spawn().unwrap();
            let line = first_line(&mut gateway).await;
            if let Some(admin) = admin_of(&line) {
                self.gateway = Some(gateway);
                self.admin = Some(admin);
                return;
            }
            assert!(
                began.elapsed() < READY,
                "the gateway does not start: {line}"
            );
            drop(gateway.wait().await);
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// A `trunkline serve` of this node's name on this address.
    fn command(&self, address: SocketAddr) -> Command {
        let url = if self.wired {
            self.postgres.url(Role::Data)
        } else {
            self.postgres.direct_url(Role::Data)
        };
        trunkline_testkit::count("gateway process");
        let mut command = match self.descriptors {
            None => Command::new(TRUNKLINE),
            Some(most) => {
                let mut shell = Command::new("sh");
                let script = "ulimit -n \"$0\" && exec \"$@\"";
                shell.args(["-c", script, &most.to_string(), TRUNKLINE]);
                shell
            }
        };
        command
            .args(["serve", "--json", "--config", "/dev/null"])
            .args(["--roles", self.roles])
            .current_dir(self.folder.path())
            // A process that is started again is the same node and ends what the one before had open.
            .env("TRUNKLINE__NODE__NAME", "node-1")
            .env("TRUNKLINE__EDGE__LISTEN", address.to_string())
            .env("TRUNKLINE__CONSOLE__LISTEN", "127.0.0.1:0")
            .env("TRUNKLINE__ADMIN__LISTEN", "127.0.0.1:0")
            .env("TRUNKLINE__EDGE__DRAIN_SECONDS", "2")
            .env("TRUNKLINE__EDGE__NOTICE_SECONDS", "1")
            // One key calls as fast as it can; limits have tests of their own.
            .env("TRUNKLINE__LIMITS__REQUESTS_PER_MINUTE", "1000000000")
            .env("TRUNKLINE__LIMITS__CONCURRENT_CALLS", "1000000000")
            .env("TRUNKLINE__LIMITS__POLLS_PER_MINUTE", "1000000000")
            .env("TRUNKLINE__LIMITS__READS_PER_MINUTE", "1000000000")
            .env("TRUNKLINE__KEYRING__FILE", "keyring.toml")
            .env("TRUNKLINE__PROVIDERS__FOLDER", "providers")
            .envs(self.environment.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(self.log_to())
            .kill_on_drop(true);
        let in_file = |(name, _): &(&str, &str)| *name == "TRUNKLINE__DATABASE__URL_FILE";
        if !self.environment.iter().any(in_file) {
            command.env("TRUNKLINE__DATABASE__URL", url.reveal());
        }
        command
    }

    /// A process of another name on another database, with this keyring.
    pub(crate) async fn node_on(
        &self,
        postgres: &Postgres,
        keyring: &std::path::Path,
    ) -> SecondNode {
        let address = free_address();
        let log = self.folder.path().join("other.log");
        let url = postgres.direct_url(Role::Data);
        let mut gateway = self
            .command(address)
            .env("TRUNKLINE__NODE__NAME", "node-2")
            .env("TRUNKLINE__DATABASE__URL", url.reveal())
            .env("TRUNKLINE__KEYRING__FILE", keyring)
            .stderr(std::fs::File::create(&log).unwrap())
            .spawn()
            .unwrap();
        let line = first_line(&mut gateway).await;
        let admin = admin_of(&line).unwrap_or_else(|| panic!("it does not start: {line}"));
        SecondNode {
            address,
            admin,
            log,
            _gateway: gateway,
        }
    }

    fn log_to(&self) -> Stdio {
        let Some(path) = &self.log else {
            return Stdio::null();
        };
        std::fs::File::create(path).unwrap().into()
    }

    /// A process of another name beside it, which writes its log into a file.
    pub(crate) async fn second_node(&self) -> SecondNode {
        let address = free_address();
        let log = self.folder.path().join("second.log");
        let mut gateway = self
            .command(address)
            .env("TRUNKLINE__NODE__NAME", "node-2")
            .stderr(std::fs::File::create(&log).unwrap())
            .spawn()
            .unwrap();
        let line = first_line(&mut gateway).await;
        let admin = admin_of(&line).expect("the second node starts");
        SecondNode {
            address,
            admin,
            log,
            _gateway: gateway,
        }
    }

    /// Puts another process of the same name in its place, on an address of its own. The one before
    /// goes on, and does not know. If it sleeps inside a transaction, its heir waits until PostgreSQL
    /// ends that.
    pub(crate) async fn replace_gateway(&mut self) -> Child {
        let before = self.gateway.take().expect("it runs");
        self.address = free_address();
        self.start_gateway().await;
        before
    }

    /// Kills it where it stands.
    pub(crate) async fn kill_gateway(&mut self) {
        let mut gateway = self.gateway.take().expect("it runs");
        gateway.kill().await.unwrap();
    }

    /// The gateway's process.
    pub(crate) fn pid(&self) -> u32 {
        if let Some(successor) = &self.successor {
            return successor.pid();
        }
        self.gateway.as_ref().and_then(Child::id).expect("it runs")
    }

    /// Freezes it for a while.
    pub(crate) async fn freeze_gateway(&self, long: Duration) {
        let pid = self.pid();
        signal(pid, "-STOP").await;
        tokio::time::sleep(long).await;
        signal(pid, "-CONT").await;
    }

    pub(crate) async fn balance(&self) -> (i64, i64) {
        let balance = accounts::balance(&self.data, self.account)
            .await
            .unwrap()
            .unwrap();
        (balance.paid.nanos(), balance.paid_held.nanos())
    }

    /// The books hold.
    pub(crate) async fn audit(&self) {
        audit_of(&self.postgres).await;
    }
}

/// The books of this server hold.
pub(crate) async fn audit_of(postgres: &Postgres) {
    let url = postgres.direct_url(Role::Audit);
    let audit = Command::new(TRUNKLINE)
        .args(["audit", "--config", "/dev/null"])
        .env("TRUNKLINE__DATABASE__URL", url.reveal())
        .output();
    let output = audit.await.unwrap();
    let reply = String::from_utf8_lossy(&output.stdout);
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{reply}{complained}");
}

pub(crate) fn free_address() -> SocketAddr {
    let port = TcpListener::bind("127.0.0.1:0").unwrap();
    port.local_addr().unwrap()
}

/// Where a gateway that listens tells its numbers, by the line it says so in.
pub(crate) fn admin_of(line: &str) -> Option<SocketAddr> {
    let reply: serde_json::Value = serde_json::from_str(line).ok()?;
    reply["listen"].as_str()?;
    reply["admin"].as_str()?.parse().ok()
}

pub(crate) async fn first_line(gateway: &mut Child) -> String {
    let mut lines = BufReader::new(gateway.stdout.take().unwrap()).lines();
    lines.next_line().await.unwrap().unwrap_or_default()
}

pub(crate) async fn signal(pid: u32, word: &str) {
    let status = Command::new("kill").args([word, &pid.to_string()]).status();
    assert!(status.await.unwrap().success());
}
