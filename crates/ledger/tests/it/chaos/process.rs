//! The test's handle on a ledger process: orders in, history out, and every signal.

use std::io::Write as _;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use crate::chaos::child_process::{Holds, NAME, PLAN, Plan};
use crate::chaos::config::{STEP_LIMIT, until};
use crate::chaos::history::History;

/// A ledger process. It is killed with the handle.
pub(crate) struct Process {
    pub(crate) node: String,
    pub(crate) holds: Holds,
    pub(crate) history: History,
    child: Child,
    orders: Option<ChildStdin>,
    ordered: u64,
}

// === impl Process ===

impl Process {
    /// Starts one; it has said nothing to the database yet.
    pub(crate) fn start(plan: &Plan) -> Self {
        let file = plan.diary.with_extension("plan");
        std::fs::write(&file, serde_json::to_vec(plan).unwrap()).unwrap();
        let last_words = std::fs::File::create(plan.diary.with_extension("err")).unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "--ignored", "--nocapture", NAME])
            .env(PLAN, &file)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(last_words)
            .spawn()
            .expect("this very binary starts");
        Self {
            node: plan.node.clone(),
            holds: plan.holds,
            history: History::at(&plan.diary),
            orders: child.stdin.take(),
            child,
            ordered: 0,
        }
    }

    /// Gives an order and returns its number.
    pub(crate) fn order(&mut self, order: &str) -> u64 {
        self.ordered += 1;
        let orders = self.orders.as_mut().expect("the process has not ended");
        writeln!(orders, "{order}").unwrap_or_else(|error| {
            let submitted = std::fs::read(self.history_path("err")).unwrap_or_default();
            panic!(
                "{} is gone ({error}): {}",
                self.node,
                String::from_utf8_lossy(&submitted)
            )
        });
        self.ordered
    }

    /// Gives an order and waits until it was carried out; the number it answered.
    pub(crate) async fn done(&mut self, order: &str) -> i64 {
        let number = self.order(order);
        self.wait_for(number, order, STEP_LIMIT).await
    }

    pub(crate) async fn wait_for(&mut self, number: u64, order: &str, limit: Duration) -> i64 {
        let what = format!("{} has done: {order}", self.node);
        let started = tokio::time::Instant::now();
        loop {
            // In this order: what it wrote before it ended must be read.
            let ended = self.child.try_wait().unwrap().is_some();
            self.history.read_on();
            if let Some(count) = self.history.did(number) {
                return count;
            }
            if started.elapsed() > limit || ended {
                let submitted = std::fs::read(self.history_path("err")).unwrap_or_default();
                panic!(
                    "not within {limit:?}: {what}; it says: {}",
                    String::from_utf8_lossy(&submitted)
                );
            }
            tokio::time::sleep(crate::chaos::config::LOOK).await;
        }
    }

    /// `kill -9`, and its history is closed.
    pub(crate) fn kill_9(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.orders = None;
        self.history.read_on();
        self.history.died = true;
    }

    pub(crate) fn pause(&self) {
        self.signal("STOP");
    }

    pub(crate) fn wake(&self) {
        self.signal("CONT");
    }

    /// Lets it finish everything and end by itself.
    pub(crate) async fn quit(&mut self) {
        self.done("quit").await;
        let child = &mut self.child;
        until(
            "the process ends after its last order",
            STEP_LIMIT,
            async || child.try_wait().unwrap().is_some(),
        )
        .await;
        self.orders = None;
    }

    fn signal(&self, name: &str) {
        let sent = Command::new("kill")
            .args(["-s", name, &self.child.id().to_string()])
            .status();
        assert!(sent.unwrap().success(), "the process is there");
    }

    fn history_path(&self, extension: &str) -> std::path::PathBuf {
        self.history.path().with_extension(extension)
    }
}

// === impl History ===

impl History {
    /// All that a process has written, which has ended.
    pub(crate) fn of(mut process: Process) -> Self {
        process.history.read_on();
        let path = process.history.path().to_owned();
        std::mem::replace(&mut process.history, Self::at(&path))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // A paused process hears this too.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A folder for plans and diaries, gone with the handle.
pub(crate) struct Folder(std::path::PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        let word = u64::from_be_bytes(trunkline_testkit::random_bytes());
        let path = std::env::temp_dir().join(format!("trunkline-chaos-{word:016x}"));
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What a failed test's processes wrote is worth keeping.
        if !std::thread::panicking() {
            drop(std::fs::remove_dir_all(&self.0));
        }
    }
}
