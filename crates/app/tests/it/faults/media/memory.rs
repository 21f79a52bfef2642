//! What a process takes of memory, as its kernel tells it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

const EVERY: Duration = Duration::from_millis(50);

/// A line of `/proc/PID/status`, in kilobytes.
pub(crate) fn line_kb(pid: u32, name: &str) -> u64 {
    let status = std::fs::read(format!("/proc/{pid}/status")).unwrap();
    let status = String::from_utf8(status).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let figure = line.unwrap().trim_start_matches(':');
    figure.split_whitespace().next().unwrap().parse().unwrap()
}

/// What lies in memory of it now.
pub(crate) fn resident_kb(pid: u32) -> u64 {
    line_kb(pid, "VmRSS")
}

/// Looks again and again until it is asked.
pub(crate) struct Watch {
    highest: Arc<AtomicU64>,
    is_over: Arc<AtomicBool>,
}

impl Watch {
    pub(crate) fn over(pid: u32) -> Self {
        let watch = Self {
            highest: Arc::default(),
            is_over: Arc::default(),
        };
        let (highest, is_over) = (Arc::clone(&watch.highest), Arc::clone(&watch.is_over));
        // A thread of its own: the test's runtime may be busy.
        std::thread::spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                highest.fetch_max(resident_kb(pid), Ordering::Relaxed);
                std::thread::sleep(EVERY);
            }
        });
        watch
    }

    /// The highest that was seen.
    pub(crate) fn highest_kb(self) -> u64 {
        self.is_over.store(true, Ordering::Relaxed);
        self.highest.load(Ordering::Relaxed)
    }
}
