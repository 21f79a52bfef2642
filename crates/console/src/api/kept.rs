//! Answers that take long to write, kept as long as they are true.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

use crate::fault::Fault;

/// Answers that are kept; each is the whole of something for one pair of eyes.
const MAX_KEPT: usize = 32;
/// Bytes of answers that are kept together.
const MAX_KEPT_BYTES: usize = 256_000_000;

/// Answers that were made, as long as they are true.
#[derive(Clone, Default)]
pub(crate) struct Kept(Arc<Mutex<Shelf>>);

#[derive(Default)]
struct Shelf {
    stamp: u64,
    answers: HashMap<String, Bytes>,
}

/// Where an answer is kept.
pub(super) struct Place {
    /// Of the state it is made of.
    pub(super) stamp: u64,
    /// Whose eyes it is for; none for an answer that is not kept.
    pub(super) name: Option<String>,
}

// === impl Kept ===

impl Kept {
    /// The kept answer, or a new one, which is kept. Ten thousand records are written in a good part
    /// of a second, so that is done where nobody waits for it.
    pub(super) async fn kept_or_made(
        &self,
        place: Place,
        make: impl FnOnce() -> Result<Bytes, Fault> + Send + 'static,
    ) -> Result<Bytes, Fault> {
        let known = place.name.as_deref();
        if let Some(body) = known.and_then(|name| self.get(place.stamp, name)) {
            return Ok(body);
        }
        let made = tokio::task::spawn_blocking(make);
        let body = made.await.map_err(|_| Fault::unavailable())??;
        if let Some(name) = place.name {
            self.keep(place.stamp, name, &body);
        }
        Ok(body)
    }

    fn get(&self, stamp: u64, name: &str) -> Option<Bytes> {
        let shelf = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = shelf.answers.get(name);
        known.filter(|_| shelf.stamp == stamp).cloned()
    }

    /// An older stamp makes room: its answers are not true any more.
    fn keep(&self, stamp: u64, name: String, body: &Bytes) {
        let mut shelf = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if shelf.stamp != stamp {
            shelf.answers.clear();
            shelf.stamp = stamp;
        }
        let held: usize = shelf.answers.values().map(Bytes::len).sum();
        if shelf.answers.len() < MAX_KEPT && held.saturating_add(body.len()) <= MAX_KEPT_BYTES {
            shelf.answers.insert(name, body.clone());
        }
    }
}
