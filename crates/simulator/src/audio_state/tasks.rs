//! Tasks that recognise files, and what came of each.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::task::JoinSet;

use crate::fault::AudioFault;

/// All tasks, and the work on them.
#[derive(Debug, Default)]
pub(crate) struct Tasks {
    pub(crate) known: Arc<Known>,
    pub(crate) work: Mutex<JoinSet<()>>,
}

#[derive(Debug, Default)]
pub(crate) struct Known {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
pub(crate) struct Inner {
    pub(crate) by_id: HashMap<String, Task>,
    order: VecDeque<String>,
}

#[derive(Clone, Debug)]
pub(crate) struct Task {
    pub(crate) key: String,
    /// Whether one address was given, which the newest model wants, and not a list.
    pub(crate) is_single: bool,
    pub(crate) created_micros: u64,
    pub(crate) begins_micros: u64,
    /// None if it never ends.
    pub(crate) ends_micros: Option<u64>,
    pub(crate) fault: Option<AudioFault>,
    /// What came of each file, once all were heard.
    pub(crate) results: Option<Vec<Outcome>>,
}

/// What came of one file.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) address: String,
    /// The address of what was heard, and its length.
    pub(crate) audio: Result<(String, u64), (&'static str, &'static str)>,
}

const MAX_TASKS: usize = 100_000;

// === impl Tasks ===

impl Tasks {
    pub(crate) fn knows(&self, id: &str) -> bool {
        self.known.inner().by_id.contains_key(id)
    }
}

// === impl Known ===

impl Known {
    pub(crate) fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(&self, id: &str, task: Task) {
        let mut inner = self.inner();
        inner.by_id.insert(id.to_owned(), task);
        inner.order.push_back(id.to_owned());
        while inner.order.len() > MAX_TASKS {
            if let Some(oldest) = inner.order.pop_front() {
                inner.by_id.remove(&oldest);
            }
        }
    }

    pub(crate) fn find(&self, id: &str) -> Option<Task> {
        self.inner().by_id.get(id).cloned()
    }
}
