//! The database as a pure model: tables in memory, and transactions that happen at once or not at
//! all. What is decided is decided by the product's own functions ([`BatchState::take`], [`charge`],
//! `refund_split`); what is written follows the rules of `src/sql/*.sql`.
//!
//! It must not know nodes, messages or chance: a transaction is a function of the tables.

mod batches;
mod leases;
mod recovery;
mod refunds;
mod retention;

use std::collections::BTreeMap;

use trunkline_ledger::admission::{
    BatchState, BudgetWindow, BudgetWindowId, Rejection, WalletBalances, WalletSplit, charge,
};
use trunkline_ledger::{Outcome, WriteOffReason};

use crate::model::mutations::Mutation;
use crate::model::tables::{
    ACCOUNTS, Answer, Ask, BATCH, BUDGETS, Batch, BudgetWindows, CALLS, Call, CallOperation, Hold,
    HoldPlace, HoldState, LIFETIME, Lease, Life, Loss, NODES, NodeEpoch, NodeRow, Owner, PAID,
    PAYMENTS, Payer, REVENUE, Transfer, TransferKind, UsageRow, Word, by_leg, id_of, party,
};

/// The epoch that speaks is over; nothing was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stale;

/// Answers in the places of their words.
pub(crate) type Answers = [Option<Answer>; BATCH];

/// What becomes of a hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Settled(i64),
    Voided(Outcome),
}

/// Which holds may be resolved: those of the submitting node (and tasks), or of any node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whose {
    Own,
    Anybodys,
}

#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) wrong: Option<Mutation>,
    pub(crate) now: i64,
    /// Transactions so far.
    pub(crate) serial: u32,
    /// The accounts and the stretches of budgets, in the shape the product decides on.
    pub(crate) standing: BatchState,
    pub(crate) limits: [i64; BUDGETS],
    pub(crate) holds: [Option<Hold>; CALLS],
    pub(crate) usages: Vec<UsageRow>,
    pub(crate) transfers: Vec<Transfer>,
    pub(crate) losses: Vec<Loss>,
    pub(crate) nodes: [NodeRow; NODES],
    pub(crate) lives: Vec<Life>,
    pub(crate) leases: Vec<Lease>,
    /// Batches that were applied, with their answers.
    pub(crate) batches: Vec<(NodeEpoch, Batch, Answers)>,
    pub(crate) payers: [Payer; ACCOUNTS],
    /// Packed holds that got rows of their own.
    pub(crate) moves: u32,
    /// Calls whose rows went with their day, and what budgets had counted of them.
    pub(crate) dropped: [bool; CALLS],
    pub(crate) dropped_of: BTreeMap<BudgetWindowId, i64>,
    /// What a transaction saw and should never see.
    pub(crate) alarm: Option<&'static str>,
}

// === impl Store ===

impl Store {
    pub(crate) fn new(limits: [i64; BUDGETS], wrong: Option<Mutation>) -> Self {
        let mut standing = BatchState::default();
        for account in 0..ACCOUNTS {
            standing
                .balances
                .insert(id_of(account), WalletBalances::default());
        }
        Self {
            wrong,
            now: 0,
            serial: 0,
            standing,
            limits,
            holds: [None; CALLS],
            usages: Vec::with_capacity(CALLS),
            transfers: Vec::with_capacity(4 * CALLS),
            losses: Vec::with_capacity(CALLS),
            nodes: [NodeRow {
                epoch: 0,
                heartbeat: 0,
            }; NODES],
            lives: Vec::with_capacity(4 * NODES),
            leases: Vec::new(),
            batches: Vec::new(),
            payers: [Payer::default(); ACCOUNTS],
            moves: 0,
            dropped: [false; CALLS],
            dropped_of: BTreeMap::new(),
            alarm: None,
        }
    }

    pub(crate) fn is(&self, wrong: Mutation) -> bool {
        self.wrong == Some(wrong)
    }

    /// Money comes in. The paying account has topped up.
    pub(crate) fn top_up(&mut self, account: usize, leg: usize, amount: i64) {
        self.serial += 1;
        self.balances(account).topped_up |= leg == PAID;
        self.transfers.push(Transfer {
            call: None,
            kind: TransferKind::TopUp,
            leg,
            debit: PAYMENTS,
            credit: party(account, leg),
            amount,
            at: self.now,
            author: None,
            serial: self.serial,
        });
        self.post(account, leg, amount);
    }

    pub(crate) fn usage_of(&self, call: Call) -> Option<&UsageRow> {
        let mut kept = self.usages.iter().filter(|_| !self.dropped[call]);
        kept.find(|usage| usage.call == call)
    }

    fn check_author(&self, author: NodeEpoch) -> Result<(), Stale> {
        let lives = self.nodes[author.node].epoch == author.epoch;
        if lives || self.is(Mutation::AcceptStaleEpoch) {
            Ok(())
        } else {
            Err(Stale)
        }
    }

    fn reserve(
        &mut self,
        author: NodeEpoch,
        submitted: &CallOperation,
        ask: Ask,
        place: HoldPlace,
    ) -> Answer {
        if self.dropped[submitted.call] {
            return Answer::NoHold;
        }
        if let Some(hold) = &self.holds[submitted.call] {
            if hold.account != submitted.account && !self.is(Mutation::AnswerAStrangersReserve) {
                return Answer::NoHold;
            }
            // No index finds an open hold in the row of its batch: lanes see to it.
            if place == HoldPlace::Batch && hold.state == HoldState::Open {
                self.alarm = Some("one request is held twice");
            }
            return match hold.state {
                HoldState::Open => Answer::Held(hold.legs),
                HoldState::Settled | HoldState::Voided => Answer::AlreadyResolved,
            };
        }
        let now = self.payers[submitted.account];
        let stale = ask.payer.revision != now.revision && !self.is(Mutation::AcceptAStaleRevision);
        let version = match place {
            HoldPlace::Batch if stale => return Answer::StaleRevision,
            HoldPlace::Batch => ask.payer.version,
            // What has a row is counted in what the transaction itself reads.
            HoldPlace::Row | HoldPlace::Moved => now.version,
        };
        let stretches = BudgetWindows::of(ask.key, self.now, version);
        self.open_stretches(&stretches);
        let taken = self.take(submitted.account, ask, &stretches);
        let Ok(legs) = taken else {
            return not_taken(taken);
        };
        self.holds[submitted.call] = Some(Hold {
            account: submitted.account,
            owner: submitted.owner,
            author,
            legs,
            raised: WalletSplit::default(),
            stretches,
            version,
            version_then: now.version,
            opened_at: self.now,
            deadline: self.now + LIFETIME,
            state: HoldState::Open,
            place,
            serial: self.serial,
        });
        Answer::Held(legs)
    }

    /// Takes out of wallets and stretches by the product's own decision.
    fn take(
        &mut self,
        account: usize,
        ask: Ask,
        stretches: &BudgetWindows,
    ) -> Result<WalletSplit, Rejection> {
        let (id, slice) = (id_of(account), stretches.as_slice());
        if self.is(Mutation::PassTheBudget) {
            let legs = (self.standing).take(id, ask.wallets, ask.amount, &[], None)?;
            self.count(stretches, legs.total());
            return Ok(legs);
        }
        (self.standing).take(id, ask.wallets, ask.amount, slice, None)
    }

    fn extend(&mut self, submitted: &CallOperation, total: i64) -> Answer {
        let Word::Extend(_, wallets) = submitted.word else {
            return Answer::NoHold;
        };
        let Some(hold) = self.holds[submitted.call] else {
            return Answer::NoHold;
        };
        let ended = hold.state != HoldState::Open && !self.is(Mutation::ExtendAfterTheEnd);
        let strangers =
            hold.account != submitted.account && !self.is(Mutation::ExtendAStrangersHold);
        if ended || strangers {
            return Answer::NoHold;
        }
        let more = total - hold.legs.total();
        if more <= 0 {
            return Answer::Held(hold.legs);
        }
        let stretches = if self.is(Mutation::ExtendWithoutBudget) {
            &[]
        } else {
            hold.stretches.as_slice()
        };
        let id = id_of(hold.account);
        let taken = (self.standing).take_what_fits(id, wallets, more, stretches);
        let (more, short) = match taken {
            Ok(taken) => taken,
            Err(rejection) => return not_taken(Err(rejection)),
        };
        if short.is_some() && self.is(Mutation::LoseThePartThatFits) {
            return Answer::TooLittle(hold.legs.total());
        }
        let legs = WalletSplit {
            paid: hold.legs.paid + more.paid,
            trial: hold.legs.trial + more.trial,
        };
        let raised = WalletSplit {
            paid: hold.raised.paid + more.paid,
            trial: hold.raised.trial + more.trial,
        };
        // A hold that has a row of its own is raised there.
        let lost = hold.place == HoldPlace::Moved && self.is(Mutation::ExtendAfterTheSweep);
        if !lost {
            self.holds[submitted.call] = Some(Hold {
                legs,
                raised,
                ..hold
            });
        }
        match short {
            None => Answer::Held(legs),
            Some(_) => Answer::TooLittle(legs.total()),
        }
    }

    /// Settles or voids. The usage row is the anchor: money moves only if the hold is open and the
    /// row is new.
    fn resolve(&mut self, author: NodeEpoch, call: Call, verdict: Verdict, whose: Whose) -> Answer {
        let Some(hold) = self.holds[call] else {
            return Answer::NoHold;
        };
        if hold.state != HoldState::Open {
            return self.resolved_before(author, call, hold, verdict);
        }
        let own = hold.author == author || hold.owner == Owner::Task;
        if whose == Whose::Own && !own && !self.is(Mutation::AcceptStaleEpoch) {
            return Answer::NoHold;
        }
        let (requested, state, outcome) = match verdict {
            Verdict::Settled(amount) => (amount, HoldState::Settled, Outcome::Complete),
            Verdict::Voided(outcome) => (0, HoldState::Voided, outcome),
        };
        let (mut legs, beyond) = charge(requested, hold.legs);
        if state == HoldState::Settled && self.is(Mutation::LostSettle) {
            return Answer::Done(legs);
        }
        if self.is(Mutation::ChargeAboveHold) {
            legs.paid += beyond;
        }
        if !self.is(Mutation::NoUsageRow) {
            self.usages.push(UsageRow {
                call,
                author,
                legs,
                requested,
                outcome,
                at: self.now,
                serial: self.serial,
                late: false,
            });
        }
        self.holds[call] = Some(Hold { state, ..hold });
        self.write_charge(author, call, hold.account, legs);
        if !(state == HoldState::Voided && self.is(Mutation::KeepHeldAfterVoid)) {
            self.release(hold.account, hold.legs);
        }
        self.give_stretches_back(&hold.stretches, hold.legs.total() - legs.total());
        if beyond > 0 && !self.is(Mutation::ForgetOverrun) {
            self.write_off(call, WriteOffReason::Overrun, Some(beyond));
        }
        Answer::Done(legs)
    }

    fn resolved_before(
        &mut self,
        author: NodeEpoch,
        call: Call,
        hold: Hold,
        what: Verdict,
    ) -> Answer {
        let settled = hold.state == HoldState::Settled;
        let legs = self
            .usage_of(call)
            .map_or(WalletSplit::default(), |usage| usage.legs);
        match what {
            Verdict::Settled(_) if settled && self.is(Mutation::SettleTwice) => {
                self.write_charge(author, call, hold.account, legs);
            }
            Verdict::Voided(_) if settled && self.is(Mutation::VoidAfterSettle) => {
                let state = HoldState::Voided;
                self.holds[call] = Some(Hold { state, ..hold });
            }
            Verdict::Settled(_) | Verdict::Voided(_) => {}
        }
        Answer::Before {
            charged: settled,
            legs,
        }
    }

    fn write_charge(&mut self, author: NodeEpoch, call: Call, account: usize, legs: WalletSplit) {
        for (leg, amount) in by_leg(legs).into_iter().filter(|(_, amount)| *amount > 0) {
            self.transfers.push(Transfer {
                call: Some(call),
                kind: TransferKind::Charge,
                leg,
                debit: party(account, leg),
                credit: REVENUE,
                amount,
                at: self.now,
                author: Some(author),
                serial: self.serial,
            });
            if !self.is(Mutation::SkipBalanceMove) {
                self.post(account, leg, -amount);
            }
        }
    }

    /// A loss is noted once for each reason.
    fn write_off(&mut self, call: Call, reason: WriteOffReason, sale: Option<i64>) {
        let same = |loss: &Loss| loss.call == call && loss.reason == reason;
        if !self.losses.iter().any(same) {
            self.losses.push(Loss { call, reason, sale });
        }
    }

    fn open_stretches(&mut self, stretches: &BudgetWindows) {
        for &id in stretches.as_slice() {
            let limit = self.limits[id.0 as usize];
            let window = BudgetWindow {
                id: id.0,
                limit,
                used: 0,
            };
            self.standing.windows.entry(id).or_insert(window);
        }
    }

    fn give_stretches_back(&mut self, stretches: &BudgetWindows, amount: i64) {
        if self.is(Mutation::ForgetBudgetGiveBack) {
            return;
        }
        let times = 1 + i64::from(self.is(Mutation::DoubleBudgetGiveBack));
        self.count(stretches, -amount * times);
    }

    fn count(&mut self, stretches: &BudgetWindows, amount: i64) {
        for &id in stretches.as_slice() {
            self.window(id).used += amount;
        }
    }

    fn window(&mut self, id: BudgetWindowId) -> &mut BudgetWindow {
        let window = self.standing.windows.get_mut(&id);
        window.expect("a stretch is there before anything counts in it")
    }

    fn balances(&mut self, account: usize) -> &mut WalletBalances {
        let balances = self.standing.balances.get_mut(&id_of(account));
        balances.expect("accounts are never removed")
    }

    fn post(&mut self, account: usize, leg: usize, amount: i64) {
        let balances = self.balances(account);
        if leg == PAID {
            balances.paid_posted += amount;
        } else {
            balances.trial_posted += amount;
        }
    }

    fn release(&mut self, account: usize, legs: WalletSplit) {
        let balances = self.balances(account);
        balances.paid_held -= legs.paid;
        balances.trial_held -= legs.trial;
    }
}

fn not_taken(taken: Result<WalletSplit, Rejection>) -> Answer {
    match taken {
        Ok(legs) => Answer::Held(legs),
        Err(Rejection::TooLittle(_, fits, _)) => Answer::TooLittle(fits),
        Err(Rejection::NeverToppedUp) => Answer::NeverToppedUp,
        Err(Rejection::CapacityReached | Rejection::UnknownPayer) => Answer::NoHold,
    }
}
