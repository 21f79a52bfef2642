//! The client that sends messages to webhooks, and what is on its way.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Semaphore;
use trunkline_store::webhooks::InFlight;
use trunkline_upstream::safe_fetch::SafeFetcher;

use crate::settings::WebhookSettings;

/// Test messages that may be on their way beside deliveries.
const TESTS_AT_ONCE: usize = 64;

/// What the messages of a node share.
#[derive(Debug)]
pub(crate) struct WebhookSender {
    /// With places of its own: a receiver that hangs keeps no picture waiting.
    pub(crate) client: SafeFetcher,
    pub(crate) permits: Arc<Semaphore>,
    busy: Mutex<Vec<InFlight>>,
}

impl WebhookSender {
    pub(crate) fn new(settings: &WebhookSettings, fetcher: &SafeFetcher) -> Self {
        let connections = settings.at_once.saturating_add(TESTS_AT_ONCE);
        Self {
            client: fetcher.apart(connections, settings.wait),
            permits: Arc::new(Semaphore::new(settings.at_once)),
            busy: Mutex::new(Vec::new()),
        }
    }

    /// What is on its way now.
    pub(crate) fn busy(&self) -> MutexGuard<'_, Vec<InFlight>> {
        self.busy.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One message has arrived, or has not.
    pub(crate) fn is_back(&self, one: InFlight) {
        let mut busy = self.busy();
        if let Some(index) = busy.iter().position(|known| *known == one) {
            busy.swap_remove(index);
        }
    }
}
