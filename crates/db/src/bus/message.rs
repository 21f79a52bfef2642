//! Messages of the bus.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use trunkline_types::{AccountId, Timestamp};
use uuid::Uuid;

/// Subject prefix of events; the account follows, 0 for the system account.
pub(crate) const EVENTS: &str = "trunkline.events.";
/// Subject prefix of live notifications.
pub(crate) const LIVE: &str = "trunkline.live.";

/// The copy of an event that was written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EventCopy {
    pub id: Uuid,
    /// The account's number; 0 is the system account.
    pub account: i64,
    /// Its number among the account's.
    pub seq: i64,
    pub topic: String,
    pub task: Option<Uuid>,
    /// When it was written, in microseconds since the epoch.
    pub created_at_micros: i64,
    pub body: Value,
}

/// A live notification: neither stored nor numbered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LiveNotification {
    /// The number of the account.
    pub account: i64,
    pub topic: String,
    pub task: Option<Uuid>,
    /// When it was sent, in microseconds since the epoch.
    pub created_at_micros: i64,
    pub body: Value,
}

// === impl EventCopy ===

impl EventCopy {
    #[must_use]
    pub fn account(&self) -> AccountId {
        AccountId::new(self.account)
    }

    /// When it was written.
    #[must_use]
    pub fn created_at(&self) -> Timestamp {
        Timestamp::from_micros(self.created_at_micros)
    }

    /// The message id, the same at every attempt, by which JetStream removes duplicates.
    pub(crate) fn message_id(&self) -> String {
        format!("{}.{}", self.account, self.seq)
    }
}

// === impl LiveNotification ===

impl LiveNotification {
    #[must_use]
    pub fn account(&self) -> AccountId {
        AccountId::new(self.account)
    }
}

pub(crate) fn account_of(subject: &str, prefix: &str) -> Option<AccountId> {
    let number = subject.strip_prefix(prefix)?.parse().ok()?;
    Some(AccountId::new(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_names_its_account_and_nothing_else_does() {
        assert_eq!(
            account_of("trunkline.events.42", EVENTS),
            Some(AccountId::new(42))
        );
        for other in [
            "trunkline.events.",
            "trunkline.events.x",
            "trunkline.live.42",
            "trunkline.events.4.2",
        ] {
            assert_eq!(account_of(other, EVENTS), None, "{other}");
        }
    }
}
