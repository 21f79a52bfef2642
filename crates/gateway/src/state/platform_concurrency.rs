//! How many calls go to one social platform at once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A semaphore for each platform. There are as many entries as platforms.
#[derive(Debug, Default)]
pub(crate) struct PlatformConcurrency(Mutex<HashMap<String, Arc<Semaphore>>>);

impl PlatformConcurrency {
    /// A permit for a call to a platform; none if there are too many.
    pub(crate) fn acquire(&self, platform: &str, most: usize) -> Option<OwnedSemaphorePermit> {
        let mut platforms = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let semaphore = platforms
            .entry(platform.to_owned())
            .or_insert_with(|| Arc::new(Semaphore::new(most)));
        Arc::clone(semaphore).try_acquire_owned().ok()
    }
}
