//! What a provider says, in words that are no provider's own.

use trunkline_types::{Money, Timestamp};
use uuid::Uuid;

/// An event whose origin was verified.
#[derive(Debug, Clone)]
pub struct Event {
    /// The provider's id; an event is told more than once, and booked once.
    pub id: String,
    /// The provider's word for it.
    pub kind: String,
    /// The id of what it is about.
    pub object: String,
    pub created: Timestamp,
    pub fact: Fact,
}

/// What is the case, however often and in whatever order it is told.
#[derive(Debug, Clone)]
pub enum Fact {
    Paid(PaidFact),
    /// A payment will not be made.
    Failed {
        payment: Uuid,
        reason: String,
    },
    /// All refunds of a charge together come to this.
    Refunded {
        provider_payment: String,
        charge: String,
        total: Money,
    },
    Disputed {
        provider_payment: String,
        dispute: String,
        amount: Money,
        state: DisputeState,
    },
    /// Nothing that is booked.
    Other,
}

/// A payment whose money was received.
#[derive(Debug, Clone)]
pub struct PaidFact {
    /// Our id of it.
    pub payment: Uuid,
    /// The provider's.
    pub provider_payment: String,
    pub amount: Money,
    pub receipt_url: Option<String>,
    /// The customer and the method, where the method may be used again.
    pub saved: Option<SavedMethod>,
}

/// A method that may be charged without asking.
#[derive(Debug, Clone)]
pub struct SavedMethod {
    pub customer: String,
    pub method: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DisputeState {
    /// A question of the bank; no money moves.
    Inquiry,
    Open,
    Won,
    Lost,
}
