//! Who sends events to the webhook as Stripe does: again until they are acknowledged, unless they are lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::Value;
use trunkline_simulator::{StripeDeliveries, StripeWebhook};

use crate::faults::draw;

const AGAIN_AFTER: Duration = Duration::from_millis(50);
/// A minute of tries.
const MAX_TRIES: u32 = 1_200;

/// What became of messages.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Delivered {
    /// Messages that were answered.
    pub(super) messages: u64,
    /// Of them, those that a thief has signed.
    pub(super) forged: u64,
    /// Events of which no message was sent.
    pub(super) lost: u64,
    /// Tries that met no listener, a broken connection or 503.
    pub(super) failed: u64,
    /// Events that a reconciliation found.
    pub(super) missed: u64,
}

impl Delivered {
    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            messages: self.messages + other.messages,
            forged: self.forged + other.forged,
            lost: self.lost + other.lost,
            failed: self.failed + other.failed,
            missed: self.missed + other.missed,
        }
    }
}

/// One connection's share of the events.
pub(super) struct Sender {
    webhook: StripeWebhook,
    dice: u64,
    /// Events that are done, of all senders.
    done: Arc<AtomicU64>,
    delivered: Delivered,
}

impl Sender {
    pub(super) fn new(webhook: StripeWebhook, seed: u64, done: Arc<AtomicU64>) -> Self {
        Self {
            webhook,
            dice: seed,
            done,
            delivered: Delivered::default(),
        }
    }

    pub(super) async fn send(mut self, events: Vec<Value>) -> Delivered {
        for event in &events {
            let seed = u64::try_from(draw(&mut self.dice, usize::MAX)).unwrap();
            let mut tries = 0;
            while !self.is_acknowledged(event, seed).await {
                tries += 1;
                assert!(tries < MAX_TRIES, "not acknowledged: {event}");
                tokio::time::sleep(AGAIN_AFTER).await;
            }
            self.done.fetch_add(1, Ordering::SeqCst);
        }
        self.delivered
    }

    /// One try of an event: once, twice or not at all, and perhaps with a forged one beside it.
    async fn is_acknowledged(&mut self, event: &Value, seed: u64) -> bool {
        let deliveries = StripeDeliveries {
            seed,
            repeated: 4,
            lost: 6,
            forged: 8,
            is_shuffled: true,
        };
        let sent = self.webhook.send(std::slice::from_ref(event), deliveries);
        let Ok((good, forged)) = sent.await else {
            self.delivered.failed += 1;
            return false;
        };
        assert!(forged.iter().all(|status| *status == 400), "{forged:?}");
        self.delivered.forged += u64::try_from(forged.len()).unwrap();
        self.delivered.messages += u64::try_from(good.len() + forged.len()).unwrap();
        self.delivered.lost += u64::from(good.is_empty());
        let is_known = |status: &u16| matches!(status, 200 | 503);
        assert!(good.iter().all(is_known), "{good:?} for {event}");
        let is_done = good.iter().all(|status| *status == 200);
        self.delivered.failed += u64::from(!is_done);
        is_done
    }
}
