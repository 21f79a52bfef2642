//! What all tests of one run share: a directory, a migrated server in it, and a watchdog that clears
//! both away when the run is over, however it ended.
//!
//! nextest gives every test its own process. The first one to come builds, the others wait at a file
//! lock. Under plain `cargo test` a run is one process.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use tokio::sync::OnceCell;
use trunkline_db::{Role, migrate};
use trunkline_types::Secret;

use crate::server::{self, MIGRATOR, SUPERUSER, Server};
use crate::{binaries, process, random};

/// Longest wait for the process that builds.
const BUILD_LIMIT: Duration = Duration::from_secs(120);
const BUILD_PAUSE: Duration = Duration::from_millis(20);
/// Where Linux keeps files in memory, and how much of it (all, not what is free: every process of
/// the run must come to the same answer) makes it good enough. Containers have 64 by default.
const MEMORY: &str = "/dev/shm";
const MEMORY_MIN_MB: u64 = 2_000;
/// Tests in parallel times their connections, with a margin.
const SHARED_CONNECTIONS: &str = "300";
/// The one migrated database of the cluster that all others are copies of: what a test's own server
/// serves, and what every database on the shared server is a clone of.
pub(crate) const MIGRATED: &str = "trunkline";

const WATCHDOG: &str = include_str!("watchdog.sh");

/// The run this process belongs to.
pub(crate) struct Run {
    directory: PathBuf,
    shared_port: u16,
}

static CURRENT: OnceCell<Run> = OnceCell::const_new();

// === impl Run ===

impl Run {
    /// The run this process belongs to, built when it is the first to ask.
    pub(crate) async fn current() -> &'static Self {
        CURRENT.get_or_init(Self::join_or_build).await
    }

    /// A new directory inside the run's, whose processes the watchdog knows.
    pub(crate) fn new_folder(&self, kind: &str) -> PathBuf {
        let folder = self
            .directory
            .join(format!("{kind}-{}", random::random_word()));
        std::fs::create_dir(&folder).expect("the run's directory can be written");
        folder
    }

    /// A directory inside the run's that all its processes share.
    pub(crate) fn new_or_existing_folder(&self, name: &str) -> PathBuf {
        let folder = self.directory.join(name);
        std::fs::create_dir_all(&folder).expect("the run's directory can be written");
        folder
    }

    /// Copies the initialised and migrated cluster into `folder`.
    pub(crate) fn copy_cluster_to(&self, folder: &Path) {
        binaries::give_to_postgres(folder);
        binaries::must(
            Command::new("cp")
                .arg("-a")
                .arg(self.directory.join("base/data"))
                .arg(folder),
        );
    }

    pub(crate) fn shared_port(&self) -> u16 {
        self.shared_port
    }

    async fn join_or_build() -> Self {
        let identity = Identity::find();
        let directory = place().join(format!("trunkline-test-{}", identity.name));
        std::fs::create_dir_all(&directory).expect("the temporary directory can be written");
        let lock = File::create(directory.join("lock")).expect("the lock can be written");
        wait_for(&lock, &directory).await;
        let ready = directory.join("ready");
        if !ready.exists() {
            identity.set_watchdog_on(&directory);
            let port = build(&directory).await;
            std::fs::write(&ready, port.to_string()).expect("the run's directory can be written");
        }
        let port = std::fs::read(&ready).expect("the shared server's port is written there");
        let shared_port = String::from_utf8_lossy(&port)
            .parse()
            .expect("it is a port");
        Self {
            directory,
            shared_port,
        }
    }
}

/// Where runs live: in memory when there is enough of it, because a cluster is a thousand files and
/// a disk makes them ten times slower, unless TMPDIR is set.
fn place() -> PathBuf {
    let temporary = std::env::temp_dir();
    if temporary == Path::new("/tmp") && binaries::megabytes_of(Path::new(MEMORY)) >= MEMORY_MIN_MB
    {
        return PathBuf::from(MEMORY);
    }
    temporary
}

/// Which run, and whose end is its end.
struct Identity {
    name: String,
    watched: u32,
    watched_since: String,
}

impl Identity {
    fn find() -> Self {
        #[expect(
            clippy::disallowed_methods,
            reason = "nextest tells a test in which run it is by the environment only"
        )]
        let nextest = std::env::var("NEXTEST_RUN_ID").ok();
        let watched = match nextest {
            Some(_) => std::os::unix::process::parent_id(),
            None => std::process::id(),
        };
        let watched_since = process::start_time(watched).expect("that process runs");
        Self {
            name: nextest.unwrap_or_else(|| format!("{watched}-{watched_since}")),
            watched,
            watched_since,
        }
    }

    fn set_watchdog_on(&self, directory: &Path) {
        let marker = directory.join("watchdog");
        if marker.exists() {
            return; // a builder before us was killed half-way
        }
        #[expect(
            clippy::zombie_processes,
            reason = "it outlives us; that is what it is for"
        )]
        let watchdog = Command::new("setsid")
            .args(["sh", "-c", WATCHDOG, "trunkline-test-watchdog"])
            .arg(self.watched.to_string())
            .arg(&self.watched_since)
            .arg(directory)
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the shell starts");
        std::fs::write(marker, watchdog.id().to_string()).expect("the directory can be written");
    }
}

pub(crate) async fn wait_for(lock: &File, directory: &Path) {
    let started = Instant::now();
    while lock.try_lock().is_err() {
        if started.elapsed() > BUILD_LIMIT {
            let log = std::fs::read(directory.join("base/postgres.log")).unwrap_or_default();
            panic!(
                "the test server was not built within {BUILD_LIMIT:?}; its log:\n{}",
                String::from_utf8_lossy(&log)
            );
        }
        tokio::time::sleep(BUILD_PAUSE).await;
    }
}

/// Makes the cluster that all others are copies of, and starts the shared one.
async fn build(directory: &Path) -> u16 {
    let base = directory.join("base");
    let shared = directory.join("shared");
    for folder in [&base, &shared] {
        drop(std::fs::remove_dir_all(folder)); // what a killed builder has left
        std::fs::create_dir(folder).expect("the run's directory can be written");
    }
    server::initialise(&base);
    let maker = Server::start_on(&base, &server::CARELESS);
    fill(&maker).await;
    maker.stop_fast();
    drop(maker);

    binaries::give_to_postgres(&shared);
    binaries::must(
        Command::new("cp")
            .arg("-a")
            .arg(base.join("data"))
            .arg(&shared),
    );
    let mut settings = server::CARELESS.to_vec();
    settings.push(("max_connections", SHARED_CONNECTIONS));
    settings.push(("autovacuum", "off"));
    let server = Server::start_on(&shared, &settings);
    // The first session writes down what it has read of the catalog, and every copy has that file too.
    execute(&server.url(SUPERUSER, MIGRATED), &["SELECT 1"]).await;
    // No session can connect to it from now on, so that cloning it never has to wait.
    let template = format!("ALTER DATABASE {MIGRATED} WITH ALLOW_CONNECTIONS false");
    execute(&server.url(SUPERUSER, "postgres"), &[&template]).await;
    let port = server.port();
    server.leave_running();
    port
}

/// Logins as an operator would make them, each with one role, and a database that a login without
/// superuser rights has migrated.
async fn fill(server: &Server) {
    let superuser = server.url(SUPERUSER, "postgres");
    execute(
        &superuser,
        &[
            &format!("CREATE ROLE {MIGRATOR} LOGIN CREATEROLE CREATEDB"),
            &format!("CREATE DATABASE {MIGRATED} OWNER {MIGRATOR}"),
        ],
    )
    .await;
    let report = migrate(&server.url(MIGRATOR, MIGRATED)).await;
    report.expect("the template can be migrated");
    for role in Role::ALL {
        let (login, name) = (server::login(role), role.name());
        execute(
            &superuser,
            &[&format!("CREATE ROLE {login} LOGIN IN ROLE {name}")],
        )
        .await;
    }
}

pub(crate) async fn open(url: &Secret) -> PgConnection {
    PgConnection::connect(url.reveal())
        .await
        .expect("the test server lets us in")
}

/// The first column of a statement's rows, as text.
pub(crate) async fn ask(url: &Secret, query: &str) -> Vec<String> {
    use sqlx::Row as _;
    let mut connection = open(url).await;
    let rows = sqlx::raw_sql(AssertSqlSafe(query))
        .fetch_all(&mut connection)
        .await
        .unwrap_or_else(|error| panic!("{query}: {error}"));
    connection.close().await.expect("the connection closes");
    rows.iter()
        .map(|row| row.try_get(0).expect("the first column is text"))
        .collect()
}

/// Runs statements whose names are ours, one after the other.
pub(crate) async fn execute(url: &Secret, statements: &[&str]) {
    let mut connection = open(url).await;
    for statement in statements {
        sqlx::raw_sql(AssertSqlSafe(*statement))
            .execute(&mut connection)
            .await
            .unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
    connection.close().await.expect("the connection closes");
}
