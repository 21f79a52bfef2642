//! Looking at processes and sending them signals, without a line of unsafe code: `/proc` and `kill`.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const PAUSE: Duration = Duration::from_millis(5);

/// Sends a signal by name to all of them; one that is gone already is no error.
pub(crate) fn signal(name: &str, pids: &[u32]) {
    if pids.is_empty() {
        return;
    }
    Command::new("kill")
        .arg("-s")
        .arg(name)
        .args(pids.iter().map(u32::to_string))
        .stderr(Stdio::null())
        .status()
        .expect("the kill program runs");
}

/// Whether a process runs; one that has ended and was not yet collected by its parent does not.
pub(crate) fn runs(pid: u32) -> bool {
    stat(pid).is_some_and(|stat| stat.state != 'Z' && stat.state != 'X')
}

/// The kernel's start time of a process, which together with its id names it for ever.
pub(crate) fn start_time(pid: u32) -> Option<String> {
    stat(pid).map(|stat| stat.start_time)
}

/// A process and everything that descends from it.
pub(crate) fn tree(root: u32) -> Vec<u32> {
    let parents: Vec<(u32, u32)> = all()
        .into_iter()
        .filter_map(|pid| stat(pid).map(|stat| (pid, stat.parent)))
        .collect();
    let mut found = vec![root];
    let mut next = 0;
    while let Some(&parent) = found.get(next) {
        let children = parents.iter().filter(|(_, of)| *of == parent);
        found.extend(children.map(|(pid, _)| *pid));
        next += 1;
    }
    found
}

/// Waits until none of them runs; `false` when some still do at the limit.
pub(crate) fn wait_until_gone(pids: &[u32], limit: Duration) -> bool {
    wait_until(limit, || !pids.iter().copied().any(runs))
}

/// Waits until something holds; `false` when it does not at the limit.
pub(crate) fn wait_until(limit: Duration, holds: impl Fn() -> bool) -> bool {
    let started = Instant::now();
    while !holds() {
        if started.elapsed() > limit {
            return false;
        }
        std::thread::sleep(PAUSE);
    }
    true
}

struct Stat {
    state: char,
    parent: u32,
    start_time: String,
}

fn all() -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").expect("this is Linux");
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect()
}

/// `/proc/<pid>/stat` is `pid (name) state parent …`, and the name may contain anything.
fn stat(pid: u32) -> Option<Stat> {
    let bytes = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let (_, after_name) = text.rsplit_once(") ")?;
    let mut fields = after_name.split_ascii_whitespace();
    let state = fields.next()?.chars().next()?;
    let parent = fields.next()?.parse().ok()?;
    let start_time = fields.nth(17)?.to_owned();
    Some(Stat {
        state,
        parent,
        start_time,
    })
}
