//! Upgrades of a harness' gateway: the process that runs starts its successor, which is no child of the test.

use std::path::Path;
use std::time::{Duration, Instant};

use tokio::process::Child;

use super::{ProcessHarness, signal};

/// A new process serves so soon after it was asked for.
const READY_WITHIN: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// A gateway that the test did not start; killed when dropped.
pub(crate) struct Process {
    pid: u32,
    /// The first one of a harness, which must be waited for.
    child: Option<Child>,
}

impl ProcessHarness {
    /// Has the gateway replaced by a new process, waits until that one serves, and returns the one before.
    pub(crate) async fn upgrade_gateway(&mut self) -> Process {
        let pid = self.pid();
        let count = "SELECT count(*)::text FROM ledger.node WHERE is_leaving";
        let before = self.postgres.ask(count).await;
        signal(pid, "-HUP").await;
        let began = Instant::now();
        // A process that hands over says so when its successor serves.
        while self.postgres.ask(count).await == before {
            assert!(began.elapsed() < READY_WITHIN, "no new process serves");
            tokio::time::sleep(LOOK_EVERY).await;
        }
        self.follow(pid)
    }

    /// Goes on with the process that the gateway has started; the one before ends with the harness.
    pub(crate) async fn adopt_successor(&mut self, within: Duration) {
        let (pid, began) = (self.pid(), Instant::now());
        while children(pid).is_empty() {
            assert!(began.elapsed() < within, "no new process is started");
            tokio::time::sleep(LOOK_EVERY).await;
        }
        let before = self.follow(pid);
        self.replaced.push(before);
    }

    /// The process that this one has started is the gateway from now on. Returns the one before.
    fn follow(&mut self, pid: u32) -> Process {
        let started = children(pid);
        assert_eq!(started.len(), 1, "{pid} has started {started:?}");
        let after = Process {
            pid: started[0],
            child: None,
        };
        match self.successor.replace(after) {
            Some(before) => before,
            None => Process {
                pid,
                child: self.gateway.take(),
            },
        }
    }
}

impl Process {
    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    pub(crate) fn runs(&mut self) -> bool {
        match &mut self.child {
            Some(child) => child.try_wait().unwrap().is_none(),
            None => Path::new(&format!("/proc/{}/exe", self.pid)).exists(),
        }
    }

    /// Waits for its end, which must come by itself.
    pub(crate) async fn is_gone(&mut self, within: Duration) {
        let began = Instant::now();
        while self.runs() {
            assert!(began.elapsed() < within, "process {} stays", self.pid);
            tokio::time::sleep(LOOK_EVERY).await;
        }
        if let Some(child) = &mut self.child {
            assert!(child.wait().await.unwrap().success(), "it leaves in order");
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.runs() {
            let mut kill = std::process::Command::new("kill");
            drop(kill.args(["-KILL", &self.pid.to_string()]).status());
        }
    }
}

/// Processes that this one has started and that run.
fn children(of: u32) -> Vec<u32> {
    let folders = std::fs::read_dir("/proc").unwrap();
    let pids = folders.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let is_child = |pid: &u32| {
        let stat = std::fs::read(format!("/proc/{pid}/stat")).unwrap_or_default();
        let stat = String::from_utf8_lossy(&stat).into_owned();
        // The name in parentheses may contain anything.
        let after = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
        let mut fields = after.split(' ');
        let (state, parent) = (fields.next(), fields.next());
        state != Some("Z") && parent == Some(&of.to_string())
    };
    pids.filter(is_child).collect()
}
