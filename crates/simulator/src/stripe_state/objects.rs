//! Stripe's objects with the fields that its description requires. The tests compare each with that description.

use serde_json::{Map, Value, json};

use super::form::Form;

/// A day, after which a page is over.
const PAGE_SECONDS: i64 = 86_400;

/// Who pays what.
pub(super) struct Purchase {
    pub(super) intent: String,
    pub(super) charge: String,
    pub(super) amount: i64,
    pub(super) created: i64,
    pub(super) customer: Value,
    pub(super) method: Value,
    pub(super) metadata: Map<String, Value>,
    pub(super) description: Value,
    pub(super) future_usage: Value,
}

pub(super) fn session(id: &str, form: &Form, amount: i64, created: i64) -> Value {
    json!({
        "id": id,
        "object": "checkout.session",
        "amount_subtotal": amount,
        "amount_total": amount,
        "automatic_tax": { "enabled": false, "status": null },
        "cancel_url": form.text("cancel_url"),
        "client_reference_id": form.text("client_reference_id"),
        "created": created,
        "currency": "usd",
        "custom_fields": [],
        "custom_text": { "shipping_address": null, "submit": null },
        "customer": form.text("customer"),
        "customer_creation": form.text("customer_creation").unwrap_or("if_required"),
        "expires_at": created.saturating_add(PAGE_SECONDS),
        "livemode": false,
        "metadata": form.below("metadata"),
        "mode": "payment",
        "payment_intent": null,
        "payment_method_types": ["card"],
        "payment_status": "unpaid",
        "shipping_options": [],
        "status": "open",
        "success_url": form.text("success_url"),
        "url": format!("https://checkout.stripe.com/c/pay/{id}"),
    })
}

pub(super) fn intent(purchase: &Purchase, is_paid: bool) -> Value {
    json!({
        "id": purchase.intent,
        "object": "payment_intent",
        "amount": purchase.amount,
        "amount_capturable": 0,
        "amount_received": if is_paid { purchase.amount } else { 0 },
        "capture_method": "automatic",
        "client_secret": format!("{}_secret_simulated", purchase.intent),
        "confirmation_method": "automatic",
        "created": purchase.created,
        "currency": "usd",
        "customer": purchase.customer,
        "description": purchase.description,
        "latest_charge": purchase.charge,
        "livemode": false,
        "metadata": purchase.metadata,
        "payment_method": if is_paid { purchase.method.clone() } else { Value::Null },
        "payment_method_types": ["card"],
        "setup_future_usage": purchase.future_usage,
        "status": if is_paid { "succeeded" } else { "requires_payment_method" },
    })
}

pub(super) fn charge(purchase: &Purchase, is_paid: bool) -> Value {
    let receipt = format!(
        "https://pay.stripe.com/receipts/simulated/{}",
        purchase.charge
    );
    json!({
        "id": purchase.charge,
        "object": "charge",
        "amount": purchase.amount,
        "amount_captured": if is_paid { purchase.amount } else { 0 },
        "amount_refunded": 0,
        "billing_details": { "address": null, "email": null, "name": null, "phone": null },
        "captured": is_paid,
        "created": purchase.created,
        "currency": "usd",
        "customer": purchase.customer,
        "description": purchase.description,
        "disputed": false,
        "livemode": false,
        "metadata": purchase.metadata,
        "paid": is_paid,
        "payment_intent": purchase.intent,
        "payment_method": purchase.method,
        "receipt_url": if is_paid { Value::from(receipt) } else { Value::Null },
        "refunded": false,
        "status": if is_paid { "succeeded" } else { "failed" },
    })
}

pub(super) fn refund(id: &str, charge: &Value, amount: i64, created: i64) -> Value {
    json!({
        "id": id,
        "object": "refund",
        "amount": amount,
        "charge": charge["id"],
        "created": created,
        "currency": "usd",
        "metadata": {},
        "payment_intent": charge["payment_intent"],
        "reason": null,
        "status": "succeeded",
    })
}

pub(super) fn dispute(id: &str, charge: &Value, amount: i64, created: i64) -> Value {
    json!({
        "id": id,
        "object": "dispute",
        "amount": amount,
        "balance_transactions": [],
        "charge": charge["id"],
        "created": created,
        "currency": "usd",
        "evidence": {},
        "evidence_details": {
            "due_by": created.saturating_add(PAGE_SECONDS),
            "has_evidence": false,
            "past_due": false,
            "submission_count": 0,
        },
        "is_charge_refundable": false,
        "livemode": false,
        "metadata": {},
        "payment_intent": charge["payment_intent"],
        "reason": "fraudulent",
        "status": "needs_response",
    })
}

pub(super) fn event(id: &str, kind: &str, object: &Value, created: i64) -> Value {
    json!({
        "id": id,
        "object": "event",
        "api_version": "2022-11-15",
        "created": created,
        "data": { "object": object },
        "livemode": false,
        "pending_webhooks": 1,
        "request": null,
        "type": kind,
    })
}
