//! One server process: started, killed, stopped, paused, and gone when the handle is dropped.
//!
//! Knows nothing of what the server speaks; who owns an engine tells it how to start and when it is
//! ready.

use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Mutex;
use std::time::Duration;

use crate::{binaries, process, tally};

/// Longest start, recovery after a crash included.
const START_LIMIT: Duration = Duration::from_secs(30);
/// Longest friendly end before the unfriendly one.
const STOP_LIMIT: Duration = Duration::from_secs(10);
/// Longest end of a process that was killed.
const KILL_LIMIT: Duration = Duration::from_secs(5);
/// How much of a log is shown when a server fails.
const LOG_TAIL_BYTES: usize = 4_000;

/// A server process that may be running or not.
pub(crate) struct Engine {
    name: &'static str,
    command: Command,
    log: PathBuf,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    child: Option<Child>,
    /// Stopped by a signal, to be woken before anything else is asked of them.
    paused: Vec<u32>,
}

// === impl Engine ===

impl Engine {
    /// An engine at home in `folder` that is not started yet. `command` is what to run.
    pub(crate) fn new(name: &'static str, command: &Command, folder: &Path) -> Self {
        let log = folder.join(format!("{name}.log"));
        Self {
            name,
            command: binaries::as_server(command, folder, &log),
            log,
            state: Mutex::default(),
        }
    }

    /// Starts it and waits until it is ready; what it said when it does not get there.
    pub(crate) fn try_start(&mut self, ready: impl Fn(u32) -> bool) -> Result<(), String> {
        assert!(!self.runs(), "{} is running already", self.name);
        tally::count(self.name);
        let child = self.command.spawn().expect("the server program starts");
        let pid = child.id();
        self.state().child = Some(child);
        let settled = process::wait_until(START_LIMIT, || !process::runs(pid) || ready(pid));
        if settled && process::runs(pid) {
            return Ok(());
        }
        self.kill(&[pid]);
        Err(self.log_tail())
    }

    /// Starts it and waits until it is ready.
    pub(crate) fn start(&mut self, ready: impl Fn(u32) -> bool) {
        let name = self.name;
        self.try_start(ready)
            .unwrap_or_else(|log| panic!("{name} did not start; its log ends:\n{log}"));
    }

    /// Whether the process is there, paused or not.
    pub(crate) fn runs(&self) -> bool {
        self.pid().is_some_and(process::runs)
    }

    /// The process's id, also after it has ended, until it is started again.
    pub(crate) fn pid(&self) -> Option<u32> {
        self.state().child.as_ref().map(Child::id)
    }

    /// The process and its descendants.
    pub(crate) fn tree(&self) -> Vec<u32> {
        self.pid()
            .filter(|&pid| process::runs(pid))
            .map_or_else(Vec::new, process::tree)
    }

    /// Kills the main process and nothing else; the kernel gives no warning.
    pub(crate) fn kill_main(&self) {
        let main: Vec<u32> = self.pid().into_iter().collect();
        self.kill(&main);
    }

    /// Asks the main process to end, and kills everything when it does not.
    pub(crate) fn stop(&self, signal: &str) {
        self.resume();
        let tree = self.tree();
        let main: Vec<u32> = self.pid().into_iter().collect();
        process::signal(signal, &main);
        self.collect_within(&main, STOP_LIMIT);
        if !process::wait_until_gone(&tree, KILL_LIMIT) {
            self.kill(&tree);
        }
    }

    /// Stops the whole tree in the middle of whatever it does. Connections stay open.
    pub(crate) fn pause(&self) {
        // First the parent, so that no child is born unseen.
        let main: Vec<u32> = self.pid().into_iter().collect();
        process::signal("STOP", &main);
        let tree = self.tree();
        process::signal("STOP", &tree);
        self.state().paused.extend(tree);
    }

    /// Stops one process of the tree.
    pub(crate) fn pause_one(&self, pid: u32) {
        process::signal("STOP", &[pid]);
        self.state().paused.push(pid);
    }

    /// Lets everything that is paused go on.
    pub(crate) fn resume(&self) {
        let paused = std::mem::take(&mut self.state().paused);
        process::signal("CONT", &paused);
    }

    /// The end of what it has logged.
    pub(crate) fn log_tail(&self) -> String {
        let bytes = std::fs::read(&self.log).unwrap_or_default();
        let from = bytes.len().saturating_sub(LOG_TAIL_BYTES);
        String::from_utf8_lossy(bytes.get(from..).unwrap_or_default()).into_owned()
    }

    /// Kills processes and waits until they are gone.
    pub(crate) fn kill(&self, pids: &[u32]) {
        process::signal("KILL", pids);
        self.collect_within(pids, KILL_LIMIT);
    }

    /// Waits for processes to end; the main one is our child, and no other process will collect it.
    fn collect_within(&self, pids: &[u32], limit: Duration) {
        process::wait_until_gone(pids, limit);
        if let Some(child) = &mut self.state().child {
            drop(child.try_wait());
        }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        // A test that panicked while it held the lock has left nothing half-done in there.
        self.state
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.resume();
        let tree = self.tree();
        self.kill(&tree);
    }
}
