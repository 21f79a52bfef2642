//! What the simulator remembers of speech and recognition: the calls, the files that can still be
//! fetched, and the tasks that recognise files.

mod calls;
mod files;
mod tasks;

use std::sync::Arc;

pub(crate) use calls::Calls;
pub use calls::{AudioCall, AudioWork};
pub(crate) use files::{FileStore, Kept};
pub(crate) use tasks::{Known, Outcome, Task, Tasks};

/// How fast speech is sent and how long recognition takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AudioSettings {
    /// Pause between two pieces of speech, which are about a fifth of a second each.
    pub pace_millis: u64,
    /// How long a recognition task waits before it begins.
    pub wait_millis: u64,
    /// How long it runs at least; it may take longer to fetch its file.
    pub run_millis: u64,
}

/// What was said and heard, and what can still be fetched.
#[derive(Debug)]
pub(crate) struct Audio {
    pub(crate) settings: AudioSettings,
    pub(crate) calls: Arc<Calls>,
    pub(crate) files: Arc<FileStore>,
    pub(crate) tasks: Tasks,
}

// === impl AudioSettings ===

impl Default for AudioSettings {
    fn default() -> Self {
        Self {
            pace_millis: 0,
            wait_millis: 20,
            run_millis: 100,
        }
    }
}

// === impl Audio ===

impl Audio {
    pub(crate) fn new(settings: AudioSettings, max_calls: usize) -> Self {
        Self {
            settings,
            calls: Arc::new(Calls::new(max_calls)),
            files: Arc::default(),
            tasks: Tasks::default(),
        }
    }

    pub(crate) fn calls(&self) -> Vec<AudioCall> {
        self.calls.all()
    }

    pub(crate) fn forget(&self) {
        self.calls.forget();
    }
}
