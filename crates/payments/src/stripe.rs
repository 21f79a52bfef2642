//! Stripe, by a thin client of its HTTP API: form-encoded requests, idempotency keys, JSON answers.

mod objects;
mod requests;
mod signature;

use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};
use serde_json::Value;
use trunkline_types::{Secret, Timestamp};
use trunkline_upstream::{Client, Deadlines, Outgoing, Protocol};

use crate::cents::Cents;
use crate::error::{ProviderError, WebhookError};
use crate::fact::{Event, Fact};
use crate::provider::{
    BoxFuture, ChargeSaved, Checkout, EventPage, NewCheckout, NewRefund, PaymentProvider,
};

const NAME: &str = "stripe";
/// The version whose shapes are read here; an account's default may be another.
const API_VERSION: &str = "2022-11-15";
/// Longest answer: a page of a hundred events.
const MAX_ANSWER_BYTES: usize = 8 << 20;
const WAIT: Deadlines = Deadlines {
    first_byte: Duration::from_secs(8),
    idle: Duration::from_secs(5),
    total: Duration::from_secs(9),
};
/// Under which name our id of a payment is kept at Stripe.
const METADATA: &str = "trunkline_payment";
/// How Stripe is reached and believed.
#[derive(Debug, Clone)]
pub struct StripeSettings {
    /// Such as `https://api.stripe.com`, no slash at its end.
    pub api: String,
    pub key: Secret,
    /// Secrets of the webhook, the present one and those that are being replaced.
    pub webhook_secrets: Vec<Secret>,
}

pub struct Stripe {
    settings: StripeSettings,
    client: Client,
}

// === impl Stripe ===

impl Stripe {
    #[must_use]
    pub fn new(settings: StripeSettings, client: Client) -> Self {
        Self { settings, client }
    }

    async fn post(
        &self,
        path: &str,
        fields: String,
        idempotency_key: &str,
    ) -> Result<Value, ProviderError> {
        let mut headers = self.headers()?;
        let form = HeaderValue::from_static("application/x-www-form-urlencoded");
        headers.insert(CONTENT_TYPE, form);
        let key = HeaderValue::from_str(idempotency_key).map_err(|_| wrong("idempotency key"))?;
        headers.insert(HeaderName::from_static("idempotency-key"), key);
        self.send(Method::POST, path, headers, Bytes::from(fields))
            .await
    }

    async fn get(&self, path: &str) -> Result<Value, ProviderError> {
        let headers = self.headers()?;
        self.send(Method::GET, path, headers, Bytes::new()).await
    }

    fn headers(&self) -> Result<HeaderMap, ProviderError> {
        let mut headers = HeaderMap::new();
        let bearer = format!("Bearer {}", self.settings.key.reveal());
        let mut bearer = HeaderValue::from_str(&bearer).map_err(|_| wrong("secret key"))?;
        bearer.set_sensitive(true);
        headers.insert(AUTHORIZATION, bearer);
        let version = HeaderValue::from_static(API_VERSION);
        headers.insert(HeaderName::from_static("stripe-version"), version);
        Ok(headers)
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Value, ProviderError> {
        let uri: Uri = format!("{}{path}", self.settings.api)
            .parse()
            .map_err(|_| wrong("address"))?;
        let outgoing = Outgoing {
            method,
            uri,
            headers,
            body: body.into(),
            deadlines: WAIT,
            proxy: None,
            protocol: Protocol::Http1,
        };
        let away = |text: String| ProviderError::Unavailable(text);
        let sent = self.client.send(outgoing).await;
        let mut answer = sent.map_err(|error| away(error.to_string()))?;
        let body = answer.whole(MAX_ANSWER_BYTES).await;
        let body = body.map_err(|error| away(error.to_string()))?;
        let object: Value = serde_json::from_slice(&body)
            .map_err(|_| away(format!("status {} without JSON", answer.status.as_u16())))?;
        if answer.status.is_success() {
            return Ok(object);
        }
        Err(refusal(answer.status, &object))
    }
}

impl PaymentProvider for Stripe {
    fn name(&self) -> &'static str {
        NAME
    }

    fn verify(&self, signature: &str, body: &[u8], now: Timestamp) -> Result<Event, WebhookError> {
        signature::verify(signature, body, &self.settings.webhook_secrets, now)?;
        let value: Value = serde_json::from_slice(body).map_err(|_| WebhookError::NotAnEvent)?;
        objects::event(&value).ok_or(WebhookError::NotAnEvent)
    }

    fn create_checkout<'a>(
        &'a self,
        new: &'a NewCheckout<'a>,
    ) -> BoxFuture<'a, Result<Checkout, ProviderError>> {
        Box::pin(async move {
            let key = new.payment.to_string();
            let fields = requests::checkout(new, &key);
            let session = self.post("/v1/checkout/sessions", fields, &key).await?;
            let id = objects::text(&session, "/id").ok_or_else(strange)?;
            let url = objects::text(&session, "/url").ok_or_else(strange)?;
            Ok(Checkout { id, url })
        })
    }

    fn checkout<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Fact, ProviderError>> {
        Box::pin(async move {
            let session = self.get(&format!("/v1/checkout/sessions/{id}")).await?;
            Ok(objects::session(&session))
        })
    }

    fn charge_saved<'a>(
        &'a self,
        charge: &'a ChargeSaved<'a>,
    ) -> BoxFuture<'a, Result<Fact, ProviderError>> {
        Box::pin(async move {
            let key = charge.payment.to_string();
            let fields = requests::charge_saved(charge, &key);
            let intent = self.post("/v1/payment_intents", fields, &key);
            let intent = intent.await?;
            match objects::intent(&intent) {
                Fact::Other => {
                    let state = objects::text(&intent, "/status").unwrap_or_default();
                    Err(ProviderError::Declined(format!("the payment is {state}")))
                }
                fact @ (Fact::Paid(_)
                | Fact::Failed { .. }
                | Fact::Refunded { .. }
                | Fact::Disputed { .. }) => Ok(fact),
            }
        })
    }

    fn refund<'a>(
        &'a self,
        refund: &'a NewRefund<'a>,
    ) -> BoxFuture<'a, Result<Fact, ProviderError>> {
        Box::pin(async move {
            let total = Cents::of(refund.total).map_or(0, Cents::number);
            let key = format!("{}-refunded-{total}", refund.provider_payment);
            let refunded = self
                .post("/v1/refunds", requests::refund(refund), &key)
                .await?;
            let charge = refunded.get("charge").ok_or_else(strange)?;
            match objects::refunded(charge) {
                Fact::Other => Err(strange()),
                fact @ (Fact::Paid(_)
                | Fact::Failed { .. }
                | Fact::Refunded { .. }
                | Fact::Disputed { .. }) => Ok(fact),
            }
        })
    }

    fn events<'a>(
        &'a self,
        from: Timestamp,
        before: Timestamp,
        after: Option<&'a str>,
    ) -> BoxFuture<'a, Result<EventPage, ProviderError>> {
        Box::pin(async move {
            let query = requests::events(from, before, after);
            let list = self.get(&format!("/v1/events?{query}")).await?;
            let data = list.get("data").and_then(Value::as_array);
            let events: Option<Vec<Event>> = data
                .ok_or_else(strange)?
                .iter()
                .map(objects::event)
                .collect();
            Ok(EventPage {
                events: events.ok_or_else(strange)?,
                has_more: list.get("has_more").and_then(Value::as_bool) == Some(true),
            })
        })
    }
}

/// What an error of Stripe means. Its texts are for people and name no secret.
fn refusal(status: StatusCode, object: &Value) -> ProviderError {
    let message = objects::text(object, "/error/message").unwrap_or_default();
    let code = objects::text(object, "/error/code").unwrap_or_default();
    let text = format!("status {}, {code}: {message}", status.as_u16());
    match status.as_u16() {
        402 => ProviderError::Declined(text),
        // Another request with this idempotency key is under way, or there were too many.
        409 | 429 | 500.. => ProviderError::Unavailable(text),
        _ => ProviderError::Rejected(text),
    }
}

fn wrong(what: &str) -> ProviderError {
    ProviderError::Rejected(format!("the {what} has characters that cannot be sent"))
}

/// An answer that says yes and lacks what it must have; what it did is found by asking again.
fn strange() -> ProviderError {
    ProviderError::Unavailable("the answer lacks what it must have".to_owned())
}
