//! Files that an answer names by their address.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::encoders::Sound;
use crate::fault::{AudioFault, Fault};

/// A file. A sound is made when it is fetched.
#[derive(Clone, Debug)]
pub(crate) enum Kept {
    Sound(Sound),
    /// A sound whose download breaks off.
    CutSound(Sound),
    Transcript(String),
}

/// All files, the oldest of which give way.
#[derive(Debug, Default)]
pub(crate) struct FileStore {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    by_id: HashMap<String, Kept>,
    order: VecDeque<String>,
}

const MAX_FILES: usize = 100_000;

// === impl FileStore ===

impl FileStore {
    /// Keeps a sound, unless the fault is that it is not there.
    pub(crate) fn keep_sound(&self, id: &str, sound: Sound, fault: Option<Fault>) {
        match fault {
            Some(Fault::Audio(AudioFault::DeadFile)) => {}
            Some(Fault::Audio(AudioFault::CutFile)) => self.keep(id, Kept::CutSound(sound)),
            Some(_) | None => self.keep(id, Kept::Sound(sound)),
        }
    }

    pub(crate) fn keep(&self, id: &str, kept: Kept) {
        let mut inner = self.inner();
        inner.by_id.insert(id.to_owned(), kept);
        inner.order.push_back(id.to_owned());
        while inner.order.len() > MAX_FILES {
            if let Some(oldest) = inner.order.pop_front() {
                inner.by_id.remove(&oldest);
            }
        }
    }

    pub(crate) fn find(&self, id: &str) -> Option<Kept> {
        self.inner().by_id.get(id).cloned()
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
