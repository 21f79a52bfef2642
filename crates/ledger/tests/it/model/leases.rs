//! A second way behind the same four words. A node takes a slice of wallets and budgets in advance and
//! answers reserve, extend, settle and void out of its memory, by the product's own decisions over
//! the slice. What ends a call is written to the node's journal before the caller is answered, and shipped
//! to the store later. A crash takes the memory and leaves the journal.

use trunkline_ledger::Outcome;
use trunkline_ledger::admission::{BatchState, BudgetWindow, WalletBalances, WalletSplit, charge};

use crate::model::mutations::Mutation;
use crate::model::tables::{
    Answer, Ask, BudgetWindows, CALLS, Call, CallOperation, KEYS, LeaseId, Owner, Payer, Word,
    id_of,
};

/// After its last heartbeat a node draws from its leases for so long.
pub(crate) const LEASE_TTL: i64 = 10;
/// A call that was reserved in time may settle for so long after that.
pub(crate) const LONGEST_CALL: i64 = 6;

/// Records in one transaction at most.
const SHIPMENT: usize = 2;

/// How a call ended, as the journal knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Begun,
    Settled(i64),
    Voided(Outcome),
}

/// What the journal knows of a call: its last state. Appending and overwriting are the same here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) call: Call,
    pub(crate) lease: LeaseId,
    pub(crate) held: WalletSplit,
    pub(crate) owner: Owner,
    pub(crate) begun_at: i64,
    pub(crate) end: End,
}

/// What a node asks of the store for its leases. Repeated until it is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LeaseRequest {
    Grant {
        lease: LeaseId,
        key: usize,
        amount: i64,
    },
    Ship([Option<Record>; SHIPMENT]),
    Close(LeaseId),
    /// The leases of this node's earlier lives, after their journal was shipped.
    CloseOld,
}

/// The store's answer to a lease request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LeaseReply {
    Granted {
        lease: LeaseId,
        key: usize,
        slice: WalletSplit,
        stretches: BudgetWindows,
    },
    NotGranted,
    Shipped,
    Closed(LeaseId),
    ClosedOld,
}

/// A lease as its node sees it: wallets and stretches of its own.
#[derive(Debug)]
pub(crate) struct LocalLease {
    pub(crate) id: LeaseId,
    pub(crate) key: usize,
    pub(crate) slice: BatchState,
    stretches: BudgetWindows,
    /// It is being given back; nothing is drawn any more.
    closing: bool,
}

/// What a crash takes.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    pub(crate) leases: Vec<LocalLease>,
    open: [Option<OpenCall>; CALLS],
    lease_request: Option<LeaseRequest>,
    /// The leases of earlier lives were closed, or there were none.
    settled_down: bool,
}

#[derive(Debug, Clone, Copy)]
struct OpenCall {
    lease: LeaseId,
    legs: WalletSplit,
}

/// What a crash leaves.
#[derive(Debug, Default)]
pub(crate) struct Disk {
    /// Not yet known to be in the store.
    pub(crate) journal: Vec<Record>,
    leases_ever: u32,
}

/// A node's side of its leases.
#[derive(Debug)]
pub(crate) struct NodeLeases {
    node: usize,
    pub(crate) memory: Memory,
    pub(crate) disk: Disk,
    /// Local time until which leases may be drawn from.
    pub(crate) alive_until: i64,
    wrong: Option<Mutation>,
}

// === impl NodeLeases ===

impl NodeLeases {
    pub(crate) fn new(node: usize, wrong: Option<Mutation>) -> Self {
        let memory = Memory {
            settled_down: true,
            ..Memory::default()
        };
        Self {
            node,
            memory,
            disk: Disk::default(),
            alive_until: 0,
            wrong,
        }
    }

    /// The process is gone. Calls that had begun and not ended are known to the journal.
    pub(crate) fn crash(&mut self) {
        self.memory = Memory::default();
        if self.wrong == Some(Mutation::ForgetTheJournal) {
            self.disk.journal.clear();
        }
        for record in &mut self.disk.journal {
            if record.end == End::Begun {
                record.end = End::Voided(Outcome::Interrupted);
            }
        }
    }

    /// The heart has beaten and the store has heard it.
    pub(crate) fn lives(&mut self, now: i64) {
        self.alive_until = now + LEASE_TTL;
    }

    /// One of the four words, answered out of memory. None means that it is not for a lease.
    pub(crate) fn say(&mut self, submitted: &CallOperation, now: i64) -> Option<Answer> {
        match submitted.word {
            Word::Reserve(ask) => self.reserve(submitted, ask, now),
            Word::Extend(total, _) => self.extend(submitted, total),
            // Too late to be sure that the lease is still ours: not charged, and told so.
            Word::Settle(_) if now > self.alive_until + LONGEST_CALL => {
                let ended = self.end(submitted, End::Voided(Outcome::DatabaseAway));
                ended.map(|_| Answer::NoHold)
            }
            Word::Settle(amount) => self.end(submitted, End::Settled(amount)),
            Word::Void(outcome) => self.end(submitted, End::Voided(outcome)),
            Word::Refund(..) | Word::WriteOff(..) => None,
        }
    }

    fn reserve(&mut self, submitted: &CallOperation, ask: Ask, now: i64) -> Option<Answer> {
        if now > self.alive_until {
            return None;
        }
        let any_day = self.wrong == Some(Mutation::DrawFromAPastDay);
        let fits = |lease: &&mut LocalLease| {
            lease.key == ask.key && !lease.closing && (now < lease.stretches.first_end() || any_day)
        };
        let lease = self.memory.leases.iter_mut().find(fits)?;
        let legs = lease.draw(submitted.account, ask, self.wrong)?;
        self.memory.open[submitted.call] = Some(OpenCall {
            lease: lease.id,
            legs,
        });
        self.disk.journal.push(Record {
            call: submitted.call,
            lease: lease.id,
            held: legs,
            owner: submitted.owner,
            begun_at: now,
            end: End::Begun,
        });
        Some(Answer::Held(legs))
    }

    fn extend(&mut self, submitted: &CallOperation, total: i64) -> Option<Answer> {
        let Word::Extend(_, wallets) = submitted.word else {
            return None;
        };
        let open = self.memory.open[submitted.call]?;
        let more = total - open.legs.total();
        if more <= 0 {
            return Some(Answer::Held(open.legs));
        }
        let lease = self.memory.lease(open.lease)?;
        let ask = Ask {
            key: lease.key,
            amount: more,
            wallets,
            payer: Payer::default(),
        };
        let Some(more) = lease.draw(submitted.account, ask, None) else {
            return Some(Answer::TooLittle(0));
        };
        let legs = WalletSplit {
            paid: open.legs.paid + more.paid,
            trial: open.legs.trial + more.trial,
        };
        self.memory.open[submitted.call] = Some(OpenCall { legs, ..open });
        self.record(submitted.call)?.held = legs;
        Some(Answer::Held(legs))
    }

    /// The journal first, then memory, then the caller.
    fn end(&mut self, submitted: &CallOperation, end: End) -> Option<Answer> {
        let open = self.memory.open[submitted.call].take()?;
        self.record(submitted.call)?.end = end;
        let requested = match end {
            End::Settled(amount) => amount,
            End::Begun | End::Voided(_) => 0,
        };
        let (legs, _) = charge(requested, open.legs);
        let lease = self.memory.lease(open.lease)?;
        lease.give_back(submitted.account, open.legs, legs);
        Some(Answer::Done(legs))
    }

    fn record(&mut self, call: Call) -> Option<&mut Record> {
        let mut journal = self.disk.journal.iter_mut();
        journal.find(|record| record.call == call)
    }

    /// The lease request under way, or the next one that makes sense; `choice` is the scheduler's.
    pub(crate) fn lease_request(&mut self, choice: usize, now: i64) -> Option<LeaseRequest> {
        if self.memory.lease_request.is_none() {
            self.memory.lease_request = self.next_lease_request(choice, now);
        }
        self.memory.lease_request
    }

    fn next_lease_request(&mut self, choice: usize, now: i64) -> Option<LeaseRequest> {
        let ended = |record: &&Record| record.end != End::Begun;
        let mut records = self.disk.journal.iter().filter(ended).copied();
        let records: [Option<Record>; SHIPMENT] = std::array::from_fn(|_| records.next());
        let hasty = self.wrong == Some(Mutation::CloseBeforeReplay);
        if records[0].is_some() && (self.memory.settled_down || !hasty) {
            return Some(LeaseRequest::Ship(records));
        }
        if !self.memory.settled_down {
            return Some(LeaseRequest::CloseOld);
        }
        let key = choice % KEYS.len();
        let place = (self.memory.leases.iter()).position(|lease| lease.key == key);
        match place {
            Some(place) => self.close(place),
            None => self.grant(key, choice / KEYS.len(), now),
        }
    }

    fn grant(&mut self, key: usize, choice: usize, now: i64) -> Option<LeaseRequest> {
        if now > self.alive_until {
            return None;
        }
        self.disk.leases_ever += 1;
        let lease = LeaseId {
            node: self.node,
            number: self.disk.leases_ever,
        };
        let amount = 4 + (choice % 16) as i64;
        Some(LeaseRequest::Grant { lease, key, amount })
    }

    /// Gives a lease back once nothing is drawn from it.
    fn close(&mut self, place: usize) -> Option<LeaseRequest> {
        let id = self.memory.leases[place].id;
        let mut open = self.memory.open.iter().flatten();
        if open.any(|open| open.lease == id) {
            return None;
        }
        self.memory.leases[place].closing = true;
        Some(LeaseRequest::Close(id))
    }

    /// The store has answered the lease request under way.
    pub(crate) fn hear(&mut self, news: LeaseReply) {
        let lease_request = self.memory.lease_request.take();
        match news {
            LeaseReply::Granted {
                lease,
                key,
                slice,
                stretches,
            } => {
                let lease = LocalLease::new(lease, key, slice, stretches);
                self.memory.leases.push(lease);
            }
            LeaseReply::NotGranted => {}
            LeaseReply::Shipped => {
                let Some(LeaseRequest::Ship(shipped)) = lease_request else {
                    return;
                };
                let is_there = |record: &Record| shipped.contains(&Some(*record));
                self.disk.journal.retain(|record| !is_there(record));
            }
            LeaseReply::Closed(id) => self.memory.leases.retain(|lease| lease.id != id),
            LeaseReply::ClosedOld => self.memory.settled_down = true,
        }
    }

    /// The key of a lease that can be drawn from, for a call that has not chosen one.
    pub(crate) fn key_at_hand(&self) -> Option<usize> {
        self.memory.leases.last().map(|lease| lease.key)
    }

    pub(crate) fn is_quiet(&self) -> bool {
        self.disk.journal.is_empty()
            && self.memory.leases.is_empty()
            && self.memory.lease_request.is_none()
            && self.memory.settled_down
    }
}

// === impl Memory ===

impl Memory {
    fn lease(&mut self, id: LeaseId) -> Option<&mut LocalLease> {
        self.leases.iter_mut().find(|lease| lease.id == id)
    }
}

// === impl LocalLease ===

impl LocalLease {
    fn new(id: LeaseId, key: usize, slice: WalletSplit, stretches: BudgetWindows) -> Self {
        let mut standing = BatchState::default();
        let balances = WalletBalances {
            paid_posted: slice.paid,
            trial_posted: slice.trial,
            topped_up: slice.paid > 0,
            ..WalletBalances::default()
        };
        (standing.balances).insert(id_of(KEYS[key].account), balances);
        for &stretch in stretches.as_slice() {
            let window = BudgetWindow {
                id: stretch.0,
                limit: slice.total(),
                used: 0,
            };
            standing.windows.insert(stretch, window);
        }
        Self {
            id,
            key,
            slice: standing,
            stretches,
            closing: false,
        }
    }

    fn draw(&mut self, account: usize, ask: Ask, wrong: Option<Mutation>) -> Option<WalletSplit> {
        let Ask {
            wallets, amount, ..
        } = ask;
        let stretches = self.stretches.as_slice();
        let taken = (self.slice).take(id_of(account), wallets, amount, stretches, None);
        if wrong == Some(Mutation::DrawBeyondTheLease) && taken.is_err() {
            return Some(WalletSplit {
                paid: amount,
                trial: 0,
            });
        }
        taken.ok()
    }

    fn give_back(&mut self, account: usize, held: WalletSplit, charged: WalletSplit) {
        if let Some(balances) = self.slice.balances.get_mut(&id_of(account)) {
            balances.paid_held -= held.paid;
            balances.trial_held -= held.trial;
            balances.paid_posted -= charged.paid;
            balances.trial_posted -= charged.trial;
        }
        let unused = held.total() - charged.total();
        for window in self.slice.windows.values_mut() {
            window.used -= unused;
        }
    }
}
