//! Leases as transactions: a slice of wallets and budgets is held for a node, journal records turn
//! parts of it into charges, and what is left goes back.

use trunkline_ledger::admission::{WalletSplit, charge};
use trunkline_ledger::{Outcome, Wallets, WriteOffReason};

use super::{Stale, Store};
use crate::model::leases::{End, LeaseReply, LeaseRequest, Record};
use crate::model::mutations::Mutation;
use crate::model::tables::{
    Ask, BudgetWindows, Hold, HoldPlace, HoldState, KEYS, LIFETIME, Lease, LeaseId, LeaseState,
    NodeEpoch, Payer, UsageRow,
};

impl Store {
    /// One transaction for a node's leases.
    pub(crate) fn run_lease_request(
        &mut self,
        author: NodeEpoch,
        lease_request: &LeaseRequest,
    ) -> Result<LeaseReply, Stale> {
        self.check_author(author)?;
        self.serial += 1;
        match lease_request {
            LeaseRequest::Grant { lease, key, amount } => {
                Ok(self.grant(author, *lease, *key, *amount))
            }
            LeaseRequest::Ship(records) => {
                for record in records.iter().flatten() {
                    self.ship(author, record);
                }
                Ok(LeaseReply::Shipped)
            }
            LeaseRequest::Close(id) => {
                self.close_where(|lease| lease.id == *id, LeaseState::Closed);
                Ok(LeaseReply::Closed(*id))
            }
            LeaseRequest::CloseOld => {
                let NodeEpoch { node, epoch } = author;
                let old = |lease: &Lease| lease.id.node == node && lease.epoch < epoch;
                self.close_where(old, LeaseState::Closed);
                Ok(LeaseReply::ClosedOld)
            }
        }
    }

    /// Takes back all leases of a node that is buried.
    pub(super) fn reclaim(&mut self, node: usize) {
        self.close_where(|lease| lease.id.node == node, LeaseState::Reclaimed);
    }

    fn grant(&mut self, author: NodeEpoch, id: LeaseId, key: usize, amount: i64) -> LeaseReply {
        if let Some(lease) = self.leases.iter().find(|lease| lease.id == id) {
            return granted(lease, key);
        }
        let account = KEYS[key].account;
        let stretches = BudgetWindows::of(key, self.now, 0);
        self.open_stretches(&stretches);
        let wallets = Wallets::TrialFirst;
        let ask = Ask {
            key,
            amount,
            wallets,
            payer: Payer::default(),
        };
        // A refusal is written down too: a late copy of the question must not find an answer that
        // its node does not wait for any more.
        let (legs, state) = match self.take(account, ask, &stretches) {
            Ok(legs) => (legs, LeaseState::Active),
            Err(_) => (WalletSplit::default(), LeaseState::Closed),
        };
        let lease = Lease {
            id,
            epoch: author.epoch,
            account,
            granted: legs,
            left: legs,
            stretches,
            state,
        };
        self.leases.push(lease);
        granted(&lease, key)
    }

    /// Writes one end of a call out of a journal. The usage row is the anchor here too.
    fn ship(&mut self, author: NodeEpoch, record: &Record) {
        if self.usage_of(record.call).is_some() && !self.is(Mutation::ShipTwice) {
            return;
        }
        let found = |lease: &Lease| lease.id == record.lease;
        let Some(place) = self.leases.iter().position(found) else {
            self.alarm = Some("a journal speaks of a lease that was never granted");
            return;
        };
        let (requested, outcome) = match record.end {
            End::Begun => return,
            End::Settled(amount) => (amount, Outcome::Complete),
            End::Voided(outcome) => (0, outcome),
        };
        let (mut legs, mut beyond) = charge(requested, record.held);
        let mut held = record.held;
        let lease = self.leases[place];
        let late = lease.state != LeaseState::Active;
        match lease.state {
            LeaseState::Active => {
                let left = &mut self.leases[place].left;
                left.paid -= legs.paid;
                left.trial -= legs.trial;
                self.release(lease.account, legs);
            }
            LeaseState::Closed => self.alarm = Some("a record came after its lease was closed"),
            LeaseState::Reclaimed => {
                legs = self.take_late(&lease, legs.total());
                held = legs;
                beyond = requested - legs.total();
            }
        }
        let (state, reason) = match record.end {
            End::Settled(_) if late => (HoldState::Settled, WriteOffReason::LateResult),
            End::Settled(_) => (HoldState::Settled, WriteOffReason::Overrun),
            End::Begun | End::Voided(_) => (HoldState::Voided, WriteOffReason::Crash),
        };
        self.holds[record.call] = Some(Hold {
            account: lease.account,
            owner: record.owner,
            author,
            legs: held,
            raised: WalletSplit::default(),
            stretches: lease.stretches,
            version: 0,
            version_then: 0,
            opened_at: record.begun_at,
            deadline: record.begun_at + LIFETIME,
            state,
            place: HoldPlace::Row,
            serial: self.serial,
        });
        self.usages.push(UsageRow {
            call: record.call,
            author,
            legs,
            requested,
            outcome,
            at: self.now,
            serial: self.serial,
            late,
        });
        self.write_charge(author, record.call, lease.account, legs);
        if beyond > 0 {
            self.write_off(record.call, reason, Some(beyond));
        }
        if outcome == Outcome::Interrupted {
            self.write_off(record.call, reason, None);
        }
    }

    /// The lease is gone: as much as there is now, out of the same wallets and the same stretches.
    fn take_late(&mut self, lease: &Lease, amount: i64) -> WalletSplit {
        if self.is(Mutation::LateChargeInFull) {
            self.count(&lease.stretches, amount);
            return WalletSplit {
                paid: amount,
                trial: 0,
            };
        }
        let id = crate::model::tables::id_of(lease.account);
        let stretches = lease.stretches.as_slice();
        let taken = (self.standing).take_what_fits(id, Wallets::TrialFirst, amount, stretches);
        let (legs, _) = taken.unwrap_or_default();
        self.release(lease.account, legs);
        legs
    }

    fn close_where(&mut self, which: impl Fn(&Lease) -> bool, state: LeaseState) {
        for place in 0..self.leases.len() {
            let lease = self.leases[place];
            let repeated = self.is(Mutation::ReturnTheRemainderTwice);
            if !which(&lease) || (lease.state != LeaseState::Active && !repeated) {
                continue;
            }
            self.leases[place].state = state;
            if !self.is(Mutation::KeepTheRemainder) {
                self.release(lease.account, lease.left);
                self.give_stretches_back(&lease.stretches, lease.left.total());
            }
            if !repeated {
                self.leases[place].left = WalletSplit::default();
            }
        }
    }
}

fn granted(lease: &Lease, key: usize) -> LeaseReply {
    if lease.state != LeaseState::Active {
        return LeaseReply::NotGranted;
    }
    LeaseReply::Granted {
        lease: lease.id,
        key,
        slice: lease.granted,
        stretches: lease.stretches,
    }
}
