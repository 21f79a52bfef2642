//! What the books must say after all events: worked out from what people did at Stripe alone.

use std::collections::BTreeSet;

use trunkline_db::SystemClock;
use trunkline_ledger::accounts::{self as ledger, Adjust, Wallet};
use trunkline_store::{accounts, payments};
use trunkline_testkit::random_bytes;
use trunkline_types::{AccountId, Clock as _, Money, RequestId};

use super::Shop;

/// A cent in nano-dollars.
pub(super) const CENT: i64 = 10_000_000;
/// What an account begins with.
pub(super) const FIRST_CENTS: i64 = 1;

/// An account, and what its payments come to, in cents.
pub(super) struct Buyer {
    pub(super) account: AccountId,
    payments: usize,
    received: i64,
    /// What Stripe has taken back in the end.
    due: i64,
    spent: i64,
}

impl Buyer {
    pub(super) fn new(account: AccountId) -> Self {
        Self {
            account,
            payments: 0,
            received: 0,
            due: 0,
            spent: 0,
        }
    }

    pub(super) fn paid(&mut self, amount: i64, due: i64) {
        self.payments += 1;
        self.received += amount;
        self.due += due;
    }
}

impl Shop {
    /// Every second buyer spends half of what is free, so that later disputes take more than there is.
    pub(super) async fn spend(&mut self) {
        for buyer in self.buyers.iter_mut().step_by(2) {
            let console = &self.harness.console;
            let balance = ledger::balance(console, buyer.account).await;
            let cents = balance.unwrap().unwrap().paid.nanos() / CENT / 2;
            if cents == 0 {
                continue;
            }
            let mut tx = console.begin().await.unwrap();
            let take = Adjust {
                request: RequestId::new(SystemClock.now(), random_bytes()),
                account: buyer.account,
                wallet: Wallet::Paid,
                amount: Money::from_nanos(cents * CENT),
                reason: "spent".to_owned(),
                actor: "buyer".to_owned(),
            };
            let taken = ledger::take_free(&mut tx, &take).await.unwrap();
            tx.commit().await.unwrap();
            buyer.spent += taken.nanos() / CENT;
        }
    }

    /// Every event of Stripe was booked, and no other.
    pub(super) async fn events_are_stripes(&self) {
        let query = "SELECT id FROM app.payment_event";
        let booked = self.harness.postgres.ask(query).await;
        let events = self.harness.simulator.stripe().events();
        let id = |event: &serde_json::Value| event["id"].as_str().unwrap().to_owned();
        let theirs: BTreeSet<String> = events.iter().map(id).collect();
        assert_eq!(booked.len(), theirs.len());
        assert_eq!(booked.into_iter().collect::<BTreeSet<_>>(), theirs);
    }

    /// Each payment moved money once, and pages that are over did not.
    pub(super) async fn payments_are_booked_once(&self) {
        let paid: usize = self.buyers.iter().map(|buyer| buyer.payments).sum();
        let received: i64 = self.buyers.iter().map(|buyer| buyer.received).sum();
        let query = "SELECT format('%s %s %s', count(*), count(DISTINCT event_id), sum(amount))
            FROM ledger.top_up WHERE provider = 'stripe'";
        let booked = self.harness.postgres.ask(query).await;
        assert_eq!(booked, [format!("{paid} {paid} {}", received * CENT)]);
        let query = "SELECT format('%s %s', state, count(*)) FROM app.payment GROUP BY state ORDER BY state";
        let mut states = vec![format!("paid {paid}")];
        if self.expired > 0 {
            states.insert(0, format!("failed {}", self.expired));
        }
        assert_eq!(self.harness.postgres.ask(query).await, states);
        let query =
            "SELECT count(*)::text FROM app.payment WHERE state = 'paid' AND receipt_url IS NULL";
        assert_eq!(self.harness.postgres.ask(query).await, ["0"]);
    }

    /// What an account has is what it paid without what was taken back and spent; what is missing it owes, and it is
    /// suspended.
    pub(super) async fn balances_are_right(&self) {
        let mut owing = 0;
        for buyer in &self.buyers {
            let left = FIRST_CENTS + buyer.received - buyer.due - buyer.spent;
            let console = &self.harness.console;
            let balance = ledger::balance(console, buyer.account).await;
            let balance = balance.unwrap().unwrap();
            let mut session = console.session().await.unwrap();
            let owed = payments::owed(&mut session, buyer.account).await.unwrap();
            let account = accounts::find(&mut session, buyer.account).await;
            let is_suspended = account.unwrap().unwrap().suspended_at.is_some();
            let who = buyer.account;
            assert_eq!(balance.paid.nanos(), left.max(0) * CENT, "{who}");
            assert_eq!(owed.nanos(), (-left).max(0) * CENT, "{who}");
            assert!(is_suspended || left >= 0, "{who} owes and is not suspended");
            owing += usize::from(left < 0);
        }
        println!("{owing} of {} accounts owe", self.buyers.len());
    }
}
