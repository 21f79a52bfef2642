//! Idempotent requests. The response to a request with an `Idempotency-Key` is stored for a day, sealed; a
//! duplicate, sent to any node, gets that response and pays nothing. Such a call outlives its client: the
//! client may disconnect, the response is made, charged and stored for when it comes back.

pub(crate) mod key;
pub(crate) mod stored_response;

use std::time::Duration;

use trunkline_ledger::{Detail, Idempotency, stored_responses};
use trunkline_types::{AccountId, Money, RequestId};

use crate::charge::ChargeDecision;
use crate::duplicate::Duplicate;
use crate::error::ApiError;
use crate::reservation::Reservation;
use crate::services::Services;

pub(crate) use self::key::{Fingerprint, has_key, is_retry};
pub(crate) use self::stored_response::StoredResponse;

/// How long storing a response is retried while the ledger cannot be reached.
const KEEP_WAIT: Duration = Duration::from_secs(10);
const KEEP_PAUSE: Duration = Duration::from_millis(200);

/// Whether a request may be a duplicate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IdempotencyPolicy {
    /// It has no idempotency key.
    Ignored,
    /// By its `Idempotency-Key`.
    Key,
    /// By its `Idempotency-Key`; without one, a client library's own retry gets the first one's
    /// response.
    KeyOrSdkRetry,
}

/// The idempotency key of a request, by which it is known when it comes again.
#[derive(Debug, Clone)]
pub(crate) struct IdempotencyKey {
    key: String,
    body_hash: [u8; 32],
}

impl IdempotencyKey {
    /// What the ledger writes with the hold.
    pub(crate) fn for_ledger(&self) -> Idempotency {
        Idempotency {
            key: self.key.clone(),
            body_hash: self.body_hash,
        }
    }

    /// The call that has this name already.
    pub(crate) fn duplicate(self, account: AccountId, task: bool) -> Duplicate {
        Duplicate {
            account,
            key: self.key,
            body_hash: self.body_hash,
            task,
        }
    }
}

/// Charges a call. One with an idempotency key stores its response first: there is never a charge
/// without its response.
pub(crate) async fn settle_and_store(
    services: &Services,
    reservation: Reservation,
    decision: ChargeDecision,
    detail: Detail,
    stored: Option<(&IdempotencyKey, &StoredResponse)>,
) -> Result<Money, ApiError> {
    if let Some((key, response)) = stored {
        let (request, account) = (reservation.request(), reservation.account());
        if let Err(error) = store_response(services, request, account, key, response).await {
            reservation.write_off(decision.amount, detail);
            return Err(error);
        }
    }
    reservation.settle(decision, detail).await
}

/// Stores a response under its idempotency key. It is not replayed before the charge.
pub(crate) async fn store_response(
    services: &Services,
    request: RequestId,
    account: AccountId,
    idempotency_key: &IdempotencyKey,
    record: &StoredResponse,
) -> Result<(), ApiError> {
    let sealed = stored_response::seal_record(services, request, account, record).await?;
    let data = &services.data;
    let tried = async {
        loop {
            let key = &idempotency_key.key;
            match stored_responses::store(data, account, key, request, &sealed).await {
                Ok(true) => return Ok(()),
                Ok(false) => {
                    tracing::error!(request.id = %request, "idempotency row missing: response not stored, call written off");
                    return Err(ApiError::unavailable());
                }
                Err(error) => {
                    tracing::warn!(%error, request.id = %request, "storing idempotent response failed; retrying");
                    tokio::time::sleep(KEEP_PAUSE).await;
                }
            }
        }
    };
    let stored = tokio::time::timeout(KEEP_WAIT, tried).await;
    stored.unwrap_or_else(|_| Err(ApiError::unavailable()))
}
