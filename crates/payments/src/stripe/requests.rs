//! Requests as Stripe reads them: forms with brackets.

use trunkline_types::Timestamp;
use url::form_urlencoded::Serializer;

use super::METADATA;
use super::objects::CURRENCY;
use crate::provider::{ChargeSaved, NewCheckout, NewRefund};

/// The events that are booked; webhooks are set up with the same list.
const EVENTS: [&str; 10] = [
    "checkout.session.completed",
    "checkout.session.async_payment_succeeded",
    "checkout.session.expired",
    "payment_intent.succeeded",
    "payment_intent.payment_failed",
    "charge.succeeded",
    "charge.refunded",
    "charge.dispute.created",
    "charge.dispute.updated",
    "charge.dispute.closed",
];

fn fields() -> Serializer<'static, String> {
    Serializer::new(String::new())
}

pub(super) fn checkout(new: &NewCheckout<'_>, key: &str) -> String {
    let mut fields = fields();
    let price = "line_items[0][price_data]";
    fields
        .append_pair("mode", "payment")
        .append_pair("client_reference_id", key)
        .append_pair("success_url", new.success_url)
        .append_pair("cancel_url", new.cancel_url)
        .append_pair("line_items[0][quantity]", "1")
        .append_pair(&format!("{price}[currency]"), CURRENCY)
        .append_pair(
            &format!("{price}[unit_amount]"),
            &new.amount.number().to_string(),
        )
        .append_pair(&format!("{price}[product_data][name]"), new.description)
        .append_pair(&format!("metadata[{METADATA}]"), key)
        .append_pair(&format!("payment_intent_data[metadata][{METADATA}]"), key);
    match new.customer {
        Some(customer) => {
            fields.append_pair("customer", customer);
        }
        None if new.saves_method => {
            fields.append_pair("customer_creation", "always");
        }
        None => {}
    }
    if new.saves_method {
        fields.append_pair("payment_intent_data[setup_future_usage]", "off_session");
    }
    fields.finish()
}

pub(super) fn charge_saved(charge: &ChargeSaved<'_>, key: &str) -> String {
    let mut fields = fields();
    fields
        .append_pair("amount", &charge.amount.number().to_string())
        .append_pair("currency", CURRENCY)
        .append_pair("customer", charge.customer)
        .append_pair("payment_method", charge.method)
        .append_pair("off_session", "true")
        .append_pair("confirm", "true")
        .append_pair("description", charge.description)
        .append_pair(&format!("metadata[{METADATA}]"), key)
        .append_pair("metadata[trunkline_kind]", "automatic")
        .append_pair("expand[]", "latest_charge");
    fields.finish()
}

pub(super) fn refund(refund: &NewRefund<'_>) -> String {
    let mut fields = fields();
    fields
        .append_pair("payment_intent", refund.provider_payment)
        .append_pair("amount", &refund.amount.number().to_string())
        .append_pair("expand[]", "charge");
    fields.finish()
}

/// The query of a page of events.
pub(super) fn events(from: Timestamp, before: Timestamp, after: Option<&str>) -> String {
    let mut query = fields();
    query
        .append_pair("limit", "100")
        .append_pair("created[gte]", &from.seconds().to_string())
        .append_pair("created[lt]", &before.seconds().to_string());
    for kind in EVENTS {
        query.append_pair("types[]", kind);
    }
    if let Some(after) = after {
        query.append_pair("starting_after", after);
    }
    query.finish()
}
