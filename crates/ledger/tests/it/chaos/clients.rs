//! The clients inside a ledger process: they say every word, twice where it hurts, and write down
//! what they asked and what they were told.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use trunkline_db::{Database, SystemClock};
use trunkline_ledger::accounts::{self, TopUp, TopUpAnswer, Wallet};
use trunkline_ledger::{
    ExtendAnswer, Ledger, LedgerError, Owner, RefundAnswer, RefundKind, ReserveAnswer, SettleAnswer,
};
use trunkline_types::{AccountId, Clock as _, KeyId, Money, RequestId, Timestamp};

use crate::chaos::child_process::{Holds, Plan};
use crate::chaos::history::{Answered, CallOperation, Event, HistoryWriter};
use crate::test_ledger;

/// Processes with the same seed make the same calls in the same stretch of time, in the same order,
/// so that they meet however slow the machine is.
const SLOT: i64 = 250;
/// Pause of a client that was told to come again.
const COME_AGAIN: Duration = Duration::from_millis(20);
/// Longest pause between a reservation and its end, so that there is something between them.
const LONGEST_WORK_MILLIS: u64 = 6;
/// A payment of the load: small beside what is spent, so that the money stays scarce.
const PAYMENT: i64 = 5_000_000;

/// One call and how much is held for it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call {
    request: RequestId,
    account: AccountId,
    owner: Owner,
    pub(crate) amount: i64,
}

/// Clones share the ledger and the diary.
#[derive(Clone)]
pub(crate) struct Clients {
    pub(crate) ledger: Ledger,
    console: Database,
    diary: Arc<HistoryWriter>,
    plan: Arc<Plan>,
}

/// Numbers that look random and are the same wherever they are made of the same ones.
struct Rng(u64);

// === impl Rng ===

impl Rng {
    fn new(numbers: &[u64]) -> Self {
        let mut dice = Self(0x9e37_79b9_7f4a_7c15);
        for number in numbers {
            dice.0 ^= *number;
            dice.next();
        }
        dice
    }

    /// SplitMix64.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }

    /// From one to a bound.
    fn amount(&mut self, bound: i64) -> i64 {
        1 + i64::try_from(self.below(u64::try_from(bound).unwrap_or(1))).unwrap_or(0)
    }

    fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }

    /// An id that every process with the same dice makes.
    fn request(&mut self, at: Timestamp) -> RequestId {
        let [first, second] = [self.next(), self.next()].map(u64::to_be_bytes);
        let mut random = [0; 10];
        random[..8].copy_from_slice(&first);
        random[8..].copy_from_slice(&second[..2]);
        RequestId::new(at, random)
    }
}

// === impl Call ===

impl Call {
    /// The same call with another amount.
    pub(crate) fn of(self, amount: i64) -> Self {
        Self { amount, ..self }
    }
}

// === impl Clients ===

impl Clients {
    pub(crate) fn new(
        ledger: Ledger,
        console: Database,
        diary: Arc<HistoryWriter>,
        plan: Plan,
    ) -> Self {
        Self {
            ledger,
            console,
            diary,
            plan: Arc::new(plan),
        }
    }

    /// A new call on one of the accounts.
    pub(crate) fn new_call(&self, number: u64) -> Call {
        let place = usize::try_from(number).unwrap() % self.plan.accounts.len();
        Call {
            request: test_ledger::request(),
            account: AccountId::new(self.plan.accounts[place]),
            owner: Owner::Request,
            amount: self.plan.largest,
        }
    }

    /// Makes calls until told to stop, or replaced.
    pub(crate) async fn work(self, client: u64, stop: Arc<AtomicBool>) {
        let (mut number, mut slot, mut place) = (0, 0, 0);
        while !stop.load(Ordering::SeqCst) {
            number += 1;
            let mut own = Rng::new(&[self.plan.salt, client, number, 7]);
            let now = SystemClock.now().micros() / 1_000 / SLOT;
            place = if now == slot { place + 1 } else { 0 };
            slot = now;
            let answered = match self.plan.shared_seed {
                Some(seed) if place % 2 == 0 => {
                    let of_slot = u64::try_from(slot).unwrap();
                    let named = Rng::new(&[seed, client, of_slot, place]);
                    self.call(named, Some(slot), &mut own).await
                }
                Some(_) | None => {
                    let named = Rng::new(&[self.plan.salt, client, number, 8]);
                    self.call(named, None, &mut own).await
                }
            };
            match answered {
                Answered::Stale => return,
                Answered::Unavailable => tokio::time::sleep(COME_AGAIN).await,
                Answered::Done
                | Answered::Before { .. }
                | Answered::Refused
                | Answered::Rejected(_) => {}
            }
        }
    }

    /// One call from its reservation to its end. What `named` decides is the same in all processes
    /// that make this call, what `own` decides is not.
    async fn call(&self, mut named: Rng, slot: Option<i64>, own: &mut Rng) -> Answered {
        let accounts = &self.plan.accounts;
        let place = named.below(u64::try_from(accounts.len()).unwrap());
        let request = match slot {
            Some(slot) => named.request(Timestamp::from_micros(slot * SLOT * 1_000)),
            None => test_ledger::request(),
        };
        let owner = match slot {
            // Only a task's hold may be resolved by another process.
            Some(_) => Owner::Task(request.uuid()),
            None if own.percent(20) => Owner::Connection(request.uuid()),
            None => Owner::Request,
        };
        let mut call = Call {
            request,
            account: AccountId::new(accounts[usize::try_from(place).unwrap()]),
            owner,
            amount: named.amount(self.plan.largest),
        };
        if named.percent(4) {
            let payment = named.request(slot_moment(slot));
            tokio::join!(
                self.top_up(call.account, payment),
                self.top_up(call.account, payment)
            );
        }
        let (answered, held) = if own.percent(25) {
            let (one, other) = tokio::join!(self.reserve(&call), self.reserve(&call));
            if one.0 == Answered::Done { one } else { other }
        } else {
            self.reserve(&call).await
        };
        if answered != Answered::Done {
            // The duplicate of a call that is over: its words are said all the same.
            if matches!(answered, Answered::Before { .. }) {
                self.settle(&call, 1).await;
            }
            return answered;
        }
        call.amount = held;
        if own.percent(25) {
            let total = held + own.amount(self.plan.largest);
            call.amount = self.extend(&call, total).await.unwrap_or(held);
        }
        tokio::time::sleep(Duration::from_millis(own.below(LONGEST_WORK_MILLIS))).await;
        self.end(&call, own).await
    }

    /// Charges or lets go, and gives back.
    async fn end(&self, call: &Call, own: &mut Rng) -> Answered {
        let charge = own.amount(call.amount);
        let answered = match own.below(100) {
            0..30 => self.void(call).await,
            30..40 => tokio::join!(self.settle(call, charge), self.void(call)).0.0,
            40..55 => {
                tokio::join!(self.settle(call, charge), self.settle(call, charge))
                    .0
                    .0
            }
            _ => self.settle(call, charge).await.0,
        };
        let charged = matches!(
            answered,
            Answered::Done | Answered::Before { charged: true }
        );
        if charged && own.percent(20) {
            self.refund(call, CallOperation::Adjust, Some(own.amount(charge)))
                .await;
        }
        if charged && own.percent(60) {
            tokio::join!(
                self.refund(call, CallOperation::Refund, None),
                self.refund(call, CallOperation::Refund, None)
            );
        }
        answered
    }

    fn requested(&self, word: CallOperation, request: RequestId, amount: i64) {
        self.diary.write(&Event::Requested {
            word,
            request,
            amount,
        });
    }

    fn answered(&self, word: CallOperation, request: RequestId, answered: &Answered, amount: i64) {
        self.diary.write(&Event::Answered {
            word,
            request,
            answered: answered.clone(),
            amount,
        });
    }

    /// Done means held.
    pub(crate) async fn reserve(&self, call: &Call) -> (Answered, i64) {
        let mut reserve = test_ledger::reserve(call.request, call.account, call.amount);
        reserve.owner = call.owner;
        reserve.key = self.plan.key.map(KeyId::new);
        if self.plan.holds == Holds::Rows || call.owner != Owner::Request {
            reserve.lifetime = Duration::from_millis(self.plan.limits.lifetime);
        }
        self.requested(CallOperation::Reserve, call.request, call.amount);
        let (answered, amount) = match self.ledger.reserve(reserve).await {
            Ok(ReserveAnswer::Held { paid, trial }) => {
                (Answered::Done, paid.nanos() + trial.nanos())
            }
            Ok(ReserveAnswer::AlreadyResolved) => (Answered::Before { charged: false }, 0),
            Ok(
                ReserveAnswer::TooLittle { .. }
                | ReserveAnswer::NeverToppedUp
                | ReserveAnswer::CapacityReached
                | ReserveAnswer::SameKey { .. }
                | ReserveAnswer::UnknownPayer,
            ) => (Answered::Refused, 0),
            Err(error) => (of_error(error), 0),
        };
        self.answered(CallOperation::Reserve, call.request, &answered, amount);
        (answered, amount)
    }

    /// The new total, where there is one.
    async fn extend(&self, call: &Call, total: i64) -> Option<i64> {
        self.requested(CallOperation::Extend, call.request, total);
        let extend = test_ledger::extend(call.request, call.account, total);
        let (answered, amount) = match self.ledger.extend(extend).await {
            Ok(ExtendAnswer::Held { total } | ExtendAnswer::Short { total, .. }) => {
                (Answered::Done, total.nanos())
            }
            Ok(ExtendAnswer::NoHold) => (Answered::Refused, 0),
            Err(error) => (of_error(error), 0),
        };
        self.answered(CallOperation::Extend, call.request, &answered, amount);
        (answered == Answered::Done).then_some(amount)
    }

    pub(crate) async fn settle(&self, call: &Call, charge: i64) -> (Answered, i64) {
        self.requested(CallOperation::Settle, call.request, charge);
        let settle = test_ledger::settle(call.request, call.account, charge);
        let (answered, amount) = of_end(self.ledger.settle(settle).await);
        self.answered(CallOperation::Settle, call.request, &answered, amount);
        (answered, amount)
    }

    pub(crate) async fn void(&self, call: &Call) -> Answered {
        self.requested(CallOperation::Void, call.request, 0);
        let void = test_ledger::void(call.request, call.account);
        let (answered, amount) = of_end(self.ledger.void(void).await);
        self.answered(CallOperation::Void, call.request, &answered, amount);
        answered
    }

    pub(crate) async fn refund(
        &self,
        call: &Call,
        word: CallOperation,
        amount: Option<i64>,
    ) -> Answered {
        let mut refund = test_ledger::refund(call.request, call.account);
        refund.amount = amount.map(Money::from_nanos);
        if word == CallOperation::Adjust {
            refund.kind = RefundKind::SettlementAdjustment;
        }
        self.requested(word, call.request, amount.unwrap_or(0));
        let (answered, amount) = match self.ledger.refund(refund).await {
            Ok(RefundAnswer::Done { paid, trial }) => {
                (Answered::Done, paid.nanos() + trial.nanos())
            }
            Ok(RefundAnswer::Before) => (Answered::Before { charged: false }, 0),
            Ok(RefundAnswer::NothingCharged) => (Answered::Refused, 0),
            Err(error) => (of_error(error), 0),
        };
        self.answered(word, call.request, &answered, amount);
        answered
    }

    /// A payment that every process tells of, under one event.
    async fn top_up(&self, account: AccountId, request: RequestId) {
        self.requested(CallOperation::TopUp, request, PAYMENT);
        let top_up = TopUp {
            request,
            ..test_ledger::top_up(account, Wallet::Paid, PAYMENT, &request.to_string())
        };
        let answer = async {
            let mut tx = self.console.begin().await?;
            let done = accounts::top_up(&mut tx, &top_up).await;
            tx.finish(done).await
        };
        let answered = match answer.await {
            Ok(TopUpAnswer::Done) => Answered::Done,
            Ok(TopUpAnswer::Before) => Answered::Before { charged: false },
            Ok(answer @ (TopUpAnswer::Different | TopUpAnswer::Refused)) => {
                Answered::Rejected(format!("{answer:?}"))
            }
            // The payer would report again; here none does, so the outcome is unknown.
            Err(_) => Answered::Unavailable,
        };
        self.answered(CallOperation::TopUp, request, &answered, 0);
    }
}

fn slot_moment(slot: Option<i64>) -> Timestamp {
    slot.map_or_else(
        || SystemClock.now(),
        |slot| Timestamp::from_micros(slot * SLOT * 1_000),
    )
}

fn of_end(answer: Result<SettleAnswer, LedgerError>) -> (Answered, i64) {
    match answer {
        Ok(SettleAnswer::Done { paid, trial }) => (Answered::Done, paid.nanos() + trial.nanos()),
        Ok(SettleAnswer::Before {
            charged,
            paid,
            trial,
        }) => (Answered::Before { charged }, paid.nanos() + trial.nanos()),
        Ok(SettleAnswer::NoHold) => (Answered::Refused, 0),
        Err(error) => (of_error(error), 0),
    }
}

fn of_error(error: LedgerError) -> Answered {
    match error {
        LedgerError::Unavailable => Answered::Unavailable,
        LedgerError::StaleEpoch => Answered::Stale,
        LedgerError::Rejected(text) => Answered::Rejected(text),
    }
}
