//! One process of the cluster, in a network namespace of its own.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::process::{Child, Command};
use tokio::time::Instant;
use trunkline_db::Role;
use trunkline_testkit::{NetNamespace, Postgres};

use super::{ClusterOptions, EngineLinks};
use crate::faults::process_harness::{TRUNKLINE, first_line, signal};

/// The same in every network namespace.
const EDGE_PORT: u16 = 8080;
const READY: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(100);

/// What every node is told.
#[derive(Debug, Clone)]
pub(super) struct Shared(Vec<(&'static str, String)>);

pub(crate) struct ClusterNode {
    pub(crate) name: String,
    roles: &'static str,
    pub(crate) netns: NetNamespace,
    shared: Shared,
    folder: PathBuf,
    child: Option<Child>,
}

// === impl Shared ===

impl Shared {
    pub(super) fn new(
        postgres: &Postgres,
        lines: &EngineLinks,
        host: IpAddr,
        options: ClusterOptions,
    ) -> Self {
        let own = postgres.direct_url(Role::Data);
        let own_port = postgres.address().port();
        let database = own.reveal().replace(
            &format!("127.0.0.1:{own_port}"),
            &format!("{host}:{}", lines.postgres.port()),
        );
        let nats = lines.nats.iter();
        let nats: Vec<String> = nats
            .map(|wire| format!("nats://{host}:{}", wire.port()))
            .collect();
        let mut words = vec![
            ("TRUNKLINE__DATABASE__URL", database),
            (
                "TRUNKLINE__REDIS__URL",
                format!("redis://{host}:{}", lines.redis.port()),
            ),
            ("TRUNKLINE__NATS__URL", nats.join(",")),
            ("TRUNKLINE__NATS__REPLICAS", "3".to_owned()),
            ("TRUNKLINE__CONSOLE__LISTEN", "127.0.0.1:8081".to_owned()),
            ("TRUNKLINE__ADMIN__LISTEN", "127.0.0.1:9080".to_owned()),
            ("TRUNKLINE__EDGE__DRAIN_SECONDS", "60".to_owned()),
            ("TRUNKLINE__EDGE__NOTICE_SECONDS", "2".to_owned()),
            ("TRUNKLINE__KEYRING__FILE", "keyring.toml".to_owned()),
        ];
        words.extend(options.environment);
        Self(words)
    }
}

// === impl ClusterNode ===

impl ClusterNode {
    pub(super) fn new(name: String, roles: &'static str, shared: &Shared, folder: &Path) -> Self {
        Self {
            name,
            roles,
            netns: NetNamespace::make(),
            shared: shared.clone(),
            folder: folder.to_owned(),
            child: None,
        }
    }

    /// Where customers find it.
    pub(crate) fn address(&self) -> SocketAddr {
        SocketAddr::new(self.netns.own(), EDGE_PORT)
    }

    /// Starts it, as often as it takes while its engines come back.
    pub(crate) async fn start(&mut self) {
        let began = Instant::now();
        loop {
            let mut child = self.command().spawn().unwrap();
            let line = first_line(&mut child).await;
            if line.contains("\"admin\"") {
                self.child = Some(child);
                return;
            }
            assert!(
                began.elapsed() < READY,
                "{} does not start: {line}\n{}",
                self.name,
                self.log("")
            );
            drop(child.kill().await);
            tokio::time::sleep(PAUSE).await;
        }
    }

    fn command(&self) -> Command {
        let log = std::fs::File::options()
            .append(true)
            .create(true)
            .open(self.log_path());
        trunkline_testkit::count("gateway process");
        let [first, rest @ ..] = self.netns.words();
        let mut command = Command::new(first);
        command
            .args(rest)
            .arg(TRUNKLINE)
            .args([
                "serve",
                "--json",
                "--config",
                "/dev/null",
                "--roles",
                self.roles,
            ])
            .current_dir(&self.folder)
            .envs(
                self.shared
                    .0
                    .iter()
                    .map(|(name, value)| (*name, value.as_str())),
            )
            .env("TRUNKLINE__NODE__NAME", &self.name)
            .env("TRUNKLINE__EDGE__LISTEN", format!("0.0.0.0:{EDGE_PORT}"))
            .env(
                "TRUNKLINE__EDGE__PUBLIC_URL",
                format!("http://{}", self.address()),
            )
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log.unwrap())
            .kill_on_drop(true);
        command
    }

    /// Kills it where it stands. `ip netns exec` becomes what it starts, so this is the process itself.
    pub(crate) async fn kill(&mut self) {
        let mut child = self.child.take().expect("it runs");
        child.kill().await.unwrap();
    }

    /// Tells it to stop, and waits until it has.
    pub(crate) async fn stop(&mut self) {
        let mut child = self.child.take().expect("it runs");
        signal(child.id().expect("it runs"), "-TERM").await;
        child.wait().await.unwrap();
    }

    /// Cuts it off from all nodes for a while.
    pub(crate) async fn cut_off_for(&self, long: Duration) {
        self.netns.cut_off();
        tokio::time::sleep(long).await;
        self.netns.join();
    }

    fn log_path(&self) -> PathBuf {
        self.folder.join(format!("{}.log", self.name))
    }

    /// The last lines of its log that hold a word.
    pub(crate) fn log(&self, word: &str) -> String {
        #[expect(clippy::disallowed_methods, reason = "a log of this test's own nodes")]
        let text = std::fs::read_to_string(self.log_path()).unwrap_or_default();
        let lines: Vec<&str> = text.lines().filter(|line| line.contains(word)).collect();
        let last = lines.iter().rev().take(20).rev();
        let last: Vec<&str> = last.copied().collect();
        format!("{}:\n{}\n", self.name, last.join("\n"))
    }
}
