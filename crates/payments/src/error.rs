//! What can go wrong.

use trunkline_db::DbError;
use trunkline_keyring::RandomError;

/// Why a provider did not do what was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProviderError {
    /// Not now, or the outcome is unknown. Asking again with the same idempotency key is safe.
    #[error("the payment provider is unavailable: {0}")]
    Unavailable(String),
    /// The bank or the provider declined the payment.
    #[error("the payment was declined: {0}")]
    Declined(String),
    /// The request is wrong, or our key is.
    #[error("the payment provider rejected the request: {0}")]
    Rejected(String),
}

/// Why an event is not believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WebhookError {
    #[error("the signature header is missing or malformed")]
    Malformed,
    #[error("the signature matches none of the webhook secrets")]
    Forged,
    #[error("the signature is too old or too new")]
    Stale,
    #[error("the body is not an event")]
    NotAnEvent,
}

/// Why something about payments was not done.
#[derive(Debug, thiserror::Error)]
pub enum PaymentError {
    #[error(transparent)]
    Db(#[from] DbError),
    #[error(transparent)]
    Random(#[from] RandomError),
    #[error(transparent)]
    Provider(#[from] ProviderError),
    /// The ledger has this payment with other facts.
    #[error("payment {0} was booked before with another account or amount; nothing was done")]
    Different(String),
    /// The ledger did not move what a won dispute gives back.
    #[error("{0}: the ledger did not move the amount; nothing was done")]
    NotMoved(String),
}

// === impl ProviderError ===

impl ProviderError {
    /// The reason as customers see it: what the bank says of their method, and nothing of the operator's account.
    pub(crate) fn for_customer(&self) -> String {
        match self {
            Self::Declined(_) => self.to_string(),
            Self::Unavailable(_) => "the payment provider was unavailable".to_owned(),
            Self::Rejected(_) => "the payment could not be started".to_owned(),
        }
    }
}
