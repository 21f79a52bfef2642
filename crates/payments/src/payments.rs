//! Payments as one value: the provider, and where chance comes from.

use std::sync::Arc;

use trunkline_db::{Tx, database_now};
use trunkline_keyring::RandomSource;
use trunkline_types::{RANDOM_BYTES, RequestId, Timestamp, uuid_v7};
use uuid::Uuid;

use crate::error::{PaymentError, WebhookError};
use crate::fact::Event;
use crate::provider::PaymentProvider;

/// Payments through a provider. Clones are the same. Databases that are passed to it work under the role console:
/// the data plane brings no money in.
#[derive(Clone)]
pub struct Payments {
    pub(crate) provider: Arc<dyn PaymentProvider>,
    random: Arc<dyn RandomSource>,
}

// === impl Payments ===

impl Payments {
    #[must_use]
    pub fn new(provider: Arc<dyn PaymentProvider>, random: Arc<dyn RandomSource>) -> Self {
        Self { provider, random }
    }

    /// The event of a webhook, if its signature is the provider's.
    pub fn verify(
        &self,
        signature: &str,
        body: &[u8],
        now: Timestamp,
    ) -> Result<Event, WebhookError> {
        self.provider.verify(signature, body, now)
    }

    /// The id of a new payment.
    pub(crate) async fn fresh_id(&self, tx: &mut Tx) -> Result<Uuid, PaymentError> {
        let mut random = [0; RANDOM_BYTES];
        self.random.fill(&mut random)?;
        Ok(uuid_v7(database_now(tx).await?, random))
    }

    /// The id of a movement of money, of the database's day.
    pub(crate) async fn fresh_request(&self, tx: &mut Tx) -> Result<RequestId, PaymentError> {
        let mut random = [0; RANDOM_BYTES];
        self.random.fill(&mut random)?;
        Ok(RequestId::new(database_now(tx).await?, random))
    }
}
