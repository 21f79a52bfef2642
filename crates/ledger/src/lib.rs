//! The only writer of money and usage.
//!
//! Callers speak eight words: reserve, extend, settle, void, refund, write off (through the
//! [`Ledger`], which commits the words of many calls together), top up and adjust (at the
//! [`desk`]). Every word is keyed by a request id and may be said twice. Decisions are pure functions
//! in [`decide`]; what must never happen is forbidden by the tables themselves
//! (`migrations/*_ledger.sql`), and `trunkline audit` looks for it anyway.
//!
//! This crate must not know HTTP, formats, upstreams or prices: it is told amounts.
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

pub mod audit;
mod batch;
mod batcher;
pub mod decide;
pub mod desk;
pub mod kept;
pub mod lines;
pub mod logs;
mod outcome;
pub mod partitions;
pub mod recovery;
pub mod report;
mod rows;
pub mod statement;
pub mod usage;
mod verbs;
mod walk;

pub use batch::{BatchError, run_in};
pub use batcher::{BatchCounts, Ledger, LedgerError, LedgerSettings, LedgerTasks, MAX_BATCH};
pub use outcome::Outcome;
pub use recovery::Author;
pub use verbs::{
    Answer, CapacityTake, Detail, Extend, ExtendAnswer, Idempotency, Op, Owner, Refund,
    RefundAnswer, RefundKind, Reserve, ReserveAnswer, Settle, SettleAnswer, Shortage, Unheard,
    Void, Wallets, WriteOff, WriteOffReason,
};
