//! The secrets that were minted for browsers, and the sessions that they open.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value};

use crate::clock;

/// The secrets that are known.
#[derive(Debug, Default)]
pub(crate) struct ClientSecrets {
    kept: Mutex<HashMap<String, Secret>>,
}

#[derive(Debug)]
pub(crate) struct Secret {
    /// Seconds since 1970.
    pub(crate) expires_at: u64,
    pub(crate) session: Map<String, Value>,
}

/// Most secrets at one time; beyond it those that are over are forgotten.
const MAX_KEPT: usize = 10_000;

// === impl ClientSecrets ===

impl ClientSecrets {
    /// Whether a secret is known and not over.
    pub(crate) fn accepts(&self, value: &str) -> bool {
        let now = clock::seconds(clock::now_micros());
        let kept = self.kept();
        let secret = kept.get(value);
        secret.is_some_and(|secret| now < secret.expires_at)
    }

    /// What its maker set for the sessions that it opens.
    pub(crate) fn session(&self, value: &str) -> Option<Map<String, Value>> {
        let kept = self.kept();
        kept.get(value).map(|secret| secret.session.clone())
    }

    pub(crate) fn add(&self, value: &str, secret: Secret) {
        let now = clock::seconds(clock::now_micros());
        let mut kept = self.kept();
        if kept.len() >= MAX_KEPT {
            kept.retain(|_, secret| now < secret.expires_at);
        }
        if kept.len() < MAX_KEPT {
            kept.insert(value.to_owned(), secret);
        }
    }

    fn kept(&self) -> MutexGuard<'_, HashMap<String, Secret>> {
        // Secrets are plain data: after a thread died they are still what was minted.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
