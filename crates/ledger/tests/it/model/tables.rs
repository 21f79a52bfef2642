//! The rows of the ledger as plain values, and the few accounts, keys and budgets of a small world.
//! Small on purpose: two accounts and six calls meet each other far more often than a thousand do.

use trunkline_ledger::admission::{BudgetWindowId, WalletSplit};
use trunkline_ledger::{Outcome, RefundKind, Wallets, WriteOffReason};
use trunkline_types::AccountId;

pub(crate) const ACCOUNTS: usize = 2;
pub(crate) const NODES: usize = 3;
pub(crate) const CALLS: usize = 6;
/// Words in one transaction at most.
pub(crate) const BATCH: usize = 4;
/// Ticks of the clock in a day, short enough for a border to pass while calls run.
pub(crate) const DAY: i64 = 40;
/// After so many ticks an open hold is an orphan.
pub(crate) const LIFETIME: i64 = 30;
/// The wallets' legs as they are numbered in the tables.
pub(crate) const PAID: usize = 0;
pub(crate) const TRIAL: usize = 1;
/// Parties that are ours.
pub(crate) const REVENUE: i64 = -1;
pub(crate) const PAYMENTS: i64 = -2;

/// A call, by its number; the product's request id.
pub(crate) type Call = usize;

/// What a key's spending counts in: its own budgets and those of its account, by id.
pub(crate) struct Key {
    pub(crate) account: usize,
    pub(crate) budgets: &'static [usize],
}

pub(crate) const KEYS: [Key; 4] = [
    Key {
        account: 0,
        budgets: &[0, 1],
    },
    Key {
        account: 0,
        budgets: &[0],
    },
    Key {
        account: 1,
        budgets: &[2],
    },
    Key {
        account: 1,
        budgets: &[],
    },
];
/// The first budget is for ever, the others are for a day.
pub(crate) const BUDGETS: usize = 3;
const TOTAL_BUDGET: usize = 0;

/// The stretches that a hold or a lease counts in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BudgetWindows {
    ids: [BudgetWindowId; 2],
    count: usize,
}

/// A node in one of its lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NodeEpoch {
    pub(crate) node: usize,
    pub(crate) epoch: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    Request,
    Connection,
    Task,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HoldState {
    Open,
    Settled,
    Voided,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hold {
    pub(crate) account: usize,
    pub(crate) owner: Owner,
    pub(crate) author: NodeEpoch,
    pub(crate) legs: WalletSplit,
    /// What of the legs came by extensions.
    pub(crate) raised: WalletSplit,
    pub(crate) stretches: BudgetWindows,
    /// Whose budgets the stretches are: those that its key had by this version of its account.
    pub(crate) version: usize,
    /// The version of the account when it was made.
    pub(crate) version_then: usize,
    pub(crate) opened_at: i64,
    pub(crate) deadline: i64,
    pub(crate) state: HoldState,
    /// Where it is, which only a world of packed holds tells apart.
    pub(crate) place: HoldPlace,
    /// The transaction that made it, counted from the beginning.
    pub(crate) serial: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HoldPlace {
    Row,
    /// In the row of its batch.
    Batch,
    /// It was in the row of its batch, and has been open for so long that it has one of its own.
    Moved,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct UsageRow {
    pub(crate) call: Call,
    pub(crate) author: NodeEpoch,
    /// What was charged.
    pub(crate) legs: WalletSplit,
    /// What the caller asked to be charged.
    pub(crate) requested: i64,
    pub(crate) outcome: Outcome,
    pub(crate) at: i64,
    pub(crate) serial: u32,
    /// It came out of a journal after its lease had been reclaimed.
    pub(crate) late: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TransferKind {
    Charge,
    Back(RefundKind),
    TopUp,
    /// The charges of a day that was dropped.
    DayTotal,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Transfer {
    /// None for a payment and a total, which are not of a call.
    pub(crate) call: Option<Call>,
    pub(crate) kind: TransferKind,
    pub(crate) leg: usize,
    pub(crate) debit: i64,
    pub(crate) credit: i64,
    pub(crate) amount: i64,
    pub(crate) at: i64,
    /// None for a payment, which is taken by the account API, and for a total.
    pub(crate) author: Option<NodeEpoch>,
    pub(crate) serial: u32,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Loss {
    pub(crate) call: Call,
    pub(crate) reason: WriteOffReason,
    pub(crate) sale: Option<i64>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct NodeRow {
    pub(crate) epoch: i64,
    pub(crate) heartbeat: i64,
}

/// The beginning of a node's life.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Life {
    pub(crate) author: NodeEpoch,
    pub(crate) serial: u32,
}

/// A slice of wallets and budgets that a node took in advance. Its number is unique on its node and
/// never used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LeaseId {
    pub(crate) node: usize,
    pub(crate) number: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LeaseState {
    Active,
    /// Given back by its node, or by the node's next life after its journal was read.
    Closed,
    /// Taken away from a node that was silent for too long.
    Reclaimed,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Lease {
    pub(crate) id: LeaseId,
    pub(crate) epoch: i64,
    pub(crate) account: usize,
    /// What was taken when it was granted.
    pub(crate) granted: WalletSplit,
    /// Held and not yet spent.
    pub(crate) left: WalletSplit,
    pub(crate) stretches: BudgetWindows,
    pub(crate) state: LeaseState,
}

/// What a lane remembers of an account: the version that its keys' budgets have by this revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Payer {
    pub(crate) revision: usize,
    pub(crate) version: usize,
}

/// What a reservation asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ask {
    pub(crate) key: usize,
    pub(crate) amount: i64,
    pub(crate) wallets: Wallets,
    pub(crate) payer: Payer,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Word {
    Reserve(Ask),
    Extend(i64, Wallets),
    Settle(i64),
    Void(Outcome),
    Refund(RefundKind, Option<i64>),
    WriteOff(WriteOffReason, i64),
}

/// A word about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CallOperation {
    pub(crate) call: Call,
    pub(crate) account: usize,
    pub(crate) owner: Owner,
    pub(crate) word: Word,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Held(WalletSplit),
    /// With the most that would have fitted.
    TooLittle(i64),
    NeverToppedUp,
    AlreadyResolved,
    /// The account's keys and budgets have changed since its node read them; nothing was taken.
    StaleRevision,
    NoHold,
    Done(WalletSplit),
    Before {
        charged: bool,
        legs: WalletSplit,
    },
    GivenBack,
    NothingToGiveBack,
    Noted,
}

/// Words for one transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Batch {
    /// Its number on the lane: a batch whose outcome is unknown is repeated under it.
    pub(crate) seq: Option<u32>,
    words: [Option<CallOperation>; BATCH],
    count: usize,
}

// === impl BudgetWindows ===

impl BudgetWindows {
    /// What a key's spending counts in at this moment, by a version of its account: with every change the
    /// two keys of an account exchange their budgets.
    pub(crate) fn of(key: usize, now: i64, version: usize) -> Self {
        let mut stretches = Self {
            ids: [(0, 0); 2],
            count: 0,
        };
        for &budget in KEYS[key ^ (version % 2)].budgets {
            let start = if budget == TOTAL_BUDGET {
                i64::MIN
            } else {
                now.div_euclid(DAY) * DAY
            };
            stretches.ids[stretches.count] = (budget as i64, start);
            stretches.count += 1;
        }
        stretches
    }

    pub(crate) fn as_slice(&self) -> &[BudgetWindowId] {
        &self.ids[..self.count]
    }

    /// The moment when the first of them is over.
    pub(crate) fn first_end(&self) -> i64 {
        let ends = self.as_slice().iter().map(|&id| end_of(id));
        ends.min().unwrap_or(i64::MAX)
    }
}

// === impl Word ===

impl Word {
    /// The place of its kind within a transaction, as the product orders them.
    pub(crate) const fn turn(self) -> usize {
        match self {
            Self::Reserve(_) => 0,
            Self::Extend(..) => 1,
            Self::Settle(_) | Self::Void(_) => 2,
            Self::Refund(..) => 3,
            Self::WriteOff(..) => 4,
        }
    }
}

// === impl CallOperation ===

impl CallOperation {
    /// Whether it is about a hold that is packed, in a world that packs: one of a request.
    pub(crate) fn is_packed(&self) -> bool {
        let about_the_hold = match self.word {
            Word::Reserve(_) | Word::Extend(..) | Word::Settle(_) | Word::Void(_) => true,
            Word::Refund(..) | Word::WriteOff(..) => false,
        };
        about_the_hold && self.owner == Owner::Request
    }
}

// === impl Batch ===

impl Batch {
    pub(crate) const TURNS: usize = 5;

    pub(crate) fn new(words: impl Iterator<Item = CallOperation>) -> Self {
        let mut batch = Self {
            seq: None,
            words: [None; BATCH],
            count: 0,
        };
        for submitted in words {
            batch.words[batch.count] = Some(submitted);
            batch.count += 1;
        }
        batch
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &CallOperation> {
        self.words[..self.count].iter().flatten()
    }
}

pub(crate) fn id_of(account: usize) -> AccountId {
    AccountId::new(account as i64)
}

/// A wallet as a party of transfers.
pub(crate) const fn party(account: usize, leg: usize) -> i64 {
    (account * 2 + leg) as i64
}

/// The moment a stretch of a budget is over.
pub(crate) const fn end_of(stretch: BudgetWindowId) -> i64 {
    if stretch.1 == i64::MIN {
        i64::MAX
    } else {
        stretch.1 + DAY
    }
}

/// Both legs with their numbers.
pub(crate) const fn by_leg(legs: WalletSplit) -> [(usize, i64); 2] {
    [(PAID, legs.paid), (TRIAL, legs.trial)]
}
