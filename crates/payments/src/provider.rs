//! The interface to a payment provider.

use std::pin::Pin;

use trunkline_types::{Money, Timestamp};
use uuid::Uuid;

use crate::cents::Cents;
use crate::error::{ProviderError, WebhookError};
use crate::fact::{Event, Fact};

/// Something that takes a while.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A payment provider. Calls that change something carry an idempotency key: asking again after an unknown
/// outcome does it once.
pub trait PaymentProvider: Send + Sync {
    /// How payments of it are marked in the ledger.
    fn name(&self) -> &'static str;

    /// The event of a webhook, if its signature is the provider's.
    fn verify(&self, signature: &str, body: &[u8], now: Timestamp) -> Result<Event, WebhookError>;

    /// Opens a page on which a person pays.
    fn create_checkout<'a>(
        &'a self,
        new: &'a NewCheckout<'a>,
    ) -> BoxFuture<'a, Result<Checkout, ProviderError>>;

    /// What became of such a page.
    fn checkout<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Fact, ProviderError>>;

    /// Charges a saved method without a person.
    fn charge_saved<'a>(
        &'a self,
        charge: &'a ChargeSaved<'a>,
    ) -> BoxFuture<'a, Result<Fact, ProviderError>>;

    /// Gives a payment back, whole or in part.
    fn refund<'a>(
        &'a self,
        refund: &'a NewRefund<'a>,
    ) -> BoxFuture<'a, Result<Fact, ProviderError>>;

    /// Events from a moment on and before another, newest first; `after` is the last one of the page before.
    fn events<'a>(
        &'a self,
        from: Timestamp,
        before: Timestamp,
        after: Option<&'a str>,
    ) -> BoxFuture<'a, Result<EventPage, ProviderError>>;
}

/// A page to open.
#[derive(Debug, Clone, Copy)]
pub struct NewCheckout<'a> {
    pub payment: Uuid,
    pub amount: Cents,
    /// What is bought, as the page says it.
    pub description: &'a str,
    pub success_url: &'a str,
    pub cancel_url: &'a str,
    /// The customer who paid before.
    pub customer: Option<&'a str>,
    /// Whether the method may be used later without a person.
    pub saves_method: bool,
}

/// A page that was opened.
#[derive(Debug, Clone)]
pub struct Checkout {
    pub id: String,
    pub url: String,
}

/// A charge of a saved method.
#[derive(Debug, Clone, Copy)]
pub struct ChargeSaved<'a> {
    pub payment: Uuid,
    pub amount: Cents,
    pub customer: &'a str,
    pub method: &'a str,
    pub description: &'a str,
}

#[derive(Debug, Clone, Copy)]
pub struct NewRefund<'a> {
    pub provider_payment: &'a str,
    pub amount: Cents,
    /// What all refunds of the payment come to with this one: repeated with the same total, it is the same refund.
    pub total: Money,
}

#[derive(Debug, Clone)]
pub struct EventPage {
    pub events: Vec<Event>,
    /// Whether older ones follow.
    pub has_more: bool,
}
