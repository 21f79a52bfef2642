//! The only writer of money and usage.
//!
//! There are eight operations: reserve, extend, settle, void, refund, write off (through the
//! [`Ledger`], which commits the operations of many calls together), top up and adjust (in
//! [`accounts`]). Every operation is keyed by a request id and idempotent. Admission is decided by
//! pure functions in [`admission`]; the tables' constraints enforce the invariants
//! (`migrations/*_ledger_accounts.sql` and the files after it), and `trunkline audit` checks them.
//!
//! This crate must not know HTTP, formats, upstreams or prices: callers pass amounts.
#![cfg_attr(
    not(test),
    deny(
        clippy::arithmetic_side_effects,
        clippy::as_conversions,
        clippy::float_arithmetic,
        clippy::string_slice,
        clippy::cast_possible_truncation
    )
)]

pub mod accounts;
pub mod admission;
pub mod audit;
mod batch;
mod batcher;
pub mod call_money;
pub mod call_search;
pub mod chain;
mod columns;
mod day_scan;
pub mod holds;
pub mod installation;
pub mod journal;
pub mod late_failures;
pub mod losses;
pub mod margins;
mod node_epoch;
mod operations;
mod outcome;
mod packed;
pub mod partitions;
pub mod recovery;
pub mod sealed_responses;
pub mod statement;
pub mod stored_responses;
pub mod unconfirmed;
pub mod usage;
pub mod usage_report;

pub use batch::{BatchError, run_in};
pub use batcher::{BatchCounts, Ledger, LedgerError, LedgerSettings, LedgerTasks, MAX_BATCH};
pub use node_epoch::NodeEpoch;
pub use operations::{
    Answer, CapacityClaim, Detail, Extend, ExtendAnswer, Idempotency, OnCallerGone, Op, Owner,
    Refund, RefundAnswer, RefundKind, Reserve, ReserveAnswer, Settle, SettleAnswer, Shortage,
    Unpaid, Void, Wallets, WriteOff, WriteOffReason,
};
pub use outcome::Outcome;
