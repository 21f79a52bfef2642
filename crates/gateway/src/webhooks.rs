//! Webhooks: what happens to an account, sent to addresses of its own.
//!
//! The deliveries are rows that the events' own transactions wrote (`store::webhooks`). Here they are taken
//! in turns (`jobs`), signed (`message`), sent through the guarded client (`sending`) and, if that did not
//! succeed, put off (`waits`). At least once and in no order: who dies in the middle is followed by another,
//! and the same message has the same id.

mod backoff;
pub(crate) mod binding;
pub(crate) mod delivery;
mod jobs;
mod message;
mod settings;
pub(crate) mod task_webhook;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Semaphore;
use trunkline_store::webhooks::Busy;
use trunkline_upstream::safe_fetch::SafeFetcher;

pub(crate) use binding::SealedFor;
pub(crate) use delivery::{Message, Outcome, Receiver, Trouble};
pub use jobs::{claim_webhooks, maintain_webhooks, next_webhook};
pub(crate) use message::Secret;
pub use settings::WebhookSettings;
pub(crate) use task_webhook::write_task_hook;

/// Test messages that may be on their way beside deliveries.
const TESTS_AT_ONCE: usize = 64;

/// What the messages of a node share.
#[derive(Debug)]
pub(crate) struct WebhookSender {
    /// With places of its own: a receiver that hangs keeps no picture waiting.
    client: SafeFetcher,
    room: Arc<Semaphore>,
    busy: Mutex<Vec<Busy>>,
}

impl WebhookSender {
    pub(crate) fn new(settings: &WebhookSettings, fetcher: &SafeFetcher) -> Self {
        let places = settings.at_once.saturating_add(TESTS_AT_ONCE);
        Self {
            client: fetcher.apart(places, settings.wait),
            room: Arc::new(Semaphore::new(settings.at_once)),
            busy: Mutex::new(Vec::new()),
        }
    }

    /// What is on its way now.
    fn busy(&self) -> MutexGuard<'_, Vec<Busy>> {
        self.busy.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One message has arrived, or has not.
    fn is_back(&self, one: Busy) {
        let mut busy = self.busy();
        if let Some(place) = busy.iter().position(|known| *known == one) {
            busy.swap_remove(place);
        }
    }
}
