//! A PostgreSQL of a test's own, to be broken in every way a real one breaks.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use trunkline_db::{Database, PoolSettings, Role, connect};
use trunkline_types::Secret;

use crate::server::{self, SUPERUSER, Server};
use crate::test_run::{self, MIGRATED, Run};
use crate::{FaultProxy, binaries, clock, port};

/// How long a new standby may take to be in step.
const STANDBY_TRIES: u32 = 200;
const STANDBY_PAUSE: Duration = Duration::from_millis(50);

/// How a test's own server is set up.
#[derive(Debug, Clone)]
pub struct OwnSettings {
    /// Whether a commit survives a crash: fsync and all that goes with it.
    pub durable: bool,
    /// Connections that PostgreSQL lets in.
    pub max_connections: u16,
    /// Any other settings, by name and value.
    pub extra_config: Vec<(String, String)>,
    /// Puts the data on a disk of so many megabytes, to fill it up. For a test that is
    /// [`privileged`](crate::privileged); the empty cluster takes about 50.
    pub disk_limit_mb: Option<u32>,
}

/// A server with one migrated database, a wire in front of it, and handles to break both. It is gone
/// with its directory when the handle is dropped.
pub struct Postgres {
    // In this order they end.
    wire: FaultProxy,
    server: Server,
    folder: Folder,
}

/// The directory, and the small disk it may be.
struct Folder {
    path: PathBuf,
    mounted: bool,
}

// === impl OwnSettings ===

impl Default for OwnSettings {
    fn default() -> Self {
        Self {
            durable: false,
            max_connections: 50,
            extra_config: Vec::new(),
            disk_limit_mb: None,
        }
    }
}

// === impl Postgres ===

impl Postgres {
    /// Starts one from a copy of the run's migrated cluster.
    pub async fn own(settings: OwnSettings) -> Self {
        let run = Run::current().await;
        let folder = Folder::new(run.new_folder("postgres"), settings.disk_limit_mb);
        run.copy_cluster_to(&folder.path);
        let max_connections = settings.max_connections.to_string();
        let mut config = vec![("max_connections", max_connections.as_str())];
        if !settings.durable {
            config.extend(server::CARELESS);
        }
        let extra = settings.extra_config.iter();
        config.extend(extra.map(|(key, value)| (key.as_str(), value.as_str())));
        let server = Server::start_on(&folder.path, &config);
        Self {
            wire: FaultProxy::to_postgres(port::loopback(server.port())),
            server,
            folder,
        }
    }

    /// Starts an empty cluster: no role but the superuser, no database of ours. The addresses of roles work once those
    /// were restored.
    pub async fn bare() -> Self {
        let run = Run::current().await;
        let folder = Folder::new(run.new_folder("bare"), None);
        server::initialise(&folder.path);
        Self::of_folder(folder, &[("max_connections", "60")])
    }

    /// Starts a server on a base backup, which it recovers with these settings.
    pub async fn of_base_backup(backup: &std::path::Path, config: &[(&str, &str)]) -> Self {
        let run = Run::current().await;
        let folder = Folder::new(run.new_folder("restored"), None);
        let data = folder.path.join("data");
        binaries::must(Command::new("cp").arg("-a").arg(backup).arg(&data));
        std::fs::write(data.join("recovery.signal"), "").expect("the folder can be written");
        if binaries::is_root() {
            let mut given = Command::new("chown");
            binaries::must(given.args(["-R", "postgres:postgres"]).arg(&folder.path));
        }
        let mut settings = vec![("max_connections", "500")];
        settings.extend(config);
        Self::of_folder(folder, &settings)
    }

    fn of_folder(folder: Folder, settings: &[(&str, &str)]) -> Self {
        let server = Server::start_on(&folder.path, settings);
        Self {
            wire: FaultProxy::to_postgres(port::loopback(server.port())),
            server,
            folder,
        }
    }

    /// A standby of this server, in step with it from now on: no commit is acknowledged that the
    /// standby does not have. It serves reads until it is promoted.
    pub async fn standby(&self) -> Self {
        let standby = self.standby_behind().await;
        // Only after the copy, so that the standby waits for no replica once it leads.
        self.ask("ALTER SYSTEM SET synchronous_standby_names = '*'")
            .await;
        self.ask("SELECT pg_reload_conf()::text").await;
        self.follows_as("sync").await;
        standby
    }

    /// A standby that follows this server as fast as it can, and that no commit waits for.
    pub async fn standby_behind(&self) -> Self {
        let run = Run::current().await;
        let folder = Folder::new(run.new_folder("standby"), None);
        binaries::give_to_postgres(&folder.path);
        let port = self.server.port().to_string();
        binaries::must(
            binaries::as_postgres(&binaries::postgres_program("pg_basebackup"))
                .current_dir(&folder.path)
                .args([
                    "--pgdata=data",
                    "--write-recovery-conf",
                    "--checkpoint=fast",
                ])
                .args(["--no-sync", "--host=127.0.0.1", "--port", &port])
                .arg(format!("--username={SUPERUSER}")),
        );
        // A standby must allow at least as many as the server it follows.
        let server = Server::start_on(&folder.path, &[("max_connections", "500")]);
        self.follows_as("async").await;
        Self {
            wire: FaultProxy::to_postgres(port::loopback(server.port())),
            server,
            folder,
        }
    }

    async fn follows_as(&self, word: &str) {
        let mut state = Vec::new();
        for _ in 0..STANDBY_TRIES {
            state = self.ask("SELECT sync_state FROM pg_stat_replication").await;
            if state == [word] {
                return;
            }
            tokio::time::sleep(STANDBY_PAUSE).await;
        }
        panic!("the standby does not follow as {word}: {state:?}");
    }

    /// Makes a standby the one that writes.
    pub async fn promote(&self) {
        assert_eq!(self.ask("SELECT pg_promote()::text").await, ["true"]);
    }

    /// What the superuser reads: the first column, as text, of a query for one.
    pub async fn ask(&self, query: &str) -> Vec<String> {
        test_run::ask(&self.superuser_url(), query).await
    }

    /// Moves `app.now()` for all connections to this server, relative to where it stands.
    pub async fn shift_clock(&self, seconds: i64) {
        clock::shift(&self.direct_url(Role::Owner), seconds).await;
    }

    /// Where the server listens, past the wire.
    #[must_use]
    pub fn address(&self) -> std::net::SocketAddr {
        port::loopback(self.server.port())
    }

    /// The address through the wire, of a login that has this role and no other.
    #[must_use]
    pub fn url(&self, role: Role) -> Secret {
        server::url(server::login(role), self.wire.port(), MIGRATED)
    }

    /// The same past the wire.
    #[must_use]
    pub fn direct_url(&self, role: Role) -> Secret {
        self.server.url(server::login(role), MIGRATED)
    }

    /// The address past the wire of the login that may do everything.
    #[must_use]
    pub fn superuser_url(&self) -> Secret {
        self.server.url(SUPERUSER, MIGRATED)
    }

    /// A pool through the wire.
    pub async fn connect(&self, role: Role) -> Database {
        self.connect_with(role, PoolSettings::named("test")).await
    }

    /// A pool through the wire, with settings.
    pub async fn connect_with(&self, role: Role, settings: PoolSettings) -> Database {
        connect(&self.url(role), role, settings)
            .await
            .expect("the test server lets us in")
    }

    /// The wire that [`Postgres::url`] goes through.
    #[must_use]
    pub fn wire(&self) -> &FaultProxy {
        &self.wire
    }

    /// Delays every answer that goes through the wire. Zero takes the delay away.
    pub fn slow(&self, by: Duration) {
        self.wire.delay(by);
    }

    /// Whether the postmaster is there, paused or not.
    #[must_use]
    pub fn runs(&self) -> bool {
        self.server.runs()
    }

    /// Kills the postmaster as the kernel's memory killer would; the backends notice and leave.
    pub fn kill_9_postmaster(&self) {
        self.server.kill_9_postmaster();
    }

    /// Kills one backend; PostgreSQL then drops all connections and recovers by itself.
    pub fn kill_9_backend(&self, pid: u32) {
        self.server.kill_9_backend(pid);
    }

    /// Kills one backend of this application name and tells which.
    pub async fn kill_9_one_backend(&self, application_name: &str) -> u32 {
        let mut superuser = test_run::open(&self.superuser_url()).await;
        let pid: i32 = sqlx::query_scalar(
            "SELECT pid FROM pg_catalog.pg_stat_activity WHERE application_name = $1 LIMIT 1",
        )
        .bind(application_name)
        .fetch_optional(&mut superuser)
        .await
        .expect("the superuser sees every session")
        .unwrap_or_else(|| panic!("no session is connected as {application_name}"));
        let pid = u32::try_from(pid).expect("a process id is positive");
        self.kill_9_backend(pid);
        pid
    }

    /// A clean shutdown that drops all connections.
    pub fn stop_fast(&self) {
        self.server.stop_fast();
    }

    /// A shutdown without goodbye; the next start recovers.
    pub fn stop_immediate(&self) {
        self.server.stop_immediate();
    }

    /// Starts it again on the same data and port, after a stop or a kill.
    pub fn start(&self) {
        self.server.start();
    }

    /// Freezes every process of the server; connections stay open without an answer.
    pub fn pause(&self) {
        self.server.pause();
    }

    /// Freezes one backend, as if the network to it alone were gone; the others go on.
    pub fn pause_backend(&self, pid: u32) {
        self.server.pause_backend(pid);
    }

    /// Lets a paused server or backend go on.
    pub fn resume(&self) {
        self.server.resume();
    }

    /// The end of the server's log.
    #[must_use]
    pub fn log_tail(&self) -> String {
        self.server.log_tail()
    }

    #[must_use]
    pub fn folder(&self) -> &std::path::Path {
        &self.folder.path
    }
}

// === impl Folder ===

impl Folder {
    fn new(path: PathBuf, disk_limit_mb: Option<u32>) -> Self {
        if let Some(megabytes) = disk_limit_mb {
            binaries::must(
                Command::new("mount")
                    .args(["-t", "tmpfs", "-o", &format!("size={megabytes}m"), "tmpfs"])
                    .arg(&path),
            );
        }
        Self {
            path,
            mounted: disk_limit_mb.is_some(),
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.mounted {
            drop(Command::new("umount").arg("-l").arg(&self.path).output());
        }
        drop(std::fs::remove_dir_all(&self.path));
    }
}
