//! Calls: what each is going to do, how far it is, and what its client was told.

use trunkline_ledger::Wallets;
use trunkline_ledger::admission::WalletSplit;

use crate::model::rng::Rng;
use crate::model::tables::{Ask, Call, KEYS, Owner, Payer};

/// What a call is going to do, if nothing comes in between.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) key: usize,
    pub(crate) owner: Owner,
    pub(crate) wallets: Wallets,
    pub(crate) bound: i64,
    pub(crate) extend_to: Option<i64>,
    /// The price at the end; none if there is nothing to charge.
    pub(crate) price: Option<i64>,
    pub(crate) back: GiveBack,
}

/// What is given back after the charge.
#[derive(Debug, Clone, Copy)]
pub(crate) enum GiveBack {
    Nothing,
    All,
    Part(i64),
    /// A part, and then the rest.
    PartThenAll(i64),
}

/// A call and what its client knows of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallState {
    pub(crate) plan: Plan,
    pub(crate) begun: bool,
    /// It is served out of a lease.
    pub(crate) leased: bool,
    /// A task that was handed over to the poller.
    pub(crate) accepted: bool,
    /// The client was told that it was charged, and how much.
    pub(crate) told_ok: Option<WalletSplit>,
    /// The client was told that it failed and costs nothing.
    pub(crate) told_unavailable: bool,
    /// The process that should have taken its charge back ended before it could.
    pub(crate) doubtful: bool,
    /// A refund was requested.
    pub(crate) refund_asked: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Reserving,
    /// The money is held; the work goes on.
    Holding,
    Extending,
    Settling,
    Voiding,
    /// Charged, and some of it will be given back.
    Charged,
    Refunding,
    Over,
}

/// A task of a node that works on a call: its request, or one who polls its task.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Actor {
    pub(crate) call: Call,
    pub(crate) node: usize,
    pub(crate) phase: Phase,
    pub(crate) extended: bool,
    pub(crate) refunds: usize,
}

// === impl Plan ===

impl Plan {
    pub(crate) fn new(dice: &mut Rng) -> Self {
        let owner = match dice.below(8) {
            0 | 1 => Owner::Task,
            2 => Owner::Connection,
            3.. => Owner::Request,
        };
        let wallets = if dice.one_in(5) {
            Wallets::PaidOnly
        } else {
            Wallets::TrialFirst
        };
        let bound = dice.between(1, 10);
        let extend_to = dice.one_in(3).then(|| bound + dice.between(-1, 6));
        let top = extend_to.unwrap_or(bound);
        let price = (!dice.one_in(5)).then(|| dice.between(0, top + 1));
        let back = match dice.below(8) {
            0 => GiveBack::All,
            1 => GiveBack::Part(dice.between(1, 5)),
            2 => GiveBack::PartThenAll(dice.between(1, 5)),
            3.. => GiveBack::Nothing,
        };
        Self {
            key: dice.below(KEYS.len()),
            owner,
            wallets,
            bound,
            extend_to,
            price,
            back,
        }
    }

    pub(crate) fn account(&self) -> usize {
        KEYS[self.key].account
    }

    pub(crate) fn ask(&self, payer: Payer) -> Ask {
        Ask {
            key: self.key,
            amount: self.bound,
            wallets: self.wallets,
            payer,
        }
    }
}

// === impl CallState ===

impl CallState {
    pub(crate) fn new(dice: &mut Rng) -> Self {
        Self {
            plan: Plan::new(dice),
            begun: false,
            leased: false,
            accepted: false,
            told_ok: None,
            told_unavailable: false,
            doubtful: false,
            refund_asked: false,
        }
    }
}

// === impl Actor ===

impl Actor {
    pub(crate) fn new(call: Call, node: usize, phase: Phase) -> Self {
        Self {
            call,
            node,
            phase,
            extended: false,
            refunds: 0,
        }
    }

    /// It works because it was told that the money for it is held.
    pub(crate) fn works(&self) -> bool {
        match self.phase {
            Phase::Holding | Phase::Extending | Phase::Settling => true,
            Phase::Reserving | Phase::Voiding | Phase::Charged | Phase::Refunding | Phase::Over => {
                false
            }
        }
    }

    /// It has said something and has no answer yet.
    pub(crate) fn waits(&self) -> bool {
        match self.phase {
            Phase::Reserving
            | Phase::Extending
            | Phase::Settling
            | Phase::Voiding
            | Phase::Refunding => true,
            Phase::Holding | Phase::Charged | Phase::Over => false,
        }
    }
}
