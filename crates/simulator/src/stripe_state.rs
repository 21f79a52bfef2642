//! What Stripe remembers: objects by their ids, events in their order, answers by idempotency key.

mod form;
mod objects;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::clock;
use crate::tokens::hex;

pub(crate) use form::Form;
use objects::Purchase;

/// Hexadecimal digits of an id.
const ID_DIGITS: usize = 24;
/// The method of people who pay on a page.
const PAGE_METHOD: &str = "pm_card_visa";

/// The memory of one simulator.
#[derive(Debug, Default)]
pub(crate) struct StripeState(Mutex<Store>);

#[derive(Debug, Default)]
pub(crate) struct Store {
    pub(crate) sessions: BTreeMap<String, Value>,
    pub(crate) intents: BTreeMap<String, Value>,
    pub(crate) charges: BTreeMap<String, Value>,
    pub(crate) refunds: BTreeMap<String, Value>,
    pub(crate) disputes: BTreeMap<String, Value>,
    /// Oldest first.
    pub(crate) events: Vec<Value>,
    pub(crate) kept: HashMap<String, Kept>,
    /// What a page says of the payment that is made on it.
    pages: BTreeMap<String, (serde_json::Map<String, Value>, Value)>,
    /// Whether every saved method is declined.
    pub(crate) declines: bool,
    numbers: u64,
}

/// The answer of a request with an idempotency key.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) path: String,
    pub(crate) request: Bytes,
    pub(crate) status: u16,
    pub(crate) body: Value,
}

// === impl StripeState ===

impl StripeState {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Store> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Store ===

impl Store {
    pub(crate) fn open_session(&mut self, form: &Form, amount: i64) -> Value {
        let id = self.id("cs_test_");
        let session = objects::session(&id, form, amount, now());
        let usage = form.text("payment_intent_data[setup_future_usage]");
        let page = (form.below("payment_intent_data[metadata]"), json!(usage));
        self.pages.insert(id.clone(), page);
        self.sessions.insert(id, session.clone());
        session
    }

    /// A person pays on a page. None if there is no such page, or it was paid or is over.
    pub(crate) fn pay_session(&mut self, id: &str) -> Option<String> {
        let mut session = self.sessions.get(id)?.clone();
        if field_of(&session, "status") != "open" {
            return None;
        }
        let (metadata, future_usage) = self.pages.get(id)?.clone();
        let saves = field_of(&session, "customer").is_null()
            && field_of(&session, "customer_creation") == "always";
        let customer = if saves {
            json!(self.id("cus_"))
        } else {
            field_of(&session, "customer").clone()
        };
        let purchase = Purchase {
            intent: self.id("pi_"),
            charge: self.id("ch_"),
            amount: field_of(&session, "amount_total").as_i64()?,
            created: now(),
            customer: customer.clone(),
            method: json!(PAGE_METHOD),
            metadata,
            description: Value::Null,
            future_usage,
        };
        self.paid(&purchase);
        put(&mut session, "customer", customer);
        put(&mut session, "payment_intent", json!(purchase.intent));
        put(&mut session, "payment_status", json!("paid"));
        put(&mut session, "status", json!("complete"));
        self.sessions.insert(id.to_owned(), session.clone());
        self.tell("checkout.session.completed", &session);
        Some(purchase.intent)
    }

    /// A page without a payment is over.
    pub(crate) fn expire_session(&mut self, id: &str) -> Option<()> {
        let session = self.sessions.get_mut(id)?;
        put(session, "status", json!("expired"));
        let session = session.clone();
        self.tell("checkout.session.expired", &session);
        Some(())
    }

    pub(crate) fn pay_intent(&mut self, form: &Form, amount: i64) -> Value {
        let purchase = self.purchase(form, amount);
        self.paid(&purchase)
    }

    pub(crate) fn fail_intent(&mut self, form: &Form, amount: i64) -> Value {
        let purchase = self.purchase(form, amount);
        let charge = objects::charge(&purchase, false);
        let intent = objects::intent(&purchase, false);
        self.charges.insert(purchase.charge, charge);
        self.intents.insert(purchase.intent, intent.clone());
        self.tell("payment_intent.payment_failed", &intent);
        intent
    }

    fn purchase(&mut self, form: &Form, amount: i64) -> Purchase {
        Purchase {
            intent: self.id("pi_"),
            charge: self.id("ch_"),
            amount,
            created: now(),
            customer: json!(form.text("customer")),
            method: json!(form.text("payment_method")),
            metadata: form.below("metadata"),
            description: json!(form.text("description")),
            future_usage: Value::Null,
        }
    }

    fn paid(&mut self, purchase: &Purchase) -> Value {
        let (charge, intent) = (
            objects::charge(purchase, true),
            objects::intent(purchase, true),
        );
        self.charges.insert(purchase.charge.clone(), charge.clone());
        self.intents.insert(purchase.intent.clone(), intent.clone());
        self.tell("charge.succeeded", &charge);
        self.tell("payment_intent.succeeded", &intent);
        intent
    }

    /// Gives a payment back; none for all that is left.
    pub(crate) fn refund(
        &mut self,
        intent: &str,
        amount: Option<i64>,
    ) -> Result<Value, &'static str> {
        let unknown = "No such payment_intent, or it was not paid.";
        let mut charge = self.charge_of(intent).ok_or(unknown)?;
        let paid = field_of(&charge, "amount_captured").as_i64().unwrap_or(0);
        let before = field_of(&charge, "amount_refunded").as_i64().unwrap_or(0);
        let left = paid.saturating_sub(before);
        let amount = amount.unwrap_or(left);
        if amount < 1 || amount > left {
            return Err("Refund amount is greater than unrefunded amount on charge.");
        }
        let total = before.saturating_add(amount);
        put(&mut charge, "amount_refunded", json!(total));
        put(&mut charge, "refunded", json!(total == paid));
        let id = self.id("re_");
        let refund = objects::refund(&id, &charge, amount, now());
        self.refunds.insert(id, refund.clone());
        self.put_charge(&charge);
        self.tell("charge.refunded", &charge);
        Ok(refund)
    }

    /// A bank disputes a payment.
    pub(crate) fn dispute(&mut self, intent: &str, amount: i64) -> Option<String> {
        let mut charge = self.charge_of(intent)?;
        put(&mut charge, "disputed", json!(true));
        let id = self.id("dp_");
        let dispute = objects::dispute(&id, &charge, amount, now());
        self.put_charge(&charge);
        self.disputes.insert(id.clone(), dispute.clone());
        self.tell("charge.dispute.created", &dispute);
        Some(id)
    }

    pub(crate) fn close_dispute(&mut self, id: &str, is_won: bool) -> Option<()> {
        let dispute = self.disputes.get_mut(id)?;
        put(
            dispute,
            "status",
            json!(if is_won { "won" } else { "lost" }),
        );
        let dispute = dispute.clone();
        self.tell("charge.dispute.closed", &dispute);
        Some(())
    }

    /// The object with another one in the place of its id, if that was asked for.
    pub(crate) fn expanded(&self, mut object: Value, form: &Form, field: &str) -> Value {
        let id = field_of(&object, field).as_str().unwrap_or_default();
        if form.list("expand").contains(&field)
            && let Some(charge) = self.charges.get(id)
        {
            put(&mut object, field, charge.clone());
        }
        object
    }

    fn charge_of(&self, intent: &str) -> Option<Value> {
        let intent = self.intents.get(intent)?;
        let charge = self.charges.get(intent["latest_charge"].as_str()?)?;
        (charge["paid"] == true).then(|| charge.clone())
    }

    fn put_charge(&mut self, charge: &Value) {
        let id = charge["id"].as_str().unwrap_or_default().to_owned();
        self.charges.insert(id, charge.clone());
    }

    fn tell(&mut self, kind: &str, object: &Value) {
        let id = self.id("evt_");
        self.events.push(objects::event(&id, kind, object, now()));
    }

    fn id(&mut self, prefix: &str) -> String {
        self.numbers = self.numbers.saturating_add(1);
        let text = format!("{prefix} {} {}", self.numbers, clock::now_micros());
        let digits = hex(&Sha256::digest(text));
        format!("{prefix}{}", digits.get(..ID_DIGITS).unwrap_or_default())
    }
}

/// A field, or null where there is none.
pub(crate) fn field_of<'a>(object: &'a Value, name: &str) -> &'a Value {
    object.get(name).unwrap_or(&Value::Null)
}

pub(crate) fn put(object: &mut Value, name: &str, value: Value) {
    if let Some(fields) = object.as_object_mut() {
        fields.insert(name.to_owned(), value);
    }
}

fn now() -> i64 {
    i64::try_from(clock::seconds(clock::now_micros())).unwrap_or(i64::MAX)
}
