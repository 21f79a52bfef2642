//! Stripe's objects, read for what they say of a payment. Fields that name another object hold its id, or the
//! object itself where it was asked for.

use serde_json::Value;
use trunkline_types::{Money, Timestamp};
use uuid::Uuid;

use super::METADATA;
use crate::cents::Cents;
use crate::fact::{DisputeState, Event, Fact, PaidFact, SavedMethod};

/// The only one that wallets hold.
pub(super) const CURRENCY: &str = "usd";
/// Longest link that is kept.
const MAX_URL_BYTES: usize = 2_048;

/// An event; none if it lacks what every event has.
pub(super) fn event(event: &Value) -> Option<Event> {
    let kind = text(event, "/type")?;
    let object = event.pointer("/data/object")?;
    let fact = match kind.as_str() {
        "checkout.session.completed"
        | "checkout.session.async_payment_succeeded"
        | "checkout.session.expired" => session(object),
        "payment_intent.succeeded" => intent(object),
        "payment_intent.payment_failed" => failed_intent(object),
        "charge.succeeded" => charge(object),
        "charge.refunded" => refunded(object),
        "charge.dispute.created" | "charge.dispute.updated" | "charge.dispute.closed" => {
            dispute(object)
        }
        _ => Fact::Other,
    };
    let seconds = event.get("created")?.as_i64()?;
    Some(Event {
        id: text(event, "/id").filter(|id| !id.is_empty())?,
        kind,
        object: text(object, "/id").unwrap_or_default(),
        created: Timestamp::from_micros(seconds.checked_mul(1_000_000)?),
        fact,
    })
}

/// A page on which a person pays.
pub(super) fn session(session: &Value) -> Fact {
    let Some(payment) = our_id(session) else {
        return Fact::Other;
    };
    if text(session, "/payment_status").as_deref() == Some("paid") {
        let paid = paid(
            session,
            payment,
            session.get("payment_intent"),
            "amount_total",
        );
        return paid.map_or(Fact::Other, Fact::Paid);
    }
    if text(session, "/status").as_deref() == Some("expired") {
        return Fact::Failed {
            payment,
            reason: "the payment page has expired".to_owned(),
        };
    }
    Fact::Other
}

/// A payment.
pub(super) fn intent(intent: &Value) -> Fact {
    let succeeded = text(intent, "/status").as_deref() == Some("succeeded");
    let (Some(payment), true) = (our_id(intent), succeeded) else {
        return Fact::Other;
    };
    let Some(mut fact) = paid(intent, payment, Some(intent), "amount_received") else {
        return Fact::Other;
    };
    fact.receipt_url = intent.get("latest_charge").and_then(receipt);
    fact.saved = saved(intent);
    Fact::Paid(fact)
}

/// A payment that failed. On a page the person tries again, so only one that was made without is over.
fn failed_intent(intent: &Value) -> Fact {
    let off_session = text(intent, "/metadata/trunkline_kind").is_some();
    match our_id(intent) {
        Some(payment) if off_session => Fact::Failed {
            payment,
            reason: text(intent, "/last_payment_error/message").unwrap_or_default(),
        },
        Some(_) | None => Fact::Other,
    }
}

/// A charge that was paid; it has the receipt.
fn charge(charge: &Value) -> Fact {
    let is_paid = charge.get("paid").and_then(Value::as_bool) == Some(true)
        && charge.get("captured").and_then(Value::as_bool) == Some(true);
    let (Some(payment), true) = (our_id(charge), is_paid) else {
        return Fact::Other;
    };
    let Some(mut fact) = paid(
        charge,
        payment,
        charge.get("payment_intent"),
        "amount_captured",
    ) else {
        return Fact::Other;
    };
    fact.receipt_url = receipt(charge);
    Fact::Paid(fact)
}

/// All refunds of a charge.
pub(super) fn refunded(charge: &Value) -> Fact {
    let provider_payment = charge.get("payment_intent").and_then(id);
    let (Some(provider_payment), Some(charge_id), Some(total)) = (
        provider_payment,
        text(charge, "/id"),
        amount(charge, "amount_refunded"),
    ) else {
        return Fact::Other;
    };
    Fact::Refunded {
        provider_payment,
        charge: charge_id,
        total,
    }
}

fn dispute(dispute: &Value) -> Fact {
    let state = match text(dispute, "/status").as_deref() {
        Some("needs_response" | "under_review") => DisputeState::Open,
        Some("lost") => DisputeState::Lost,
        // The charge was refunded instead, and the refund is what counts.
        Some("won" | "charge_refunded" | "prevented") => DisputeState::Won,
        Some("warning_needs_response" | "warning_under_review" | "warning_closed") => {
            DisputeState::Inquiry
        }
        Some(_) | None => return Fact::Other,
    };
    let provider_payment = dispute.get("payment_intent").and_then(id);
    let (Some(provider_payment), Some(dispute_id), Some(amount)) = (
        provider_payment,
        text(dispute, "/id"),
        amount(dispute, "amount"),
    ) else {
        return Fact::Other;
    };
    Fact::Disputed {
        provider_payment,
        dispute: dispute_id,
        amount,
        state,
    }
}

fn paid(
    object: &Value,
    payment: Uuid,
    provider_payment: Option<&Value>,
    amount_field: &str,
) -> Option<PaidFact> {
    Some(PaidFact {
        payment,
        provider_payment: provider_payment.and_then(id)?,
        amount: amount(object, amount_field).filter(|amount| *amount > Money::ZERO)?,
        receipt_url: None,
        saved: None,
    })
}

/// An amount, if it is in the currency of wallets.
fn amount(object: &Value, field: &str) -> Option<Money> {
    if text(object, "/currency").as_deref() != Some(CURRENCY) {
        tracing::error!(
            object = text(object, "/id"),
            "payment in another currency is not booked"
        );
        return None;
    }
    let cents = object.get(field)?.as_i64()?;
    Cents::new(cents).map(Cents::money)
}

fn receipt(charge: &Value) -> Option<String> {
    let url = text(charge, "/receipt_url")?;
    let is_plain = url.starts_with("https://") || url.starts_with("http://127.0.0.1");
    (is_plain && url.len() <= MAX_URL_BYTES).then_some(url)
}

fn saved(intent: &Value) -> Option<SavedMethod> {
    if text(intent, "/setup_future_usage").as_deref() != Some("off_session") {
        return None;
    }
    Some(SavedMethod {
        customer: intent.get("customer").and_then(id)?,
        method: intent.get("payment_method").and_then(id)?,
    })
}

fn our_id(object: &Value) -> Option<Uuid> {
    let id = object.get("metadata")?.get(METADATA)?.as_str()?;
    id.parse().ok()
}

/// The id of an object, or a text that is one.
fn id(value: &Value) -> Option<String> {
    let id = match value {
        Value::String(id) => id.as_str(),
        Value::Object(object) => object.get("id")?.as_str()?,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => return None,
    };
    (!id.is_empty() && id.len() <= 255).then(|| id.to_owned())
}

/// A text at a place.
pub(super) fn text(object: &Value, pointer: &str) -> Option<String> {
    Some(object.pointer(pointer)?.as_str()?.to_owned())
}
