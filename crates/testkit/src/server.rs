//! One PostgreSQL server process on a data directory: the part that the shared server and a test's
//! own server have in common.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use trunkline_db::Role;
use trunkline_types::Secret;

use crate::engine_process::Engine;
use crate::{binaries, port, process};

/// How often another port is tried when another process was faster.
const PORT_TRIES: usize = 5;
/// Longest wait for children of a killed postmaster to notice.
const ORPHAN_LIMIT: Duration = Duration::from_secs(3);
/// The login that may do everything.
pub(crate) const SUPERUSER: &str = "postgres";
/// The login that migrates: may create roles and databases, and no more.
pub(crate) const MIGRATOR: &str = "test_migrator";

/// A server and its directory.
pub(crate) struct Server {
    folder: PathBuf,
    port: u16,
    engine: Mutex<Engine>,
    /// Children that a killed postmaster has left; a new one does not start before they are gone.
    orphans: Mutex<Vec<u32>>,
}

/// The login that works under a role.
pub(crate) fn login(role: Role) -> &'static str {
    match role {
        Role::Owner => "test_owner",
        Role::Data => "test_data",
        Role::Console => "test_console",
        Role::Audit => "test_audit",
    }
}

/// An address without TLS, which a [`FaultProxy`](crate::Wire) could not look into.
pub(crate) fn url(user: &str, port: u16, database: &str) -> Secret {
    Secret::new(format!(
        "postgres://{user}@127.0.0.1:{port}/{database}?sslmode=disable"
    ))
}

/// Settings that make a server fast and its data worthless after a crash of the machine.
pub(crate) const CARELESS: [(&str, &str); 3] = [
    ("fsync", "off"),
    ("synchronous_commit", "off"),
    ("full_page_writes", "off"),
];

/// Makes an empty cluster in `folder/data`.
pub(crate) fn initialise(folder: &Path) {
    binaries::give_to_postgres(folder);
    binaries::must(
        binaries::as_postgres(&binaries::postgres_program("initdb"))
            .current_dir(folder)
            .arg("--pgdata=data")
            .args(["--no-sync", "--no-instructions", "--auth=trust"])
            .args(["--encoding=UTF8", "--locale=C", "--wal-segsize=1"])
            .arg(format!("--username={SUPERUSER}")),
    );
}

// === impl Server ===

impl Server {
    /// Starts a server on `folder/data`, on a port of its own choice.
    pub(crate) fn start_on(folder: &Path, settings: &[(&str, &str)]) -> Self {
        let mut last_words = String::new();
        for _ in 0..PORT_TRIES {
            let port = port::free();
            let mut engine = Engine::new("postgres", &command(port, settings), folder);
            match engine.try_start(|pid| is_ready(folder, pid)) {
                Ok(()) => {
                    return Self {
                        folder: folder.to_owned(),
                        port,
                        engine: Mutex::new(engine),
                        orphans: Mutex::default(),
                    };
                }
                Err(log) => last_words = log,
            }
        }
        panic!("PostgreSQL did not start; its log ends:\n{last_words}");
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn url(&self, user: &str, database: &str) -> Secret {
        url(user, self.port, database)
    }

    pub(crate) fn runs(&self) -> bool {
        self.engine().runs()
    }

    /// Starts it again where it was. It recovers by itself when it was killed.
    pub(crate) fn start(&self) {
        let orphans =
            std::mem::take(&mut *self.orphans.lock().unwrap_or_else(PoisonError::into_inner));
        let mut engine = self.engine();
        if !process::wait_until_gone(&orphans, ORPHAN_LIMIT) {
            engine.kill(&orphans);
        }
        engine.start(|pid| is_ready(&self.folder, pid));
    }

    /// Kills the postmaster; its children notice and leave by themselves.
    pub(crate) fn kill_9_postmaster(&self) {
        let engine = self.engine();
        let tree = engine.tree();
        engine.kill_main();
        // Paused children notice nothing.
        engine.resume();
        *self.orphans.lock().unwrap_or_else(PoisonError::into_inner) = tree;
    }

    /// Kills one backend; the postmaster then drops all connections and recovers.
    pub(crate) fn kill_9_backend(&self, pid: u32) {
        let engine = self.engine();
        assert!(
            engine.tree().contains(&pid),
            "{pid} is not a backend of this server"
        );
        process::signal("KILL", &[pid]);
    }

    /// A clean shutdown that throws clients out.
    pub(crate) fn stop_fast(&self) {
        self.engine().stop("INT");
    }

    /// A shutdown without goodbye: the next start recovers.
    pub(crate) fn stop_immediate(&self) {
        self.engine().stop("QUIT");
    }

    pub(crate) fn pause(&self) {
        self.engine().pause();
    }

    pub(crate) fn pause_backend(&self, pid: u32) {
        let engine = self.engine();
        assert!(
            engine.tree().contains(&pid),
            "{pid} is not a backend of this server"
        );
        engine.pause_one(pid);
    }

    pub(crate) fn resume(&self) {
        self.engine().resume();
    }

    pub(crate) fn log_tail(&self) -> String {
        self.engine().log_tail()
    }

    /// Leaves a running server to the watchdog; this process may end before the others are done.
    pub(crate) fn leave_running(self) {
        #[expect(
            clippy::mem_forget,
            reason = "the server belongs to the run, not to this process"
        )]
        std::mem::forget(self);
    }

    fn engine(&self) -> MutexGuard<'_, Engine> {
        self.engine.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.runs() {
            self.stop_immediate();
        }
        remove_shared_memory(&self.folder);
    }
}

fn command(port: u16, settings: &[(&str, &str)]) -> Command {
    let port = port.to_string();
    let base = [
        ("port", port.as_str()),
        ("listen_addresses", "127.0.0.1"),
        ("unix_socket_directories", ""),
        // Files of the directory instead of /dev/shm, where a killed server would leave them.
        ("dynamic_shared_memory_type", "mmap"),
        ("shared_buffers", "32MB"),
        ("max_wal_size", "1GB"),
        ("jit", "off"),
        // Partitions without statistics look large enough for workers, and to start two of them costs more than any
        // query of a test. A test of parallel plans sets this for its database.
        ("max_parallel_workers_per_gather", "0"),
        ("log_line_prefix", "%m [%p] %q%u@%d "),
    ];
    let mut command = binaries::as_postgres(&binaries::postgres_program("postgres"));
    command.arg("-D").arg("data");
    for (key, value) in base.iter().chain(settings) {
        command.arg("-c").arg(format!("{key}={value}"));
    }
    command
}

/// The postmaster writes its state into the eighth line of its file, below its own id in the first.
fn is_ready(folder: &Path, pid: u32) -> bool {
    let bytes = std::fs::read(folder.join("data/postmaster.pid")).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let mut lines = text.lines();
    lines.next() == Some(pid.to_string().as_str())
        && lines
            .nth(6)
            .is_some_and(|state| matches!(state.trim(), "ready" | "standby"))
}

/// A postmaster that was killed leaves a few bytes of System V shared memory in the kernel. Its id
/// is the second word of the seventh line.
fn remove_shared_memory(folder: &Path) {
    let bytes = std::fs::read(folder.join("data/postmaster.pid")).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let id = text
        .lines()
        .nth(6)
        .and_then(|line| line.split_whitespace().nth(1));
    if let Some(id) = id {
        drop(Command::new("ipcrm").args(["-m", id]).output());
    }
}
