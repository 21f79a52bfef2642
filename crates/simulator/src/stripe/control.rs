//! People and banks at Stripe: who pays on a page, refunds in the dashboard, disputes.

use std::sync::Arc;

use serde_json::Value;

use crate::shared_state::SharedState;

/// Plays what happens at Stripe without an API call.
#[derive(Clone, Debug)]
pub struct StripeControl {
    state: Arc<SharedState>,
}

impl StripeControl {
    pub(crate) fn new(state: Arc<SharedState>) -> Self {
        Self { state }
    }

    /// A person pays on a page, named by the id in its address. Returns the payment intent.
    #[must_use]
    pub fn pay(&self, session: &str) -> Option<String> {
        self.state.stripe.lock().pay_session(session)
    }

    /// A page without a payment is over.
    #[must_use]
    pub fn expire(&self, session: &str) -> bool {
        self.state.stripe.lock().expire_session(session).is_some()
    }

    /// The operator refunds cents in Stripe's dashboard; none for all that is left. False if that is not possible.
    #[must_use]
    pub fn refund(&self, intent: &str, amount: Option<i64>) -> bool {
        self.state.stripe.lock().refund(intent, amount).is_ok()
    }

    /// A bank disputes so many cents. Returns the dispute.
    #[must_use]
    pub fn dispute(&self, intent: &str, amount: i64) -> Option<String> {
        self.state.stripe.lock().dispute(intent, amount)
    }

    /// A dispute is decided.
    #[must_use]
    pub fn close_dispute(&self, dispute: &str, is_won: bool) -> bool {
        let mut store = self.state.stripe.lock();
        store.close_dispute(dispute, is_won).is_some()
    }

    /// Whether every saved method is declined from now on.
    pub fn decline(&self, declines: bool) {
        self.state.stripe.lock().declines = declines;
    }

    /// All events, oldest first.
    #[must_use]
    pub fn events(&self) -> Vec<Value> {
        self.state.stripe.lock().events.clone()
    }

    /// All payment intents.
    #[must_use]
    pub fn intents(&self) -> Vec<Value> {
        self.state.stripe.lock().intents.values().cloned().collect()
    }

    /// All charges, with what was refunded of them.
    #[must_use]
    pub fn charges(&self) -> Vec<Value> {
        self.state.stripe.lock().charges.values().cloned().collect()
    }
}
