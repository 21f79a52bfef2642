//! A request whose idempotency key is in use.

use trunkline_ledger::Idempotency;
use trunkline_types::AccountId;

/// A duplicate request: whose it is, and its idempotency key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Duplicate {
    pub account: AccountId,
    pub key: String,
    /// What this call sends; the first one must have sent the same.
    pub body_hash: [u8; 32],
    /// It is a task, whose answer may come before its charge.
    pub task: bool,
}

impl Duplicate {
    /// Of a call that is no task.
    pub fn of(account: AccountId, name: Idempotency) -> Self {
        Self {
            account,
            key: name.key,
            body_hash: name.body_hash,
            task: false,
        }
    }
}
