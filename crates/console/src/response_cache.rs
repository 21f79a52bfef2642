//! Answers that take long to write, kept as long as they are true.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

use crate::error::ApiError;

/// Answers that are kept; each is the whole of something for one pair of eyes.
const MAX_KEPT: usize = 32;
/// Bytes of answers that are kept together.
const MAX_KEPT_BYTES: usize = 256_000_000;

/// Answers that were made, as long as they are true.
#[derive(Clone, Default)]
pub(crate) struct ResponseCache(Arc<Mutex<Entries>>);

#[derive(Default)]
struct Entries {
    stamp: u64,
    answers: HashMap<String, Bytes>,
}

/// Where an answer is kept.
pub(crate) struct CacheKey {
    /// Of the state it is made of.
    pub(crate) stamp: u64,
    /// Whose eyes it is for; none for an answer that is not kept.
    pub(crate) name: Option<String>,
}

// === impl ResponseCache ===

impl ResponseCache {
    /// The kept answer, or a new one, which is kept. Ten thousand records are written in a good part
    /// of a second, so that runs on a blocking thread.
    pub(crate) async fn get_or_make(
        &self,
        key: CacheKey,
        make: impl FnOnce() -> Result<Bytes, ApiError> + Send + 'static,
    ) -> Result<Bytes, ApiError> {
        let known = key.name.as_deref();
        if let Some(body) = known.and_then(|name| self.get(key.stamp, name)) {
            return Ok(body);
        }
        let made = tokio::task::spawn_blocking(make);
        let body = made.await.map_err(|_| ApiError::unavailable())??;
        if let Some(name) = key.name {
            self.keep(key.stamp, name, &body);
        }
        Ok(body)
    }

    fn get(&self, stamp: u64, name: &str) -> Option<Bytes> {
        let entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = entries.answers.get(name);
        known.filter(|_| entries.stamp == stamp).cloned()
    }

    /// An older stamp is evicted: its responses are not true any more.
    fn keep(&self, stamp: u64, name: String, body: &Bytes) {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if entries.stamp != stamp {
            entries.answers.clear();
            entries.stamp = stamp;
        }
        let held: usize = entries.answers.values().map(Bytes::len).sum();
        if entries.answers.len() < MAX_KEPT && held.saturating_add(body.len()) <= MAX_KEPT_BYTES {
            entries.answers.insert(name, body.clone());
        }
    }
}
