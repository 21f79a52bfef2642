//! Money in: payments through a provider, and what the provider takes back.
//!
//! [`PaymentProvider`] is the interface to a provider, [`Stripe`] the one that there is. A provider's events say
//! [`Fact`]s; [`Payments`] books each of them once, with the ledger, in one transaction: by the event's id and by
//! the payment's. Facts may come in any order, more than once, or not at all until the daily reconciliation asks
//! for them ([ADR 66](../../../docs/adr/0066-payments.md)).
//!
//! This crate must not know HTTP servers, people or prices. Money moves through `ledger` alone.
#![cfg_attr(
    not(test),
    deny(
        clippy::arithmetic_side_effects,
        clippy::as_conversions,
        clippy::float_arithmetic,
        clippy::string_slice,
        clippy::cast_possible_truncation
    )
)]

mod automatic;
mod booking;
mod cents;
mod checkout;
mod error;
mod fact;
mod payments;
mod provider;
mod reconcile;
mod refund;
mod stripe;

pub use booking::Booking;
pub use cents::Cents;
pub use checkout::{MAX_AMOUNT, MIN_AMOUNT, StartCheckout, StartedCheckout};
pub use error::{PaymentError, ProviderError, WebhookError};
pub use fact::{DisputeState, Event, Fact, PaidFact, SavedMethod};
pub use payments::Payments;
pub use provider::{
    BoxFuture, ChargeSaved, Checkout, EventPage, NewCheckout, NewRefund, PaymentProvider,
};
pub use reconcile::{RECONCILE_EVERY, Reconciled};
pub use refund::{RefundAnswer, RefundRequest};
pub use stripe::{Stripe, StripeSettings};
