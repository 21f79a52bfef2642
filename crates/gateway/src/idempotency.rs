//! The same call again. A call with an `Idempotency-Key` keeps its answer for a day, sealed; whoever sends
//! it again, to whichever node, gets that answer and pays nothing. Such a call outlives its client: the
//! client may leave, the answer is made, charged and kept for when it comes back.

pub(crate) mod key;
pub(crate) mod replay;
mod stored_response;

use std::time::Duration;

use trunkline_db::DbError;
use trunkline_ledger::{Detail, Idempotency, kept};
use trunkline_types::{AccountId, Money, RequestId};

use crate::error::ApiError;
use crate::reservation::Reservation;
use crate::services::Services;

pub(crate) use self::key::{Fingerprint, has_key, is_retry};
pub(crate) use self::replay::OriginalRequest;
pub(crate) use self::stored_response::StoredResponse;

/// How long an answer is tried to be kept while the books cannot be reached.
const KEEP_WAIT: Duration = Duration::from_secs(10);
const KEEP_PAUSE: Duration = Duration::from_millis(200);

/// How calls that come again are treated.
#[derive(Debug, Clone)]
pub struct IdempotencySettings {
    /// How long the same call waits for the first one.
    pub wait: Duration,
    /// Largest body that is kept.
    pub most_bytes: usize,
}

impl Default for IdempotencySettings {
    fn default() -> Self {
        Self {
            wait: Duration::from_secs(30),
            most_bytes: 8_000_000,
        }
    }
}

/// The name of a call, by which it is known when it comes again.
#[derive(Debug, Clone)]
pub(crate) struct IdempotencyKey {
    key: String,
    body_hash: [u8; 32],
}

/// A call that is known already: whose, and by which name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Duplicate {
    pub(crate) account: AccountId,
    pub(crate) key: String,
    /// What this call sends; the first one must have sent the same.
    pub(crate) body_hash: [u8; 32],
    /// It is a task, whose answer may come before its charge.
    pub(crate) task: bool,
}

// === impl Named ===

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

// === impl Same ===

impl Duplicate {
    /// Of a call that is no task.
    pub(crate) fn of(account: AccountId, name: Idempotency) -> Self {
        Self {
            account,
            key: name.key,
            body_hash: name.body_hash,
            task: false,
        }
    }
}

/// Charges a call. One with an idempotency key stores its response first: there is never a charge
/// without its response.
pub(crate) async fn settle_and_store(
    services: &Services,
    reservation: Reservation,
    amount: Money,
    detail: Detail,
    stored: Option<(&IdempotencyKey, &StoredResponse)>,
) -> Result<Money, ApiError> {
    if let Some((key, response)) = stored {
        let of = (reservation.request(), reservation.account());
        if let Err(error) = store_response(services, of, key, response).await {
            reservation.write_off(amount, detail);
            return Err(error);
        }
    }
    reservation.settle(amount, detail).await
}

/// Keeps an answer under the name of its call. It is shown to nobody before the charge.
pub(crate) async fn store_response(
    services: &Services,
    (request, account): (RequestId, AccountId),
    named: &IdempotencyKey,
    record: &StoredResponse,
) -> Result<(), ApiError> {
    let sealed = stored_response::seal_record(services, (request, account), record)?;
    let data = &services.data;
    let tried = async {
        loop {
            match kept::keep(data, account, (&named.key, request), &sealed).await {
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
    let kept = tokio::time::timeout(KEEP_WAIT, tried).await;
    kept.unwrap_or_else(|_| Err(ApiError::unavailable()))
}

/// Forgets answers that are too old. Returns how many names were forgotten.
pub async fn purge_stored_responses(services: &Services) -> Result<u64, DbError> {
    /// Rounds of one visit; the next visit goes on.
    const ROUNDS: usize = 20;
    let mut forgotten: u64 = 0;
    for _ in 0..ROUNDS {
        let now = kept::forget(&services.data).await?;
        forgotten = forgotten.saturating_add(now);
        if now == 0 {
            break;
        }
    }
    Ok(forgotten)
}

#[cfg(test)]
mod tests {
    use super::*;

    // covers: D-4-44, D-4-46
    #[test]
    fn the_same_call_waits_half_a_minute_and_eight_megabytes_are_kept() {
        let settings = IdempotencySettings::default();
        assert_eq!(settings.wait, Duration::from_secs(30));
        assert_eq!(settings.most_bytes, 8_000_000);
    }
}
