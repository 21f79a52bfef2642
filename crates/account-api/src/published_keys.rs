//! The public keys of statements as they were read last: anyone may ask for them, and they hardly ever change.

use std::time::Duration;

use serde_json::Value;
use tokio::sync::Mutex;
use tokio::time::Instant;
use trunkline_receipts::PublicKey;

/// How long they are kept.
const KEPT: Duration = Duration::from_secs(60);

#[derive(Default)]
pub(crate) struct PublishedKeys(Mutex<Option<ReadKeys>>);

struct ReadKeys {
    at: Instant,
    current: PublicKey,
    body: Value,
}

// === impl PublishedKeys ===

impl PublishedKeys {
    /// None if they were read too long ago, or when another key signed.
    pub(crate) async fn fresh(&self, current: PublicKey) -> Option<Value> {
        let kept = self.0.lock().await;
        let fresh = kept
            .as_ref()
            .filter(|keys| keys.current == current && keys.at.elapsed() < KEPT);
        fresh.map(|keys| keys.body.clone())
    }

    pub(crate) async fn keep(&self, current: PublicKey, body: Value) {
        *self.0.lock().await = Some(ReadKeys {
            at: Instant::now(),
            current,
            body,
        });
    }
}
